// SPDX-License-Identifier: MIT
//! Adding digests to the body of a new filter.

use crate::aligned::Aligned;
use crate::error::{Error, Result};
use crate::hash::{cells, mulhi, places};
use crate::info::{body_size, image_size, Info, Layout, PAGE};
use crate::ribbon::LINE;
use crate::solve::solve;
use core::ops::{Deref, DerefMut, Range};

/// The body of an image that is not sealed yet, in the memory of the image.
pub(crate) struct Body {
    pub image: Aligned,
    pub place: Range<usize>,
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.image[self.place.clone()]
    }
}

impl DerefMut for Body {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.image[self.place.clone()]
    }
}

/// A body of zeros.
pub(crate) fn empty(info: &Info) -> Result<Body> {
    let size = body_size(info.layout, info.form, info.m);
    let whole = usize::try_from(image_size(info.form, size)).map_err(|_| Error::Memory)?;
    let start = info.form.header_size();
    Ok(Body { image: Aligned::zeros(whole)?, place: start..start + size as usize })
}

/// Adds distinct digests, in ascending order, which all belong to this body.
pub(crate) fn add(body: &mut [u8], info: &Info, digests: &[u64]) -> Result<()> {
    match info.layout {
        Layout::Blocked => add_blocked(body, info, digests),
        Layout::Classic => add_bits(body, info, digests),
        Layout::Counting => add_counts(body, info, digests),
        Layout::Ribbon => return add_ribbon(body, info, digests),
    }
    Ok(())
}

fn add_blocked(body: &mut [u8], info: &Info, digests: &[u64]) {
    let (first, whole) =
        info.slice.map_or((0, info.m / 512), |slice| (slice.first_block, slice.whole_blocks));
    for &digest in digests {
        let start = (mulhi(digest, whole) - first) as usize * LINE;
        for place in places(digest, info.k) {
            body[start + place / 8] |= 1 << (place % 8);
        }
    }
}

fn add_bits(body: &mut [u8], info: &Info, digests: &[u64]) {
    for &digest in digests {
        for bit in cells(digest, info.k, info.m) {
            body[(bit / 8) as usize] |= 1 << (bit % 8);
        }
    }
}

fn add_counts(body: &mut [u8], info: &Info, digests: &[u64]) {
    for &digest in digests {
        for counter in cells(digest, info.k, info.m) {
            let (byte, shift) = ((counter / 2) as usize, counter % 2 * 4);
            if body[byte] >> shift & 15 < 15 {
                body[byte] += 1 << shift;
            }
        }
    }
}

fn add_ribbon(body: &mut [u8], info: &Info, digests: &[u64]) -> Result<()> {
    let lines = info.m / 512;
    let used = lines as usize * LINE;
    let mut left = digests;
    for (number, page) in body[..used].chunks_mut(PAGE).enumerate() {
        let here = left.partition_point(|&digest| {
            mulhi(digest, lines) / (PAGE / LINE) as u64 <= number as u64
        });
        solve(&left[..here], page)?;
        left = &left[here..];
    }
    Ok(())
}
