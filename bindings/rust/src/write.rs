// SPDX-License-Identifier: MIT
//! Writing files that are there as a whole or not at all.

use crate::error::Result;
use crate::filter::Filter;
use std::ffi::OsString;
use std::fs::{canonicalize, metadata, remove_file, rename, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many names of temporary files are tried.
const ATTEMPTS: u32 = 100;

impl Filter<'_> {
    /// Writes the bytes of the image or series.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if writing fails.
    pub fn write_to<W: Write>(&self, mut out: W) -> Result<()> {
        out.write_all(self.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Writes a file, which replaces a file of that name. A symbolic link stays, and the file that it
    /// leads to is replaced. On Unix the new file has the permissions of the old one.
    ///
    /// The new file is written under a temporary name in the same folder, put on disk, and renamed.
    /// So the name always leads to a whole file, also after a crash.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if writing fails. The old file is then unchanged, except if
    /// only the last step failed: to put the new name on disk.
    pub fn write_file<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        write_file(path.as_ref(), self.as_bytes())
    }
}

/// Writes a file as [`Filter::write_file`] does, for example a patch.
///
/// # Errors
///
/// [`Error::Io`](crate::Error::Io) if writing fails.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let path = &target(path)?;
    let old = permissions(path)?;
    let (mut file, temporary) = create_temporary(path, old.as_ref())?;
    let written = write_whole(&mut file, bytes, old);
    if let Err(error) = written.and_then(|()| rename(&temporary, path)) {
        // The first error is the one to report.
        let _ = remove_file(&temporary);
        return Err(error.into());
    }
    sync_folder(path)
}

/// The file that a path leads to. Renaming over a symbolic link would replace the link.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    match canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(path.to_owned()),
        target => target,
    }
}

/// The permissions of the file to replace, if there is one.
fn permissions(path: &Path) -> std::io::Result<Option<Permissions>> {
    match metadata(path) {
        Ok(old) => Ok(Some(old.permissions())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_whole(file: &mut File, bytes: &[u8], old: Option<Permissions>) -> std::io::Result<()> {
    file.write_all(bytes)?;
    // The umask may have made them narrower. Elsewhere a read-only file could not be renamed.
    if let Some(old) = old.filter(|_| cfg!(unix)) {
        file.set_permissions(old)?;
    }
    file.sync_all()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// How to create a file that nobody can read who could not read the old one.
fn creation(old: Option<&Permissions>) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(old) = old {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(old.mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = old;
    options
}

/// A new file next to `path`.
fn create_temporary(path: &Path, old: Option<&Permissions>) -> Result<(File, PathBuf)> {
    let name = path.file_name().ok_or(std::io::Error::from(ErrorKind::InvalidInput))?;
    let mut attempt = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{attempt}.tmp", std::process::id()));
        let temporary = folder(path).join(temporary);
        match creation(old).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                attempt += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<()> {
    Ok(File::open(folder(path))?.sync_all()?)
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> Result<()> {
    Ok(())
}
