//! How much memory is free, and whether something fits: what does not is refused in words instead of ending the
//! program.
//!
//! On Linux, files say what the machine has left, what the limits of the group of processes leave (containers), and how
//! far the address space may grow (`ulimit -v`). The smallest counts. On other systems nothing is known, and nothing is
//! refused.

use std::path::Path;

use thiserror::Error;

/// Less than this is taken without asking.
const SMALL: u64 = 16 << 20;

/// Something needs more memory than is free.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("needs {:.1} GiB of memory, but {:.1} GiB are free", gibibytes(*needed as f64), gibibytes(*free as f64))]
pub struct MemoryShort {
    /// Bytes that are needed.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// Bytes in GiB.
pub fn gibibytes(bytes: f64) -> f64 {
    bytes / (1u64 << 30) as f64
}

/// Refuses what needs more memory than is free.
pub fn require(needed: u64) -> Result<(), MemoryShort> {
    if needed <= SMALL {
        return Ok(());
    }
    match free() {
        Some(free) if needed > free => Err(MemoryShort { needed, free }),
        _ => Ok(()),
    }
}

/// Memory that is free \[bytes\], where the system reports it.
pub fn free() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| kilobytes(&text, "MemAvailable:"));
    let address_space = read("/proc/self/limits")
        .zip(read("/proc/self/status"))
        .and_then(|(limits, status)| left_of_address_space(&limits, &status));
    [machine, address_space, left_of_group()].into_iter().flatten().min()
}

/// A number of kilobytes after a word at the start of a line, in bytes.
fn kilobytes(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    Some(1024 * rest.split_whitespace().next()?.parse::<u64>().ok()?)
}

/// What the limit of the address space leaves, from `/proc/self/limits` and `/proc/self/status`; `None` without a
/// limit.
fn left_of_address_space(limits: &str, status: &str) -> Option<u64> {
    let rest = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = rest.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(limit.saturating_sub(kilobytes(status, "VmSize:")?))
}

/// What the limits of our control group and of those around it leave.
fn left_of_group() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let left = |folder: &Path| {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        left_of_limit(&read("memory.max")?, &read("memory.current")?, &read("memory.stat").unwrap_or_default())
    };
    root.join(own).ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

/// What a limit leaves, from `memory.max`, `memory.current` and `memory.stat`. Pages of files count as free: they are
/// given back.
fn left_of_limit(max: &str, current: &str, stat: &str) -> Option<u64> {
    let limit = max.trim().parse::<u64>().ok()?;
    let used = current.trim().parse::<u64>().ok()?;
    let files = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(used.saturating_sub(files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_and_the_address_space_are_read() {
        assert_eq!(kilobytes("MemTotal: 8 kB\nMemAvailable:   1024 kB\n", "MemAvailable:"), Some(1 << 20));
        let limits = |value: &str| format!("Limit  Soft Limit  Hard Limit  Units\nMax address space  {value}  bytes\n");
        let status = "Name: sinew\nVmPeak: 9 kB\nVmSize:\t    1000 kB\n";
        assert_eq!(left_of_address_space(&limits("2048000 2048000"), status), Some(1_024_000));
        assert_eq!(left_of_address_space(&limits("1000 1000"), status), Some(0));
        assert_eq!(left_of_address_space(&limits("unlimited unlimited"), status), None);
    }

    #[test]
    fn a_group_without_a_limit_tells_nothing_and_pages_of_files_are_free() {
        assert_eq!(left_of_limit("max\n", "5\n", ""), None);
        assert_eq!(left_of_limit("1000\n", "600\n", "anon 1\ninactive_file 100\n"), Some(500));
        assert_eq!(left_of_limit("1000\n", "1600\n", ""), Some(0));
    }

    #[test]
    fn what_no_machine_has_is_refused_in_words() {
        assert_eq!(require(1), Ok(()));
        if free().is_some() {
            let told = require(1 << 60).unwrap_err().to_string();
            assert!(
                told.starts_with("needs 1073741824.0 GiB of memory, but ") && told.ends_with("GiB are free"),
                "{told}"
            );
        }
    }
}
