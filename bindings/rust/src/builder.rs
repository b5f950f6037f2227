// SPDX-License-Identifier: MIT
//! Builders: filters from lists of keys.

use crate::aligned::reserve;
use crate::body;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::{digest, mulhi, HashName, XXH3};
use crate::image::LIMIT;
use crate::info::{Form, Info, KeyKind, Layout, Slice};
use crate::seal::seal;
use crate::sizes::{capacity, choose, choose_k, DEFAULT_RATE};
use core::fmt;
use core::ops::Range;
use std::string::String;
use std::vec::Vec;

/// Collects keys and makes a sealed filter of them.
///
/// The bytes of the filter follow from the set of the keys: their order does not matter, and a key
/// that is added twice counts once. The builder keeps 8 bytes for each added key, and up to 24
/// while it makes room for more. [`Builder::build`] also needs memory for the filter.
///
/// Without other wishes the filter has the blocked layout and as many bits as the keys need for
/// a false-positive rate of 1%.
///
/// # Examples
///
/// ```
/// use bloomfile::Builder;
///
/// let mut builder = Builder::new().fpr(0.001);
/// builder.add_text("apple")?;
/// builder.add_text("pear")?;
/// let filter = builder.build()?;
/// assert!(filter.contains_text("apple")?);
/// assert!(!filter.contains_text("stone")?);
/// # Ok::<(), bloomfile::Error>(())
/// ```
#[derive(Clone)]
pub struct Builder {
    layout: Layout,
    form: Form,
    seed: u64,
    hash: Option<HashName>,
    /// `None` until the first key decides it.
    key_kind: Option<KeyKind>,
    capacity: Option<u64>,
    fpr: Option<f64>,
    bits: Option<u64>,
    hashes: Option<u32>,
    slice: Option<(u64, u64)>,
    tag: [u8; 16],
    label: String,
    watermark: [u8; 32],
    digests: Vec<u64>,
    /// The first mistake of the caller, which [`Builder::build`] returns.
    mistake: Option<fn() -> Error>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layout, keys) = (self.layout, self.digests.len());
        f.debug_struct("Builder")
            .field("layout", &layout)
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A builder without keys.
    #[must_use]
    pub fn new() -> Self {
        Builder {
            layout: Layout::Blocked,
            form: Form::File,
            seed: 0,
            hash: None,
            key_kind: None,
            capacity: None,
            fpr: None,
            bits: None,
            hashes: None,
            slice: None,
            tag: [0; 16],
            label: String::new(),
            watermark: [0; 32],
            digests: Vec::new(),
            mistake: None,
        }
    }

    /// Sets the layout.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets the form of the image.
    #[must_use]
    pub fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// Sets the seed of the hash function. Call it before keys are added.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.needs_no_keys(|| Error::DifferentSeed);
        self.seed = seed;
        self
    }

    /// Names the application's function that makes the digests of [`Builder::add_digest`]. Call it
    /// before keys are added.
    #[must_use]
    pub fn hash(mut self, name: HashName) -> Self {
        self.needs_no_keys(|| Error::DifferentHash);
        self.hash = Some(name);
        self
    }

    /// Records the kind of the keys. Call it before keys are added.
    ///
    /// Without it the first key decides the kind: text, integers, bytes (a record), or unknown
    /// ([`Builder::add`]). A key that does not fit the kind is an error.
    #[must_use]
    pub fn key_kind(mut self, kind: KeyKind) -> Self {
        self.needs_no_keys(|| Error::KeyKind);
        self.key_kind = Some(kind);
        self
    }

    /// Sets the number of keys to size the filter for, instead of the number that is added.
    ///
    /// More keys are not an error, unlike in `bfcreate`: they raise the rate, up to 1
    /// ([`Filter::rate`]).
    #[must_use]
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// Sets the false-positive rate to size the filter for, above 0 and below 1.
    #[must_use]
    pub fn fpr(mut self, rate: f64) -> Self {
        self.fpr = Some(rate);
        self
    }

    /// Sets m, the number of bits (counting: of counters), instead of choosing it by the rate.
    /// Of a slice, it is that of the whole filter.
    ///
    /// In the blocked and ribbon layouts it is rounded up to a multiple of 512.
    #[must_use]
    pub fn bits(mut self, m: u64) -> Self {
        self.bits = Some(m);
        self
    }

    /// Sets k, the number of positions of a key.
    #[must_use]
    pub fn hashes(mut self, k: u32) -> Self {
        self.hashes = Some(k);
        self
    }

    /// Makes slice number `index`, counted from 0, of a filter with `count` slices.
    ///
    /// Keys of other slices are left out. Give every slice all keys, or only its own keys:
    /// [`join`](crate::join) compares what the slices were given. A slice needs a capacity, or m
    /// and k.
    #[must_use]
    pub fn slice(mut self, index: u64, count: u64) -> Self {
        self.slice = Some((index, count));
        self
    }

    /// Sets the 16 bytes for purposes of the caller.
    #[must_use]
    pub fn tag(mut self, tag: [u8; 16]) -> Self {
        self.tag = tag;
        self
    }

    /// Sets the text for people: at most 112 bytes, without control characters.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Sets the watermark: up to where the keys of the caller's log are in the filter.
    #[must_use]
    pub fn watermark(mut self, watermark: [u8; 32]) -> Self {
        self.watermark = watermark;
        self
    }

    /// Adds a byte string, in lower case if the kind of keys is [`KeyKind::Lower`].
    ///
    /// If the string does not fit the kind, such as 5 bytes among integers, [`Builder::build`]
    /// returns [`Error::KeyKind`]. If an application hashes the keys, it returns [`Error::Hash`]:
    /// use [`Builder::add_digest`].
    pub fn add(&mut self, key: &[u8]) {
        match self.kind(KeyKind::Unknown).fits_bytes(key.len()) {
            // `build` returns the error.
            Ok(()) => drop(self.add_key(key)),
            Err(Error::Feature(_)) => drop(self.mistake.get_or_insert(|| Error::Feature(0))),
            Err(_) => drop(self.mistake.get_or_insert(|| Error::KeyKind)),
        }
    }

    /// The kind of the keys. If it is not decided yet, it becomes `first`.
    fn kind(&mut self, first: KeyKind) -> KeyKind {
        *self.key_kind.get_or_insert(first)
    }

    fn add_key(&mut self, key: &[u8]) -> Result<()> {
        // A digest of XXH3 among those of another function would be a lost key.
        if self.hash.is_some_and(HashName::is_application) {
            self.mistake.get_or_insert(|| Error::Hash);
            return Err(Error::Hash);
        }
        let key = self.kind(KeyKind::Unknown).lowered(key);
        self.push(digest(&key, self.seed))
    }

    /// Remembers a mistake if a key was added before: its digest was made without the new setting.
    fn needs_no_keys(&mut self, error: fn() -> Error) {
        if !self.digests.is_empty() {
            self.mistake.get_or_insert(error);
        }
    }

    /// Adds a key by its digest.
    ///
    /// If memory runs out, [`Builder::build`] returns [`Error::Memory`].
    pub fn add_digest(&mut self, digest: u64) {
        // `build` returns the error.
        let _ = self.push(digest);
    }

    fn push(&mut self, digest: u64) -> Result<()> {
        if reserve(&mut self.digests, 1).is_err() {
            self.mistake.get_or_insert(|| Error::Memory);
            return Err(Error::Memory);
        }
        self.digests.push(digest);
        Ok(())
    }

    /// Adds text, in lower case if the kind of keys is [`KeyKind::Lower`].
    ///
    /// # Errors
    ///
    /// [`Error::KeyKind`] or [`Error::Feature`] if the filter's keys are of another kind,
    /// [`Error::Hash`] if an application hashes them, [`Error::Memory`]. [`Builder::build`] also
    /// returns the last two.
    pub fn add_text(&mut self, key: &str) -> Result<()> {
        self.kind(KeyKind::Text).fits_text()?;
        self.add_key(key.as_bytes())
    }

    /// Adds an integer. Convert a `u64` with `as i64`.
    ///
    /// # Errors
    ///
    /// As [`Builder::add_text`].
    pub fn add_integer(&mut self, key: i64) -> Result<()> {
        self.kind(KeyKind::Integers).fits_integers()?;
        self.add_key(&key.to_le_bytes())
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// As [`Builder::add_text`].
    pub fn add_record(&mut self, key: &[u8]) -> Result<()> {
        self.kind(KeyKind::Bytes).fits_record(key.len())?;
        self.add_key(key)
    }

    /// Makes the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Rate`], [`Error::Bits`], [`Error::HashCount`], [`Error::Capacity`],
    /// [`Error::KeyKind`], [`Error::Label`], [`Error::Slice`] or [`Error::Hash`] if a parameter is
    /// out of range or contradicts another parameter; [`Error::Unreachable`] if no size reaches the
    /// rate; [`Error::Memory`]; [`Error::Hash`] if a key was added that an application hashes;
    /// [`Error::DifferentSeed`], [`Error::DifferentHash`] or [`Error::KeyKind`] if the seed, the
    /// function or the kind of keys was set after the first key.
    pub fn build(mut self) -> Result<Filter<'static>> {
        if let Some(error) = self.mistake {
            return Err(error());
        }
        let mut digests = core::mem::take(&mut self.digests);
        let read = digests.len() as u64;
        let digest_sum = digests.iter().fold(0, |sum: u64, &digest| sum.wrapping_add(digest));
        digests.sort_unstable();
        let repeated = digests.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        let mut info = self.plan(read - repeated)?;
        if let Some((index, count)) = self.slice {
            let whole_blocks = info.m / 512;
            let blocks = cut(whole_blocks, index, count)?;
            digests.retain(|&digest| blocks.contains(&mulhi(digest, whole_blocks)));
            info.m = 512 * (blocks.end - blocks.start);
            info.m_unfolded = info.m;
            info.slice = Some(Slice {
                first_block: blocks.start,
                whole_blocks,
                keys_read: read,
                keys_elsewhere: read - digests.len() as u64,
                digest_sum,
            });
        }
        digests.dedup();
        info.n = digests.len() as u64;
        let mut body = body::empty(&info)?;
        body::add(&mut body, &info, &digests)?;
        let mut filter = Filter::from_sealed(seal(&info, body)?)?;
        // The caller has named the function of the digests that were added.
        filter.state_hash(info.hash)?;
        Ok(filter)
    }

    /// The header for so many distinct keys; of a slice, that of the whole.
    fn plan(&self, n: u64) -> Result<Info> {
        if self.fpr.is_some_and(|rate| !(rate > 0.0 && rate < 1.0)) {
            return Err(Error::Rate);
        }
        if self.capacity.is_some_and(|keys| !(1..=LIMIT).contains(&keys)) {
            return Err(Error::Capacity);
        }
        if self.slice.is_some() && (self.layout != Layout::Blocked || self.form != Form::File) {
            return Err(Error::Slice);
        }
        let (m, k) = self.plan_size(n)?;
        let fpr = match self.bits {
            Some(_) => self.fpr.unwrap_or(0.0),
            None => self.fpr.unwrap_or(DEFAULT_RATE),
        };
        let planned = match self.slice {
            Some(_) => capacity(self.layout, m, k, fpr),
            None => n.max(1),
        };
        Ok(Info {
            layout: self.layout,
            form: self.form,
            hash: self.plan_hash()?,
            seed: self.seed,
            m,
            k,
            key_kind: self.key_kind.unwrap_or_default(),
            capacity: self.capacity.unwrap_or(planned),
            fpr,
            m_unfolded: m,
            provenance: 0,
            tag: self.tag,
            label: self.label.clone(),
            n,
            n_estimated: false,
            ones: 0,
            overflow: 0,
            watermark: self.watermark,
            slice: None,
            layer: None,
        })
    }

    fn plan_hash(&self) -> Result<HashName> {
        let own = HashName::xxh3(self.seed);
        match self.hash {
            Some(name) if name.is_application() || name == own => Ok(name),
            Some(HashName { id: XXH3, .. }) => Err(Error::SelfTest),
            Some(_) => Err(Error::Hash),
            None => Ok(own),
        }
    }

    /// m and k, as given or as chosen.
    fn plan_size(&self, n: u64) -> Result<(u64, u32)> {
        let k_fits = match self.layout {
            Layout::Ribbon => self.hashes.is_none_or(|k| k == 0),
            _ => self.hashes.is_none_or(|k| (1..=64).contains(&k)),
        };
        if !k_fits {
            return Err(Error::HashCount);
        }
        let planned = self.capacity.is_some() || (self.bits.is_some() && self.hashes.is_some());
        if self.slice.is_some() && !planned {
            return Err(Error::Capacity); // m and k must not depend on the keys of one slice
        }
        let keys = self.capacity.unwrap_or(n).max(1);
        let Some(m) = self.bits else {
            let hashes = self.hashes.filter(|&k| k != 0);
            let fpr = self.fpr.unwrap_or(DEFAULT_RATE);
            return choose(self.layout, self.form, keys, fpr, hashes);
        };
        if m == 0 || m > LIMIT {
            return Err(Error::Bits);
        }
        let m = if self.layout.has_blocks() { m.next_multiple_of(512) } else { m };
        Ok((
            m,
            match (self.layout, self.hashes) {
                (Layout::Ribbon, _) => 0,
                (_, Some(k)) => k,
                (_, None) => choose_k(self.layout, keys, m),
            },
        ))
    }
}

/// The blocks of slice number `index` of `count` slices (slices.md 1.3).
pub(crate) fn cut(whole_blocks: u64, index: u64, count: u64) -> Result<Range<u64>> {
    let pages = whole_blocks.div_ceil(64);
    if count > pages.min(65536) || index >= count {
        return Err(Error::Slice);
    }
    let first = |slice: u64| (64 * (pages * slice / count)).min(whole_blocks);
    Ok(first(index)..first(index + 1))
}
