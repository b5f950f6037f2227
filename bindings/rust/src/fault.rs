// SPDX-License-Identifier: MIT
//! The sticky error of an open filter.

use crate::error::Error;
use core::sync::atomic::{AtomicUsize, Ordering};

const NONE: usize = 0;
const BODY: usize = 1;
const CHANGED: usize = 2;
const FIRST_PAGE: usize = 3;

/// The first damage that was found.
#[derive(Debug)]
pub(crate) struct Fault(AtomicUsize);

impl Fault {
    pub(crate) fn new() -> Self {
        Fault(AtomicUsize::new(NONE))
    }

    pub(crate) fn report(&self, error: &Error) {
        let code = match error {
            Error::Changed => CHANGED,
            // A page of an image in memory is less than the largest usize by far.
            Error::Page(page) => *page as usize + FIRST_PAGE,
            _ => BODY,
        };
        let _first_stays = self.0.compare_exchange(NONE, code, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn get(&self) -> Option<Error> {
        match self.0.load(Ordering::Acquire) {
            NONE => None,
            BODY => Some(Error::Body),
            CHANGED => Some(Error::Changed),
            page => Some(Error::Page((page - FIRST_PAGE) as u64)),
        }
    }
}
