// SPDX-License-Identifier: MIT
//! Folding, union, intersection, projection and copies (operations.md).

use crate::body::{self, Body};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::info::{Form, Info, KeyKind, Layout};
use crate::ribbon::LINE;
use crate::seal::seal;
use crate::sizes::estimate;
use crate::verify::count;
use std::string::String;
use std::vec::Vec;

const INTERSECTION: u32 = 1;
const UNION: u32 = 2;
const PROJECTION: u32 = 4;
/// The bits of `provenance` that results keep.
pub(crate) const KNOWN_PROVENANCE: u32 = INTERSECTION | UNION | PROJECTION;

/// The choices of the caller for the result of an operation.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// The form of the result.
    pub form: Form,
    /// The number of distinct keys of a union or intersection, if known to the caller.
    pub n: Option<u64>,
    /// A tag in place of the source's.
    pub tag: Option<[u8; 16]>,
    /// A label in place of the source's.
    pub label: Option<String>,
    /// A watermark in place of the source's.
    pub watermark: Option<[u8; 32]>,
}

impl Output {
    pub(crate) fn apply(&self, info: &mut Info) {
        info.form = self.form;
        info.provenance &= KNOWN_PROVENANCE;
        info.tag = self.tag.unwrap_or(info.tag);
        info.watermark = self.watermark.unwrap_or(info.watermark);
        if let Some(label) = &self.label {
            info.label.clone_from(label);
        }
    }
}

impl Filter<'_> {
    /// Makes a smaller filter of the same keys: m divided by `factor`.
    ///
    /// # Errors
    ///
    /// [`Error::Factor`] if the factor does not divide the number of blocks (classic and counting:
    /// of m), [`Error::IsSeries`], [`Error::IsSlice`] or [`Error::IsRibbon`] if the filter cannot
    /// be folded, and the errors of [`Filter::verify`].
    pub fn fold(&self, factor: u64, output: &Output) -> Result<Filter<'static>> {
        let source = whole(self)?;
        if source.layout == Layout::Ribbon && factor != 1 {
            return Err(Error::IsRibbon);
        }
        if factor == 0 || units(source) % factor != 0 {
            return Err(Error::Factor);
        }
        self.verify()?;
        let mut info = source.clone();
        output.apply(&mut info);
        info.m /= factor;
        let body = fold_body(self.body(), source, &info, factor)?;
        Filter::from_sealed(seal(&info, body)?)
    }

    /// Makes a copy without the fields that this version does not know, in any form.
    ///
    /// The copy of a slice is the same slice. [`Filter::to_vec`] copies the very same bytes.
    ///
    /// # Errors
    ///
    /// [`Error::IsSeries`] for series, [`Error::IsSlice`] for a slice in the embedded form, and the
    /// errors of [`Filter::verify`].
    pub fn copy(&self, output: &Output) -> Result<Filter<'static>> {
        let source = self.info();
        if source.layer.is_some() {
            return Err(Error::IsSeries);
        }
        if source.slice.is_some() && output.form != Form::File {
            return Err(Error::IsSlice);
        }
        self.verify()?;
        let mut info = source.clone();
        output.apply(&mut info);
        let body = fold_body(self.body(), source, &info, 1)?;
        Filter::from_sealed(seal(&info, body)?)
    }

    /// Makes a classic filter of a counting filter.
    ///
    /// # Errors
    ///
    /// [`Error::NotCounting`] for other layouts, [`Error::IsSeries`] or [`Error::IsSlice`], and the
    /// errors of [`Filter::verify`].
    pub fn project(&self, output: &Output) -> Result<Filter<'static>> {
        let source = whole(self)?;
        if source.layout != Layout::Counting {
            return Err(Error::NotCounting);
        }
        self.verify()?;
        let mut info = source.clone();
        output.apply(&mut info);
        info.layout = Layout::Classic;
        info.provenance |= PROJECTION;
        let mut body = body::empty(&info)?;
        for (j, _) in counters(self.body()).filter(|&(_, count)| count != 0) {
            body[(j / 8) as usize] |= 1 << (j % 8);
        }
        Filter::from_sealed(seal(&info, body)?)
    }
}

