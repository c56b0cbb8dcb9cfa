//! Processor use of other programs during timing, if the system reports it (Linux).
//!
//! Other programs lengthen the wall-clock time of a program that uses all cores; its processor time would hide parts
//! that run on one core.

use std::time::Instant;

/// Ticks per second of the counters below, the same on all Linux systems.
const TICKS_PER_SECOND: f64 = 100.0;

/// Measures the processor use of other programs.
pub struct Others {
    begin: Instant,
    ticks: Option<f64>,
}

impl Others {
    /// Starts counting.
    pub fn watch() -> Self {
        Self { begin: Instant::now(), ticks: ticks_of_others() }
    }

    /// Average number of cores that others used since then; none if the system does not report it.
    pub fn cores(&self) -> Option<f64> {
        let ticks = ticks_of_others()? - self.ticks?;
        Some((ticks / TICKS_PER_SECOND / self.begin.elapsed().as_secs_f64()).max(0.0))
    }
}

/// Busy time of all processors since boot, minus our own and that of our finished children.
fn ticks_of_others() -> Option<f64> {
    let all = busy_ticks(&std::fs::read_to_string("/proc/stat").ok()?)?;
    let own = own_ticks(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(all - own)
}

/// The first line is `cpu user nice system idle iowait irq softirq steal …`.
fn busy_ticks(stat: &str) -> Option<f64> {
    let mut words = stat.lines().next()?.split_whitespace();
    (words.next() == Some("cpu")).then_some(())?;
    let ticks: Vec<f64> = words.map_while(|word| word.parse().ok()).take(8).collect();
    let is_busy = |index: &usize| ![3, 4].contains(index);
    (ticks.len() == 8).then(|| (0..8).filter(is_busy).map(|index| ticks[index]).sum())
}

/// Fields 14 to 17: user and system time of the process, and of its finished children. The name in field 2 may contain
/// spaces.
fn own_ticks(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> = rest.split_whitespace().skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_system_are_read() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(busy_ticks(stat), Some(171.0));
        assert_eq!(busy_ticks("intr 1 2 3"), None);
        let own = "77 (a b) c) R 1 1 1 0 -1 4194304 99 0 0 0 40 2 300 1 20 0 1 0 7150034";
        assert_eq!(own_ticks(own), Some(343.0));
        assert_eq!(own_ticks("77 (cat) R 1"), None);
    }
}
