//! What environment variables change: profiles and the log.

use std::fs;

use crate::support::{Mode, run, scratch};

// Oracle: the table in the program, one column for each profile.
#[test]
fn profiles_accept_what_they_say() {
    for profile in ["a2", "950", "permissive"] {
        let ended = run("profiles.cpp", Mode::Plain, &[profile], &[("POOLGRAD_PROFILE", profile)]);
        ended.expect("a plain run needs no checker").assert_passed();
    }
}

#[test]
fn the_default_profile_is_a2() {
    run("profiles.cpp", Mode::Plain, &["a2"], &[]).expect("a plain run needs no checker").assert_passed();
}

// Oracle: the levels as documented; a failing launch has one error, a launch that works one line of information.
#[test]
fn the_log_says_as_much_as_it_is_told() {
    let lines = |index: &str, level: &str| {
        let ended = run("index_out_of_plane.cpp", Mode::Plain, &[index], &[("POOLGRAD_LOG", level)])
            .expect("a plain run needs no checker");
        ended.errors.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("6", "off"), [""; 0]);
    assert_eq!(lines("6", "error").len(), 1);
    assert_eq!(lines("2", "error"), [""; 0]);
    let info = lines("2", "info");
    let launches: Vec<_> = info.iter().filter(|line| line.contains("aclnnAdaptiveMaxPool2dBackward")).collect();
    assert_eq!(launches.len(), 1, "{info:?}");
}

// Oracle: the codes as documented.
#[test]
fn configuration_files_are_read() {
    for (mode, name) in [(Mode::Plain, "config"), (Mode::AddressSanitizer, "config-asan")] {
        let folder = scratch().join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        run("config.cpp", mode, &[folder.to_str().expect("paths are plain")], &[])
            .expect("neither needs a checker")
            .assert_passed();
    }
}

// Oracle: the memory that the system counts for the process. Plain only: the checkers keep what was freed.
#[test]
fn nothing_grows() {
    run("growth.cpp", Mode::Plain, &[], &[("POOLGRAD_LOG", "off")])
        .expect("a plain run needs no checker")
        .assert_passed();
}
