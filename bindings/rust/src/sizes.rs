// SPDX-License-Identifier: MIT
//! The choice of m and k, and the expected rate (sizes.md).

use crate::error::{Error, Result};
use crate::image::LIMIT;
use crate::info::{Form, Layout};
use crate::ribbon;
use std::vec::Vec;

/// The rate if neither m nor a rate is given.
pub(crate) const DEFAULT_RATE: f64 = 0.01;
/// Rates that differ by less count as equal.
const TIE: f64 = 1.0 / 67_108_864.0;
const MAX_K: u32 = 64;
const DIVISORS: [u64; 37] = [
    1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560,
    10080, 15120, 20160, 25200, 27720, 45360, 50400, 55440, 83160, 110_880, 166_320, 221_760,
    277_200, 332_640, 498_960, 554_400, 665_280,
];
const LAST_DIVISOR: u64 = 720_720;
/// Terms below this fraction of the sum are neglected.
const NEGLIGIBLE: f64 = 1e-20;
/// Lines of a ribbon page, except the last page.
const PAGE_LINES: u64 = 64;
/// Groups that pages of 0, 1000, 2000, ... keys need in addition to the first try, on average.
const FURTHER: [f64; 17] =
    [0., 0., 0.008, 0.05, 0.23, 0.58, 1.07, 1.75, 2.8, 3.75, 4.4, 5.5, 6.8, 8.2, 9.6, 11., 12.4];

/// The mean of `(hit / cells)^k` after 0, `step`, `2 * step`, ... throws: `count` + 1 numbers.
///
/// State `i` is the probability that `i` cells of another key's k throws are uncovered.
fn cell_rates(k: u32, cells: f64, step: u64, count: u64) -> Vec<f64> {
    let mut states = vec![0.0; k as usize + 1];
    states[0] = 1.0;
    for _ in 0..k {
        for i in (1..states.len()).rev() {
            let (same, new) = (i as f64 / cells, 1.0 - (i - 1) as f64 / cells);
            states[i] = states[i] * same + states[i - 1] * new.max(0.0);
        }
        states[0] = 0.0;
    }
    let mut rates = vec![states[0]];
    for _ in 0..count {
        for _ in 0..step {
            throw(&mut states, cells);
        }
        rates.push(states[0]);
    }
    rates
}

fn throw(states: &mut [f64], cells: f64) {
    for i in 1..states.len() {
        let chance = i as f64 / cells;
        states[i - 1] += states[i] * chance;
        states[i] *= (1.0 - chance).max(0.0);
    }
}

/// The rates of a layout with k positions for each key.
struct Model {
    layout: Layout,
    k: u32,
    /// Blocked: the rate of a block by its number of keys; 1 beyond the end.
    crowded: Vec<f64>,
}

impl Model {
    fn new(layout: Layout, k: u32) -> Self {
        let crowded = match layout {
            Layout::Blocked => cell_rates(k, 512.0, u64::from(k), u64::from(4096 / k)),
            _ => Vec::new(),
        };
        Model { layout, k, crowded }
    }

    /// The rate to expect of n distinct keys.
    fn rate(&self, n: u64, m: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let body = match self.layout {
            Layout::Blocked => self.blocked_rate(n, m / 512),
            _ if n > u64::from(2048 / self.k) => self.crowded_cells_rate(n as f64, m as f64),
            _ => cell_rates(self.k, m as f64, n * u64::from(self.k), 1)[1],
        };
        (body + (1.0 - body) * n as f64 / 2_f64.powi(64)).min(1.0)
    }

    fn block_rate(&self, crowd: u64) -> f64 {
        self.crowded.get(crowd as usize).copied().unwrap_or(1.0)
    }

    /// The mean over the number of keys of a block.
    fn blocked_rate(&self, n: u64, blocks: u64) -> f64 {
        if blocks == 1 {
            return self.block_rate(n);
        }
        let mode = n / blocks;
        if mode > 3 * self.crowded.len() as u64 + 2000 {
            return 1.0;
        }
        mean_of_crowds(n, mode, (blocks - 1) as f64, |crowd| self.block_rate(crowd))
    }

