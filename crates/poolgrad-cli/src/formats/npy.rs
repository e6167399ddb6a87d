//! The header of a `.npy` file, read and written.
//!
//! The file is a magic number, a version, the length of a text, the text, and the elements. The text is a Python
//! dictionary of three entries:
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//! ```

use poolgrad::{DType, MAX_AXES, Sizes};

use super::{Header, Order, n_bytes};

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy aligns the elements to this many bytes, so that they can be mapped.
const ALIGNMENT: usize = 64;

/// The element types that have a name in this format; `bf16` has none.
const NAMES: [(&str, DType); 5] =
    [("f2", DType::F16), ("f4", DType::F32), ("f8", DType::F64), ("i4", DType::I32), ("i8", DType::I64)];
const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };

/// Reads the header of the file whose bytes are `file`.
///
/// # Errors
/// What was expected and what the file holds.
pub(super) fn read_header(file: &[u8]) -> Result<Header, String> {
    let Some(rest) = file.strip_prefix(MAGIC) else {
        return Err(format!("expected a NumPy array, found {}", begin_of(file)));
    };
    let cut_off = || "the file ends inside its header: it is truncated".to_owned();
    let version = *rest.first_chunk::<2>().ok_or_else(cut_off)?;
    let (len, start) = match version {
        [1, _] => {
            let bytes = rest[2..].first_chunk::<2>().ok_or_else(cut_off)?;
            (usize::from(u16::from_le_bytes(*bytes)), MAGIC.len() + 4)
        }
        [2 | 3, _] => {
            let bytes = rest[2..].first_chunk::<4>().ok_or_else(cut_off)?;
            let len = usize::try_from(u32::from_le_bytes(*bytes)).map_err(|_| cut_off())?;
            (len, MAGIC.len() + 6)
        }
        [major, minor] => {
            return Err(format!("expected .npy version 1, 2 or 3, found {major}.{minor}"));
        }
    };
    let end = start.checked_add(len).filter(|&end| end <= file.len()).ok_or_else(cut_off)?;
    let text = std::str::from_utf8(&file[start..end])
        .map_err(|_| "expected a header of text, found other bytes".to_owned())?;
    let (dtype, order, shape) = Parser { rest: text }.dictionary()?;
    let wanted = n_bytes(dtype, &shape).ok_or_else(|| format!("shape {shape} is larger than any memory"))?;
    let found = file.len() - end;
    if wanted != found {
        let why = if found < wanted { ": it is truncated" } else { ": it holds something else too" };
        return Err(format!("expected {wanted} bytes for shape {shape} of {dtype}, the file holds {found}{why}"));
    }
    Ok(Header { dtype, shape, order, place: end..file.len() })
}

/// The bytes before the elements of a row-major array; `None` for a type that has no name in this format.
pub(super) fn header(dtype: DType, shape: &Sizes) -> Option<Vec<u8>> {
    let (name, _) = NAMES.iter().find(|(_, named)| *named == dtype)?;
    let mut tuple: String = shape.iter().map(|size| format!("{size}, ")).collect();
    // A tuple of one is `(5,)`, one of more `(2, 3)`.
    tuple.truncate(tuple.len().saturating_sub(if shape.len() == 1 { 1 } else { 2 }));
    let mut text = format!("{{'descr': '{NATIVE}{name}', 'fortran_order': False, 'shape': ({tuple}), }}");
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    text.extend(std::iter::repeat_n(' ', padded - text.len() - 1));
    text.push('\n');
    // Eight sizes of at most 19 digits are far below the 65535 bytes of version 1.
    let len = u16::try_from(text.len()).ok()?;
    Some([MAGIC, &[1, 0], &len.to_le_bytes(), text.as_bytes()].concat())
}

/// How a file begins, for messages.
pub(super) fn begin_of(file: &[u8]) -> String {
    if file.is_empty() {
        return "an empty file".into();
    }
    let begin: Vec<_> = file.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("a file that begins with bytes {}", begin.join(" "))
}

