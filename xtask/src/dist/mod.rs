//! `cargo xtask dist`: builds the C library and lays out a folder that CANN programs can be pointed at.

mod tree;

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::counts::Counts;
use crate::steps::{ONE_LEVEL, Step};

/// The file that cargo makes of `crates/poolgrad-acl`.
const LIBRARY: &str = "libpoolgrad_acl.so";

/// What `cargo xtask dist` is asked to do.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    /// Where the tree goes.
    out: PathBuf,
    /// Cargo's build profile.
    profile: String,
    sanitizer: Sanitizer,
}

/// What is compiled into the library to watch it at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sanitizer {
    Off,
    /// Programs then have to be built with `-fsanitize=address`: the watching code lives in them.
    Address,
}

const USAGE: &str = "usage: cargo xtask dist --out DIR [--profile NAME] [--sanitize address]";

/// Builds the library, then fills the folder given by `--out`.
///
/// # Errors
/// If an argument is unknown or missing, the build fails, or the folder holds something else or cannot be written.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let request = read(arguments)?;
    let library = build(&request)?;
    let out = std::path::absolute(&request.out).map_err(|error| format!("{}: {error}", request.out.display()))?;
    tree::lay_out(&out, &library, &crate::workspace())?;
    println!("dist: the tree is at {0}; next: . {0}/set_env.sh", out.display());
    Ok(())
}

/// Understands the arguments.
fn read(arguments: &[String]) -> Result<Request, String> {
    let mut out = None;
    let mut request = Request { out: PathBuf::new(), profile: "release".into(), sanitizer: Sanitizer::Off };
    let mut words = arguments.iter();
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{option} wants a value; {USAGE}"));
        match option.as_str() {
            "--out" => out = Some(PathBuf::from(value()?)),
            "--profile" => request.profile = value()?.clone(),
            "--sanitize" => match value()?.as_str() {
                "address" => request.sanitizer = Sanitizer::Address,
                other => return Err(format!("--sanitize knows `address`, got {other:?}")),
            },
            _ => return Err(format!("unknown argument {option:?}; {USAGE}")),
        }
    }
    request.out = out.ok_or_else(|| format!("--out DIR is missing; {USAGE}"))?;
    Ok(request)
}

/// Builds the library and returns its path.
fn build(request: &Request) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::workspace().join("target"), PathBuf::from);
    let mut step = Step::cargo(
        "library",
        "build --quiet --package poolgrad-acl --lib",
        "mend what the compiler complains of above",
    );
    step.command.extend(["--profile".into(), request.profile.clone()]);
    // Cargo calls the folder of its `dev` profile `debug`.
    let profile_folder = if request.profile == "dev" { "debug" } else { &request.profile };
    let folder = match request.sanitizer {
        Sanitizer::Off => target.join(profile_folder),
        Sanitizer::Address => {
            let host = crate::asan::host()?;
            // Watched kernels take minutes to compile for each level. What is watched here is the C interface; all levels
            // are watched by `cargo xtask asan`.
            let flags = format!("-Zsanitizer=address {ONE_LEVEL}");
            step = step.with("RUSTC_BOOTSTRAP", "1").with("RUSTFLAGS", flags);
            step.command.extend(["--target".into(), host.clone()]);
            target.join("asan").join(host).join(profile_folder)
        }
    };
    let target = if request.sanitizer == Sanitizer::Address { target.join("asan") } else { target };
    step.command.extend(["--target-dir".into(), target.display().to_string()]);
    step.run(&mut Counts::default())?;
    existing(&folder.join(LIBRARY))
}

/// `path`, if a file is there.
fn existing(path: &Path) -> Result<PathBuf, String> {
    if path.is_file() { Ok(path.to_owned()) } else { Err(format!("the build left no {}", path.display())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    // Oracle: the usage line.
    #[test]
    fn arguments_are_read() {
        let request = read(&words("--profile dev --out a/b --sanitize address")).unwrap();
        let wanted = Request { out: PathBuf::from("a/b"), profile: "dev".into(), sanitizer: Sanitizer::Address };
        assert_eq!(request, wanted);
        assert_eq!(read(&words("--out x")).unwrap().profile, "release");
    }

    #[test]
    fn bad_arguments_say_what_is_wanted() {
        for (line, part) in [
            ("", "--out DIR is missing"),
            ("--out", "--out wants a value"),
            ("--out x --fast", "unknown argument \"--fast\""),
            ("--out x --sanitize thread", "`address`, got \"thread\""),
        ] {
            let message = read(&words(line)).unwrap_err();
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
