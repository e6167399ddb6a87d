//! The header of a `.safetensors` file, read and written.
//!
//! The file is the length of a text in eight bytes, the text, and the elements of all tensors. The text is a JSON
//! object with an entry for each tensor:
//!
//! ```text
//! {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use poolgrad::{DType, Sizes, Tensor};
use serde_json::{Map, Value, json};

use super::npy::begin_of;
use super::{Header, Order, n_bytes};

/// The largest header that is read; the format's own limit.
const MAX_HEADER_BYTES: usize = 100_000_000;

const NAMES: [(&str, DType); 6] = [
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("F32", DType::F32),
    ("F64", DType::F64),
    ("I32", DType::I32),
    ("I64", DType::I64),
];

/// Reads the header of tensor `name`, or of the only tensor, in the file whose bytes are `file`.
///
/// # Errors
/// What was expected and what the file holds.
pub(super) fn read_header(file: &[u8], name: Option<&str>) -> Result<Header, String> {
    if cfg!(target_endian = "big") {
        return Err("safetensors files hold little-endian numbers, which this machine does not".into());
    }
    let (text, start) = header_text(file)?;
    let entries: Map<String, Value> = serde_json::from_slice(text)
        .map_err(|error| format!("expected a header that is a JSON object, found otherwise: {error}"))?;
    let tensors: BTreeMap<&str, &Value> = entries
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(name, entry)| (name.as_str(), entry))
        .collect();
    let places: Option<Vec<Range<usize>>> = tensors.values().map(|entry| place(entry)).collect();
    let n_data = places
        .and_then(|places| places.iter().map(|place| place.end).max().or(Some(0)))
        .ok_or("expected data_offsets of two numbers for each tensor, the header holds something else")?;
    let found = file.len() - start;
    if n_data != found {
        let why = if found < n_data { ": it is truncated" } else { ": it holds something else too" };
        return Err(format!("expected {n_data} bytes of tensors, the file holds {found}{why}"));
    }
    let entry = choose(&tensors, name)?;
    let (dtype, shape) = dtype_and_shape(entry)?;
    let place = place(entry).unwrap_or_default();
    let wanted = n_bytes(dtype, &shape).ok_or_else(|| format!("shape {shape} is larger than any memory"))?;
    if place.len() != wanted {
        return Err(format!(
            "expected {wanted} bytes for shape {shape} of {dtype}, the file holds {}",
            place.len()
        ));
    }
    Ok(Header { dtype, shape, order: Order::C, place: start + place.start..start + place.end })
}

/// The header's text, and where the tensors begin.
fn header_text(file: &[u8]) -> Result<(&[u8], usize), String> {
    let other = || format!("expected safetensors, found {}", begin_of(file));
    let (len, rest) = file.split_first_chunk::<8>().ok_or_else(other)?;
    let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| other())?;
    // A file of another format gives a nonsensical length more often than not.
    if !rest.starts_with(b"{") || MAX_HEADER_BYTES < len {
        return Err(other());
    }
    let text = rest.get(..len).ok_or("the file ends inside its header: it is truncated")?;
    Ok((text, len + 8))
}

/// The tensor called `name`, or the only one.
fn choose<'a>(tensors: &BTreeMap<&str, &'a Value>, name: Option<&str>) -> Result<&'a Value, String> {
    let mut names: Vec<_> = tensors.keys().take(8).copied().collect();
    if names.len() < tensors.len() {
        names.push("...");
    }
    let names = names.join(", ");
    match name {
        Some(name) => tensors
            .get(name)
            .copied()
            .ok_or_else(|| format!("expected a tensor of this name, the file holds: {names}")),
        None if tensors.len() == 1 => {
            tensors.values().next().copied().ok_or_else(|| "expected a tensor, the file holds none".into())
        }
        None if tensors.is_empty() => Err("expected a tensor, the file holds none".into()),
        None => Err(format!("expected one tensor, the file holds {}: add :NAME, one of {names}", tensors.len())),
    }
}

fn dtype_and_shape(entry: &Value) -> Result<(DType, Sizes), String> {
    let name = entry["dtype"].as_str().unwrap_or("nothing");
    let dtype = NAMES.iter().find(|(known, _)| *known == name);
    let &(_, dtype) = dtype.ok_or_else(|| {
        format!("expected elements of type F16, BF16, F32, F64, I32 or I64, the file holds {name}")
    })?;
    let sizes: Option<Vec<i64>> =
        entry["shape"].as_array().and_then(|sizes| sizes.iter().map(Value::as_i64).collect());
    let sizes = sizes.ok_or("expected a shape of whole numbers, the header holds something else")?;
    let shape = Sizes::try_from(sizes.as_slice()).map_err(|error| error.to_string())?;
    Ok((dtype, shape))
}

/// The bytes of a tensor among those of all tensors.
fn place(entry: &Value) -> Option<Range<usize>> {
    let [start, end] = entry["data_offsets"].as_array()?.as_slice() else {
        return None;
    };
    let (start, end) = (start.as_u64()?, end.as_u64()?);
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    (range.start <= range.end).then_some(range)
}

/// The bytes before the elements of `tensors`, which follow in the same order; `None` for a type without a name.
pub(super) fn header(tensors: &[(&str, &Tensor)]) -> Option<Vec<u8>> {
    let mut entries = Map::new();
    let mut start = 0;
    for (name, tensor) in tensors {
        let (dtype, _) = NAMES.iter().find(|(_, named)| *named == tensor.dtype())?;
        let end = start + tensor.as_bytes().len();
        let entry = json!({"dtype": dtype, "shape": tensor.shape()[..], "data_offsets": [start, end]});
        entries.insert((*name).to_owned(), entry);
        start = end;
    }
    let mut text = Value::Object(entries).to_string();
    // The elements begin at a multiple of eight bytes, so that they can be mapped.
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
    let len = u64::try_from(text.len()).ok()?;
    Some([&len.to_le_bytes(), text.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the rule that a header is refused or describes bytes that are there.
    #[test]
    fn no_bytes_are_trusted() {
        let tensor = |dtype| Tensor::zeros(dtype, [2, 3]).unwrap();
        let (a, b) = (tensor(DType::F64), tensor(DType::BF16));
        let mut file = header(&[("a", &a), ("b", &b)]).unwrap();
        let n_header = file.len();
        assert_eq!(n_header % 8, 0);
        file.extend([0; 60]);
        assert_eq!(read_header(&file, Some("b")).map(|header| header.place.len()), Ok(12));
        for len in 0..file.len() {
            assert!(read_header(&file[..len], Some("a")).is_err(), "{len} bytes");
        }
        for place in 0..n_header {
            for byte in 0..=255 {
                let before = std::mem::replace(&mut file[place], byte);
                for name in [Some("a"), Some("b"), None] {
                    if let Ok(header) = read_header(&file, name) {
                        assert!(n_header <= header.place.start && header.place.end <= file.len());
                        assert_eq!(Some(header.place.len()), n_bytes(header.dtype, &header.shape));
                    }
                }
                file[place] = before;
            }
        }
    }

    /// Oracle: by hand: offsets whose sums leave the range of addresses.
    #[test]
    fn offsets_do_not_overflow() {
        for (offsets, data) in [("[0, 18446744073709551615]", 0), ("[18446744073709551608, 0]", 0), ("[-1, 4]", 4)]
        {
            let text = format!(r#"{{"x": {{"dtype": "F32", "shape": [1], "data_offsets": {offsets}}}}}"#);
            let file = [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &vec![0; data]].concat();
            assert!(read_header(&file, None).is_err(), "{offsets}");
        }
    }
}
