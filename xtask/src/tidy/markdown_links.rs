//! Rule: links between documents lead to files that exist.

use super::Finding;
use super::tree::{Tree, numbered};

/// The targets of the inline links and pictures of a line, and of a reference definition such as `[a]: b`.
fn targets(line: &str) -> Vec<&str> {
    // Between backquotes stands code, which may look like a link.
    let mut found: Vec<&str> = Vec::new();
    for prose in line.split('`').step_by(2) {
        let inline = prose.split("](").skip(1);
        found.extend(inline.filter_map(|rest| rest.split([')', ' ']).next()));
    }
    if let Some((_, target)) = line.split_once("]: ").filter(|_| line.starts_with('[')) {
        found.extend(target.split_whitespace().next());
    }
    found
}

/// `target` as seen from the folder of `path`, or `None` if it leaves the workspace.
fn resolve(path: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        let mut in_block = false;
        for (line, text) in numbered(file.text.lines()) {
            if text.trim_start().starts_with("```") {
                in_block = !in_block;
            }
            if in_block {
                continue;
            }
            for target in targets(text) {
                // Other sites and places inside a document are not looked up.
                let target = target.split('#').next().unwrap_or("");
                if target.is_empty() || target.contains(':') {
                    continue;
                }
                if !resolve(&file.path, target).is_some_and(|path| tree.has(&path)) {
                    let remedy = format!("the link leads to `{target}`, which does not exist");
                    findings.push(Finding::new(&file.path, line, remedy));
                }
            }
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
    fn dead_links_are_found() {
        let text = "[a](b.md) ![p](../img/x.png \"title\")
[a](c.md)
[web](https://example.org/c.md) [mail](mailto:a@b) [here](#top) [there](b.md#part)
[folder](../img) `[code](no.md)` [out](../../x.md)
```
[block](no.md)
```
[ref]: gone.md
";
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("img/x.png", "")];
        assert_eq!(places(check, &files), ["docs/a.md:2", "docs/a.md:4", "docs/a.md:8"]);
    }
}
