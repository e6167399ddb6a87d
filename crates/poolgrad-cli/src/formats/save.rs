//! Writing tensors: every file is complete under its name, or none is there.
//!
//! Each file is written under a temporary name in the folder where it belongs. When all are written, all are renamed.
//! Until then a failure leaves the old files as they were; a temporary file is removed when it is dropped.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use poolgrad::{DType, Tensor};
use tempfile::NamedTempFile;

use super::{Format, Location, npy, safetensors};
use crate::failure::Failure;
use crate::progress::Progress;

/// How many bytes are written before the bar moves.
const PART_BYTES: usize = 8 << 20;

/// A tensor and the place it goes to.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// The name of the tensor in its file, unless the place says another.
    pub(crate) role: &'static str,
    pub(crate) location: &'a Location,
    pub(crate) tensor: Tensor,
}

impl Outgoing<'_> {
    /// The name of the tensor in a file of several.
    pub(crate) fn name(&self) -> &str {
        self.location.name.as_deref().unwrap_or(self.role)
    }
}

/// Checks before the work that what it makes can be written: `role`, place and type of each tensor.
///
/// # Errors
/// A type that the format cannot hold, a folder that is not there, or one place for two tensors.
pub(crate) fn check_targets(targets: &[(&'static str, &Location, DType)]) -> Result<(), Failure> {
    for (i, (role, location, dtype)) in targets.iter().enumerate() {
        if *dtype == DType::BF16 && location.format == Format::Npy {
            return Err(Failure::usage(format!(
                "{location}: the .npy format has no bf16; write {role} to a .safetensors file, or choose --dtype f32"
            )));
        }
        if location.path.is_dir() {
            return Err(Failure::usage(format!("{location}: expected a file to write, found a folder")));
        }
        let folder = folder_of(&location.path);
        if !folder.is_dir() {
            return Err(Failure::usage(format!(
                "{location}: there is no folder {}; make it first",
                folder.display()
            )));
        }
        let clash = targets[..i].iter().find(|(other_role, other, _)| {
            other.path == location.path
                && (location.format == Format::Npy
                    || other.name.as_deref().unwrap_or(other_role) == location.name.as_deref().unwrap_or(role))
        });
        if let Some((other, ..)) = clash {
            return Err(Failure::usage(format!(
                "{location}: {other} goes there already; {role} needs a place of its own"
            )));
        }
    }
    Ok(())
}

/// Writes all of `tensors`, or none.
///
/// # Errors
/// The first file that cannot be written.
pub(crate) fn save(tensors: &[Outgoing<'_>], progress: &Progress) -> Result<(), Failure> {
    let mut files: BTreeMap<&Path, Vec<&Outgoing<'_>>> = BTreeMap::new();
    for tensor in tensors {
        files.entry(&tensor.location.path).or_default().push(tensor);
    }
    let mut written = Vec::with_capacity(files.len());
    for (path, tensors) in files {
        progress.say(format!("writing {}", path.display()));
        written.push((path, write(path, tensors, progress)?));
    }
    for (path, file) in written {
        file.persist(path).map_err(|error| Failure::file(path, &error.error))?;
    }
    Ok(())
}

/// Writes `contents` to `path`, completely or not at all.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn save_bytes(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let file = write_pieces(path, &[contents], |_| ())?;
    file.persist(path).map_err(|error| Failure::file(path, &error.error))?;
    Ok(())
}

/// A temporary file with the contents that `path` will have.
fn write(path: &Path, mut tensors: Vec<&Outgoing<'_>>, progress: &Progress) -> Result<NamedTempFile, Failure> {
    let header = match tensors.as_slice() {
        [only] if only.location.format == Format::Npy => npy::header(only.tensor.dtype(), only.tensor.shape()),
        _ => {
            // Wide elements first: then each tensor begins at a multiple of its element's size.
            tensors.sort_by_key(|each| std::cmp::Reverse(each.tensor.dtype().size()));
            let named: Vec<_> = tensors.iter().map(|each| (each.name(), &each.tensor)).collect();
            safetensors::header(&named)
        }
    };
    let header = header
        .ok_or_else(|| Failure::work(format!("{}: the format cannot hold this element type", path.display())))?;
    let mut pieces = vec![header.as_slice()];
    pieces.extend(tensors.iter().map(|each| each.tensor.as_bytes()));
    write_pieces(path, &pieces, |n_bytes| progress.step(n_bytes as u64))
}

/// A temporary file with these contents; `written` hears of every part.
fn write_pieces(path: &Path, pieces: &[&[u8]], written: impl Fn(usize)) -> Result<NamedTempFile, Failure> {
    let failed = |error: std::io::Error| Failure::file(path, &error);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".poolgrad-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a new file has; the system takes the user's mask off it. The default would hide it from others.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder_of(path)).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    for part in pieces.iter().flat_map(|piece| piece.chunks(PART_BYTES)) {
        writer.write_all(part).map_err(failed)?;
        written(part.len());
    }
    writer.flush().map_err(failed)?;
    drop(writer);
    // Without this a crash could leave a renamed file whose contents were never stored.
    file.as_file().sync_all().map_err(failed)?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
