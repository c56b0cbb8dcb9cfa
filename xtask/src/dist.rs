//! `cargo xtask dist`: what can be handed to others, in `target/dist`: a stripped program, the wheel, the
//! add-on for Blender, and their checksums.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::addon;
use crate::python;
use crate::step::{cargo, refused, stream, target};

/// Profile of what is handed out: stripped, optimized over crates.
pub const PROFILE: &str = "dist";

/// Asks the build for the level of processors without AVX2 (`crates/sinew-math/build.rs`).
pub const FALLBACK: &str = "SINEW_FALLBACK";

/// Checksums of all other files, in the form that `sha256sum --check` reads.
const CHECKSUMS: &str = "SHA256SUMS";

/// Programs that print the SHA-256 of files: that of Linux, and that of macOS and BSD.
const HASHERS: [(&str, &[&str]); 2] = [("sha256sum", &[]), ("shasum", &["-a", "256"])];

#[derive(Clone, Debug, PartialEq)]
struct Options {
    has_wheel: bool,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { has_wheel: true, program: None };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--no-wheel" => options.has_wheel = false,
                "--program" => options.program = Some(rest.next().ok_or("--program needs a file")?.into()),
                other => return Err(format!("unknown argument \"{other}\": there are --no-wheel and --program FILE")),
            }
        }
        Ok(options)
    }
}

