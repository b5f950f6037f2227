// SPDX-License-Identifier: MIT
//! Lookups in one image, which check each page before they rely on a zero bit of it.

use crate::bytes::crc32;
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::hash::{cells, mulhi};
use crate::image::Image;
use crate::info::{Layout, PAGE};
use crate::kernel::{self, blocks_of, Block, Blocks, Level};
use crate::pages::{Pages, State};
use crate::prefetch::prefetch;
use crate::ribbon::LINE;
use crate::verify::{self, check_whole};

/// How many lookups of cells are fetched before they are done.
const FETCHED: usize = 32;

/// An image, and which of its pages were checked.
#[derive(Debug)]
pub(crate) struct Part {
    /// The numbers of a lookup, next to each other.
    body_start: usize,
    /// Blocks (lines) of 64 bytes of the body, and of the filter of which it may be a slice.
    blocks: u64,
    first_block: u64,
    whole_blocks: u64,
    k: u32,
    layout: Layout,
    level: Level,
    pages: Pages,
    pub image: Image,
}

impl Part {
    pub(crate) fn new(image: Image) -> Self {
        let blocks = image.info.m / 512;
        let (first_block, whole_blocks) = match &image.info.slice {
            Some(slice) => (slice.first_block, slice.whole_blocks),
            None => (0, blocks),
        };
        Part {
            body_start: image.body_start(),
            blocks,
            first_block,
            whole_blocks,
            k: image.info.k,
            layout: image.info.layout,
            level: Level::best(),
            pages: Pages::new(image.pages()),
            image,
        }
    }

    #[inline]
    pub(crate) fn maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        match self.layout {
            Layout::Blocked => self.blocked_maybe(container, digest, fault),
            Layout::Ribbon => self.ribbon_maybe(container, digest, fault),
            Layout::Classic | Layout::Counting => self.cells_maybe(container, digest, fault),
        }
    }

    /// The number of a digest's block in this body, or a larger number if it is in another slice.
    #[inline]
    fn block_of(&self, digest: u64) -> u64 {
        mulhi(digest, self.whole_blocks).wrapping_sub(self.first_block)
    }

    /// The bytes of a block or line, if this body has it.
    #[inline]
    fn block<'c>(&self, container: &'c [u8], block: u64) -> Option<&'c Block> {
        if block >= self.blocks {
            return None;
        }
        container.get(self.body_start + block as usize * LINE..)?.first_chunk()
    }

    #[inline]
    pub(crate) fn blocked_maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        let number = self.block_of(digest);
        match self.block(container, number) {
            Some(block) if !kernel::has(self.level, block, digest, self.k) => {
                !self.relies_on(container, number as usize / (PAGE / LINE), fault)
            }
            _ => true,
        }
    }

    /// Looks up many digests.
    pub(crate) fn many(
        &self,
        container: &[u8],
        digests: &[u64],
        answers: &mut [bool],
        fault: &Fault,
    ) {
        match self.layout {
            Layout::Blocked => {
                kernel::many(self.level, &self.blocks_in(container), digests, answers);
            }
            Layout::Ribbon => {
                kernel::many_ribbon(self.level, self.lines(container), digests, answers);
            }
            Layout::Classic | Layout::Counting => {
                return self.many_cells(container, digests, answers, fault);
            }
        }
        if self.pages.are_all_right() {
            return;
        }
        for (&digest, answer) in digests.iter().zip(answers) {
            let page = self.block_of(digest) as usize / (PAGE / LINE);
            *answer = *answer || !self.relies_on(container, page, fault);
        }
    }

    /// The blocks of the layout blocked.
    pub(crate) fn blocks_in<'c>(&self, container: &'c [u8]) -> Blocks<'c> {
        Blocks {
            body: self.lines(container),
            first: self.first_block,
            whole: self.whole_blocks,
            k: self.k,
        }
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    fn lines<'c>(&self, container: &'c [u8]) -> &'c [Block] {
        blocks_of(self.image.body(container), self.blocks as usize)
    }

    /// Most keys that are not in the set have a zero among their first cells. So those are fetched.
    fn many_cells(&self, container: &[u8], digests: &[u64], answers: &mut [bool], fault: &Fault) {
        let shift = if self.layout == Layout::Counting { 1 } else { 3 };
        for (digests, answers) in digests.chunks(FETCHED).zip(answers.chunks_mut(FETCHED)) {
            for &digest in digests {
                for cell in cells(digest, self.k.min(3), self.image.info.m) {
                    prefetch(container, self.body_start + (cell >> shift) as usize);
                }
            }
            for (&digest, answer) in digests.iter().zip(answers) {
                *answer = self.cells_maybe(container, digest, fault);
            }
        }
    }

    fn cells_maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        let body = self.image.body(container);
        let (shift, mask) = if self.layout == Layout::Counting { (1, 15) } else { (3, 1) };
        cells(digest, self.k, self.image.info.m).all(|cell| {
            let byte = (cell >> shift) as usize;
            let bit = (cell << (3 - shift)) & 7;
            body[byte] >> bit & mask != 0 || !self.relies_on(container, byte / PAGE, fault)
        })
    }

    fn ribbon_maybe(&self, container: &[u8], digest: u64, fault: &Fault) -> bool {
        let page = self.block_of(digest) as usize / (PAGE / LINE);
        kernel::ribbon(self.level, self.ribbon_page(container, page), digest)
            || !self.relies_on(container, page, fault)
    }

    /// The lines of a page that are in use.
    fn ribbon_page<'c>(&self, container: &'c [u8], page: usize) -> &'c [u8] {
        let used = &self.image.body(container)[..self.blocks as usize * LINE];
        verify::page(used, page)
    }

    /// Whether the page of a block was found right.
    #[inline]
    pub(crate) fn is_right_block(&self, block: usize) -> bool {
        self.pages.is_right(block / (PAGE / LINE))
    }

    /// Whether a zero bit of the page is a certain "no".
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
            self.pages.record(page, right);
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
        rates.sum::<f64>() / (self.blocks as f64 * LINE as f64)
    }

    fn distrust(&self, error: Error) -> Error {
        self.pages.distrust_all();
        error
    }

    pub(crate) fn distrust_all(&self) {
        self.pages.distrust_all();
    }
}
