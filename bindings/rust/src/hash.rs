// SPDX-License-Identifier: MIT
//! From a key to its digest, and from a digest to positions (sections 9 and 10).

/// The multiplier of section 10.
pub(crate) const C: u64 = 0x9E37_79B9_7F4A_7C15;

/// The `hash_id` of XXH3.
pub(crate) const XXH3: u32 = 1;

const SELF_TEST_LENGTHS: [usize; 24] = [
    0, 1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 144, 240, 241, 1024, 1025, 1088,
    1100,
];

/// The name of a hash function: `hash_id` and `self_test` of a filter's header.
///
/// From 0x80000000 on, `id` belongs to an application, which hashes its keys itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashName {
    /// 1 for XXH3; from 0x80000000 on, a function of an application.
    pub id: u32,
    /// The value that the function returns for a known input, which the application chooses.
    pub self_test: u64,
}

impl HashName {
    /// The name of XXH3 under a seed, the function of all filters without an application's own.
    #[must_use]
    pub fn xxh3(seed: u64) -> Self {
        HashName { id: XXH3, self_test: self_test(seed) }
    }

    pub(crate) fn is_application(self) -> bool {
        self.id >= 0x8000_0000
    }
}

#[inline]
pub(crate) fn digest(key: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(key, seed)
}

/// The test string of section 9.2, from its beginning.
pub(crate) fn test_string<const SIZE: usize>() -> [u8; SIZE] {
    let mut next = 128_u8;
    core::array::from_fn(|_| {
        let byte = next;
        next = next.wrapping_add(157);
        byte
    })
}

pub(crate) fn self_test(seed: u64) -> u64 {
    let string = test_string::<1100>();
    SELF_TEST_LENGTHS.iter().fold(0, |sum, &length| sum ^ digest(&string[..length], seed))
}

/// `floor(a * b / 2^64)`.
#[inline]
pub(crate) fn mulhi(a: u64, b: u64) -> u64 {
    // The high half of a product of two u64 fits a u64.
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// The cells of a digest in the classic and counting layouts.
pub(crate) fn cells(digest: u64, k: u32, m: u64) -> impl Iterator<Item = u64> {
    let mut g = digest;
    (0..k).map(move |_| {
        let cell = mulhi(g, m);
        g = g.wrapping_mul(C);
        cell
    })
}

/// The bits of a digest in its block, 0 to 511.
#[cfg(feature = "std")]
pub(crate) fn places(digest: u64, k: u32) -> impl Iterator<Item = usize> {
    let mut g = digest;
    (0..k).map(move |i| {
        if i % 6 == 0 {
            g = g.wrapping_mul(C);
        }
        (g >> (55 - 9 * (i % 6))) as usize & 511
    })
}
