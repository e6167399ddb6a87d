//! The commands in the tree's README and in `docs/acl.md` are run as they stand, but for the folder they fill.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{
    Ended, UNOPTIMISED, build_as_documented, finish, has_program, scratch, skipped, tree, workspace,
};

/// The shell blocks of a document, in order.
fn shell_blocks(text: &str) -> Vec<String> {
    text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// Runs the blocks in one shell in this folder, as a reader would; those that need CMake only where it is.
fn follow(document: &Path, folder: &Path) -> Ended {
    let text = fs::read_to_string(document).expect("the document is text");
    let mut blocks = shell_blocks(&text);
    assert!(blocks.len() >= 2, "{} has commands", document.display());
    if !has_program("cmake") {
        skipped(&format!("the CMake commands of {}: cmake is not installed", document.display()));
        blocks.retain(|block| !block.contains("cmake"));
    }
    // In a folder of the tests': a reader's tree keeps the kernels of all levels.
    let commands = blocks.concat().replace("target/cann", "target/one-level/cann");
    let mut command = Command::new("bash");
    command.args(["-euc", &commands]).current_dir(folder).envs(UNOPTIMISED);
    for variable in ["ASCEND_HOME_PATH", "LD_LIBRARY_PATH", "POOLGRAD_LOG", "POOLGRAD_INDEX_POLICY"] {
        command.env_remove(variable);
    }
    finish(command, &scratch().join("follow"))
}

// Oracle: the number that the example names.
#[test]
fn the_readme_of_the_tree_can_be_followed() {
    let folder = scratch().join("follow-readme");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an earlier run can be removed");
    }
    fs::create_dir_all(&folder).expect("a folder can be made");
    let ended = follow(&tree().join("README.md"), &folder);
    assert!(ended.status == Some(0) && ended.output.contains("gradInput[5] = 2.5"), "{ended}");
}

#[test]
fn the_document_can_be_followed() {
    // What still takes long then has hung.
    build_as_documented();
    let ended = follow(&workspace().join("docs/acl.md"), &workspace());
    assert!(ended.status == Some(0) && ended.output.contains("gradInput[5] = 2.5"), "{ended}");
}
