//! The problem lists of the repository.

use crate::problem::{ParseError, Problem, parse_list};

/// A list of problems.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The file's name under `problems/`, without its ending.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

impl List {
    /// Every list.
    pub const ALL: [List; 4] = [
        List { name: "smoke", text: include_str!("../../../problems/smoke.txt") },
        List { name: "edges", text: include_str!("../../../problems/edges.txt") },
        List { name: "models", text: include_str!("../../../problems/models.txt") },
        List { name: "regressions", text: include_str!("../../../problems/regressions.txt") },
    ];

    /// The problems of the list.
    ///
    /// # Errors
    /// [`ParseError`] if a line is no problem.
    pub fn problems(&self) -> Result<Vec<Problem>, ParseError> {
        parse_list(self.text)
    }
}

/// The problems of every list.
///
/// # Errors
/// [`ParseError`] if a line is no problem.
///
/// # Examples
/// ```
/// assert!(poolgrad_check::lists::all()?.len() >= 300);
/// # Ok::<(), poolgrad_check::ParseError>(())
/// ```
pub fn all() -> Result<Vec<Problem>, ParseError> {
    let lists: Vec<_> = List::ALL.iter().map(List::problems).collect::<Result<_, _>>()?;
    Ok(lists.into_iter().flatten().collect())
}
