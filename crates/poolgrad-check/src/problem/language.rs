//! The problem language: lines to problems.

use std::fmt;
use std::str::FromStr;

use poolgrad::{AdaptiveAvgPool, AdaptiveMaxPool, DType, Direction, MaxPool, Pool, Sizes, Spec};

use super::{Fill, MemoryLayout, Problem};

/// Why a line is no problem: the token that does not fit, and what was wanted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line of the text, counted from 1.
    pub line: usize,
    /// The token that does not fit; empty where one is missing.
    pub token: String,
    /// What was wanted.
    pub wanted: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, token, wanted } = self;
        if token.is_empty() {
            write!(f, "line {line}: wanted {wanted}, got the end of the line")
        } else {
            write!(f, "line {line}: wanted {wanted}, got {token}")
        }
    }
}

impl std::error::Error for ParseError {}

/// The problems of a text: one a line, `#` starts a comment, blank lines mean nothing.
///
/// # Errors
/// [`ParseError`] for the first line that is no problem.
///
/// # Examples
/// ```
/// let text = "# pairs\nmax_grad n1c1 in4x4 k2   # touching\n\nadaptive_avg c3 in7 out3 f64\n";
/// assert_eq!(poolgrad_check::parse_list(text)?.len(), 2);
///
/// let error = poolgrad_check::parse_list("max n1c1 in4x4 k2 f8").unwrap_err();
/// assert!(error.to_string().ends_with("got f8"));
/// # Ok::<(), poolgrad_check::ParseError>(())
/// ```
pub fn parse_list(text: &str) -> Result<Vec<Problem>, ParseError> {
    let lines = text.lines().zip(1..);
    let lines = lines.map(|(line, number)| (line.split('#').next().unwrap_or(""), number));
    lines
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| parse_line(line).map_err(|error| ParseError { line: number, ..error }))
        .collect()
}

impl FromStr for Problem {
    type Err = ParseError;

    fn from_str(line: &str) -> Result<Self, ParseError> {
        parse_line(line)
    }
}

fn unwanted(token: &str, wanted: impl Into<String>) -> ParseError {
    ParseError { line: 1, token: token.to_owned(), wanted: wanted.into() }
}

/// The kinds of pooling, and what each needs besides the input.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Max,
    AdaptiveMax,
    AdaptiveAvg,
}

const OPERATORS: [(&str, Kind, Direction); 6] = [
    ("max", Kind::Max, Direction::Forward),
    ("max_grad", Kind::Max, Direction::Gradient),
    ("adaptive_max", Kind::AdaptiveMax, Direction::Forward),
    ("adaptive_max_grad", Kind::AdaptiveMax, Direction::Gradient),
    ("adaptive_avg", Kind::AdaptiveAvg, Direction::Forward),
    ("adaptive_avg_grad", Kind::AdaptiveAvg, Direction::Gradient),
];

/// What the tokens after the operator said, each at most once.
#[derive(Default)]
struct Tokens<'t> {
    leading: Option<(Option<i64>, i64)>,
    lists: [Option<(&'t str, Sizes)>; 6],
    ceil: Option<&'t str>,
    dtype: Option<DType>,
    index_dtype: Option<(&'t str, DType)>,
    layout: Option<MemoryLayout>,
    fill: Option<(&'t str, Fill)>,
}

/// The prefixes of lists, in the order of [`Tokens::lists`].
const LISTS: [&str; 6] = ["in", "out", "k", "s", "p", "d"];

fn parse_line(line: &str) -> Result<Problem, ParseError> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or("");
    let operator = OPERATORS.iter().find(|operator| operator.0 == name);
    let Some(&(_, kind, direction)) = operator else {
        let names: Vec<_> = OPERATORS.iter().map(|operator| operator.0).collect();
        return Err(unwanted(name, format!("an operator ({})", names.join(", "))));
    };
    let mut tokens = Tokens::default();
    for word in words {
        tokens.take(word)?;
    }
    tokens.problem(kind, direction)
}

/// Fills a place that a token may fill once.
fn once<T>(place: &mut Option<T>, value: T, token: &str) -> Result<(), ParseError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(unwanted(token, "this to be said only once")),
    }
}

