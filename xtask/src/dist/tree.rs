//! The install tree: which file goes where, and under which other names it can be found.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::LIBRARY;

/// Names under which programs link the library or open it at run time. Each is a link to the one library, so that a
/// process that comes by several of them still loads one copy with one set of streams and tensors.
const LIBRARY_NAMES: &[&str] = &[
    // The runtime: the umbrella that build lines name, and the part of it that newer installs offer alone.
    "libascendcl.so",
    "libacl_rt.so",
    // Tensors, arrays, executors.
    "libnnopbase.so",
    // Operators: the name of older installs, then the two parts that stand on every newer link line.
    "libopapi.so",
    "libopapi_nn.so",
    "libopapi_math.so",
    // Named by build lines of programs that also use graph operators.
    "libacl_op_compiler.so",
    "libacl_op_executor.so",
    "libacl_mdl.so",
];

/// Other paths to the same folders, as build scripts of different ages spell them. `{arch}` is the processor's name.
const FOLDER_LINKS: &[(&str, &str)] = &[
    ("{arch}-linux/include", "../include"),
    ("{arch}-linux/lib64", "../lib64"),
    ("{arch}-linux/devlib", "../lib64"),
    ("runtime/include", "../include"),
    ("runtime/lib64", "../lib64"),
    ("opp/lib64", "../lib64"),
];

/// Files that are copied with `@ROOT@` replaced by the tree's path: source below `crates/poolgrad-acl/dist`.
const TEXTS: &[&str] =
    &["set_env.sh", "README.md", "example/CMakeLists.txt", "example/adaptive_max_pool3d_backward.cpp"];

/// Fills `out` with headers, the `library` under all its names, scripts and the example.
///
/// # Errors
/// If `out` holds something that is no such tree, or a file cannot be read or written.
pub(super) fn lay_out(out: &Path, library: &Path, workspace: &Path) -> Result<(), String> {
    let source = workspace.join("crates/poolgrad-acl");
    refuse_foreign(out)?;
    place(&out.join("lib64").join(LIBRARY), &read(library)?)?;
    for name in LIBRARY_NAMES {
        link(&out.join("lib64").join(name), LIBRARY)?;
        // Cross builds link against copies without code; here the library itself serves.
        link(&out.join("lib64/stub").join(name), &format!("../{LIBRARY}"))?;
    }
    for (path, target) in FOLDER_LINKS {
        link(&out.join(path.replace("{arch}", std::env::consts::ARCH)), target)?;
    }
    let headers = files_below(&source.join("include"))?;
    remove_others(&out.join("include"), &headers)?;
    for header in &headers {
        place(&out.join("include").join(header), &read(&source.join("include").join(header))?)?;
    }
    for name in TEXTS {
        let path = source.join("dist").join(name);
        let text = String::from_utf8(read(&path)?).map_err(|_| format!("{} is no text", path.display()))?;
        place(&out.join(name), text.replace("@ROOT@", &out.display().to_string()).as_bytes())?;
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        place(&out.join(name), &read(&workspace.join(name))?)?;
    }
    Ok(())
}

/// An error if `out` holds files but not a tree of ours: a mistyped folder shall not be littered.
fn refuse_foreign(out: &Path) -> Result<(), String> {
    let Ok(mut entries) = fs::read_dir(out) else {
        return if out.exists() { Err(format!("{} is not a folder", out.display())) } else { Ok(()) };
    };
    if entries.next().is_none() || out.join("lib64").join(LIBRARY).exists() {
        return Ok(());
    }
    Err(format!("{} holds other files; name a folder that is new, empty, or an earlier tree", out.display()))
}

/// Writes a file unless it is there already. The new file takes the old one's place in one step, so that a program
/// that runs from the tree keeps the library that it has loaded.
fn place(path: &Path, contents: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| describe(folder, &error))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let draft = path.with_file_name(name);
    fs::write(&draft, contents).map_err(|error| describe(&draft, &error))?;
    fs::rename(&draft, path).map_err(|error| describe(path, &error))
}

/// Makes `path` a link to `target` unless it is one already.
fn link(path: &Path, target: &str) -> Result<(), String> {
    if fs::read_link(path).is_ok_and(|present| present == Path::new(target)) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| describe(folder, &error))?;
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path).map_err(|error| describe(path, &error))?;
    }
    symlink(target, path).map_err(|error| describe(path, &error))
}

/// The files below `folder`, as paths from it, sorted.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let path = folder.join(&inner);
        for entry in fs::read_dir(&path).map_err(|error| describe(&path, &error))? {
            let entry = entry.map_err(|error| describe(&path, &error))?;
            let name = inner.join(entry.file_name());
            if entry.path().is_dir() { folders.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    Ok(found)
}

/// Removes what an earlier run left in `folder` and this one will not replace: a header that has gone must not
/// linger and compile.
fn remove_others(folder: &Path, wanted: &[PathBuf]) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    for name in files_below(folder)?.iter().filter(|name| !wanted.contains(name)) {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(|error| describe(&path, &error))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| describe(path, &error))
}

fn describe(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, gone when dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("xtask-dist-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            // Left-overs in the temporary folder harm nobody.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    // Oracle: the files that the test itself put there.
    #[test]
    fn a_folder_with_other_files_is_refused_and_kept() {
        let scratch = Scratch::new("foreign");
        fs::write(scratch.0.join("thesis.txt"), "years of work").unwrap();
        let message = lay_out(&scratch.0, Path::new("unused"), &crate::workspace()).unwrap_err();
        assert!(message.contains("holds other files"), "{message}");
        assert_eq!(files_below(&scratch.0).unwrap(), [Path::new("thesis.txt")]);
    }

    #[test]
    fn a_second_run_renews_the_library_and_drops_old_headers() {
        let scratch = Scratch::new("again");
        let (out, library) = (scratch.0.join("tree"), scratch.0.join("built.so"));
        for contents in ["first", "second"] {
            fs::write(&library, contents).unwrap();
            lay_out(&out, &library, &crate::workspace()).unwrap();
            assert_eq!(fs::read_to_string(out.join("lib64/libopapi_nn.so")).unwrap(), contents);
            assert_eq!(fs::read_to_string(out.join("opp/lib64/stub/libascendcl.so")).unwrap(), contents);
            assert!(!out.join("include/acl/gone.h").exists());
            fs::write(out.join("include/acl/gone.h"), "").unwrap();
        }
    }

    #[test]
    fn the_script_knows_where_the_tree_is() {
        let scratch = Scratch::new("script");
        let (out, library) = (scratch.0.join("tree"), scratch.0.join("built.so"));
        fs::write(&library, "").unwrap();
        lay_out(&out, &library, &crate::workspace()).unwrap();
        for name in TEXTS {
            assert!(!fs::read_to_string(out.join(name)).unwrap().contains("@ROOT@"), "{name}");
        }
        assert!(fs::read_to_string(out.join("set_env.sh")).unwrap().contains(&out.display().to_string()));
    }
}
