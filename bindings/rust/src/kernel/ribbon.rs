// SPDX-License-Identifier: MIT
//! Lookups in the layout ribbon, whose pages were checked before.

use super::Set;
use crate::hash::{mulhi, C};
use crate::info::PAGE;
use crate::prefetch::prefetch_at;
use crate::ribbon::{mix, to_coefficients, to_seedless, Query, Shape, LINE};
use core::sync::atomic::{AtomicU32, Ordering};

/// Number of lookups whose lines are prefetched together.
const TOGETHER: usize = 64;
const LINES_OF_PAGE: u64 = (PAGE / LINE) as u64;

/// The pages of a body.
#[derive(Clone, Copy)]
pub(crate) struct Pages<'c> {
    /// Its lines.
    pub body: &'c [u8],
    /// A shape for each page.
    pub shapes: &'c [AtomicU32],
}

/// Queries as arrays, for vectors: the members of [`Query`].
#[repr(align(64))]
struct Queries {
    start: [u64; TOGETHER],
    end: [u64; TOGETHER],
    coefficients: [u64; TOGETHER],
    hash: [u64; TOGETHER],
}

/// [`mix`] of each number.
#[inline(always)]
fn mix_all(numbers: &mut [u64], set: impl Set) {
    let mut high = [0; TOGETHER];
    let high = &mut high[..numbers.len()];
    set.high_halves(numbers, C, high);
    for (number, high) in numbers.iter_mut().zip(high) {
        *number = *high ^ number.wrapping_mul(C);
    }
}

impl Queries {
    const NEW: Self = Queries {
        start: [0; TOGETHER],
        end: [0; TOGETHER],
        coefficients: [0; TOGETHER],
        hash: [0; TOGETHER],
    };

    /// Prepares the queries of up to 64 digests. Each stage is a loop of its own, of which compilers
    /// make vectors.
    #[inline(always)]
    fn prepare(&mut self, pages: &Pages<'_>, digests: &[u64], set: impl Set) {
        let n = digests.len();
        let (mut numbers, mut hashes) = ([0; TOGETHER], [0; TOGETHER]);
        let mut shapes = [Shape::MAYBE; TOGETHER];
        let (numbers, hashes) = (&mut numbers[..n], &mut hashes[..n]);
        set.high_halves(digests, pages.lines(), numbers);
        for (hash, &digest) in hashes.iter_mut().zip(digests) {
            *hash = to_seedless(digest);
        }
        mix_all(hashes, set);
        for (number, shape) in numbers.iter_mut().zip(&mut shapes) {
            *number /= LINES_OF_PAGE;
            *shape = pages.shape(*number);
        }
        for i in 0..n.min(TOGETHER) {
            let query = Query::new(numbers[i], hashes[i], shapes[i]);
            self.start[i] = query.start;
            self.end[i] = query.end;
            self.hash[i] = query.hash;
            self.coefficients[i] = to_coefficients(query.hash);
        }
        mix_all(&mut self.coefficients[..n], set);
    }

    /// Fetches the lines of a query: its first byte, the last and the middle reach all lines of up
    /// to 128 bytes, which are 16 columns.
    #[inline(always)]
    fn fetch(&self, pages: &Pages<'_>, i: usize) {
        let (start, end) = (self.start[i] as usize, self.end[i] as usize);
        let fetch = |at| prefetch_at(pages.body, at);
        fetch(start);
        fetch(start.midpoint(end));
        fetch(end - 1);
        if end - start > 2 * LINE {
            fetch(start + LINE);
            fetch(end - 1 - LINE);
        }
    }

    #[inline(always)]
    fn answer(&self, pages: &Pages<'_>, i: usize, set: impl Set) -> bool {
        let columns = pages.body.get(self.start[i] as usize..self.end[i] as usize);
        columns.is_none_or(|columns| set.holds(columns, self.coefficients[i], self.hash[i] as u32))
    }
}

impl Pages<'_> {
    fn lines(&self) -> u64 {
        (self.body.len() / LINE) as u64
    }

    /// The shape of a page, or one that answers *maybe* if there is no such page.
    #[inline(always)]
    pub(crate) fn shape(&self, page: u64) -> Shape {
        let shape = self.shapes.get(page as usize).map_or(0, |shape| shape.load(Ordering::Relaxed));
        if shape == 0 {
            Shape::MAYBE
        } else {
            Shape(shape)
        }
    }
}

/// The number of a digest's page in a body.
#[inline(always)]
pub(crate) fn page_of(digest: u64, body: &[u8]) -> u64 {
    mulhi(digest, (body.len() / LINE) as u64) / LINES_OF_PAGE
}

/// Returns whether a digest may be in its page.
#[inline(always)]
pub(super) fn contains(body: &[u8], page: u64, shape: Shape, digest: u64, set: impl Set) -> bool {
    let Query { start, end, hash } = Query::new(page, mix(to_seedless(digest)), shape);
    let columns = body.get(start as usize..end as usize);
    columns.is_none_or(|columns| set.holds(columns, mix(to_coefficients(hash)), hash as u32))
}

/// Sets `answers[i]` to the answer of the page of `digests[i]`, and counts those that are true.
///
/// While lookups are answered, the lines of as many next lookups are fetched.
#[inline(always)]
pub(super) fn many(
    pages: &Pages<'_>,
    digests: &[u64],
    answers: &mut [bool],
    set: impl Set,
) -> usize {
    let pages = &{ *pages }; // A copy, which storing answers cannot change.
    let mut buffers = [const { Queries::NEW }; 2];
    let [mut queries, mut next] = buffers.each_mut();
    let mut rest = digests.chunks(TOGETHER);
    let mut after = rest.next().unwrap_or_default();
    queries.prepare(pages, after, set);
    (0..after.len()).for_each(|i| queries.fetch(pages, i));
    let mut found = 0;
    for answers in answers.chunks_mut(TOGETHER) {
        after = rest.next().unwrap_or_default();
        next.prepare(pages, after, set);
        for (i, answer) in answers.iter_mut().enumerate() {
            if i < after.len() {
                next.fetch(pages, i);
            }
            *answer = queries.answer(pages, i, set);
            found += usize::from(*answer);
        }
        core::mem::swap(&mut queries, &mut next);
    }
    found
}
