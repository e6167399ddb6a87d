//! The installed tree itself: its paths, its script, its example.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{finish, has_program, scratch, skipped, tree};

// Oracle: the places where build lines of CANN programs look.
#[test]
fn everything_is_where_build_lines_look() {
    for path in [
        "include/acl/acl.h",
        "include/acl/error_codes/rt_error_codes.h",
        "include/aclnn/acl_meta.h",
        "include/aclnn/aclnn_base.h",
        "include/aclnnop/aclnn_util.h",
        "include/aclnnop/aclnn_max_pool3d_with_argmax_backward.h",
        "include/aclnnop/level2/aclnn_adaptive_avg_pool3d_backward.h",
        "lib64/libascendcl.so",
        "lib64/libacl_rt.so",
        "lib64/libnnopbase.so",
        "lib64/libopapi.so",
        "lib64/libopapi_nn.so",
        "lib64/libopapi_math.so",
        "lib64/libacl_op_compiler.so",
        "lib64/stub/libascendcl.so",
        "opp/lib64/libopapi_nn.so",
        "runtime/lib64/stub/libascendcl.so",
        "set_env.sh",
        "README.md",
        "LICENSE-MIT",
    ] {
        assert!(tree().join(path).is_file(), "{path}");
    }
    let platform = tree().join(format!("{}-linux", std::env::consts::ARCH));
    assert!(platform.join("lib64/libnnopbase.so").is_file() && platform.join("include/acl/acl.h").is_file());
}

/// What a shell prints for the variables that `set_env.sh` sets, after sourcing it in this way.
fn variables(shell: &str, lines: &str, folder: &Path) -> Vec<String> {
    let print = "printf '%s\\n' \"$ASCEND_HOME_PATH\" \"$ASCEND_TOOLKIT_HOME\" \"$ASCEND_OPP_PATH\" \
                 \"$ASCEND_CUSTOM_PATH\" \"$ASCEND_AICPU_PATH\" \"$LD_LIBRARY_PATH\"";
    let ended = Command::new(shell)
        .args(["-euc", &format!("{lines}\n{print}")])
        .current_dir(folder)
        .env_remove("ASCEND_HOME_PATH")
        .env("LD_LIBRARY_PATH", "/elsewhere")
        .output()
        .expect("the shell starts");
    assert!(ended.status.success(), "{shell}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).expect("paths are plain").lines().map(str::to_owned).collect()
}

/// What they should be for a tree at this place.
fn wanted(root: &Path) -> Vec<String> {
    let root = root.display();
    let library_path = format!("{root}/lib64:/elsewhere");
    let plain = root.to_string();
    vec![plain.clone(), plain.clone(), format!("{root}/opp"), plain.clone(), plain, library_path]
}

// Oracle: the variables as CANN's own script sets them.
#[test]
fn the_script_works_from_anywhere_and_twice() {
    let script = format!(". '{}/set_env.sh'", tree().display());
    for shell in ["sh", "bash"] {
        for folder in [Path::new("/"), tree(), &tree().join("lib64")] {
            assert_eq!(variables(shell, &script, folder), wanted(tree()), "{shell}");
            assert_eq!(variables(shell, &format!("{script}\n{script}"), folder), wanted(tree()), "{shell} twice");
        }
    }
    assert_eq!(variables("bash", "source set_env.sh", tree()), wanted(tree()), "a relative path");
}

#[test]
fn a_tree_that_was_moved_still_works_in_bash_and_says_so_in_sh() {
    let moved = scratch().join("moved tree");
    fs::create_dir_all(moved.join("lib64")).expect("a folder can be made");
    fs::write(moved.join("lib64/libascendcl.so"), "").expect("a file can be made");
    let text = fs::read_to_string(tree().join("set_env.sh")).expect("the script is text");
    let text = text.replace(&tree().display().to_string(), "/no/such/tree");
    fs::write(moved.join("set_env.sh"), text).expect("a file can be made");
    assert_eq!(variables("bash", ". ./set_env.sh", &moved), wanted(&moved));

    let ended = Command::new("sh").args(["-c", ". ./set_env.sh"]).current_dir(&moved).output().expect("sh starts");
    let shell_is_bash = ended.status.success();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(shell_is_bash || complaint.contains("no lib64/libascendcl.so in /no/such/tree"), "{complaint}");
}

// Oracle: CMake, and the gradient at the offset that the example names.
#[test]
fn the_example_builds_with_cmake() {
    if !has_program("cmake") {
        skipped("the CMake example: cmake is not installed");
        return;
    }
    let folder = scratch().join("cmake-example");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an earlier build can be removed");
    }
    let lines = format!(
        ". '{}/set_env.sh'\ncmake -S \"$ASCEND_HOME_PATH/example\" -B '{}' -DCMAKE_CXX_COMPILER=g++ \
         -DCMAKE_SKIP_RPATH=TRUE\ncmake --build '{1}'\n'{1}/adaptive_max_pool3d_backward'",
        tree().display(),
        folder.display()
    );
    let mut command = Command::new("bash");
    command.args(["-euc", &lines]);
    let ended = finish(command, &scratch().join("cmake"));
    assert!(ended.status == Some(0) && ended.output.contains("gradInput[5] = 2.5"), "{ended}");
}
