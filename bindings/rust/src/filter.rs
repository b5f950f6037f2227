// SPDX-License-Identifier: MIT
//! An open filter: lookups, verification and the fields of its header.

use crate::aligned::Aligned;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::hash::{digest, mulhi, HashName, XXH3};
#[cfg(feature = "std")]
use crate::image::Image;
#[cfg(doc)]
use crate::info::KeyKind;
use crate::info::{Info, Layout};
use crate::kernel;
use crate::part::Part;
use crate::series::parse_all;
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use std::path::Path;

/// Number of keys of a batch that are looked up at a time.
const BATCH: usize = 256;

/// A sealed filter, slice of a filter, or sealed series.
///
/// Any number of threads may use a filter at the same time.
///
/// A lookup cannot fail. The page of a body that a "no" depends on is checked first, the first time
/// that a lookup needs it. A damaged page answers *maybe*, and [`Filter::error`] reports it.
pub struct Filter<'a> {
    /// Whether every byte string can be hashed unchanged.
    plain: bool,
    seed: u64,
    container: Container<'a>,
    first: Part,
    /// The layers of a series after the first.
    rest: Vec<Part>,
    fault: Fault,
    hash_error: Option<fn() -> Error>,
}

impl fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (info, error) = (self.info(), self.error());
        f.debug_struct("Filter").field("info", info).field("error", &error).finish_non_exhaustive()
    }
}

impl<'a> Filter<'a> {
    /// Opens the image, or sealed series, that fills a slice.
    ///
    /// # Errors
    ///
    /// The error of the first rule of the format that the bytes break.
    ///
    /// # Examples
    ///
    /// ```
    /// let error = bloomfile::Filter::from_bytes(b"no filter").unwrap_err();
    /// assert_eq!(error.name(), "BLOOMFILE_EMAGIC");
    /// ```
    pub fn from_bytes(image: &'a [u8]) -> Result<Self> {
        Self::new(Container::borrowed(image), false)
    }

    /// Opens the image, or sealed series, that fills a slice, even if its keys were hashed by an
    /// application.
    ///
    /// Every answer of such a filter is *maybe* until [`Filter::state_hash`] names the function.
    ///
    /// # Errors
    ///
    /// As [`Filter::from_bytes`], but not [`Error::Hash`] for functions of applications.
    pub fn from_bytes_any_hash(image: &'a [u8]) -> Result<Self> {
        Self::new(Container::borrowed(image), true)
    }

