// SPDX-License-Identifier: MIT
//! Times of lookups, in turns with the C library, and of other filters, in one run.
//!
//!     cargo run --release [SECONDS [KEYS...]]
//!
//! Keys are digests that are not in the set. Every filter gets the digest, if it can; "keys" are 8
//! bytes, which it hashes. `../test --bench` compares two runs, for any processor and for this one.

use bloomfile::{Builder, Filter, Layout};
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

const RATE: f64 = 0.01;
/// Lookups of a turn, which takes less than a millisecond.
const TURN: usize = 1 << 13;
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

/// The lookups with the C library, of c/lookups.c.
mod c {
    #[repr(C)]
    pub struct Pin([u8; 0]);

    extern "C" {
        pub fn c_open(image: *const u8, size: usize) -> *mut Pin;
        pub fn c_close(pin: *mut Pin);
        pub fn c_single(pin: *const Pin, digests: *const u64, n: usize) -> usize;
        pub fn c_keys(pin: *const Pin, keys: *const u64, n: usize) -> usize;
        pub fn c_batch(pin: *const Pin, digests: *const u64, n: usize, hits: *mut bool) -> usize;
    }
}

/// A contender looks up all probes, and returns how many may be in the set.
type Contender<'a> = dyn FnMut(&[u64]) -> usize + 'a;

/// Nanoseconds of a lookup of each contender. They take short turns. Of the times of a contender the
/// lower quartile counts, so that other programs on the machine matter little.
fn time<const N: usize>(
    limit: Duration,
    probes: &[u64],
    order: [usize; N],
    contenders: &mut [&mut Contender<'_>],
) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    let mut turns = probes.chunks_exact(TURN).cycle();
    let begin = Instant::now();
    while times[0].is_empty() || begin.elapsed() < limit {
        for (&contender, times) in order.iter().zip(&mut times) {
            let turn = black_box(turns.next().expect("probes of a turn"));
            let start = Instant::now();
            black_box(contenders[contender](turn));
            times.push(start.elapsed().as_secs_f64() * 1e9 / TURN as f64);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 4]
    })
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

struct Bench<'a> {
    keys: &'a [u64],
    probes: &'a [u64],
    limit: Duration,
}

impl Bench<'_> {
    fn print(&self, name: &str, bytes: usize, times: &str) {
        let bits = bytes as f64 * 8.0 / self.keys.len() as f64;
        println!("{name:16} {:>9} {bits:>6.1} {times}", self.keys.len());
    }

    /// Rust, the C library, and Rust again: A/A is what chance makes of the times.
    fn row(&self, name: &str, bytes: usize, rust: &mut Contender<'_>, c: &mut Contender<'_>) {
        for turn in self.probes.chunks_exact(TURN) {
            assert_eq!(rust(turn), c(turn), "{name}: the answers differ");
        }
        let [first, c, second] = time(self.limit, self.probes, [0, 1, 0], &mut [rust, c]);
        let (ratio, chance) = (first / c, second / first);
        self.print(name, bytes, &format!("{first:7.2} {c:7.2} {ratio:6.2} {chance:5.2}"));
    }

    fn ours(&self, layout: Layout, single: &str, keys: Option<&str>, batch: &str) {
        let filter = build(layout, self.keys);
        let image = filter.as_bytes();
        // SAFETY: the image outlives the handle.
        let pin = unsafe { c::c_open(image.as_ptr(), image.len()) };
        assert!(!pin.is_null(), "the C library opens the image");
        self.row(
            single,
            image.len(),
            &mut |probes| probes.iter().filter(|&&digest| filter.contains_digest(digest)).count(),
            // SAFETY: the pin is that of an open handle, and the probes are there.
            &mut |probes| unsafe { c::c_single(pin, probes.as_ptr(), probes.len()) },
        );
        if let Some(name) = keys {
            self.row(
                name,
                image.len(),
                &mut |keys| keys.iter().filter(|key| filter.contains(&key.to_le_bytes())).count(),
                // SAFETY: as above.
                &mut |keys| unsafe { c::c_keys(pin, keys.as_ptr(), keys.len()) },
            );
        }
        let (mut answers, mut hits) = ([false; TURN], [false; TURN]);
        self.row(
            batch,
            image.len(),
            &mut |probes| filter.contains_digests(probes, &mut answers),
            // SAFETY: as above, and a turn has as many probes as there is room for answers.
            &mut |probes| unsafe {
                c::c_batch(pin, probes.as_ptr(), probes.len(), hits.as_mut_ptr())
            },
        );
        // SAFETY: no lookup follows.
        unsafe { c::c_close(pin) };
    }

    fn fast_bloom(&self) {
        let mut filter = fastbloom::BloomFilter::with_false_pos(RATE)
            .hasher(Same::default())
            .expected_items(self.keys.len());
        self.keys.iter().for_each(|key| {
            filter.insert(key);
        });
        let mut single = |probes: &[u64]| probes.iter().filter(|&d| filter.contains(d)).count();
        let [ns] = time(self.limit, self.probes, [0], &mut [&mut single]);
        self.print("fastbloom", filter.num_bits() / 8, &format!("{ns:7.2}"));
    }

    fn split_block(&self) {
        let mut filter = sbbf_rs_safe::Filter::new(10, self.keys.len());
        self.keys.iter().for_each(|&key| {
            filter.insert_hash(key);
        });
        let mut single =
            |probes: &[u64]| probes.iter().filter(|&&d| filter.contains_hash(d)).count();
        let [ns] = time(self.limit, self.probes, [0], &mut [&mut single]);
        self.print("sbbf-rs-safe", filter.as_bytes().len(), &format!("{ns:7.2}"));
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let limit = Duration::from_secs_f64(numbers.next().unwrap_or(0.5));
    let mut counts: Vec<usize> = numbers.map(|number| number as usize).collect();
    if counts.is_empty() {
        counts = vec![10_000, 1_000_000, 30_000_000];
    }
    println!(
        "{:16} {:>9} {:>6} {:>7} {:>7} {:>6} {:>5}",
        "filter", "keys", "bits/k", "Rust ns", "C ns", "Rust/C", "A/A"
    );
    for count in counts {
        let (keys, probes) = (&digests(1, count), &digests(2, LOOKUPS.max(count / 8)));
        let bench = Bench { keys, probes, limit };
        bench.ours(Layout::Blocked, "blocked", Some("blocked, keys"), "blocked, batch");
        bench.ours(Layout::Classic, "classic", None, "classic, batch");
        bench.ours(Layout::Ribbon, "ribbon", None, "ribbon, batch");
        bench.fast_bloom();
        bench.split_block();
    }
}
