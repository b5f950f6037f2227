// SPDX-License-Identifier: MIT
//! What the crate does without its default features.

mod common;

use bloomfile::Filter;
use common::*;

#[test]
fn filters_in_memory_are_read_without_std() {
    let image = std::fs::read(golden("blocked-file.bloom")).unwrap();
    let filter = Filter::from_bytes(&image).unwrap();
    assert!(lines("keys/urls.keys").iter().all(|key| filter.contains(key)));
    filter.verify().unwrap();
    drop(filter);
    let filter = Filter::copy_of(&image).unwrap();
    assert_eq!(maybes(&filter, &digests_for(&filter, "keys/absent.keys")), 0);
}
