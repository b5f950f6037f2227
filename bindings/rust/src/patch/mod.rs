// SPDX-License-Identifier: MIT
//! Patches between two sealed filters (patches.md).

mod apply;
mod bits;
mod cells;
mod head;
mod make;

pub use apply::apply;
pub use make::diff;
