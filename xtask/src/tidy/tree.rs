//! The files of the workspace, read once: what every rule looks at.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::mask::{Masked, mask};

/// The workspace: the names of all its files, and the text of those that people write.
pub(super) struct Tree {
    paths: BTreeSet<String>,
    files: Vec<File>,
}

/// A file that people write.
pub(super) struct File {
    /// From the workspace's folder, with `/` between names.
    pub(super) path: String,
    pub(super) text: String,
    /// Code and comments of a Rust file; empty for other files.
    pub(super) rust: Masked,
}

/// Endings of the names of files that people write.
const TEXT_ENDINGS: &[&str] = &[
    ".c",
    ".cpp",
    ".h",
    ".md",
    ".py",
    ".pyi",
    ".rs",
    ".sh",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
    "/run",
    ".gitignore",
    ".gitattributes",
];

/// What people write, wherever it is kept, except for copies of foreign material.
fn is_text(path: &str) -> bool {
    TEXT_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

impl Tree {
    /// The workspace in `folder`: every file that git knows or could be asked to add.
    ///
    /// # Errors
    /// If git does not answer, or a file cannot be read as UTF-8 text.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(folder)
            .output()
            .map_err(|error| format!("`git ls-files` did not start ({error}); tidy needs git to list the files"))?;
        if !output.status.success() {
            return Err(format!(
                "`git ls-files` failed: {}; tidy needs a git checkout to list the files",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut contents = Vec::new();
        for path in list.split('\0').filter(|path| !path.is_empty()) {
            let place = folder.join(path);
            // Git still lists a file that was deleted but not yet committed.
            if !place.is_file() {
                continue;
            }
            let text = if is_text(path) {
                std::fs::read_to_string(&place).map_err(|error| format!("{path}: {error}"))?
            } else {
                String::new()
            };
            contents.push((path.to_owned(), text));
        }
        Ok(Self::from_contents(contents))
    }

    /// A tree of these files, for the tests of rules.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self::from_contents(files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())))
    }

    fn from_contents(contents: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut tree = Self { paths: BTreeSet::new(), files: Vec::new() };
        for (path, text) in contents {
            let mut folder = path.as_str();
            while let Some((parent, _)) = folder.rsplit_once('/') {
                tree.paths.insert(parent.to_owned());
                folder = parent;
            }
            if is_text(&path) {
                let rust = if path.ends_with(".rs") { mask(&text) } else { Masked::default() };
                let path = path.clone();
                tree.files.push(File { path, text, rust });
            }
            tree.paths.insert(path);
        }
        tree
    }

    /// The number of files that rules look into.
    pub(super) fn n_files(&self) -> usize {
        self.files.len()
    }

    /// Whether the workspace has a file or folder of this name.
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    /// Every file that people write.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The files whose names end so.
    pub(super) fn ending(&self, ending: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(ending))
    }

    /// The Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.ending(".rs")
    }
}

/// The lines of `lines` with their numbers, counted from 1.
pub(super) fn numbered<T>(lines: impl IntoIterator<Item = T>) -> impl Iterator<Item = (usize, T)> {
    (1..).zip(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: the two files that are surely there.
    #[test]
    fn the_workspace_is_read() {
        let tree = Tree::read(&crate::workspace()).unwrap();
        assert!(tree.has("xtask/src/tidy/tree.rs") && tree.has("xtask/src/tidy"));
        assert!(tree.rust().any(|file| file.path == "crates/poolgrad/src/lib.rs"));
        assert!(!tree.has("target"));
    }

    #[test]
    fn folders_are_known_by_their_files() {
        let tree = Tree::of(&[("a/b/c.png", "")]);
        assert!(tree.has("a/b/c.png") && tree.has("a/b") && tree.has("a") && !tree.has("b"));
        assert_eq!(tree.n_files(), 0);
    }
}