/// Builds everything and prints the paths; a failure leaves the folder of the last success alone.
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(message) => return refused(&message),
    };
    match make(&options) {
        Ok(files) => {
            files.iter().for_each(|file| println!("{}", file.display()));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn make(options: &Options) -> Result<Vec<PathBuf>, String> {
    let (triple, is_linked_in) = triple()?;
    let program = built_program(options, &triple, is_linked_in)?;
    let mut sources = vec![(program, program_name(env!("CARGO_PKG_VERSION"), &triple))];
    if options.has_wheel {
        let wheel = python::built_wheel(PROFILE)?;
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sources.push((wheel, name));
    }
    let addon = addon::built(&target().join("addon"))?;
    let name = addon.file_name().unwrap_or_default().to_string_lossy().into_owned();
    sources.push((addon, name));
    let folder = target().join("dist");
    if let Err(error) = std::fs::remove_dir_all(&folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(format!("cannot empty {}: {error}", folder.display()));
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    for (from, name) in &sources {
        std::fs::copy(from, folder.join(name)).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    let names: Vec<&str> = sources.iter().map(|(_, name)| name.as_str()).collect();
    let sums = checksums(&folder, &names)?;
    std::fs::write(folder.join(CHECKSUMS), sums).map_err(|error| format!("cannot write {CHECKSUMS}: {error}"))?;
    Ok(names.into_iter().chain([CHECKSUMS]).map(|name| folder.join(name)).collect())
}

/// The target to build for, and whether its C library is linked in by a flag. A static program needs no libraries of
/// the machine it runs on: on Linux that of musl where it is installed, else that of glibc where its archive is.
fn triple() -> Result<(String, bool), String> {
    let rustc = |arguments: &[&str]| {
        let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let said = Command::new(program).args(arguments).stderr(Stdio::null()).output();
        said.ok().filter(|said| said.status.success()).map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
    };
    let about = rustc(&["-vV"]).ok_or("cannot start rustc")?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no host")?;
    let Some(musl) = static_triple(host) else { return Ok((host.into(), false)) };
    let libraries = rustc(&["--print", "target-libdir", "--target", &musl]);
    if libraries.is_some_and(|folder| Path::new(folder.trim()).is_dir()) {
        return Ok((musl, false));
    }
    if host.ends_with("-gnu") && has_static_glibc() {
        return Ok((host.into(), true));
    }
    eprintln!(
        "not static: {musl} is not installed (`rustup target add {musl}`); the program needs the C library of {host}"
    );
    Ok((host.into(), false))
}

/// Whether the C compiler has the archive of glibc: it prints a path only if it knows one.
fn has_static_glibc() -> bool {
    let said = Command::new("cc").arg("-print-file-name=libc.a").stderr(Stdio::null()).output();
    said.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
}

/// The target whose programs are static, for hosts that have one.
fn static_triple(host: &str) -> Option<String> {
    let (machine, system) = host.split_once("-unknown-linux-")?;
    ["gnu", "musl"].contains(&system).then(|| format!("{machine}-unknown-linux-musl"))
}

fn program_name(version: &str, triple: &str) -> String {
    let ending = if triple.contains("windows") { ".exe" } else { "" };
    format!("sinew-{version}-{triple}{ending}")
}

/// The given program, or ours, built for a target.
fn built_program(options: &Options, triple: &str, is_linked_in: bool) -> Result<PathBuf, String> {
    if let Some(program) = &options.program {
        return Ok(program.clone());
    }
    // Apart from `target/dist`, which is what the profile's own folder would be called.
    let folder = target().join("dist-build");
    let mut build = cargo(["build", "--bin", "sinew", "--profile", PROFILE, "--target", triple, "--target-dir"]);
    // For any processor, not only for such as this one.
    build.arg(&folder).env(FALLBACK, "1");
    if is_linked_in {
        // `--target` keeps the flag away from build scripts and macros.
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        build.env("RUSTFLAGS", format!("{flags} -C target-feature=+crt-static"));
    }
    if stream("dist", &mut build).is_failure() {
        return Err("the program cannot be built".into());
    }
    let ending = if triple.contains("windows") { ".exe" } else { "" };
    Ok(folder.join(triple).join(PROFILE).join(format!("sinew{ending}")))
}

/// Lines of checksum and name, by the first program of the system that can.
fn checksums(folder: &Path, names: &[&str]) -> Result<String, String> {
    for (program, arguments) in HASHERS {
        let said = Command::new(program).current_dir(folder).args(arguments).args(names).stdin(Stdio::null()).output();
        let Ok(said) = said else { continue };
        if !said.status.success() {
            return Err(format!("{program}: {}", String::from_utf8_lossy(&said.stderr).trim()));
        }
        return Ok(String::from_utf8_lossy(&said.stdout).into_owned());
    }
    let [first, second] = HASHERS.map(|(program, _)| program);
    Err(format!("neither {first} nor {second} is there to compute checksums"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::root;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        assert_eq!(parse(""), Ok(Options { has_wheel: true, program: None }));
        let given = Options { has_wheel: false, program: Some("a/sinew".into()) };
        assert_eq!(parse("--no-wheel --program a/sinew"), Ok(given));
        assert!(parse("--program").is_err_and(|error| error.contains("needs a file")));
        assert!(parse("--wheel").is_err_and(|error| error.contains("--no-wheel")));
    }

    #[test]
    fn files_are_named_by_version_and_target() {
        assert_eq!(program_name("1.2.3", "x86_64-unknown-linux-musl"), "sinew-1.2.3-x86_64-unknown-linux-musl");
        assert_eq!(program_name("1.2.3", "x86_64-pc-windows-msvc"), "sinew-1.2.3-x86_64-pc-windows-msvc.exe");
        assert_eq!(static_triple("x86_64-unknown-linux-gnu").as_deref(), Some("x86_64-unknown-linux-musl"));
        assert_eq!(static_triple("aarch64-apple-darwin"), None);
    }

    /// FIPS 180-4: the digest of "abc".
    #[test]
    fn checksums_are_those_of_sha_256() {
        let folder = target().join("dist-test");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("abc"), "abc").expect("a file");
        let sums = checksums(&folder, &["abc"]).expect("a program that hashes");
        assert_eq!(sums.trim_end(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc");
        assert!(checksums(&folder, &["nothing"]).is_err());
    }

    #[test]
    fn what_is_handed_out_is_stripped() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
        let profile = manifest.split("[profile.dist]").nth(1).expect("a profile of its own");
        assert!(profile.lines().take_while(|line| !line.starts_with('[')).any(|line| line == "strip = true"));
    }
}
