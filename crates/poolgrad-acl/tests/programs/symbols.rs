//! What the library exports is what the headers declare is what `docs/acl.md` lists.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::headers::headers;
use crate::support::{Mode, finish, run, scratch, tree, workspace};

/// The functions that the library exports.
fn exported() -> BTreeSet<String> {
    let library = tree().join("lib64/libpoolgrad_acl.so");
    let listing = Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=posix"])
        .arg(&library)
        .output()
        .expect("nm starts");
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    let text = String::from_utf8(listing.stdout).expect("names are plain");
    text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// The functions that headers declare: what stands between a visibility macro and a parenthesis.
fn declared() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in headers() {
        let text = fs::read_to_string(tree().join("include").join(name)).expect("headers are text");
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let code = lines.collect::<Vec<_>>().join(" ");
        for marker in ["ACL_FUNC_VISIBILITY ", "ACLNN_API "] {
            for declaration in code.split(marker).skip(1) {
                let head = declaration.split('(').next().unwrap_or_default();
                let function = head.rsplit([' ', '*']).next().unwrap_or_default();
                found.insert(function.to_owned());
            }
        }
    }
    found
}

/// The functions in the first column of the tables of the document.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(workspace().join("docs/acl.md")).expect("docs/acl.md is there");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.to_lowercase().starts_with("acl"))
        .collect()
}

/// A test failure that names what one list has and the other lacks.
fn assert_same(what: [&str; 2], lists: [&BTreeSet<String>; 2]) {
    let more: Vec<_> = lists[0].difference(lists[1]).collect();
    let less: Vec<_> = lists[1].difference(lists[0]).collect();
    assert!(more.is_empty() && less.is_empty(), "only {}: {more:?}; only {}: {less:?}", what[0], what[1]);
}

// Oracle: each list for the others.
#[test]
fn exports_are_what_headers_declare() {
    let declared = declared();
    assert!(declared.len() > 100, "{declared:?}");
    assert_same(["exported", "declared"], [&exported(), &declared]);
}

#[test]
fn documents_list_what_headers_declare() {
    assert_same(["documented", "declared"], [&documented(), &declared()]);
}

// Oracle: the words of the programs. What no program calls, no test has tried.
#[test]
fn every_function_is_called_by_some_program() {
    let mut words = BTreeSet::new();
    for entry in fs::read_dir(workspace().join("crates/poolgrad-acl/tests/c")).expect("there are programs") {
        let text = fs::read_to_string(entry.expect("it can be read").path()).expect("programs are text");
        words.extend(text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned));
    }
    let missing: Vec<_> = declared().into_iter().filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The operators, from the names of their first phases.
fn operators() -> Vec<String> {
    let suffix = "GetWorkspaceSize";
    declared().iter().filter_map(|name| name.strip_suffix(suffix)).map(str::to_owned).collect()
}

// Oracle: the eight operators of this library; dlsym.
#[test]
fn every_operator_can_be_opened_at_run_time() {
    let operators = operators();
    assert_eq!(operators.len(), 8, "{operators:?}");
    let arguments: Vec<&str> = operators.iter().map(String::as_str).collect();
    for mode in [Mode::Plain, Mode::Valgrind] {
        if let Some(ended) = run("dlopen.c", mode, &arguments, &[]) {
            ended.assert_passed();
        }
    }
}

// Oracle: the loader. A program that names several of the libraries still has one copy in memory.
#[test]
fn all_names_are_one_library() {
    let folder = tree().join("lib64");
    for entry in fs::read_dir(&folder).expect("the tree has libraries") {
        let path = entry.expect("the tree can be read").path();
        if path.extension().is_some_and(|ending| ending == "so") {
            assert_eq!(path.canonicalize().expect("no link is broken"), folder.join("libpoolgrad_acl.so"));
        }
    }
}

// Oracle: the loader. Threads of the library must not be left without their code.
#[test]
fn the_library_can_be_closed() {
    for mode in [Mode::Plain, Mode::Valgrind] {
        if let Some(ended) = run("dlclose.c", mode, &[], &[]) {
            ended.assert_passed();
        }
    }
}

// Oracle: the loader. Libraries of CANN are separate files, so a program that was linked with them names each.
#[test]
fn programs_that_were_linked_elsewhere_run_here() {
    let elsewhere = scratch().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder can be made");
    let names = ["ascendcl", "nnopbase", "opapi_math", "opapi_nn"];
    for name in names {
        let library = elsewhere.join(format!("lib{name}.so"));
        fs::copy(tree().join("lib64/libpoolgrad_acl.so"), library).expect("a library can be copied");
    }
    let program = scratch().join("linked-elsewhere");
    let ended = Command::new("g++")
        .arg(tree().join("example/adaptive_max_pool3d_backward.cpp"))
        .arg(format!("-I{}", tree().join("include").display()))
        .arg(format!("-L{}", elsewhere.display()))
        .arg("-Wl,--no-as-needed")
        .args(names.map(|name| format!("-l{name}")))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("g++ starts");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", tree().join("lib64"));
    let ended = finish(command, &program);
    assert!(ended.status == Some(0) && ended.output.contains("gradInput[5] = 2.5"), "{ended}");
    let listing = Command::new("readelf").arg("-d").arg(&program).output().expect("readelf starts");
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert!(names.iter().all(|name| listing.contains(&format!("[lib{name}.so]"))), "{listing}");
}
