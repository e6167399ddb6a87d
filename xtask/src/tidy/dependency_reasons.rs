//! Rule: every dependency in a manifest has a comment above it that says why it is there.

use super::Finding;
use super::tree::{Tree, numbered};

/// Whether a table of a manifest lists dependencies.
fn lists_dependencies(table: &str) -> bool {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .any(|kind| table == *kind || table.ends_with(&format!(".{kind}")))
}

/// Whether a line of a dependency table names a crate of this workspace, or one whose reason stands in the
/// workspace's own manifest.
fn is_explained_elsewhere(line: &str) -> bool {
    line.contains("path =") || line.contains("workspace = true")
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending("Cargo.toml") {
        let (mut in_list, mut depth, mut above) = (false, 0usize, "");
        for (line, text) in numbered(file.text.lines().map(str::trim)) {
            // Inside a value that goes over several lines.
            let inside = depth > 0;
            let table = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| !inside);
            let entry = match table {
                Some(table) => {
                    in_list = lists_dependencies(table);
                    // `[dependencies.name]` is an entry by itself.
                    table.rsplit_once('.').filter(|(list, _)| lists_dependencies(list)).map(|(_, name)| name)
                }
                None if in_list && !inside && !text.starts_with('#') => {
                    text.split_once('=').map(|(name, _)| name.trim())
                }
                None => None,
            };
            if table.is_none() && !text.starts_with('#') {
                let opened = text.matches(['[', '{']).count();
                depth = (depth + opened).saturating_sub(text.matches([']', '}']).count());
            }
            if let Some(name) = entry
                && !above.starts_with('#')
                && !is_explained_elsewhere(text)
            {
                let remedy = format!("say in a comment above it what `{name}` does for us that 50 lines could not");
                findings.push(Finding::new(&file.path, line, remedy));
            }
            above = text;
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle: the places marked by hand.
    #[test]
    fn dependencies_without_a_reason_are_found() {
        let text = "[package]
name = \"a\"
[dependencies]
# Half types.
half = \"2\"
rayon = \"1\"
poolgrad = { path = \"../poolgrad\" }
poolgrad-check.workspace = true
# Several lines.
clap = { version = \"4\", features = [
    \"derive\",
] }
[features]
default = [\"rayon\"]
[target.'cfg(unix)'.dev-dependencies]
libc = \"0.2\"
[build-dependencies.cc]
version = \"1\"
# C programs.
[dev-dependencies.proptest]
version = \"1\"
[workspace.dependencies]
serde = \"1\"
";
        assert_eq!(
            places(check, &[("crates/a/Cargo.toml", text)]),
            [6, 16, 17, 23].map(|line| format!("crates/a/Cargo.toml:{line}"))
        );
    }
}
