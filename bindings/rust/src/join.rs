// SPDX-License-Identifier: MIT
//! Joining all slices of a filter (slices.md 1.3).

use crate::body;
use crate::combine::{Output, KNOWN_PROVENANCE};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::info::{Info, Slice};
use crate::seal::seal;
use std::string::String;
use std::vec::Vec;

/// Makes the whole filter from all of its slices, given in any order.
///
/// The result is, byte for byte, the filter that a builder makes of all their keys. With
/// `accept_different_inputs` the slices may have been made from different lists of keys: keys that
/// were not given to their own slice are then missing.
///
/// # Errors
///
/// [`Error::Incomplete`] if a source is not a slice, a slice is missing or there twice, or the
/// slices differ; otherwise the errors of [`Filter::verify`].
pub fn join(
    slices: &[&Filter<'_>],
    accept_different_inputs: bool,
    output: &Output,
) -> Result<Filter<'static>> {
    let mut sources = Vec::new();
    for slice in slices {
        let place = slice.info().slice.ok_or(Error::Incomplete)?;
        sources.push((place, *slice));
    }
    sources.sort_by_key(|(place, _)| place.first_block);
    check_complete(&sources, accept_different_inputs)?;
    sources.iter().try_for_each(|(_, slice)| slice.verify())?;
    let (place, first) = sources[0];
    let info = describe(&sources, first.info(), place.whole_blocks, output);
    let mut whole = body::empty(&info)?;
    for (place, slice) in &sources {
        let start = place.first_block as usize * 64;
        let used = (slice.info().m / 8) as usize;
        whole[start..start + used].copy_from_slice(&slice.body()[..used]);
    }
    Filter::from_sealed(seal(&info, whole)?)
}

/// Steps 2 to 4.
fn check_complete(sources: &[(Slice, &Filter<'_>)], accept_different_inputs: bool) -> Result<()> {
    let (first, filter) = sources.first().ok_or(Error::Incomplete)?;
    let mut end = 0;
    for (place, slice) in sources {
        if place.first_block != end || !alike(first, filter.info(), place, slice.info()) {
            return Err(Error::Incomplete);
        }
        end += slice.info().m / 512;
    }
    let nothing_elsewhere = sources.iter().all(|(place, _)| place.keys_elsewhere == 0);
    let same_input = sources.iter().all(|(place, _)| {
        place.keys_read == first.keys_read && place.digest_sum == first.digest_sum
    });
    let all_given = nothing_elsewhere || same_input || accept_different_inputs;
    if end == first.whole_blocks && all_given {
        Ok(())
    } else {
        Err(Error::Incomplete)
    }
}

/// Step 3.
fn alike(place: &Slice, info: &Info, other_place: &Slice, other: &Info) -> bool {
    place.whole_blocks == other_place.whole_blocks
        && info.hash == other.hash
        && info.k == other.k
        && info.seed == other.seed
        && info.key_kind == other.key_kind
        && info.capacity == other.capacity
        && info.fpr.to_bits() == other.fpr.to_bits()
        && info.tag == other.tag
        && info.label == other.label
        && (info.provenance ^ other.provenance) & KNOWN_PROVENANCE == 0
}

/// Steps 8 and 9.
fn describe(
    sources: &[(Slice, &Filter<'_>)],
    first: &Info,
    whole_blocks: u64,
    output: &Output,
) -> Info {
    let mut counts = sources.iter().map(|(_, slice)| slice.info().n);
    let sum = counts.try_fold(0_u64, u64::checked_add);
    let mut info = Info {
        m: 512 * whole_blocks,
        m_unfolded: 512 * whole_blocks,
        n: sum.unwrap_or(u64::MAX),
        n_estimated: sum.is_none() || sources.iter().any(|(_, slice)| slice.info().n_estimated),
        watermark: [0; 32],
        label: String::clone(&first.label),
        slice: None,
        ..first.clone()
    };
    output.apply(&mut info);
    info
}
