// SPDX-License-Identifier: MIT
//! Lookups in one image, which check each page before they rely on a zero bit of it.

use crate::aligned::zeros;
use crate::bytes::crc32;
use crate::container::{blocks_of, Block};
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::hash::cells;
use crate::image::Image;
use crate::info::{Layout, PAGE};
use crate::kernel::{self, page_of, Cells, Level, Spread};
use crate::pages::{Pages, State};
use crate::ribbon::{Shape, LINE};
use crate::verify::{self, check_whole};
use alloc::boxed::Box;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

/// An image, and which of its pages were checked.
pub(crate) struct Part {
    /// The members that a lookup reads, in adjacent memory.
    pub spread: Spread,
    pub level: Level,
    layout: Layout,
    /// Where the bits are in the container, without padding.
    used: Range<usize>,
    pages: Pages,
    /// Ribbon: the shape of each page that was found right, which answers *maybe* if the page is
    /// wrong. 0 until the page was checked.
    shapes: Box<[AtomicU32]>,
    pub image: Image,
}

impl Part {
    pub(crate) fn new(image: Image) -> Result<Self> {
        let info = &image.info;
        let (first, whole) = match &info.slice {
            Some(slice) => (slice.first_block, slice.whole_blocks),
            None => (0, info.m / 512),
        };
        let shapes = if info.layout == Layout::Ribbon { image.pages() } else { 0 };
        Ok(Part {
            spread: Spread::new(whole, first, info.k),
            level: Level::best(),
            layout: info.layout,
            used: image.used(),
            pages: Pages::new(image.pages())?,
            shapes: zeros(shapes)?,
            image,
        })
    }

