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
#[cfg(feature = "std")]
mod combine;
mod container;
mod error;
mod fault;
mod filter;
mod hash;
mod image;
mod info;
#[cfg(feature = "std")]
mod join;
mod kernel;
#[cfg(feature = "mmap")]
mod mapping;
mod pages;
mod part;
#[cfg(feature = "std")]
mod patch;
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
mod write;

#[cfg(feature = "std")]
pub use builder::Builder;
#[cfg(feature = "std")]
pub use combine::{intersection, union, Output};
pub use error::{Error, Result};
pub use filter::Filter;
pub use hash::HashName;
pub use info::{Form, Info, KeyKind, Layer, Layout, Slice};
#[cfg(feature = "std")]
pub use join::join;
#[cfg(feature = "std")]
pub use patch::{apply, diff};
#[cfg(feature = "std")]
pub use sizes::rate;
#[cfg(feature = "std")]
pub use write::write_file;