    /// Copies the image, or sealed series, that fills a slice, and opens the copy.
    ///
    /// The copy begins at the start of a cache line, so lookups are faster than in bytes that do
    /// not.
    ///
    /// # Errors
    ///
    /// As [`Filter::from_bytes`], and [`Error::Memory`].
    pub fn copy_of(image: &[u8]) -> Result<Filter<'static>> {
        Filter::new(Container::owned(Aligned::copy_of(image)?), false)
    }

    pub(crate) fn new(container: Container<'a>, applications: bool) -> Result<Self> {
        let mut parts = parse_all(&container, applications)?.into_iter().map(Part::new);
        // A container without an image was refused.
        let first = parts.next().ok_or(Error::Empty)??;
        let info = &first.image.info;
        let application = info.hash.id != XXH3;
        let mut filter = Filter {
            plain: !application && info.key_kind.is_plain(),
            seed: info.seed,
            rest: parts.collect::<Result<_>>()?,
            first,
            container,
            fault: Fault::new(),
            hash_error: Some(|| Error::Hash),
        };
        if !application {
            filter.trust_hash();
        }
        Ok(filter)
    }

    /// Answers from now on. Single lookups in single images have a shorter way.
    fn trust_hash(&mut self) {
        self.hash_error = None;
        if self.rest.is_empty() {
            let image = &self.first.image;
            let has_blocks = image.info.layout == Layout::Blocked && image.info.slice.is_none();
            self.container.set_body(image.used(), has_blocks);
        }
    }

    /// Answers *maybe* from now on.
    fn distrust_hash(&mut self, error: fn() -> Error) -> Result<()> {
        self.container.set_body(0..0, false);
        self.hash_error = Some(error);
        Err(error())
    }

    /// States which function makes the digests that will be looked up.
    ///
    /// Only filters whose keys are hashed by an application need it, also those that an operation
    /// made, such as [`Filter::copy`] or [`union`](crate::union()). The name that was stated last
    /// counts.
    ///
    /// # Errors
    ///
    /// [`Error::Hash`] or [`Error::SelfTest`] if the filter was made with another function. Every
    /// answer is *maybe* then, until the right name is stated.
    pub fn state_hash(&mut self, name: HashName) -> Result<()> {
        let own = self.first.image.info.hash;
        if own.id != name.id {
            return self.distrust_hash(|| Error::Hash);
        }
        if own.self_test != name.self_test {
            return self.distrust_hash(|| Error::SelfTest);
        }
        self.trust_hash();
        Ok(())
    }

    /// Returns whether a byte string may be in the set. `false` is certain.
    ///
    /// In a filter of the kind [`KeyKind::Lower`] the letters A to Z count as a to z. A key that
    /// does not fit the kind, such as 5 bytes in a filter of integers, gets `true`, and
    /// [`Filter::error`] reports [`Error::KeyKind`], or [`Error::Feature`] if the kind is newer.
    /// Byte strings fit a filter of text. If your key is text, [`Filter::contains_text`] is
    /// stricter.
    ///
    /// If the keys are hashed by an application, the answer is `true`, and [`Filter::error`]
    /// reports [`Error::Hash`]: use [`Filter::contains_digest`].
    #[inline]
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        if self.plain {
            return self.contains_digest(self.digest(key));
        }
        self.typed_digest(key).is_none_or(|digest| self.contains_digest(digest))
    }

    /// The digest of a byte string. If the string does not fit the kind, reports the error.
    #[inline(never)]
    fn typed_digest(&self, key: &[u8]) -> Option<u64> {
        let info = self.info();
        let fits = match info.hash.id {
            XXH3 => info.key_kind.fits_bytes(key.len()),
            _ => Err(Error::Hash), // app-hashes.md 6
        };
        fits.inspect_err(|error| self.fault.report(error)).ok()?;
        Some(self.digest(&info.key_kind.lowered(key)))
    }

    /// The digest of a key: XXH3 under the filter's seed. The key is hashed unchanged: in a filter
    /// of the kind [`KeyKind::Lower`], first replace A to Z by a to z.
    #[inline]
    #[must_use]
    pub fn digest(&self, key: &[u8]) -> u64 {
        digest(key, self.seed)
    }

    /// Returns whether a key with this digest may be in the set. `false` is certain.
    ///
    /// The digest must come from [`Filter::digest`] of a filter with the same seed, or from the
    /// application's function that was stated.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: u64) -> bool {
        let (Part { spread, level, .. }, blocks) = (&self.first, self.container.blocks());
        match blocks.get(mulhi(digest, blocks.len() as u64) as usize) {
            Some(block) if self.first.are_all_right() => kernel::has(*level, block, digest, spread),
            _ => self.maybe(digest),
        }
    }

    /// Lookups in pages that were not checked yet, and in images of other layouts.
    #[inline(never)]
    fn maybe(&self, digest: u64) -> bool {
        let body = self.container.body();
        if body.is_empty() || !self.first.are_all_right() {
            return self.any_part(digest);
        }
        self.first.right_maybe(body, digest)
    }

    #[inline(never)]
    fn any_part(&self, digest: u64) -> bool {
        let maybe = |part: &Part| part.maybe(&self.container, digest, &self.fault);
        self.hash_error.is_some() || self.parts().any(maybe)
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        core::iter::once(&self.first).chain(&self.rest)
    }

    /// Returns whether text may be in the set. Its keys must be text.
    ///
    /// In a filter of the kind [`KeyKind::Lower`] the letters A to Z count as a to z.
    ///
    /// This looks up only the text itself. The tool `bfquery --domains` also looks up the parents
    /// of a domain.
    ///
    /// # Errors
    ///
    /// [`Error::KeyKind`] if the filter has keys of another kind, [`Error::Feature`] if the kind is
    /// newer. The answer would mean nothing.
    pub fn contains_text(&self, key: &str) -> Result<bool> {
        self.info().key_kind.fits_text()?;
        Ok(self.contains(key.as_bytes()))
    }

    /// Returns whether an integer may be in the set. Its keys must be integers.
    ///
    /// Integers of every width are one kind: convert a `u64` with `as i64`.
    ///
    /// # Errors
    ///
    /// As [`Filter::contains_text`].
    pub fn contains_integer(&self, key: i64) -> Result<bool> {
        self.info().key_kind.fits_integers()?;
        Ok(self.contains(&key.to_le_bytes()))
    }

    /// Returns whether a record may be in the set. Its keys must be records of this size.
    ///
    /// # Errors
    ///
    /// As [`Filter::contains_text`].
    pub fn contains_record(&self, key: &[u8]) -> Result<bool> {
        self.info().key_kind.fits_record(key.len())?;
        Ok(self.contains(key))
    }

    /// Looks up many keys, which is faster than one by one in a filter larger than the caches.
    ///
    /// Sets `answers[i]` to whether `keys[i]` may be in the set, as [`Filter::contains`] returns it.
    /// Returns how many may be.
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [bool]) -> usize {
        assert_eq!(keys.len(), answers.len(), "one answer for each key");
        let mut digests = [0; BATCH];
        let batches = keys.chunks(BATCH).zip(answers.chunks_mut(BATCH));
        let look_up = |(keys, answers): (&[K], &mut [bool])| {
            let digests = &mut digests[..keys.len()];
            if !self.plain {
                return self.many_typed(keys, digests, answers);
            }
            for (digest, key) in digests.iter_mut().zip(keys) {
                *digest = self.digest(key.as_ref());
            }
            self.contains_digests(digests, answers)
        };
        batches.map(look_up).sum()
    }

    /// Looks up a batch of keys that may not fit.
    fn many_typed<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        digests: &mut [u64],
        answers: &mut [bool],
    ) -> usize {
        let mut unfit = [false; BATCH];
        for ((digest, unfit), key) in digests.iter_mut().zip(&mut unfit).zip(keys) {
            let fitting = self.typed_digest(key.as_ref());
            (*digest, *unfit) = (fitting.unwrap_or(0), fitting.is_none());
        }
        self.contains_digests(digests, answers);
        answers.iter_mut().zip(unfit).for_each(|(answer, unfit)| *answer |= unfit);
        answers.iter().filter(|&&answer| answer).count()
    }

    /// Looks up many digests, as [`Filter::contains_many`] does keys.
    ///
    /// # Panics
    ///
    /// If the two slices differ in length.
    pub fn contains_digests(&self, digests: &[u64], answers: &mut [bool]) -> usize {
        assert_eq!(digests.len(), answers.len(), "one answer for each digest");
        if self.hash_error.is_some() {
            answers.fill(true);
            return answers.len();
        }
        let found = self.first.many(&self.container, digests, answers, &self.fault);
        if self.rest.is_empty() {
            return found;
        }
        self.rest.iter().for_each(|part| self.add_answers(part, digests, answers));
        answers.iter().filter(|&&answer| answer).count()
    }

    /// Looks up digests in one more layer.
    fn add_answers(&self, part: &Part, digests: &[u64], answers: &mut [bool]) {
        let mut more = [false; BATCH];
        for (digests, answers) in digests.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let more = &mut more[..digests.len()];
            part.many(&self.container, digests, more, &self.fault);
            answers.iter_mut().zip(more).for_each(|(answer, more)| *answer |= *more);
        }
    }

    /// Checks every byte of the body; in a series, of every layer. The header was checked when the
    /// filter was opened. The bytes between layers mean nothing and are not checked.
    ///
    /// # Errors
    ///
    /// [`Error::Page`] with the lowest damaged page: damaged pages answer *maybe*, other pages
    /// answer as before.
    /// [`Error::Body`] if a body contradicts its header: all its answers are *maybe*.
    /// [`Error::Changed`] if a page that was right is now wrong, as in a mapped file that was
    /// written to: all answers are *maybe*, and earlier answers may have been wrong. That error
    /// stays, also if the bytes change back. A series reports its first damaged layer.
    pub fn verify(&self) -> Result<()> {
        let result = self.parts().map(|part| self.verify_part(part)).fold(Ok(()), Result::and);
        self.unless_changed(result)
    }

    /// A result that no longer counts if bytes have changed, in whatever layer and whenever.
    fn unless_changed(&self, result: Result<()>) -> Result<()> {
        match self.fault.get() {
            Some(Error::Changed) => Err(Error::Changed),
            _ => result,
        }
    }

    /// Checks one layer.
    #[cfg(feature = "std")]
    pub(crate) fn verify_layer(&self, layer: usize) -> Result<()> {
        let result = self.parts().nth(layer).map_or(Ok(()), |part| self.verify_part(part));
        self.unless_changed(result)
    }

    fn verify_part(&self, part: &Part) -> Result<()> {
        part.verify(&self.container).inspect_err(|error| {
            self.fault.report(error);
            if matches!(error, Error::Changed) {
                self.parts().for_each(Part::distrust_all);
            }
        })
    }

    /// The first damage that a lookup or a verification found, or why every answer is *maybe*.
    /// [`Error::Changed`] takes the place of damage that was found before.
    ///
    /// Look at it after a batch of lookups: damage makes answers *maybe*, never a wrong "no".
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.hash_error.map(|error| error()).or_else(|| self.fault.get())
    }

    /// Returns the contents of the header; for a series, of the oldest layer's header.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.first.image.info
    }

    /// Returns the contents of each layer's header, the oldest first. A single image is one layer.
    pub fn layers(&self) -> impl Iterator<Item = &Info> {
        self.parts().map(|part| &part.image.info)
    }

    /// The false-positive rate to expect, from the number of keys; ribbon: from the pages.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn rate(&self) -> f64 {
        1.0 - self.parts().map(|part| 1.0 - part.rate(&self.container)).product::<f64>()
    }

    /// The body of the image; of a series, that of the first layer.
    #[cfg(feature = "std")]
    pub(crate) fn body(&self) -> &[u8] {
        self.first.image.body(&self.container)
    }

    #[cfg(feature = "std")]
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        self.parts().map(|part| &part.image)
    }

    #[cfg(all(test, bloomfile_suite))]
    pub(crate) fn body_crc(&self) -> u32 {
        self.first.image.body_crc
    }

    /// The bytes of the image or series.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.container
    }

    /// A copy of the bytes of the image or series.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.container.to_vec()
    }
}