impl<'t> Tokens<'t> {
    fn take(&mut self, token: &'t str) -> Result<(), ParseError> {
        if let Some(dtype) = DType::from_name(token) {
            return if dtype.is_float() {
                once(&mut self.dtype, dtype, token)
            } else {
                once(&mut self.index_dtype, (token, dtype), token)
            };
        }
        if let Some(&(_, layout)) = MemoryLayout::ALL.iter().find(|named| named.0 == token) {
            return once(&mut self.layout, layout, token);
        }
        if let Some(&(_, fill)) = Fill::ALL.iter().find(|named| named.0 == token) {
            return once(&mut self.fill, (token, fill), token);
        }
        if token == "ceil" {
            return once(&mut self.ceil, token, token);
        }
        if let Some(leading) = parse_leading(token) {
            return once(&mut self.leading, leading, token);
        }
        for (prefix, place) in LISTS.iter().zip(&mut self.lists) {
            if let Some(values) = token.strip_prefix(prefix).and_then(parse_sizes) {
                return once(place, (token, values), token);
            }
        }
        Err(unwanted(
            token,
            "sizes (n2c16, in8x9x10, out4x4x4, k3, s2, p1, d1), ceil, an element type, a layout or a fill",
        ))
    }

    fn problem(&self, kind: Kind, direction: Direction) -> Result<Problem, ParseError> {
        let Some((batch, channels)) = self.leading else {
            return Err(unwanted("", "batch and channels, such as n2c16"));
        };
        let Some((_, input)) = self.lists[0] else {
            return Err(unwanted("", "the input's spatial sizes, such as in8x9x10"));
        };
        let pool = self.pool(kind, input.len())?;
        let takes_indices = kind != Kind::AdaptiveAvg;
        if let (false, Some((token, _))) = (takes_indices, self.index_dtype) {
            return Err(unwanted(token, "no index type, as averages have no indices"));
        }
        if let Some((token, Fill::Far | Fill::Same)) = self.fill
            && !(takes_indices && direction == Direction::Gradient)
        {
            return Err(unwanted(token, "another fill, as this operation reads no indices"));
        }
        Ok(Problem {
            spec: Spec { pool, direction },
            batch,
            channels,
            input,
            dtype: self.dtype.unwrap_or(DType::F32),
            index_dtype: self.index_dtype.map_or(DType::I64, |(_, dtype)| dtype),
            layout: self.layout.unwrap_or(MemoryLayout::Ncdhw),
            fill: self.fill.map_or(Fill::Random, |(_, fill)| fill),
        })
    }

    fn pool(&self, kind: Kind, n_spatial: usize) -> Result<Pool, ParseError> {
        let [_, out, k, s, p, d] = self.lists;
        let unused: &[_] = if kind == Kind::Max {
            &[out]
        } else {
            &[k, s, p, d, self.ceil.map(|token| (token, Sizes::default()))]
        };
        if let Some((token, _)) = unused.iter().flatten().next() {
            return Err(unwanted(token, "no parameter that this operator does not have"));
        }
        let each_axis = |list: Option<(&str, Sizes)>, default: Option<Sizes>, wanted: &str| match list {
            None => default.ok_or_else(|| unwanted("", wanted)),
            Some((_, values)) if values.len() == 1 => Ok(Sizes::splat(values[0], n_spatial)),
            Some((_, values)) if values.len() == n_spatial => Ok(values),
            Some((token, _)) => Err(unwanted(token, format!("1 value or {n_spatial}"))),
        };
        if kind == Kind::Max {
            let kernel_size = each_axis(k, None, "the window's size, such as k3x3x3")?;
            return Ok(Pool::Max(MaxPool {
                n_spatial,
                kernel_size,
                stride: each_axis(s, Some(kernel_size), "")?,
                padding: each_axis(p, Some(Sizes::splat(0, n_spatial)), "")?,
                dilation: each_axis(d, Some(Sizes::splat(1, n_spatial)), "")?,
                ceil_mode: self.ceil.is_some(),
            }));
        }
        let output_size = each_axis(out, None, "the output size, such as out8x7x7")?;
        Ok(if kind == Kind::AdaptiveMax {
            Pool::AdaptiveMax(AdaptiveMaxPool::new(n_spatial, output_size))
        } else {
            Pool::AdaptiveAvg(AdaptiveAvgPool::new(n_spatial, output_size))
        })
    }
}

