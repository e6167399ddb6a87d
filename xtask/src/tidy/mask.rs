//! Rust text parted into code and comments, so that a rule about one is not fooled by the other.

/// A Rust file seen twice: in each view, what belongs to the other is blank, and every line keeps its number.
///
/// The contents of string and character literals are blank in both.
#[derive(Debug, Default)]
pub(super) struct Masked {
    pub(super) code: Vec<String>,
    pub(super) comments: Vec<String>,
}

/// What the reader is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    /// Block comments nest; this is the depth.
    BlockComment(usize),
    Text,
    /// A raw string that ends with a quote and this many hashes.
    RawText(usize),
    Character,
}

/// Parts `text` into code and comments.
///
/// Good enough for formatted code that compiles; it is not a parser.
pub(super) fn mask(text: &str) -> Masked {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut state = State::Code;
    let mut at = 0;
    while at < chars.len() {
        let (next_state, len) = step(state, &chars, at);
        for &c in &chars[at..(at + len).min(chars.len())] {
            let is_comment = [state, next_state]
                .iter()
                .any(|state| matches!(state, State::LineComment | State::BlockComment(_)));
            // Quotes stay visible in code, so that a literal is still seen to stand there.
            let is_code = !is_comment && (state == State::Code || next_state == State::Code);
            let shown = |visible| if c == '\n' || visible { c } else { ' ' };
            code.push(shown(is_code));
            comments.push(shown(is_comment));
        }
        state = next_state;
        at += len;
    }
    let lines = |text: String| text.lines().map(str::to_owned).collect();
    Masked { code: lines(code), comments: lines(comments) }
}

/// The state after the character at `at`, and how many characters it takes to get there.
fn step(state: State, chars: &[char], at: usize) -> (State, usize) {
    let is = |offset: usize, wanted: char| chars.get(at + offset) == Some(&wanted);
    match state {
        State::Code if is(0, '/') && is(1, '/') => (State::LineComment, 2),
        State::Code if is(0, '/') && is(1, '*') => (State::BlockComment(1), 2),
        State::Code if is(0, '"') => (State::Text, 1),
        State::Code if is(0, 'r') || is(0, 'b') || is(0, 'c') => word_or_literal(chars, at),
        // A lifetime has no closing quote.
        State::Code if is(0, '\'') && (is(1, '\\') || (is(2, '\'') && !is(1, '\''))) => (State::Character, 1),
        State::LineComment if is(0, '\n') => (State::Code, 1),
        State::BlockComment(depth) if is(0, '/') && is(1, '*') => (State::BlockComment(depth + 1), 2),
        State::BlockComment(1) if is(0, '*') && is(1, '/') => (State::Code, 2),
        State::BlockComment(depth) if is(0, '*') && is(1, '/') => (State::BlockComment(depth - 1), 2),
        State::Text | State::Character if is(0, '\\') => (state, 2),
        State::Text if is(0, '"') => (State::Code, 1),
        State::RawText(hashes) if is(0, '"') && (1..=hashes).all(|i| is(i, '#')) => (State::Code, 1 + hashes),
        State::Character if is(0, '\'') => (State::Code, 1),
        _ => (state, 1),
    }
}

/// At a letter that may begin a raw string: `r"`, `br#"`, `cr##"`.
fn word_or_literal(chars: &[char], at: usize) -> (State, usize) {
    let in_word = at > 0 && is_word(chars[at - 1]);
    let letters = chars[at..].iter().take_while(|c| c.is_ascii_alphabetic()).count();
    let prefix: String = chars[at..at + letters].iter().collect();
    let hashes = chars[at + letters..].iter().take_while(|&&c| c == '#').count();
    let quote = chars.get(at + letters + hashes) == Some(&'"');
    if !in_word && quote && ["r", "br", "cr"].contains(&prefix.as_str()) {
        (State::RawText(hashes), letters + hashes + 1)
    } else {
        (State::Code, 1)
    }
}

/// Whether `c` can stand in a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names, keywords and numbers of a line of code, each with its place in bytes.
pub(super) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find(is_word)?;
        let tail = &rest[start..];
        let len = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        let at = line.len() - tail.len();
        rest = &tail[len..];
        Some((at, &tail[..len]))
    })
}

/// Whether a line of code holds `wanted` as a word of its own.
pub(super) fn has_word(line: &str, wanted: &str) -> bool {
    words(line).any(|(_, word)| word == wanted)
}

/// The number of lines from line `first` up to the one that closes the first brace opened there, or to the end.
pub(super) fn block_len(code: &[String], first: usize) -> usize {
    let mut depth = 0usize;
    for (i, line) in code[first..].iter().enumerate() {
        for c in line.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 1 => return i + 1,
                '}' => depth = depth.saturating_sub(1),
                // An item without a body, such as `mod tests;`.
                ';' if depth == 0 => return i + 1,
                _ => {}
            }
        }
    }
    code.len() - first
}

/// The lines that belong to a test module inside the file, as half-open ranges counted from 0.
pub(super) fn test_modules(code: &[String]) -> Vec<std::ops::Range<usize>> {
    let starts = (0..code.len()).filter(|&i| {
        let rest = code[i].trim_start();
        rest.starts_with("#[cfg(test)]")
            && code[i..].iter().take(3).any(|line| line.trim_start().starts_with("mod "))
    });
    starts.map(|i| i..i + block_len(code, i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle for all: the two views written out by hand.
    #[track_caller]
    fn assert_views(text: &str, code: &str, comments: &str) {
        let masked = mask(text);
        assert_eq!(masked.code.join("\n").trim_end(), code, "code of {text:?}");
        assert_eq!(masked.comments.join("\n").trim(), comments, "comments of {text:?}");
    }

    #[test]
    fn comments_are_no_code() {
        assert_views("a // b\nc", "a\nc".replace("a\n", "a     \n").as_str(), "// b");
        assert_views("/* x /* y */ z */ a", "                  a", "/* x /* y */ z */");
    }

    #[test]
    fn literals_are_blank_in_both() {
        assert_views(r#"f("// no \" x") + 1"#, r#"f("          ") + 1"#, "");
        assert_views(r##"f(r#"a " b"#, c)"##, r##"f(r#"     "#, c)"##, "");
        assert_views("f(b'\\'', '\"', 'x') // y", "f(b'  ', ' ', ' ')", "// y");
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        assert_views("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}", "");
        assert_views("r#type + bar", "r#type + bar", "");
    }

    #[test]
    fn words_are_whole() {
        let line = "unsafe_code; unsafe{r#unsafe}";
        let found: Vec<_> = words(line).filter(|(_, word)| *word == "unsafe").collect();
        assert_eq!(found, [(13, "unsafe"), (22, "unsafe")]);
        assert!(!has_word("unsafe_code", "unsafe"));
    }

    #[test]
    fn test_modules_end_with_their_brace() {
        let code = mask("a\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nb\n").code;
        assert_eq!(test_modules(&code), vec![1..5]);
        assert_eq!(test_modules(&mask("#[cfg(test)]\nfn only() {}\n").code), []);
    }
}
