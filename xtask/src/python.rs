//! The Python package's part of `cargo xtask test`: a wheel, a clean environment for it, and its tests there.
//!
//! The wheel is built as a user's `pip install .` builds it, but in the profile and with the compiler flags of the other
//! tests: so the core is not compiled once more, and overflow checks and debug assertions are on. What needs PyTorch runs in
//! a second environment, since PyTorch takes about 5 GB: where `POOLGRAD_TORCH_PYTHON` names an interpreter that has it, or
//! in CI, which installs it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::steps::{ALL_BUT_SSE4_2, Step};

/// Where environments and wheels are made, in the workspace's folder; everything below is made anew each time.
const CLEAN: &str = "target/python/clean";
const WITH_TORCH: &str = "target/python/torch";
const WHEELS: &str = "target/python/clean/wheels";

/// Makes the environment that the first argument names. With a second, packages of the interpreter that runs this can be
/// imported there too; if that interpreter stands in an environment of its own, only a path file leads to them.
const MAKE_ENVIRONMENT: &str = "\
import pathlib, sys, sysconfig, venv
folder, *shared = sys.argv[1:]
venv.create(folder, clear=True, with_pip=True, system_site_packages=bool(shared))
if shared:
    sites = [*pathlib.Path(folder).glob('lib*/python*/site-packages'), *pathlib.Path(folder).glob('Lib/site-packages')]
    for site in sites:
        (site / 'shared.pth').write_text(sysconfig.get_path('purelib') + '\\n')
";

/// The steps of the Python package, or the reason why there are none.
pub(crate) fn steps() -> Vec<Step> {
    let wanted = std::env::var("POOLGRAD_PYTHON").ok();
    let names = wanted.iter().map(String::as_str).chain(["python3", "python"]);
    let Some(python) = names.into_iter().find(|python| can_make_environments(python)) else {
        return vec![Step::skipped(
            "Python package",
            "no Python 3.10 or newer with `venv` is here; install one, or name it by POOLGRAD_PYTHON",
        )];
    };
    let torch = std::env::var("POOLGRAD_TORCH_PYTHON").ok();
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    plan(python, torch.as_deref(), in_ci)
}

/// The steps with this interpreter, and perhaps one that has PyTorch.
fn plan(python: &str, torch: Option<&str>, in_ci: bool) -> Vec<Step> {
    let tests = "repeat one test with `target/python/clean/bin/python -m pytest -k NAME`";
    let mut steps = vec![
        environment("Python environment", python, &[CLEAN]),
        pip("Python wheel", CLEAN, "wheel --no-deps --wheel-dir", &[WHEELS, "."])
            .with("MATURIN_PEP517_ARGS", "--profile dev")
            .with("RUSTFLAGS", ALL_BUT_SSE4_2),
        pip("Python wheel installed", CLEAN, "install --no-deps --no-index --find-links", &[WHEELS, "poolgrad"]),
        pip("Python test tools", CLEAN, "install --requirement", &["python/tests/requirements.txt"]),
        module("Python lints", CLEAN, "ruff check --quiet .", "mend the lines above"),
        module(
            "Python format",
            CLEAN,
            "ruff format --check --quiet .",
            "run `target/python/clean/bin/ruff format .`",
        ),
        module("Python tests", CLEAN, "pytest -q -rs", tests),
    ];
    let name = "Python tests with PyTorch";
    if torch.is_none() && !in_ci {
        let reason = "set POOLGRAD_TORCH_PYTHON to an interpreter that has PyTorch, or CI=true to have it installed \
                      (about 5 GB)";
        steps.push(Step::skipped(name, reason));
        return steps;
    }
    let made = match torch {
        Some(torch) => environment("PyTorch environment", torch, &[WITH_TORCH, "shared"]),
        None => environment("PyTorch environment", python, &[WITH_TORCH]),
    };
    steps.push(made);
    // The interpreter that is shared may have the package already, in another version.
    let wheel = ["poolgrad", "--no-deps", "--no-index", "--ignore-installed"];
    steps.push(pip("wheel beside PyTorch", WITH_TORCH, "install --find-links", &[&[WHEELS], &wheel[..]].concat()));
    let tools = ["python/tests/requirements.txt", "--requirement", "python/tests/pytorch/requirements.txt"];
    // An interpreter that has PyTorch keeps the version it has.
    let packages = if torch.is_some() { tools.to_vec() } else { [&tools[..], &["torch==2.15.0"]].concat() };
    steps.push(pip("test tools beside PyTorch", WITH_TORCH, "install --requirement", &packages));
    steps.push(module("Python types", WITH_TORCH, "mypy", "mend the lines above"));
    let tests = "repeat one test with `target/python/torch/bin/python -m pytest -k NAME`";
    steps.push(module(name, WITH_TORCH, "pytest -q -rs python/tests/pytorch", tests));
    steps
}

/// Whether this interpreter is new enough and can make environments with pip.
fn can_make_environments(python: &str) -> bool {
    let program = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let quietly = Command::new(python).args(["-c", program]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quietly.is_ok_and(|status| status.success())
}

fn environment(name: &'static str, python: &str, arguments: &[&str]) -> Step {
    let command = [&[python, "-c", MAKE_ENVIRONMENT], arguments].concat();
    Step::program(name, &command, "this interpreter cannot make virtual environments: name another")
}

/// A step that runs pip in an environment: `words` without quoting, then `arguments`.
fn pip(name: &'static str, folder: &str, words: &str, arguments: &[&str]) -> Step {
    let mut step = module(name, folder, "pip --quiet --disable-pip-version-check", "pip needs a package index");
    step.command.extend(words.split_whitespace().chain(arguments.iter().copied()).map(str::to_owned));
    step
}

/// A step that runs a module of an environment's, with its arguments given as one line without quoting.
fn module(name: &'static str, folder: &str, words: &str, advice: &'static str) -> Step {
    let bin = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = crate::workspace().join(Path::new(folder).join(bin));
    let python = python.to_string_lossy().into_owned();
    let command: Vec<&str> = [python.as_str(), "-m"].into_iter().chain(words.split_whitespace()).collect();
    Step::program(name, &command, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[Step]) -> Vec<&'static str> {
        steps.iter().map(|step| step.name).collect()
    }

    // Oracle: the order in which each step finds what the one before it made.
    #[test]
    fn torch_comes_by_its_own_interpreter_or_in_ci() {
        let without = plan("python3", None, false);
        assert_eq!(
            names(&without),
            [
                "Python environment",
                "Python wheel",
                "Python wheel installed",
                "Python test tools",
                "Python lints",
                "Python format",
                "Python tests",
                "Python tests with PyTorch",
            ]
        );
        assert!(without[7].reason.is_some(), "PyTorch's tests are skipped in words");
        let (in_ci, by_name) = (plan("python3", None, true), plan("python3", Some("/opt/torch/python"), false));
        let last = |steps: &[Step]| steps[steps.len() - 1].command.last().cloned();
        for steps in [&in_ci, &by_name] {
            assert_eq!(last(steps).as_deref(), Some("python/tests/pytorch"));
        }
        let mentions =
            |steps: &[Step], word: &str| steps.iter().any(|step| step.command.iter().any(|it| it == word));
        assert!(mentions(&in_ci, "torch==2.15.0") && !mentions(&by_name, "torch==2.15.0"));
        assert!(mentions(&by_name, "/opt/torch/python") && mentions(&by_name, "shared"));
    }

    // Oracle: a program that is none.
    #[test]
    fn an_interpreter_that_is_not_there_is_no_interpreter() {
        assert!(!can_make_environments("no-such-program-of-poolgrad"));
    }
}
