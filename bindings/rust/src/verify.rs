// SPDX-License-Identifier: MIT
//! Verification of a body: section 12.4 of the specification.

use crate::bytes::{crc32, is_zero, u64_at};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::info::{bytes_needed, Info, Layout, PAGE};
use crate::ribbon::{words, Head, LINE};

/// The page of a body, padding included.
pub(crate) fn page(body: &[u8], page: usize) -> &[u8] {
    &body[page * PAGE..body.len().min((page + 1) * PAGE)]
}

/// Steps 2 to 6. Step 1 compares pages with their entries.
pub(crate) fn check_whole(body: &[u8], image: &Image) -> Result<()> {
    let info = &image.info;
    let (ones, overflow) = count(body, info.layout);
    let whole = crc32(body) == image.body_crc
        && ones == info.ones
        && overflow == info.overflow
        && has_clean_end(body, info)
        && (info.layout != Layout::Ribbon || heads_are_valid(body, info));
    if whole {
        Ok(())
    } else {
        Err(Error::Body)
    }
}

/// The number of one bits, or of counters above 0; and of counters that are 15.
pub(crate) fn count(body: &[u8], layout: Layout) -> (u64, u64) {
    let words = body.chunks_exact(8).map(|word| u64_at(word, 0));
    if layout != Layout::Counting {
        return (words.map(|word| u64::from(word.count_ones())).sum(), 0);
    }
    let lowest = 0x1111_1111_1111_1111;
    let mut counts = (0, 0);
    for word in words {
        let pairs = (word | word >> 1, word & word >> 1);
        counts.0 += u64::from(((pairs.0 | pairs.0 >> 2) & lowest).count_ones());
        counts.1 += u64::from(((pairs.1 & pairs.1 >> 2) & lowest).count_ones());
    }
    counts
}

/// Returns whether the bits and bytes beyond m are zero.
pub(crate) fn has_clean_end(body: &[u8], info: &Info) -> bool {
    let used = bytes_needed(info.layout, info.m) as usize;
    let bits = match info.layout {
        Layout::Counting => info.m % 2 * 4,
        _ => info.m % 8,
    };
    (bits == 0 || body[used - 1] >> bits == 0) && is_zero(&body[used..])
}

fn heads_are_valid(body: &[u8], info: &Info) -> bool {
    let used = &body[..(info.m / 8) as usize];
    let (mut keys, mut more) = (0_u128, false);
    for page in used.chunks(PAGE) {
        debug_assert!(page.len() % LINE == 0);
        let head = Head(u64_at(page, 0));
        if !head.is_valid(words(page.len())) {
            return false;
        }
        keys += u128::from(head.keys());
        more |= head.keys() == u64::from(u32::MAX);
    }
    keys == u128::from(info.n) || (more && keys < u128::from(info.n))
}
