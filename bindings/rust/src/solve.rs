// SPDX-License-Identifier: MIT
//! Making a page of the layout ribbon from its digests (ribbon.md 5).

use crate::bytes::put;
use crate::error::{Error, Result};
use crate::ribbon::{maybe, words, Row, Shape, HEAD};
use std::vec::Vec;

/// Fills the used part of a page, all zeros so far, from its distinct digests.
pub(crate) fn solve(digests: &[u64], page: &mut [u8]) -> Result<()> {
    let count = digests.len() as u64;
    let words = words(page.len());
    let fewest = (41 * count).div_ceil(1280).max(2);
    let solved = (fewest..=words / 2)
        .flat_map(|groups| (0..16).map(move |seed| (groups, seed)))
        .find_map(|(groups, seed)| Some((groups, seed, System::new(digests, seed, groups)?)));
    let keys = count.min(u64::from(u32::MAX)) << 32;
    let Some((groups, seed, system)) = solved else {
        put(page, 0, &keys.to_le_bytes());
        return Ok(());
    };
    put(page, 0, &(groups | seed << 16 | keys).to_le_bytes());
    system.write(page, groups, words);
    // A wrong solution would be a silent "no", and no reader could see it.
    if digests.iter().all(|&digest| maybe(page, digest)) {
        Ok(())
    } else {
        Err(Error::Body)
    }
}

/// One equation: the coefficients from its leading slot on, and the right sides of all columns.
///
/// Rows are added in the order of their groups. So no equation reaches further than 64 slots.
#[derive(Clone, Copy)]
struct Equation {
    coefficients: u64,
    right: u64,
}

/// Independent equations in echelon form, by their leading slots.
struct System {
    rows: Vec<Option<Equation>>,
}

impl System {
    /// The equations of the digests, or `None` if they are dependent.
    fn new(digests: &[u64], seed: u64, groups: u64) -> Option<Self> {
        let mut rows: Vec<Row> =
            digests.iter().map(|&digest| Row::new(digest, seed, groups)).collect();
        rows.sort_unstable_by_key(|row| row.group);
        if overflows(&rows) {
            return None;
        }
        let mut system = System { rows: vec![None; 32 * groups as usize] };
        rows.iter().all(|row| system.add(row)).then_some(system)
    }

    /// Eliminates the leading slots of a row. Returns whether something is left of it.
    fn add(&mut self, row: &Row) -> bool {
        let mut slot = 32 * row.group as usize;
        let mut left = Equation { coefficients: row.coefficients, right: row.hash };
        while left.coefficients != 0 {
            let shift = left.coefficients.trailing_zeros();
            slot += shift as usize;
            left.coefficients >>= shift;
            match &self.rows[slot] {
                None => {
                    self.rows[slot] = Some(left);
                    return true;
                }
                Some(leading) => {
                    left.coefficients ^= leading.coefficients;
                    left.right ^= leading.right;
                }
            }
        }
        false
    }

    /// Writes the solution in which all free slots are 0, from the last slot to the first.
    fn write(&self, page: &mut [u8], groups: u64, words: u64) {
        let shape = Shape::new(groups, 0, words);
        // Bit `col` of a slot is its bit in the solution for `col`.
        let mut solution = vec![0_u64; self.rows.len() + 64];
        for (slot, equation) in self.rows.iter().enumerate().rev() {
            if let Some(equation) = equation {
                solution[slot] = solve_slot(equation, &solution[slot..]);
            }
        }
        for group in 0..groups {
            let (first, columns) = shape.columns(group);
            let slots = &solution[32 * group as usize..][..32];
            for col in 0..columns as usize {
                let word =
                    (0..32).fold(0_u32, |word, i| word | ((slots[i] >> col & 1) as u32) << i);
                put(page, HEAD + 4 * (first as usize + col), &word.to_le_bytes());
            }
        }
    }
}

fn solve_slot(equation: &Equation, solution: &[u64]) -> u64 {
    let mut value = equation.right;
    let mut others = equation.coefficients & !1;
    while others != 0 {
        value ^= solution[others.trailing_zeros() as usize];
        others &= others - 1;
    }
    value
}

/// Returns true if the rows, sorted by group, are certainly dependent: a group has more rows than
/// slots, counting those left over from earlier groups.
fn overflows(rows: &[Row]) -> bool {
    let (mut excess, mut group) = (0_u64, 0);
    let mut at = 0;
    while at < rows.len() {
        let size = rows[at..].iter().take_while(|row| row.group == rows[at].group).count();
        excess = excess.saturating_sub(32 * (rows[at].group - group));
        group = rows[at].group;
        excess += size as u64;
        if excess > 32 + 32 {
            return true;
        }
        at += size;
    }
    false
}