/// `n2c16` or `c16`.
fn parse_leading(token: &str) -> Option<(Option<i64>, i64)> {
    let (batch, channels) = match token.strip_prefix('n') {
        Some(rest) => {
            let (batch, channels) = rest.split_once('c')?;
            (Some(parse_size(batch)?), channels)
        }
        None => (None, token.strip_prefix('c')?),
    };
    Some((batch, parse_size(channels)?))
}

/// One to three numbers joined by `x`.
fn parse_sizes(token: &str) -> Option<Sizes> {
    let values: Vec<i64> = token.split('x').map(parse_size).collect::<Option<_>>()?;
    (values.len() <= 3).then(|| crate::sizes(&values))
}

/// A number of decimal digits; signs and blanks are refused, so that what is printed reads back the same.
fn parse_size(digits: &str) -> Option<i64> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the language's own table of defaults.
    #[test]
    fn defaults_are_left_out() {
        let cases = [
            ("max n1c2 in4x5 k2x2 s2x2 p0 d1 f32 i64 ncdhw random", "max n1c2 in4x5 k2"),
            ("max_grad c2 in4x5 k3x2 s1 p1x0 ceil i32 far", "max_grad c2 in4x5 k3x2 s1 p1x0 ceil i32 far"),
            ("adaptive_avg c1 f64 out3 in9x9x9", "adaptive_avg c1 in9x9x9 out3 f64"),
            ("adaptive_max n0c3 in8 out5 reversed ties", "adaptive_max n0c3 in8 out5 reversed ties"),
            ("max n1c1 in9x9x9 k3 s3x3x3 d2x2x2", "max n1c1 in9x9x9 k3 d2"),
        ];
        for (line, printed) in cases {
            let problem: Problem = line.parse().unwrap();
            assert_eq!(problem.to_string(), printed);
            assert_eq!(printed.parse(), Ok(problem));
        }
    }

    /// Oracle: by hand, the token at fault in each line.
    #[test]
    fn the_token_at_fault_is_named() {
        let cases = [
            ("min n1c1 in4 k2", "min"),
            ("max n1c1 in4 k2 k3", "k3"),
            ("max n1c1 in4x4 k2x2x2", "k2x2x2"),
            ("max n1c1 in4x4x4x4 k2", "in4x4x4x4"),
            ("max n1c1 in4 k-2", "k-2"),
            ("max n1c1 in4 k99999999999999999999", "k99999999999999999999"),
            ("max n1c1 in4 k2 out2", "out2"),
            ("max n1c1 in4 k2 far", "far"),
            ("adaptive_avg n1c1 in4 out2 i32", "i32"),
            ("adaptive_avg n1c1 in4 out2 ceil", "ceil"),
            ("adaptive_avg_grad n1c1 in4 out2 same", "same"),
            ("adaptive_max n1c1 in4", ""),
            ("max n1c1 k2", ""),
            ("max in4 k2", ""),
            ("max n1c1 in4 k2 i8", "i8"),
        ];
        for (line, token) in cases {
            let error = line.parse::<Problem>().unwrap_err();
            assert_eq!(error.token, token, "{line}: {error}");
        }
        let error = parse_list("# none\nmax n1c1 in4 k2\n\nmax x").unwrap_err();
        assert_eq!((error.line, error.token.as_str()), (4, "x"));
    }
}
