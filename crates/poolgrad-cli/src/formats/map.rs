//! A file's bytes in place: memory-mapped, read only.
//!
//! This file holds the crate's one line of unsafe code.
#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::failure::Failure;

/// The bytes of a regular file.
#[derive(Debug)]
pub(crate) struct Mapped(Option<Mmap>);

impl Mapped {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file: a pipe or a device has no bytes to map.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::file(path, &error);
        // Asked before opening, because opening a pipe waits for its writer.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(Failure::work(format!(
                "{}: expected a regular file, found a folder, pipe or device",
                path.display()
            )));
        }
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the mapping is private and read only, lives in this value and is handed out only as `&[u8]` with
        // its lifetime, so this process neither writes it nor uses it after it is unmapped. Another process can write
        // the file meanwhile. Then numbers change, and nothing rests on them: the header is read into values and
        // checked before it is used, every bit pattern is an element, and the library checks each index on the value
        // that it uses. If the file is cut short meanwhile, the system ends this process (SIGBUS) before a byte
        // behind the end is seen.
        let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(&file) };
        map.map(|map| Self(Some(map))).map_err(failed)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
