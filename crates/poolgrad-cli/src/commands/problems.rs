//! Problems named on the command line: in files, on standard input, or as they are.

use std::io::Read;
use std::path::Path;

use poolgrad_check::{Problem, parse_list};

use crate::failure::Failure;

/// The problems that arguments name, in their order.
///
/// # Errors
/// If a file cannot be read, or a line is no problem.
pub(super) fn problems(arguments: &[String]) -> Result<Vec<Problem>, Failure> {
    let lists: Vec<_> = arguments.iter().map(|argument| problems_of(argument)).collect::<Result<_, _>>()?;
    Ok(lists.into_iter().flatten().collect())
}

/// The problems that an argument names: a file, standard input, or itself.
fn problems_of(argument: &str) -> Result<Vec<Problem>, Failure> {
    let path = Path::new(argument);
    let text = if argument == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| Failure::file(Path::new("standard input"), &error))?;
        text
    } else if path.exists() {
        std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?
    } else if argument.contains(char::is_whitespace) {
        let problem = argument.parse::<Problem>();
        return problem.map(|problem| vec![problem]).map_err(|error| {
            // A line number says nothing about a single line.
            Failure::usage(if error.token.is_empty() {
                format!("problem '{argument}' lacks {}", error.wanted)
            } else {
                format!("problem '{argument}': wanted {}, got {}", error.wanted, error.token)
            })
        });
    } else {
        return Err(Failure::usage(format!(
            "there is no file {argument}; a problem goes in quotes, such as 'max_grad n1c2 in6x8 k3x2 s2'"
        )));
    };
    let name = if argument == "-" { "standard input" } else { argument };
    let problems = parse_list(&text).map_err(|error| Failure::work(format!("{name}: {error}")))?;
    if problems.is_empty() {
        return Err(Failure::work(format!("{name}: expected problem lines, found none")));
    }
    Ok(problems)
}
