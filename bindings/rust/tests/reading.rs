// SPDX-License-Identifier: MIT
//! The conformance suite of readers: files that open, files that are refused, and damaged bodies.

mod common;

use bloomfile::{Error, Filter, Form};
use common::*;
use std::path::Path;

#[test]
fn golden_images_open_verify_and_answer_as_listed() {
    for row in table("golden/index.tsv") {
        let path = golden(&row["file"]);
        let filter = open_named(&path, &row["hash"]);
        let info = filter.info();
        assert_eq!(sha256(filter.as_bytes()), row["sha256"], "{path:?}");
        assert_eq!(layout_name(info.layout), row["layout"], "{path:?}");
        assert_eq!(info.n.to_string(), row["n"], "{path:?}");
        assert_eq!(info.m.to_string(), row["m"], "{path:?}");
        assert_eq!(info.k.to_string(), row["k"], "{path:?}");
        assert_eq!(info.seed.to_string(), row["seed"], "{path:?}");
        assert_eq!(u8::from(info.n_estimated).to_string(), row["n_estimated"], "{path:?}");
        assert_eq!(kind_name(info.key_kind), row["key_kind"], "{path:?}");
        let form = if info.form == Form::File { "file" } else { "embedded" };
        assert_eq!(form, row["form"], "{path:?}");
        let first = info.slice.map_or("-".into(), |slice| slice.first_block.to_string());
        let whole = info.slice.map_or("-".into(), |slice| slice.whole_blocks.to_string());
        assert_eq!((&first, &whole), (&row["first_block"], &row["whole_blocks"]), "{path:?}");
        answers_as_listed(&filter, &row["keys"], &row["maybes"], &path);
        filter.verify().unwrap();
        answers_as_listed(&filter, &row["keys"], &row["maybes"], &path);
    }
}

fn answers_as_listed(filter: &Filter<'_>, keys: &str, absent: &str, path: &Path) {
    let present = digests_for(filter, keys);
    assert_eq!(maybes(filter, &present), present.len(), "{path:?}");
    assert_eq!(maybes(filter, &absent_for(filter, keys)).to_string(), absent, "{path:?}");
    assert!(filter.error().is_none(), "{path:?}");
}

#[test]
fn images_with_an_application_hash_are_refused_unless_it_is_named() {
    for row in table("golden/index.tsv") {
        let refused = Filter::open(golden(&row["file"])).map_err(|error| error.name());
        let expected = if row["hash"] == "xxh3" { None } else { Some("BLOOMFILE_EHASH") };
        assert_eq!(refused.err(), expected, "{}", row["file"]);
    }
}

#[test]
fn sealed_series_open_and_live_series_are_refused() {
    for row in table("golden/series.tsv") {
        let path = golden(&row["file"]);
        if row["file"].starts_with("live/") {
            assert_eq!(Filter::open_any_hash(&path).unwrap_err().name(), "BLOOMFILE_ELIVE");
            continue;
        }
        let filter = open_named(&path, &row["hash"]);
        assert_eq!(sha256(filter.as_bytes()), row["sha256"]);
        assert_eq!(list(&filter, |info| info.n), row["n"], "{path:?}");
        assert_eq!(list(&filter, |info| info.m), row["m"], "{path:?}");
        assert_eq!(list(&filter, |info| info.k), row["k"], "{path:?}");
        assert_eq!(list(&filter, |info| info.layer.unwrap().layer), row["layers"], "{path:?}");
        assert_eq!(kind_name(filter.info().key_kind), row["key_kind"], "{path:?}");
        answers_as_listed(&filter, &row["keys"], &row["maybes"], &path);
        filter.verify().unwrap();
        answers_as_listed(&filter, &row["keys"], &row["maybes"], &path);
    }
}

fn open_and_verify(path: &Path) -> Result<(), Error> {
    Filter::open_any_hash(path)?.verify()
}

#[test]
fn refused_images_have_the_listed_error() {
    for row in table("golden-refused/index.tsv") {
        let error = open_and_verify(&refused(&row["file"])).unwrap_err();
        assert_eq!(error.name(), row["error"], "{}", row["file"]);
    }
}