/// The part of Python's literals that headers are made of.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn dictionary(mut self) -> Result<(DType, Order, Sizes), String> {
        let (mut dtype, mut order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.accept('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => dtype = Some(self.descr()?),
                "fortran_order" => order = Some(self.order()?),
                "shape" => shape = Some(self.shape()?),
                other => return Err(format!("expected no entry {other:?} in the header")),
            }
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        let missing = |key| format!("expected an entry {key:?} in the header, found none");
        Ok((
            dtype.ok_or_else(|| missing("descr"))?,
            order.ok_or_else(|| missing("fortran_order"))?,
            shape.ok_or_else(|| missing("shape"))?,
        ))
    }

    fn descr(&mut self) -> Result<DType, String> {
        if self.accept('[') {
            return Err("expected an array of numbers, the file holds records".into());
        }
        let text = self.string()?;
        let found = |(order, name): (char, &str)| {
            let &(_, dtype) = NAMES.iter().find(|(known, _)| *known == name)?;
            Some((order, dtype))
        };
        let mut characters = text.chars();
        let parts = characters.next().filter(char::is_ascii).map(|order| (order, characters.as_str()));
        match parts.and_then(found) {
            Some((order, dtype)) if order == NATIVE || order == '=' => Ok(dtype),
            Some((order @ ('<' | '>'), dtype)) => Err(format!(
                "expected {} numbers, the file holds {dtype} with the other byte order ({order}): convert it \
                 with array.astype(array.dtype.newbyteorder('='))",
                if NATIVE == '<' { "little-endian" } else { "big-endian" },
            )),
            _ => Err(format!("expected elements of type f2, f4, f8, i4 or i8, the file holds {text:?}")),
        }
    }

    fn order(&mut self) -> Result<Order, String> {
        for (word, order) in [("False", Order::C), ("True", Order::Fortran)] {
            if let Some(rest) = self.trimmed().strip_prefix(word) {
                self.rest = rest;
                return Ok(order);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn shape(&mut self) -> Result<Sizes, String> {
        self.expect('(')?;
        let mut sizes = Vec::with_capacity(MAX_AXES);
        while !self.accept(')') {
            let rest = self.trimmed();
            let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
            let size = rest[..digits].parse().map_err(|_| self.unexpected("a size"))?;
            self.rest = &rest[digits..];
            if sizes.len() == MAX_AXES {
                return Err(format!("expected at most {MAX_AXES} axes, the file holds more"));
            }
            sizes.push(size);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Sizes::try_from(sizes.as_slice()).map_err(|error| error.to_string())
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let rest = self.trimmed();
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let inside = rest.strip_prefix(quote).and_then(|inside| inside.split_once(quote));
        let (text, rest) = inside.ok_or_else(|| self.unexpected("a quoted word"))?;
        self.rest = rest;
        Ok(text)
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.accept(wanted) { Ok(()) } else { Err(self.unexpected(&format!("{wanted:?}"))) }
    }

    fn accept(&mut self, wanted: char) -> bool {
        let accepted = self.trimmed().strip_prefix(wanted);
        self.rest = accepted.unwrap_or(self.rest);
        accepted.is_some()
    }

    fn trimmed(&self) -> &'a str {
        self.rest.trim_start()
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found: String = self.trimmed().chars().take(12).collect();
        format!("expected {wanted} in the header, found {found:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the rule that a header is refused or describes bytes that are there.
    #[test]
    fn no_bytes_are_trusted() {
        let mut file = header(DType::F32, &Sizes::from([2, 3])).unwrap();
        file.extend([0; 24]);
        assert_eq!(read_header(&file).map(|header| header.place), Ok(128..152));
        for len in 0..file.len() {
            assert!(read_header(&file[..len]).is_err(), "{len} bytes");
        }
        for place in 0..128 {
            for byte in 0..=255 {
                let before = std::mem::replace(&mut file[place], byte);
                if let Ok(header) = read_header(&file) {
                    assert!(header.place.end <= file.len());
                    assert_eq!(Some(header.place.len()), n_bytes(header.dtype, &header.shape));
                }
                file[place] = before;
            }
        }
    }

    /// Oracle: this file's reading, which `tests/run.rs` compares with another implementation.
    #[test]
    fn headers_of_any_rank_are_read_back() {
        for shape in [&[][..], &[0], &[5], &[2, 3], &[1; 8], &[1 << 40, 0]] {
            let shape = Sizes::try_from(shape).unwrap();
            for (_, dtype) in NAMES {
                let mut file = header(dtype, &shape).unwrap();
                assert_eq!(file.len() % ALIGNMENT, 0);
                file.resize(file.len() + n_bytes(dtype, &shape).unwrap(), 0);
                let read = read_header(&file).unwrap();
                assert_eq!((read.dtype, read.shape, read.order), (dtype, shape, Order::C));
            }
        }
        assert_eq!(header(DType::BF16, &Sizes::from(1)), None);
    }
}