#[cfg(feature = "std")]
impl Filter<'static> {
    /// Reads a file into memory, and opens the image or sealed series in it.
    ///
    /// The filter owns the bytes: no other program can change or truncate them. [`Filter::map`]
    /// shares them with other processes and opens in microseconds, but is unsafe.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file is not regular or cannot be read, otherwise as [`Filter::from_bytes`].
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Filter::new(Container::read(path.as_ref())?, false)
    }

    /// Opens an image that this crate has just made.
    ///
    /// It does not state the function of an application: only the caller knows which function makes
    /// the digests that will be looked up.
    pub(crate) fn from_sealed(image: Aligned) -> Result<Self> {
        Filter::new(Container::owned(image), true)
    }

    /// As [`Filter::open`], even if the keys were hashed by an application.
    ///
    /// # Errors
    ///
    /// As [`Filter::open`], but not [`Error::Hash`] for functions of applications.
    pub fn open_any_hash<P: AsRef<Path>>(path: P) -> Result<Self> {
        Filter::new(Container::read(path.as_ref())?, true)
    }
}

#[cfg(feature = "mmap")]
#[allow(unsafe_code)] // The promise of the caller, which `Mapping::new` needs.
impl Filter<'static> {
    /// Maps a file into memory, and opens the image or sealed series in it.
    ///
    /// Opening takes microseconds for every size, and processes share the memory. A filter with an
    /// application's hash function cannot be mapped.
    ///
    /// # Safety
    ///
    /// While the filter exists, no program may write to the file or truncate it. Changing borrowed
    /// bytes is undefined behaviour in Rust, and a read beyond the new end of a truncated file
    /// kills the process (SIGBUS), which a library cannot catch safely. Replace filters by renaming
    /// a new file over the old one, as [`Filter::write_file`] does: the old bytes then stay mapped.
    /// [`Filter::open`] has no such condition.
    ///
    /// # Errors
    ///
    /// As [`Filter::open`].
    pub unsafe fn map<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller makes the same promise.
        let mapping = unsafe { crate::mapping::Mapping::new(path.as_ref())? };
        Filter::new(Container::mapped(mapping), false)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use crate::error::Error;

    #[test]
    fn changed_file_stays_reported_as_changed() {
        let filter = crate::Builder::new().build().unwrap();
        filter.fault.report(&Error::Page(0));
        assert!(filter.verify().is_ok());
        filter.fault.report(&Error::Changed);
        assert!(matches!(filter.verify(), Err(Error::Changed)));
        assert!(matches!(filter.verify_layer(0), Err(Error::Changed)));
        assert!(matches!(filter.error(), Some(Error::Changed)));
    }
}
