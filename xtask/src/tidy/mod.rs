//! `cargo xtask tidy`: the house rules that no compiler knows, each a small file with its own tests.
//!
//! A rule is a function from the [`Tree`] to the lines that break it. The [table](RULES) is the whole list.

mod architecture;
mod dependency_reasons;
mod file_size;
mod first_sentence;
mod forbid_unsafe;
mod macro_control;
mod markdown_links;
mod mask;
mod room_order;
mod safety_comments;
mod trailing_space;
mod tree;
mod unfinished;
mod unsafe_addresses;

use std::fmt;

use crate::Failure;
use tree::Tree;

/// A house rule.
struct Rule {
    name: &'static str,
    reason: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// A line that breaks a rule, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    remedy: String,
}

/// Every rule.
const RULES: &[Rule] = &[
    Rule {
        name: "unsafe-addresses",
        reason: "who audits memory safety has to know which files to read, and that there are no others",
        check: unsafe_addresses::check,
    },
    Rule {
        name: "safety-comments",
        reason: "an unsafe block is a claim; the proof has to stand beside it",
        check: safety_comments::check,
    },
    Rule {
        name: "forbid-unsafe",
        reason: "rooms of arithmetic let the compiler refuse unsafe code, so that no later edit brings it in",
        check: forbid_unsafe::check,
    },
    Rule {
        name: "architecture",
        reason: "code for one processor is code that most machines never test; it has two addresses",
        check: architecture::check,
    },
    Rule {
        name: "room-order",
        reason: "a room that imports only from rooms above it can be read, and changed, without those below",
        check: room_order::check,
    },
    Rule {
        name: "file-size",
        reason: "a file has one subject; past 500 lines it has two",
        check: file_size::check,
    },
    Rule {
        name: "first-sentence",
        reason: "the first sentence of a file says what lives in it",
        check: first_sentence::check,
    },
    Rule {
        name: "macro-control",
        reason: "macros repeat and do not decide: a jump or a loop in a macro is invisible where it is used",
        check: macro_control::check,
    },
    Rule {
        name: "unfinished",
        reason: "what is merged is finished; what is not finished is an issue, where people look for it",
        check: unfinished::check,
    },
    Rule {
        name: "dependency-reasons",
        reason: "a dependency is a guest: its line says what it does that fifty lines of ours could not",
        check: dependency_reasons::check,
    },
    Rule {
        name: "markdown-links",
        reason: "a link that leads nowhere costs every reader a search",
        check: markdown_links::check,
    },
    Rule {
        name: "trailing-space",
        reason: "space that nobody sees makes differences that nobody meant",
        check: trailing_space::check,
    },
];

/// Checks the workspace and prints every line that breaks a rule; `--rules` lists the rules instead.
///
/// # Errors
/// If a rule is broken, the files cannot be read, or an argument is unknown.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => {}
        [option] if option == "--rules" => {
            for rule in RULES {
                println!("{:<18} {}", rule.name, rule.reason);
            }
            return Ok(());
        }
        _ => return Err(format!("takes nothing or `--rules`, got {arguments:?}").into()),
    }
    let tree = Tree::read(&crate::workspace())?;
    let mut n_findings = 0;
    for rule in RULES {
        for finding in (rule.check)(&tree) {
            println!("{}", Report { rule, finding });
            n_findings += 1;
        }
    }
    if n_findings > 0 {
        return Err(format!("{n_findings} lines break a house rule").into());
    }
    println!("tidy: {} rules hold in {} files", RULES.len(), tree.n_files());
    Ok(())
}

/// A finding with the rule it breaks; its `Display` is the line that people and editors read.
struct Report<'a> {
    rule: &'a Rule,
    finding: Finding,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { path, line, remedy } = &self.finding;
        write!(f, "{path}:{line}: {}: {remedy}", self.rule.name)
    }
}

impl Finding {
    fn new(path: &str, line: usize, remedy: impl Into<String>) -> Self {
        Self { path: path.into(), line, remedy: remedy.into() }
    }
}

/// The places that `check` finds in a tree of these files, as `path:line`, for the tests of rules.
#[cfg(test)]
fn places(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let findings = check(&Tree::of(files));
    let place = |finding: &Finding| format!("{}:{}", finding.path, finding.line);
    findings.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: the form that editors know how to jump to.
    #[test]
    fn a_report_is_one_line_with_place_rule_and_remedy() {
        let report = Report { rule: &RULES[0], finding: Finding::new("a/b.rs", 7, "move it") };
        assert_eq!(report.to_string(), "a/b.rs:7: unsafe-addresses: move it");
    }

    #[test]
    fn names_of_rules_differ() {
        for (i, rule) in RULES.iter().enumerate() {
            assert!(RULES[..i].iter().all(|other| other.name != rule.name), "{}", rule.name);
        }
    }
}