    /// Many keys (sizes.md 2).
    fn crowded_cells_rate(&self, n: f64, m: f64) -> f64 {
        let k = f64::from(self.k);
        let load = n * k / m;
        let (fill, empty) = (-(-load).exp_m1(), (-load).exp());
        let spread = (empty - (1.0 + load) * (-2.0 * load).exp()) / (m * fill * fill);
        (fill + empty * load / (2.0 * m)).powf(k) * (spread * k * (k - 1.0) / 2.0).exp()
    }

    /// The smallest number of units that keeps the target.
    fn least(&self, n: u64, target: f64) -> Option<u64> {
        let enough =
            |units: u64| self.rate(n, units * cells_of_unit(self.layout)) <= target * (1.0 + TIE);
        let most = LIMIT / cells_of_unit(self.layout);
        let mut high = 1;
        while high < most && !enough(high) {
            high *= 2;
        }
        if high >= most && !enough(most) {
            return None;
        }
        Some(first_true(high / 2 + 1, high.min(most), enough))
    }
}

/// The mean rate of a block or page. Its number of keys has a binomial distribution: all other
/// blocks or pages together are `others` times as large. The probabilities follow from their
/// ratios, from the most probable number upwards and downwards.
fn mean_of_crowds(n: u64, mode: u64, others: f64, rate: impl Fn(u64) -> f64) -> f64 {
    let ratio = |crowd: u64| (n - crowd) as f64 / ((crowd + 1) as f64 * others);
    let (mut total, mut rates) = (0.0, 0.0);
    let (mut crowd, mut weight) = (mode, 1.0);
    while weight > NEGLIGIBLE * rates && weight > 0.0 {
        total += weight;
        rates += weight * rate(crowd);
        weight *= ratio(crowd);
        crowd += 1;
    }
    (crowd, weight) = (mode, 1.0);
    while crowd > 0 && weight > NEGLIGIBLE {
        crowd -= 1;
        weight /= ratio(crowd);
        total += weight;
        rates += weight * rate(crowd);
    }
    rates / total
}

