// SPDX-License-Identifier: MIT
//! The sticky error of an open filter.

use crate::error::Error;
use core::sync::atomic::{AtomicUsize, Ordering};

const NONE: usize = 0;
const HASH: usize = 1;
const BODY: usize = 2;
const CHANGED: usize = 3;
const KEY_KIND: usize = 4;
const FEATURE: usize = 5;
const FIRST_PAGE: usize = 6;

/// The gravest error that was found; of equal ones, the first.
pub(crate) struct Fault(AtomicUsize);

impl Fault {
    pub(crate) fn new() -> Self {
        Fault(AtomicUsize::new(NONE))
    }

    pub(crate) fn report(&self, error: &Error) {
        let code = match error {
            Error::Hash => HASH,
            Error::Changed => CHANGED,
            Error::KeyKind => KEY_KIND,
            Error::Feature(_) => FEATURE,
            // A page of an image in memory is less than the largest usize by far.
            Error::Page(page) => *page as usize + FIRST_PAGE,
            _ => BODY,
        };
        let graver = |old| (gravity(code) > gravity(old)).then_some(code);
        let _graver_stays = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, graver);
    }

    pub(crate) fn get(&self) -> Option<Error> {
        match self.0.load(Ordering::Acquire) {
            NONE => None,
            HASH => Some(Error::Hash),
            BODY => Some(Error::Body),
            CHANGED => Some(Error::Changed),
            KEY_KIND => Some(Error::KeyKind),
            FEATURE => Some(Error::Feature(0)),
            page => Some(Error::Page((page - FIRST_PAGE) as u64)),
        }
    }
}

/// Damage is worse than a key that cannot be compared. Changed bytes are worse than both: earlier
/// answers may have been wrong.
fn gravity(code: usize) -> u8 {
    match code {
        NONE => 0,
        HASH | KEY_KIND | FEATURE => 1,
        CHANGED => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Fault};

    #[test]
    fn changed_file_replaces_earlier_damage_as_the_error() {
        for first in [Error::Hash, Error::Page(3), Error::Body] {
            let fault = Fault::new();
            fault.report(&first);
            fault.report(&Error::Changed);
            fault.report(&first);
            assert!(matches!(fault.get(), Some(Error::Changed)));
        }
    }

    #[test]
    fn first_damage_found_is_kept() {
        let fault = Fault::new();
        for error in [Error::KeyKind, Error::Hash, Error::Page(3), Error::Body, Error::Page(1)] {
            fault.report(&error);
        }
        assert!(matches!(fault.get(), Some(Error::Page(3))));
    }
}
