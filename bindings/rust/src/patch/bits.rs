// SPDX-License-Identifier: MIT
//! Strings of bits, and the numbers in them (patches.md 4).

use crate::error::{Error, Result};
use std::vec::Vec;

/// The greatest parameter for which numbers of such a mean take few bits.
pub(crate) fn best(sum: u64, count: u64) -> u32 {
    let limit = 2 * u128::from(sum) + u128::from(count);
    let fits = |bits: u32| u128::from(count) << (bits + 1) <= limit;
    (1..63).take_while(|&bits| fits(bits)).last().unwrap_or(0)
}

/// The width of a truncated number, and how many numbers do with it.
fn truncation(count: u64) -> (u32, u64) {
    let width = count.ilog2();
    (width, (2 << width) - count)
}

/// Reads a string.
pub(crate) struct BitReader<'s> {
    string: &'s [u8],
    /// The next bit.
    at: usize,
}

impl<'s> BitReader<'s> {
    pub(crate) fn new(string: &'s [u8]) -> Self {
        BitReader { string, at: 0 }
    }

    fn bit(&mut self) -> Result<u64> {
        let byte = self.string.get(self.at / 8).ok_or(Error::Patch)?;
        let bit = byte >> (self.at % 8) & 1;
        self.at += 1;
        Ok(u64::from(bit))
    }

    /// A number of at most 57 bits.
    fn number(&mut self, bits: u32) -> Result<u64> {
        let mut number = 0;
        for i in 0..bits {
            number |= self.bit()? << i;
        }
        Ok(number)
    }

    /// A number in a Rice code, less than 2^62.
    pub(crate) fn rice(&mut self, bits: u32) -> Result<u64> {
        let mut zeros = 0_u64;
        while self.bit()? == 0 {
            zeros += 1;
        }
        let rest = self.number(bits)?;
        if zeros > ((1 << 62) - 1) >> bits {
            return Err(Error::Patch);
        }
        Ok(zeros << bits | rest)
    }

    /// A number less than `count`.
    pub(crate) fn truncated(&mut self, count: u64) -> Result<u64> {
        let (width, short) = truncation(count);
        let first = self.number(width)?;
        if first < short {
            return Ok(first);
        }
        Ok(2 * first + self.bit()? - short)
    }

    /// Checks that nothing but zeros is left, and no whole byte.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.string.len() != self.at.div_ceil(8) {
            return Err(Error::Patch);
        }
        while self.at % 8 != 0 {
            if self.bit()? != 0 {
                return Err(Error::Patch);
            }
        }
        Ok(())
    }
}

/// Writes a string.
#[derive(Default)]
pub(crate) struct BitWriter {
    pub string: Vec<u8>,
    /// Bits in use of the last byte, 0 if it is full.
    used: u32,
}

impl BitWriter {
    fn bit(&mut self, bit: u64) {
        if self.used == 0 {
            self.string.push(0);
        }
        if let Some(last) = self.string.last_mut() {
            // `bit` is 0 or 1.
            *last |= (bit as u8) << self.used;
        }
        self.used = (self.used + 1) % 8;
    }

    fn number(&mut self, number: u64, bits: u32) {
        for i in 0..bits {
            self.bit(number >> i & 1);
        }
    }

    pub(crate) fn rice(&mut self, number: u64, bits: u32) {
        for _ in 0..number >> bits {
            self.bit(0);
        }
        self.bit(1);
        self.number(number, bits);
    }

    pub(crate) fn truncated(&mut self, number: u64, count: u64) {
        let (width, short) = truncation(count);
        if number < short {
            self.number(number, width);
        } else {
            let both = number + short;
            self.number(both / 2, width);
            self.bit(both % 2);
        }
    }
}