/// The first number of a range for which a condition holds; it holds for the last.
fn first_true(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn cells_of_unit(layout: Layout) -> u64 {
    if layout == Layout::Blocked {
        512
    } else {
        1
    }
}

/// The false-positive rate to expect of `n` distinct keys in a filter of `m` bits (or counters)
/// with `k` positions for each key.
///
/// The rate of a ribbon filter follows from its pages: [`Filter::rate`](crate::Filter::rate).
///
/// # Errors
///
/// [`Error::Layout`] for ribbon, [`Error::HashCount`] or [`Error::Bits`] if k or m is out of range.
///
/// # Examples
///
/// ```
/// let rate = bloomfile::rate(bloomfile::Layout::Blocked, 1000, 10240, 5)?;
/// assert!(rate < 0.01);
/// # Ok::<(), bloomfile::Error>(())
/// ```
pub fn rate(layout: Layout, n: u64, m: u64, k: u32) -> Result<f64> {
    check_numbers(layout, m)?;
    if !(1..=MAX_K).contains(&k) {
        return Err(Error::HashCount);
    }
    Ok(Model::new(layout, k).rate(n, m))
}

fn check_numbers(layout: Layout, m: u64) -> Result<()> {
    if layout == Layout::Ribbon {
        return Err(Error::Layout);
    }
    if m == 0 || m > LIMIT || (layout.has_blocks() && m % 512 != 0) {
        return Err(Error::Bits);
    }
    Ok(())
}

/// m and k for `n` keys and a rate; for ribbon m and 0, where m is whole pages in file form.
pub(crate) fn choose(
    layout: Layout,
    form: Form,
    n: u64,
    target: f64,
    k: Option<u32>,
) -> Result<(u64, u32)> {
    if target <= n as f64 / 2_f64.powi(64) {
        return Err(Error::Unreachable);
    }
    if layout == Layout::Ribbon {
        let lines = choose_ribbon(n, target)?;
        return Ok(match form {
            Form::File => (512 * lines.next_multiple_of(PAGE_LINES), 0),
            Form::Embedded => (512 * lines, 0),
        });
    }
    let tried = k.map_or(1..=MAX_K, |k| k..=k);
    let mut best: Option<(u64, u32)> = None;
    for k in tried {
        let least = Model::new(layout, k).least(n, target);
        match (least, best) {
            (Some(least), Some((units, _))) if least < units => best = Some((least, k)),
            (Some(least), None) => best = Some((least, k)),
            (_, Some((_, kept))) if k == kept + 3 => break,
            _ => {}
        }
    }
    let (units, k) = best.ok_or(Error::Unreachable)?;
    Ok((round_up(units, cells_of_unit(layout)) * cells_of_unit(layout), k))
}

/// More units, so that the filter folds in many ways.
fn round_up(units: u64, cells: u64) -> u64 {
    let doubled = (0..44).map(|i| LAST_DIVISOR << i);
    let mut multiples = DIVISORS.into_iter().chain(doubled).filter_map(|divisor| {
        let multiple = units.checked_next_multiple_of(divisor)?;
        (multiple - units <= units / 200 && multiple <= LIMIT / cells).then_some(multiple)
    });
    multiples.next_back().unwrap_or(units)
}

/// k for `n` keys in m bits (counters).
pub(crate) fn choose_k(layout: Layout, n: u64, m: u64) -> u32 {
    let (mut best, mut lowest) = (1, Model::new(layout, 1).rate(n, m));
    for k in 2..=MAX_K {
        let rate = Model::new(layout, k).rate(n, m);
        if rate < lowest * (1.0 - TIE) {
            (best, lowest) = (k, rate);
        } else if k == best + 3 {
            break;
        }
    }
    best
}

/// The capacity of a filter that was not planned for a number of keys (core 6).
pub(crate) fn capacity(layout: Layout, m: u64, k: u32, fpr: f64) -> u64 {
    let target = if fpr == 0.0 { DEFAULT_RATE } else { fpr };
    let model = Model::new(layout, k);
    let above = first_true(1, m + 1, |n| n > m || model.rate(n, m) > target * (1.0 + TIE));
    (above - 1).max(1)
}

/// An estimate of the number of keys from the number of one bits (counters above 0).
pub(crate) fn estimate(m: u64, k: u32, ones: u64) -> u64 {
    if ones >= m {
        return m;
    }
    let n = -(-(ones as f64) / m as f64).ln_1p() * m as f64 / f64::from(k.max(1));
    n.round() as u64
}

/// The lines of a ribbon filter: sizes.md 6.
fn choose_ribbon(n: u64, target: f64) -> Result<u64> {
    let target = target.min(0.24) * (1.0 + TIE);
    let enough = |lines: u64| ribbon_rate(n, lines) <= target;
    let mut high = LIMIT / 512;
    if !enough(high) {
        return Err(Error::Unreachable);
    }
    while high > 1 && enough(high / 2) {
        high /= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

/// The expected rate of n keys in a ribbon filter of this number of lines.
pub(crate) fn ribbon_rate(n: u64, lines: u64) -> f64 {
    let last = lines % PAGE_LINES;
    let whole = (lines - last) as f64 * mean_page_rate(n, PAGE_LINES, lines);
    let body = (whole + last as f64 * mean_page_rate(n, last, lines)) / lines as f64;
    (body + (1.0 - body) * n as f64 / 2_f64.powi(64)).min(1.0)
}

/// The mean rate of pages of some of all lines.
fn mean_page_rate(n: u64, some: u64, all: u64) -> f64 {
    if some == 0 || some > all {
        return 0.0;
    }
    let words = ribbon::words(some as usize * ribbon::LINE);
    if some == all {
        return crowded_page_rate(n, words);
    }
    let others = (all - some) as f64 / some as f64;
    let mode = (n as f64 / (1.0 + others)) as u64;
    if crowded_page_rate(mode / 2, words) >= 1.0 {
        return 1.0;
    }
    mean_of_crowds(n, mode, others, |crowd| crowded_page_rate(crowd, words))
}

/// The mean rate of a page with this number of keys. Some need more groups than first tried.
fn crowded_page_rate(crowd: u64, words: u64) -> f64 {
    let place = (crowd as f64 / 1000.0).min(16.0);
    let i = place.min(15.0) as usize;
    let further = FURTHER[i] + (FURTHER[i + 1] - FURTHER[i]) * (place - i as f64);
    let first = (crowd.min(1 << 32) * 41).div_ceil(1280).max(2) + further as u64;
    let rate = |groups| if groups > words / 2 { 1.0 } else { ribbon::rate_of(groups, words) };
    rate(first) + (rate(first + 1) - rate(first)) * further.fract()
}
