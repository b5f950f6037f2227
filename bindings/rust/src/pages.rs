// SPDX-License-Identifier: MIT
//! The pages of a body that were found right or wrong.
//!
//! The bytes of a body do not change. So a thread may see the bytes and the results of other threads
//! in any order, and all operations are relaxed.

#![allow(clippy::inline_always)] // They are a load and a comparison.

use crate::aligned::zeros;
use crate::error::Result;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Two bits for each page. They are only ever set, and "wrong" outweighs "right". So no order of
/// two threads makes a wrong page right again. A page that was right and becomes wrong counts as
/// a doubt again, because lookups look at the bits only if there are doubts.
const RIGHT: usize = 1;
const WRONG: usize = 2;
const IN_WORD: usize = usize::BITS as usize / 2;
/// `WRONG` of every page of a word.
const ALL_WRONG: usize = usize::MAX / 3 * WRONG;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Unchecked,
    Right,
    Wrong,
}

/// A number of doubts that never becomes 0 again.
const FOR_EVER: usize = 1 << (usize::BITS - 1);

pub(crate) struct Pages {
    words: Box<[AtomicUsize]>,
    /// The number of pages not checked yet, or wrong. If it is 0, lookups skip `words`.
    doubts: AtomicUsize,
}

impl Pages {
    pub(crate) fn new(pages: usize) -> Result<Self> {
        let words = zeros(pages.div_ceil(IN_WORD))?;
        Ok(Pages { words, doubts: AtomicUsize::new(pages) })
    }

    #[inline]
    fn bits(&self, page: usize) -> usize {
        match self.words.get(page / IN_WORD) {
            Some(word) => word.load(Ordering::Relaxed) >> (2 * (page % IN_WORD)) & 3,
            None => WRONG,
        }
    }

    /// Returns whether a zero bit of the page can be relied on.
    #[inline(always)]
    pub(crate) fn is_right(&self, page: usize) -> bool {
        self.are_all_right() || self.bits(page) == RIGHT
    }

    #[inline(always)]
    pub(crate) fn are_all_right(&self) -> bool {
        self.doubts.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn state(&self, page: usize) -> State {
        match self.bits(page) {
            0 => State::Unchecked,
            RIGHT => State::Right,
            _ => State::Wrong,
        }
    }

    /// Records the result of a check, and returns whether the page counts as right.
    pub(crate) fn record(&self, page: usize, right: bool) -> bool {
        if let Some(word) = self.words.get(page / IN_WORD) {
            let bit = if right { RIGHT } else { WRONG };
            let shift = 2 * (page % IN_WORD);
            let before = word.fetch_or(bit << shift, Ordering::Relaxed) >> shift & 3;
            match (before, right) {
                (0, true) => self.doubts.fetch_sub(1, Ordering::Relaxed),
                (RIGHT, false) => self.doubts.fetch_add(1, Ordering::Relaxed),
                _ => before,
            };
        }
        self.is_right(page)
    }

    /// After this no page counts as right.
    pub(crate) fn distrust_all(&self) {
        for word in &self.words {
            word.fetch_or(ALL_WRONG, Ordering::Relaxed);
        }
        self.doubts.fetch_or(FOR_EVER, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn page_found_wrong_once_is_never_right() {
        let pages = Pages::new(2).unwrap();
        pages.record(1, true);
        pages.record(0, true);
        assert!(pages.are_all_right());
        assert!(!pages.record(0, false));
        assert!(!pages.record(0, true));
        assert!(!pages.is_right(0) && pages.is_right(1));
    }
}