#[test]
fn live_series_are_refused_by_this_rule_or_an_earlier_rule() {
    for row in table("golden-refused/series.tsv") {
        let error = open_and_verify(&refused(&row["file"])).unwrap_err();
        let early = row["rule"].strip_prefix('V').and_then(|rule| rule.parse::<u32>().ok());
        match early {
            Some(rule) if rule < 36 => assert!(
                error.name() == row["error"] || error.name() == "BLOOMFILE_ELIVE",
                "{} {}",
                row["file"],
                error.name()
            ),
            _ => assert_eq!(error.name(), "BLOOMFILE_ELIVE", "{}", row["file"]),
        }
    }
}

/// One row of the table of images in doubt: opens, states names, verifies, and looks up.
fn check_doubt(row: &common::Row, verify_first: bool) {
    let in_refused = refused(&row["file"]);
    let path = if in_refused.exists() { in_refused } else { golden(&row["file"]) };
    let mut filter = Filter::open_any_hash(&path).unwrap();
    for (name, expected) in row["names"].split(',').zip(row["name_errors"].split(',')) {
        if name != "-" {
            let error = filter.state_hash(hash_name(name)).err().map_or("-", |error| error.name());
            assert_eq!(error, expected, "{path:?}");
        }
    }
    let present = digests_for(&filter, &row["keys"]);
    let absent = absent_for(&filter, &row["keys"]);
    if !verify_first {
        assert_eq!(maybes(&filter, &present), present.len(), "{path:?}");
        assert_eq!(maybes(&filter, &absent).to_string(), row["maybes"], "{path:?}");
    }
    for _ in 0..2 {
        let error = filter.verify().err();
        assert_eq!(error.as_ref().map_or("-", Error::name), row["verify"], "{path:?}");
        if let Some(Error::Page(page)) = error {
            assert_eq!(page.to_string(), row["page"], "{path:?}");
        }
    }
    assert_eq!(maybes(&filter, &present), present.len(), "{path:?}");
    assert_eq!(maybes(&filter, &absent).to_string(), row["maybes_verified"], "{path:?}");
    if row["maybes_verified"] == "1000" && row["names"] == "-" {
        assert!(filter.error().is_some(), "{path:?}");
    }
}

#[test]
fn damaged_images_answer_as_listed_before_and_after_verification() {
    for row in table("golden-refused/doubt.tsv") {
        check_doubt(&row, false);
        check_doubt(&row, true);
    }
}

#[cfg(feature = "mmap")]
#[test]
fn mapped_files_answer_like_files_read_into_memory() {
    for row in table("golden/index.tsv").iter().filter(|row| row["hash"] == "xxh3") {
        let path = golden(&row["file"]);
        // SAFETY: nothing writes to the files of the suite.
        let filter = unsafe { Filter::map(&path).unwrap() };
        answers_as_listed(&filter, &row["keys"], &row["maybes"], &path);
        filter.verify().unwrap();
    }
    // SAFETY: as above.
    let error = unsafe { Filter::map(refused("empty.bloom")).unwrap_err() };
    assert_eq!(error.name(), "BLOOMFILE_EEMPTY");
}

#[cfg(all(unix, feature = "mmap"))]
#[test]
fn pipes_and_folders_are_refused_without_waiting() {
    use std::io::ErrorKind::{InvalidInput, IsADirectory};
    let folder = std::env::temp_dir().join(format!("bloomfile-rust-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let opens: [fn(&Path) -> bloomfile::Result<Filter<'static>>; 3] = [
        |path| Filter::open(path),
        |path| Filter::open_any_hash(path),
        // SAFETY: nothing is mapped.
        |path| unsafe { Filter::map(path) },
    ];
    for open in opens {
        for (path, kind) in [(pipe.clone(), InvalidInput), (folder.clone(), IsADirectory)] {
            let (send, receive) = std::sync::mpsc::channel();
            std::thread::spawn(move || send.send(open(&path).map(drop)));
            let error = receive.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
            assert!(matches!(error, Err(Error::Io(error)) if error.kind() == kind));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn keys_only_an_application_can_hash_answer_maybe_with_an_error() {
    let row = table("golden/index.tsv").into_iter().find(|row| row["hash"] != "xxh3").unwrap();
    let lookups: [fn(&Filter<'_>) -> bool; 2] = [
        |filter| filter.contains(b"key"),
        |filter| filter.contains_many(&["key"], &mut [false]) == 1,
    ];
    for look_up in lookups {
        let filter = open_named(&golden(&row["file"]), &row["hash"]);
        assert!(filter.error().is_none());
        assert!(look_up(&filter));
        assert!(matches!(filter.error(), Some(Error::Hash)));
    }
}
