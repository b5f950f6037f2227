// SPDX-License-Identifier: MIT
//! The conformance suite of the format: its folders and tables.
#![allow(dead_code)] // Each test program uses a part of it.

use bloomfile::{Filter, HashName, Info, KeyKind, Layout};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

pub fn golden(name: &str) -> PathBuf {
    tests().join("golden").join(name)
}

pub fn refused(name: &str) -> PathBuf {
    tests().join("golden-refused").join(name)
}

pub type Row = HashMap<String, String>;

pub fn table(path: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(tests().join(path)).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        let fields = line.split('\t').map(str::to_owned);
        names.iter().map(|&name| name.to_owned()).zip(fields).collect()
    };
    lines.map(row).collect()
}

pub fn lines(name: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(golden(name)).unwrap();
    let mut lines: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    assert_eq!(lines.pop(), Some(Vec::new()), "every line ends with a newline");
    lines
}

pub fn digests(name: &str) -> Vec<u64> {
    let number = |line: &Vec<u8>| u64::from_str_radix(std::str::from_utf8(line).unwrap(), 16);
    lines(name).iter().map(|line| number(line).unwrap()).collect()
}

/// The keys of a column `keys`, as digests of the filter.
pub fn digests_for(filter: &Filter<'_>, name: &str) -> Vec<u64> {
    if name.ends_with(".digests") {
        return digests(name);
    }
    lines(name).iter().map(|line| filter.digest(line)).collect()
}

pub fn absent_for(filter: &Filter<'_>, keys: &str) -> Vec<u64> {
    let digests = keys.ends_with(".digests");
    digests_for(filter, if digests { "keys/absent.digests" } else { "keys/absent.keys" })
}

/// How many digests are maybe, which single lookups and a batch agree on.
pub fn maybes(filter: &Filter<'_>, digests: &[u64]) -> usize {
    let singly: Vec<bool> = digests.iter().map(|&digest| filter.contains_digest(digest)).collect();
    let mut batch = vec![false; digests.len()];
    let count = filter.contains_digests(digests, &mut batch);
    assert_eq!(singly, batch);
    assert_eq!(count, singly.iter().filter(|&&hit| hit).count());
    count
}

pub fn hash_name(text: &str) -> HashName {
    let (id, self_test) = text.split_once(' ').unwrap();
    HashName {
        id: u32::from_str_radix(id, 16).unwrap(),
        self_test: u64::from_str_radix(self_test, 16).unwrap(),
    }
}

pub fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Blocked => "blocked",
        Layout::Classic => "classic",
        Layout::Counting => "counting",
        Layout::Ribbon => "ribbon",
        _ => "newer",
    }
}

pub fn layout(name: &str) -> Layout {
    let all = [Layout::Blocked, Layout::Classic, Layout::Counting, Layout::Ribbon];
    all.into_iter().find(|&layout| layout_name(layout) == name).unwrap()
}

pub fn kind_name(kind: KeyKind) -> String {
    match kind {
        KeyKind::Unknown => "unknown".into(),
        KeyKind::Text => "text".into(),
        KeyKind::Lower => "lower".into(),
        KeyKind::Integers => "integers".into(),
        KeyKind::Fixed(size) => format!("fixed {size}"),
        KeyKind::Bytes => "bytes".into(),
        _ => "newer".into(),
    }
}

/// A number of each layer, separated by commas.
pub fn list<T: ToString>(filter: &Filter<'_>, number: impl Fn(&Info) -> T) -> String {
    filter.layers().map(|info| number(info).to_string()).collect::<Vec<_>>().join(",")
}

#[cfg(feature = "std")]
/// Opens an image of any hash function, whose name the table states.
pub fn open_named(path: &Path, hash: &str) -> Filter<'static> {
    let mut filter = Filter::open_any_hash(path).unwrap();
    if hash != "xxh3" {
        filter.state_hash(hash_name(hash)).unwrap();
    }
    filter
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
