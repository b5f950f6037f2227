// SPDX-License-Identifier: MIT
//! Times of lookups, against other filters, in one run.
//!
//!     cargo run --release [SECONDS]
//!
//! Keys are digests that are not in the set. Every filter gets the digest, if it can.

use bloomfile::{Builder, Filter, Layout};
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

const RATE: f64 = 0.01;
/// Lookups of a run, which takes less than a millisecond.
const RUN: usize = 1 << 13;
const LOOKUPS: usize = 1 << 17;

/// The next output of SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn digests(seed: u64, count: usize) -> Vec<u64> {
    let mut state = seed;
    (0..count).map(|_| split_mix(&mut state)).collect()
}

/// Nanoseconds of a lookup, and the rate. Of the times of many short runs it takes the lower
/// quartile, so that other programs on the machine matter little.
fn time(limit: Duration, probes: &[u64], mut look_up: impl FnMut(&[u64]) -> usize) -> (f64, f64) {
    let (mut times, mut hits, mut lookups) = (Vec::new(), 0, 0);
    let begin = Instant::now();
    while times.is_empty() || begin.elapsed() < limit {
        for run in probes.chunks_exact(RUN) {
            let start = Instant::now();
            hits += black_box(look_up(black_box(run)));
            times.push(start.elapsed().as_secs_f64() * 1e9 / RUN as f64);
            lookups += RUN;
        }
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 4], hits as f64 / lookups as f64)
}

fn report(name: &str, keys: usize, bytes: usize, (ns, rate): (f64, f64)) {
    let bits = bytes as f64 * 8.0 / keys as f64;
    println!("{name:28} {keys:>9} {bits:>8.1} {:>7.2}% {ns:>7.2}", rate * 100.0);
}

/// Takes a digest for a hash.
#[derive(Clone, Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {}

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }
}

impl BuildHasher for Same {
    type Hasher = Same;

    fn build_hasher(&self) -> Same {
        Same(0)
    }
}

fn build(layout: Layout, keys: &[u64]) -> Filter<'static> {
    let mut builder = Builder::new().layout(layout).fpr(RATE);
    keys.iter().for_each(|&key| builder.add_digest(key));
    let filter = builder.build().expect("a filter in memory");
    filter.verify().expect("a whole filter");
    filter
}

fn ours(name: &str, layout: Layout, keys: &[u64], probes: &[u64], limit: Duration) {
    let filter = build(layout, keys);
    let bytes = filter.as_bytes().len();
    let single = |probes: &[u64]| probes.iter().filter(|&&d| filter.contains_digest(d)).count();
    report(&format!("{name}, single"), keys.len(), bytes, time(limit, probes, single));
    let mut answers = vec![false; RUN];
    let batch = |probes: &[u64]| filter.contains_digests(probes, &mut answers);
    report(&format!("{name}, batch"), keys.len(), bytes, time(limit, probes, batch));
}

fn fast_bloom(keys: &[u64], probes: &[u64], limit: Duration) {
    let mut filter = fastbloom::BloomFilter::with_false_pos(RATE)
        .hasher(Same::default())
        .expected_items(keys.len());
    keys.iter().for_each(|key| {
        filter.insert(key);
    });
    let bytes = filter.num_bits() / 8;
    let single = |probes: &[u64]| probes.iter().filter(|&d| filter.contains(d)).count();
    report("fastbloom", keys.len(), bytes, time(limit, probes, single));
}

fn split_block(keys: &[u64], probes: &[u64], limit: Duration) {
    let mut filter = sbbf_rs_safe::Filter::new(10, keys.len());
    keys.iter().for_each(|&key| {
        filter.insert_hash(key);
    });
    let bytes = filter.as_bytes().len();
    let single = |probes: &[u64]| probes.iter().filter(|&&d| filter.contains_hash(d)).count();
    report("sbbf-rs-safe", keys.len(), bytes, time(limit, probes, single));
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.5);
    let limit = Duration::from_secs_f64(seconds);
    println!("{:28} {:>9} {:>8} {:>8} {:>7}", "filter", "keys", "bits/key", "rate", "ns");
    for count in [10_000, 1_000_000, 30_000_000] {
        let (keys, probes) = (digests(1, count), digests(2, LOOKUPS.max(count / 8)));
        ours("bloomfile", Layout::Blocked, &keys, &probes, limit);
        ours("bloomfile, ribbon", Layout::Ribbon, &keys, &probes, limit);
        fast_bloom(&keys, &probes, limit);
        split_block(&keys, &probes, limit);
    }
}
