// SPDX-License-Identifier: MIT
//! Bloom filters and ribbon filters in files.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code, missing_docs)]

extern crate alloc;

#[cfg(feature = "std")]
mod body;
#[cfg(feature = "std")]
mod builder;
mod bytes;
mod container;
mod error;
mod fault;
mod filter;
mod hash;
mod image;
mod info;
#[cfg(feature = "mmap")]
mod mapping;
mod pages;
mod part;
mod prefetch;
mod ribbon;
#[cfg(feature = "std")]
mod seal;
mod series;
#[cfg(feature = "std")]
mod sizes;
#[cfg(feature = "std")]
mod solve;
mod verify;
#[cfg(all(test, feature = "std"))]
mod vectors;

#[cfg(feature = "std")]
pub use builder::Builder;
pub use error::{Error, Result};
pub use filter::Filter;
pub use hash::HashName;
pub use info::{Form, Info, KeyKind, Layer, Layout, Slice};
#[cfg(feature = "std")]
pub use sizes::rate;