    pub(crate) fn maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        if self.are_all_right() {
            return self.right_maybe(&container[self.used.clone()], digest);
        }
        match self.layout {
            Layout::Blocked => self.blocked_maybe(container, digest, fault),
            Layout::Ribbon => self.ribbon_maybe(container, digest, fault),
            Layout::Classic => self.cells_maybe::<false>(container, digest, fault),
            Layout::Counting => self.cells_maybe::<true>(container, digest, fault),
        }
    }

    /// Looks up a digest in a body whose pages were all found right.
    #[inline]
    pub(crate) fn right_maybe(&self, body: &[u8], digest: u64) -> bool {
        let Part { level, spread, image, .. } = self;
        match self.layout {
            Layout::Blocked => {
                let block = spread.find(blocks_of(body), digest);
                block.is_none_or(|block| kernel::has(*level, block, digest, spread))
            }
            Layout::Ribbon => {
                let pages = kernel::Pages { body, shapes: &self.shapes };
                let page = page_of(digest, body);
                kernel::ribbon(*level, body, page, pages.shape(page), digest)
            }
            Layout::Classic => kernel::has_bits(*level, body, image.info.m, spread.k, digest),
            Layout::Counting => kernel::has_counters(*level, body, image.info.m, spread.k, digest),
        }
    }

    fn blocked_maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        match self.spread.find(self.blocks(container), digest) {
            Some(block) if !kernel::has(self.level, block, digest, &self.spread) => {
                let page = self.spread.number(digest) as usize / (PAGE / LINE);
                !self.relies_on(container, page, fault)
            }
            _ => true,
        }
    }

    fn cells_maybe<const COUNTERS: bool>(
        &self,
        container: &[u8],
        digest: u64,
        fault: &Fault,
    ) -> bool {
        let them = self.cells::<COUNTERS>(container);
        cells(digest, them.k, them.m).all(|cell| {
            them.is_set(cell)
                || !self.relies_on(container, Cells::<COUNTERS>::byte(cell) / PAGE, fault)
        })
    }

    fn ribbon_maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        let pages = self.ribbon_pages(container);
        let page = page_of(digest, pages.body);
        self.check_page(container, page as usize, fault);
        kernel::ribbon(self.level, pages.body, page, pages.shape(page), digest)
    }

    /// Looks up many digests, and returns how many may be in the set.
    pub(crate) fn many(
        &self,
        container: &[u8],
        digests: &[u64],
        answers: &mut [bool],
        fault: &Fault,
    ) -> usize {
        match self.layout {
            Layout::Blocked => {
                let (level, blocks) = (self.level, self.blocks(container));
                let found = kernel::many_blocked(level, blocks, &self.spread, digests, answers);
                if self.are_all_right() {
                    return found;
                }
                let page = |digest| self.spread.number(digest) as usize / (PAGE / LINE);
                for (&digest, answer) in digests.iter().zip(&mut *answers) {
                    *answer = *answer || !self.relies_on(container, page(digest), fault);
                }
            }
            Layout::Ribbon => {
                let pages = self.ribbon_pages(container);
                if !self.are_all_right() {
                    for &digest in digests {
                        self.check_page(container, page_of(digest, pages.body) as usize, fault);
                    }
                }
                return kernel::many_ribbon(self.level, &pages, digests, answers);
            }
            Layout::Classic if self.are_all_right() => {
                return kernel::many_bits(self.level, &self.cells(container), digests, answers);
            }
            Layout::Counting if self.are_all_right() => {
                return kernel::many_counters(self.level, &self.cells(container), digests, answers);
            }
            Layout::Classic | Layout::Counting => {
                for (&digest, answer) in digests.iter().zip(&mut *answers) {
                    *answer = self.maybe(container, digest, fault);
                }
            }
        }
        answers.iter().filter(|&&answer| answer).count()
    }

    /// The blocks, or lines, that are in use.
    fn blocks<'c>(&self, container: &'c [u8]) -> &'c [Block] {
        blocks_of(&container[self.used.clone()])
    }

    fn cells<'c, const COUNTERS: bool>(&self, container: &'c [u8]) -> Cells<'c, COUNTERS> {
        Cells { body: &container[self.used.clone()], m: self.image.info.m, k: self.spread.k }
    }

    fn ribbon_pages<'c>(&'c self, container: &'c [u8]) -> kernel::Pages<'c> {
        kernel::Pages { body: &container[self.used.clone()], shapes: &self.shapes }
    }

    /// The lines of a page that are in use.
    fn ribbon_page<'c>(&self, container: &'c [u8], page: usize) -> &'c [u8] {
        verify::page(&container[self.used.clone()], page)
    }

    /// Returns whether every zero bit is a certain "no".
    #[inline]
    pub(crate) fn are_all_right(&self) -> bool {
        self.pages.are_all_right()
    }

    /// Returns whether a zero bit of the page is a certain "no".
    #[inline]
    fn relies_on(&self, container: &[u8], page: usize, fault: &Fault) -> bool {
        self.pages.is_right(page) || self.check_page(container, page, fault)
    }

    #[cold]
    fn check_page(&self, container: &[u8], page: usize, fault: &Fault) -> bool {
        if self.pages.state(page) != State::Unchecked {
            return self.pages.is_right(page);
        }
        let right = self.matches_entry(container, page);
        if !right {
            fault.report(&Error::Page(page as u64));
        }
        self.record(container, page, right)
    }

    /// Records the result of a check, and returns whether the page counts as right.
    fn record(&self, container: &[u8], page: usize, right: bool) -> bool {
        if let Some(shape) = self.shapes.get(page) {
            if right {
                // A page that another thread found wrong stays wrong.
                let Shape(new) = Shape::of_page(self.ribbon_page(container, page));
                let _ = shape.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
            } else {
                shape.store(Shape::MAYBE.0, Ordering::Relaxed);
            }
        }
        self.pages.record(page, right)
    }

    fn matches_entry(&self, container: &[u8], page: usize) -> bool {
        let bytes = verify::page(self.image.body(container), page);
        crc32(bytes) ^ self.image.body_crc == self.image.entry(container, page)
    }

    /// Checks the whole body. Every page that is wrong answers *maybe* from then on.
    pub(crate) fn verify(&self, container: &[u8]) -> Result<()> {
        let mut result = Ok(());
        for page in 0..self.image.pages() {
            let before = self.pages.state(page);
            let right = self.matches_entry(container, page);
            self.record(container, page, right);
            if !right && before == State::Right {
                return Err(self.distrust(Error::Changed));
            }
            if !right && result.is_ok() {
                result = Err(Error::Page(page as u64));
            }
        }
        result?;
        check_whole(self.image.body(container), &self.image).map_err(|error| self.distrust(error))
    }

    /// The rate to expect of digests that belong to this image.
    #[cfg(feature = "std")]
    pub(crate) fn rate(&self, container: &[u8]) -> f64 {
        let info = &self.image.info;
        if info.layout != Layout::Ribbon {
            // k and m are valid, and the layout has a rate.
            return crate::sizes::rate(info.layout, info.n, info.m, info.k).unwrap_or(1.0);
        }
        let lines = |page: usize| self.ribbon_page(container, page).len() as f64;
        let rates = (0..self.image.pages())
            .map(|page| crate::ribbon::rate(self.ribbon_page(container, page)) * lines(page));
        rates.sum::<f64>() / (info.m / 8) as f64
    }

    fn distrust(&self, error: Error) -> Error {
        self.distrust_all();
        error
    }

    pub(crate) fn distrust_all(&self) {
        self.pages.distrust_all();
        let distrust = |shape: &AtomicU32| shape.store(Shape::MAYBE.0, Ordering::Relaxed);
        self.shapes.iter().for_each(distrust);
    }
}