/// Makes a filter of the keys of all sources. Sources of different m are folded to a common m.
///
/// # Errors
///
/// [`Error::DifferentLayout`], [`Error::DifferentHash`], [`Error::DifferentHashCount`],
/// [`Error::DifferentSeed`], [`Error::KeyKind`] or [`Error::Feature`] if the sources do not go
/// together, [`Error::IsSeries`], [`Error::IsSlice`] or [`Error::IsRibbon`] if a source has no
/// union, [`Error::Empty`] without sources, and the errors of [`Filter::verify`].
pub fn union(sources: &[&Filter<'_>], output: &Output) -> Result<Filter<'static>> {
    merge(sources, output, UNION)
}

/// Makes a filter that has at least the keys of every source. It has more false positives than
/// a filter that is built of these keys.
///
/// # Errors
///
/// As [`union`], and [`Error::IsCounting`] for counting filters.
pub fn intersection(sources: &[&Filter<'_>], output: &Output) -> Result<Filter<'static>> {
    merge(sources, output, INTERSECTION)
}

/// The header of a filter that is neither a series nor a slice.
fn whole<'f>(filter: &'f Filter<'_>) -> Result<&'f Info> {
    let info = filter.info();
    if info.layer.is_some() {
        Err(Error::IsSeries)
    } else if info.slice.is_some() {
        Err(Error::IsSlice)
    } else {
        Ok(info)
    }
}

/// The number of units that folding divides: blocks, or cells.
fn units(info: &Info) -> u64 {
    if info.layout.has_blocks() {
        info.m / 512
    } else {
        info.m
    }
}

/// The four-bit counters of a body, with their numbers.
fn counters(body: &[u8]) -> impl Iterator<Item = (u64, u8)> + '_ {
    (0..).zip(body.iter().flat_map(|byte| [byte & 15, byte >> 4]))
}

/// The numbers of the one bits of a body.
fn ones(body: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let bits = |byte: u8| (0..8).filter(move |bit| byte >> bit & 1 != 0);
    (0_u64..).zip(body).flat_map(move |(i, &byte)| bits(byte).map(move |bit| 8 * i + bit))
}

/// A body, folded by a factor that divides its units, in the form and with the m of `info`.
fn fold_body(body: &[u8], source: &Info, info: &Info, factor: u64) -> Result<Body> {
    let mut folded = body::empty(info)?;
    if factor == 1 {
        let used = crate::info::bytes_needed(source.layout, source.m) as usize;
        folded[..used].copy_from_slice(&body[..used]);
        return Ok(folded);
    }
    match source.layout {
        Layout::Blocked | Layout::Ribbon => {
            let blocks = body[..(source.m / 8) as usize].chunks_exact(LINE);
            for (i, block) in (0..).zip(blocks) {
                unite_bits(&mut folded[(i / factor) as usize * LINE..][..LINE], block);
            }
        }
        Layout::Classic => {
            for bit in ones(body) {
                folded[(bit / factor / 8) as usize] |= 1 << (bit / factor % 8);
            }
        }
        Layout::Counting => {
            for (j, count) in counters(body).take_while(|&(j, _)| j < source.m) {
                add_to_counter(&mut folded, j / factor, count);
            }
        }
    }
    Ok(folded)
}

fn unite_bits(body: &mut [u8], other: &[u8]) {
    body.iter_mut().zip(other).for_each(|(byte, other)| *byte |= other);
}

fn add_to_counter(body: &mut [u8], j: u64, count: u8) {
    let (byte, shift) = (&mut body[(j / 2) as usize], j % 2 * 4);
    let sum = (*byte >> shift & 15) + count;
    *byte = *byte & !(15 << shift) | sum.min(15) << shift;
}

fn merge(sources: &[&Filter<'_>], output: &Output, how: u32) -> Result<Filter<'static>> {
    let infos = sources.iter().map(|source| whole(source)).collect::<Result<Vec<_>>>()?;
    let first = *infos.first().ok_or(Error::Empty)?;
    check_alike(&infos)?;
    let key_kind = common_kind(&infos)?;
    if how == INTERSECTION && first.layout == Layout::Counting {
        return Err(Error::IsCounting);
    }
    sources.iter().try_for_each(|source| source.verify())?;
    let m = infos.iter().fold(0, |m, info| gcd(info.m, m));
    let mut info = Info {
        m,
        m_unfolded: m,
        key_kind,
        capacity: infos.iter().map(|info| info.capacity).max().unwrap_or(1),
        fpr: infos.iter().map(|info| info.fpr).fold(0.0, f64::max),
        provenance: infos.iter().fold(how, |all, info| all | info.provenance),
        tag: [0; 16],
        label: String::new(),
        watermark: [0; 32],
        ..first.clone()
    };
    output.apply(&mut info);
    let body = merge_bodies(sources, &info, how)?;
    (info.n, info.n_estimated) = match output.n {
        Some(n) => (n, false),
        None => merged_n(&infos, &info, &body, how),
    };
    Filter::from_sealed(seal(&info, body)?)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

/// Whether bodies of these images can be compared bit by bit, once they are folded.
pub(crate) fn check_alike(infos: &[&Info]) -> Result<()> {
    if infos.iter().any(|info| info.layout == Layout::Ribbon) {
        return Err(Error::IsRibbon);
    }
    let all = |alike: fn(&Info, &Info) -> bool, error: Error| {
        let alike = infos.windows(2).all(|pair| alike(pair[0], pair[1]));
        if alike {
            Ok(())
        } else {
            Err(error)
        }
    };
    all(|a, b| a.layout == b.layout, Error::DifferentLayout)?;
    all(hash_alike, Error::DifferentHash)?;
    all(|a, b| a.k == b.k, Error::DifferentHashCount)?;
    all(|a, b| a.seed == b.seed, Error::DifferentSeed)
}

/// The `self_test` of XXH3 follows from the seed, which has an error of its own.
fn hash_alike(a: &Info, b: &Info) -> bool {
    a.hash.id == b.hash.id && (!a.hash.is_application() || a.hash == b.hash)
}

/// The kind of the keys of a result.
fn common_kind(infos: &[&Info]) -> Result<KeyKind> {
    let first = infos[0].key_kind;
    for (i, info) in infos.iter().enumerate() {
        infos[..i].iter().try_for_each(|other| check_kinds(info.key_kind, other.key_kind))?;
    }
    let same = infos.iter().all(|info| info.key_kind == first);
    Ok(if same { first } else { KeyKind::Unknown })
}

fn check_kinds(one: KeyKind, two: KeyKind) -> Result<()> {
    let unknown = one == KeyKind::Unknown || two == KeyKind::Unknown;
    let lower = one == KeyKind::Lower || two == KeyKind::Lower;
    match (one, two) {
        _ if one == two => Ok(()),
        (KeyKind::Newer(_), _) | (_, KeyKind::Newer(_)) => Err(Error::Feature(0)),
        _ if unknown && !lower => Ok(()),
        _ => Err(Error::KeyKind),
    }
}

fn merge_bodies(sources: &[&Filter<'_>], info: &Info, how: u32) -> Result<Body> {
    let mut merged: Option<Body> = None;
    for source in sources {
        let from = source.info();
        let body = fold_body(source.body(), from, info, from.m / info.m)?;
        match &mut merged {
            None => merged = Some(body),
            Some(merged) => merge_body(merged, &body, info.layout, how),
        }
    }
    merged.ok_or(Error::Empty)
}

fn merge_body(merged: &mut [u8], body: &[u8], layout: Layout, how: u32) {
    if how == INTERSECTION {
        merged.iter_mut().zip(body).for_each(|(byte, other)| *byte &= other);
    } else if layout == Layout::Counting {
        counters(body).for_each(|(j, count)| add_to_counter(merged, j, count));
    } else {
        unite_bits(merged, body);
    }
}

/// n and whether it is an estimate (operations.md 6).
fn merged_n(infos: &[&Info], info: &Info, body: &[u8], how: u32) -> (u64, bool) {
    let estimated = || (estimate(info.m, info.k, count(body, info.layout).0), true);
    let as_source = |info: &Info| if info.n_estimated { estimated() } else { (info.n, false) };
    let has_keys = |info: &&&Info| info.n != 0 || info.n_estimated;
    if let [only] = infos {
        return as_source(only);
    }
    if how == INTERSECTION {
        return if infos.iter().all(|info| has_keys(&info)) { estimated() } else { (0, true) };
    }
    let mut with_keys = infos.iter().filter(has_keys);
    match (with_keys.next(), with_keys.next()) {
        (None, _) => (0, false),
        (Some(only), None) => as_source(only),
        _ => estimated(),
    }
}
