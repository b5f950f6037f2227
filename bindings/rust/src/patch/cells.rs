// SPDX-License-Identifier: MIT
//! Cells of bodies, eight bytes at a time: which of them change, and which could.

use crate::bytes::u64_at;
use crate::info::Layout;

const LOWEST: u64 = 0x1111_1111_1111_1111;

/// The kinds of changes, in the order of their strings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Raised,
    Lowered,
    /// Counters only.
    Moved,
}

/// The changes that a layout can have.
pub(crate) fn changes_of(layout: Layout) -> &'static [Change] {
    match layout {
        Layout::Counting => &[Change::Raised, Change::Lowered, Change::Moved],
        _ => &[Change::Raised, Change::Lowered],
    }
}

/// The cells of a body. A mask has a one at the lowest bit of each cell that it means.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'b> {
    body: &'b [u8],
    counting: bool,
}

impl<'b> Cells<'b> {
    pub(crate) fn new(body: &'b [u8], layout: Layout) -> Self {
        Cells { body, counting: layout == Layout::Counting }
    }

    /// Bits of a cell.
    pub(crate) fn width(self) -> usize {
        if self.counting {
            4
        } else {
            1
        }
    }

    pub(crate) fn word(self, word: usize) -> u64 {
        u64_at(self.body, 8 * word)
    }

    /// The cells of a word that a change could change.
    pub(crate) fn eligible(self, word: usize, change: Change) -> u64 {
        let cells = self.word(word);
        let pairs = |cells: u64| cells | cells >> 1;
        match (self.counting, change) {
            (false, Change::Lowered) => cells,
            (false, _) => !cells,
            (true, Change::Raised) => (pairs(!cells) | pairs(!cells) >> 2) & LOWEST,
            (true, Change::Lowered) => (pairs(cells) | pairs(cells) >> 2) & LOWEST,
            (true, Change::Moved) => LOWEST,
        }
    }

    /// The cells of a word that a change turns into those of the result.
    pub(crate) fn changed(self, result: Cells<'_>, word: usize, change: Change) -> u64 {
        let (old, new) = (self.word(word), result.word(word));
        if old == new {
            return 0;
        }
        if !self.counting {
            return (old ^ new) & self.eligible(word, change);
        }
        let kind = |shift: usize| match (new >> shift & 15).wrapping_sub(old >> shift & 15) {
            0 => None,
            1 => Some(Change::Raised),
            u64::MAX => Some(Change::Lowered),
            _ => Some(Change::Moved),
        };
        let shifts = (0..64).step_by(4);
        shifts.filter(|&shift| kind(shift) == Some(change)).map(|shift| 1 << shift).sum()
    }
}

/// Returns the place of the set bit of a mask that has `passed` set bits before it.
pub(crate) fn select(mut mask: u64, passed: u64) -> usize {
    for _ in 0..passed {
        mask &= mask - 1;
    }
    mask.trailing_zeros() as usize
}

/// A mask of the bits from a place on; 0 if the place is 64.
pub(crate) fn from_place(place: usize) -> u64 {
    u64::MAX.checked_shl(place as u32).unwrap_or(0)
}

/// The places of the set bits of a mask.
pub(crate) fn places(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let place = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}
