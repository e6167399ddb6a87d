//! What goes wrong in a call: a code for the program and a sentence for whoever reads it.

/// An error on its way out of a function or a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What the function returns.
    pub(crate) code: i32,
    /// What was wanted and what came; without the function's name.
    pub(crate) text: String,
    /// The function at fault, where it is not the one that reports.
    pub(crate) origin: Option<&'static str>,
    /// Whether it has been written to standard error already.
    pub(crate) is_logged: bool,
}

impl Fault {
    #[cold]
    pub(crate) fn new(code: i32, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), origin: None, is_logged: false }
    }
}

/// The result of everything that a C function asks for.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;
