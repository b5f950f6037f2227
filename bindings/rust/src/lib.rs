// SPDX-License-Identifier: MIT
//! Bloom filters and ribbon filters in files: a lookup shows that a key is *maybe* in a set
//! or *certainly not*.
//!
//! The files are those of the bloomfile project, which has a library in C, command-line tools and
//! a specification of the format. This crate is written from the specification and needs no C.
//!
//! ```
//! use bloomfile::{Builder, Filter};
//!
//! # fn main() -> bloomfile::Result<()> {
//! # let path = std::env::temp_dir().join(format!("fruit-{}.bloom", std::process::id()));
//! let mut builder = Builder::new().fpr(0.001);
//! builder.add_text("apple")?;
//! builder.build()?.write_file(&path)?;
//!
//! let filter = Filter::open(&path)?;
//! assert!(filter.contains_text("apple")?);   // maybe
//! assert!(!filter.contains_text("stone")?);  // certainly not
//! assert!(filter.error().is_none());         // no damage was met
//! # std::fs::remove_file(path)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Never a silent "no"
//!
//! A wrong *maybe* costs a needless read, a wrong *no* loses data. So [`Filter::open`] refuses
//! a damaged header or a wrong length, and each page has a checksum, which is compared before
//! a "no" relies on the page. A damaged page answers *maybe*, and [`Filter::error`] reports it.
//!
//! # Features
//!
//! - `std` (default): files, builders, operations. Without it the crate needs only `alloc` and
//!   atomic compare-and-swap, and opens filters in memory: [`Filter::from_bytes`].
//! - `mmap` (default): `Filter::map`.
//!
//! AVX2 and AVX-512 are used if the processor has them (without `std`: if the program is compiled
//! for them).
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code, missing_docs)]
// Places in a body fit usize, because rule V26 compared its size with the bytes that exist. Other
// casts take the low bits on purpose.
#![allow(clippy::cast_possible_truncation)]
// Rates and estimates are computed in f64. They need 9 digits, and are not negative.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss)]
// Intrinsics take signed integers.
#![allow(clippy::cast_possible_wrap)]

extern crate alloc;

mod aligned;
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
#[cfg(all(test, feature = "std", bloomfile_suite))]
mod vectors;
mod verify;
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

/// Runs the programs of the README, which write to the current folder.
#[cfg(all(doctest, feature = "std", bloomfile_suite))]
#[doc = include_str!("../README.md")]
struct Readme;
