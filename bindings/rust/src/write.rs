// SPDX-License-Identifier: MIT
//! Writing files that appear complete or not at all.

use crate::container::regular_file;
use crate::error::{Error as Fault, Result};
use crate::filter::Filter;
use crate::image::{is_live, layer_of};
use crate::info::PAGE;
use std::collections::hash_map::RandomState;
use std::fs::{canonicalize, metadata, read_link, remove_file, rename};
use std::fs::{symlink_metadata, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Maximum number of names of temporary files, and of symbolic links, that are tried.
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

    /// Writes a file, which replaces a regular file of that name. Follows symbolic links, also to a
    /// file that does not exist yet.
    ///
    /// Does not replace a live filter, unless both of its commit records are lost: write to another
    /// path. If its keys are no longer needed, remove it first (`rm`, or `bloomfile_unlink()` for a
    /// series). The last check is just before the rename: a live filter that another program creates
    /// after it is replaced.
    ///
    /// The new file is written under a temporary name in the same folder, put on disk, and renamed.
    /// So the name always leads to a whole file, also after a crash. A process that is killed can
    /// leave a file `.bloomfile.*.tmp`: remove it by hand.
    ///
    /// On Unix the new file has the permissions of the old file, and its owner and group where the
    /// system allows it. If it does not allow the group, the group has the rights of other users.
    /// Access control lists are lost.
    ///
    /// # Errors
    ///
    /// - [`Error::Live`](crate::Error::Live): the old file is a live filter, or a layer of a live series.
    /// - [`Error::Series`](crate::Error::Series): the old file is missing or damaged, and the file at the
    ///   path + `.1` is, or may be, the second layer of a live series. The new file would hide the keys of
    ///   that series: restore its first file, or write to another path.
    /// - [`Error::Io`](crate::Error::Io): either file cannot be read, or writing fails.
    ///
    /// After an error the old file is unchanged, except if only the last step failed: to put the new
    /// name on disk.
    pub fn write_file<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        write_file(path.as_ref(), self.as_bytes())
    }
}

/// Writes a file as [`Filter::write_file`] does, for example a patch.
///
/// # Errors
///
/// As [`Filter::write_file`].
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let path = &without_links(path)?;
    let old = replaced(path)?;
    check_live(path)?;
    let (mut file, temporary) = create_temporary(path, old.as_ref())?;
    let written = write_whole(&mut file, bytes, old.as_ref()).map_err(Fault::from);
    let checked = written.and_then(|()| check_live(path));
    if let Err(error) = checked.and_then(|()| Ok(rename(&temporary, path)?)) {
        // The first error is the one to report.
        let _ = remove_file(&temporary);
        return Err(error);
    }
    sync_folder(path)
}

/// Fails if a new file would replace a live filter, or take the name of a live series' lost first
/// file. Either would lose keys.
fn check_live(path: &Path) -> Result<()> {
    let head = head_of(path)?;
    if is_live(&head) {
        return Err(Fault::Live);
    }
    let mut second = path.file_name().unwrap_or_default().to_owned();
    second.push(".1");
    // Longer names do not exist.
    if layer_of(&head).is_err() && second.len() <= 255 {
        match layer_of(&head_of(&path.with_file_name(second))?) {
            Ok(Some(1)) | Err(Fault::Header | Fault::Form | Fault::Truncated) => {
                return Err(Fault::Series)
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first bytes of a regular file. Empty if the path does not name one.
fn head_of(path: &Path) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    match metadata(path) {
        Ok(found) if found.is_file() => {
            File::open(path)?.take(PAGE as u64).read_to_end(&mut head)?;
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    Ok(head)
}

/// The path of the file to write: renaming over a symbolic link would replace the link.
fn without_links(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..ATTEMPTS {
        if !symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Ok(path);
        }
        // The path in a link begins in the folder of the link.
        path = canonicalize(folder(&path))?.join(read_link(&path)?);
    }
    Err(Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}

/// The file to replace, if there is one.
fn replaced(path: &Path) -> std::io::Result<Option<Metadata>> {
    match regular_file(path) {
        Ok(old) => Ok(Some(old)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_whole(file: &mut File, bytes: &[u8], old: Option<&Metadata>) -> std::io::Result<()> {
    #[cfg(unix)]
    old.map_or(Ok(()), |old| keep_rights(file, old))?;
    #[cfg(not(unix))]
    let _ = old;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a new file the owner, group and permissions of an old file. No user gains a right: if the
/// group cannot be kept, its former members have the rights of other users.
#[cfg(unix)]
fn keep_rights(file: &File, old: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::{fchown, MetadataExt, PermissionsExt};
    let (group, mode) = (Some(old.gid()), old.mode() & 0o777);
    let kept = fchown(file, Some(old.uid()), group).or_else(|_| fchown(file, None, group)).is_ok();
    let mode = if kept { mode } else { mode & (0o700 | mode >> 3 & 0o007) };
    file.set_permissions(PermissionsExt::from_mode(mode))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Options that create a private file; it gets the rights of the old file later.
fn creation(old: Option<&Metadata>) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if old.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = old;
    options
}

/// A new file next to `path`.
fn create_temporary(path: &Path, old: Option<&Metadata>) -> Result<(File, PathBuf)> {
    if path.file_name().is_none() {
        return Err(Error::from(ErrorKind::InvalidInput).into());
    }
    let mut attempt = 0;
    loop {
        let temporary = folder(path).join(temporary_name());
        match creation(old).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                attempt += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A random temporary name in the form of the C library, which locks and removes files with numbers
/// below 8.
fn temporary_name() -> String {
    // Two states of one process differ.
    let number = RandomState::new().build_hasher().finish();
    format!(".bloomfile.{:012x}.tmp", number & 0xFFFF_FFFF_FFFF | 8)
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<()> {
    Ok(File::open(folder(path))?.sync_all()?)
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> Result<()> {
    Ok(())
}
