//! Commands and all that they print. Oracle: the files in `tests/cmd`, which hold both.

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use support::{poolgrad, poolgrad_with};

#[test]
fn commands_print_what_is_written_down() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").env("COLUMNS", "100");
}

/// Oracle: the shell's convention: a reader who has seen enough is no failure.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let binary = env!("CARGO_BIN_EXE_poolgrad");
    for arguments in ["info", "info --json", "--help", "check 'max c1 in5 k3'"] {
        // `exec 3>&1` would keep the pipe open; `true` closes it at once, before the binary has started to print.
        let script = format!("{{ sleep 0.2; {binary} {arguments}; echo $? >&2; }} | true");
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "0\n", "{arguments}");
    }
}

/// Oracle: a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn lost_results_are_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let binary = env!("CARGO_BIN_EXE_poolgrad");
    let output = Command::new(binary).arg("info").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: standard output: "));
}

#[test]
fn problems_come_from_files_and_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let list = "# two problems\nmax n1c2 in6x8 k3 s2 p1\n\nadaptive_avg_grad c3 in5x7x9 out2x3x4 f16 # one more\n";
    std::fs::write(folder.path().join("list.txt"), list).unwrap();
    let outcome = poolgrad(folder.path(), "check list.txt --isa all --threads 1,3").passed();
    assert_eq!(outcome.stdout, "2 passed, 0 failed\n");

    let mut child = Command::new(env!("CARGO_BIN_EXE_poolgrad"))
        .args(["check", "-", "max c1 in5 k3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"3 passed, 0 failed\n");

    std::fs::write(folder.path().join("list.txt"), "max c1 in5 k3\nmax c1 in5 k3 f9\n").unwrap();
    let message = poolgrad(folder.path(), "check list.txt").failed(1);
    assert!(message.starts_with("list.txt: line 2: wanted ") && message.ends_with(", got f9"), "{message}");
    std::fs::write(folder.path().join("list.txt"), [0xff, 0xfe]).unwrap();
    let message = poolgrad(folder.path(), "check list.txt").failed(1);
    assert!(message.starts_with("list.txt: "), "{message}");
}

/// Oracle: JSON's own parser.
#[test]
fn checks_and_facts_come_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = poolgrad_with(folder.path(), &["check", "max c1 in2 k5", "max c1 in5 k3", "--json"]);
    assert_eq!(outcome.code, Some(1));
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&value["passed"], &value["failed"]), (&1.into(), &1.into()));
    assert_eq!(value["failures"][0]["reproduce"], "poolgrad check 'max c1 in2 k5'");

    let outcome = poolgrad(folder.path(), "info --json").passed();
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(value["isa"], poolgrad::Isa::best().name());
    assert!(value["threads"].as_u64() >= Some(1));
}
