// SPDX-License-Identifier: MIT
//! The conformance suite of operations: folding, merging, joining, patches.

mod common;

use bloomfile::{
    apply, diff, intersection, join, union, write_file, Builder, Error, Filter, Form, HashName,
    Layout, Output,
};
use common::*;

fn open(name: &str) -> Filter<'static> {
    Filter::open_any_hash(golden(name)).unwrap()
}

fn open_all(names: &str) -> Vec<Filter<'static>> {
    names.split(',').map(open).collect()
}

fn refs<'f, 'a>(filters: &'f [Filter<'a>]) -> Vec<&'f Filter<'a>> {
    filters.iter().collect()
}

fn operate(
    operation: &str,
    sources: &[Filter<'_>],
    output: &Output,
) -> bloomfile::Result<Filter<'static>> {
    match operation.split_once(' ').unwrap_or((operation, "")) {
        ("fold", factor) => sources[0].fold(factor.parse().unwrap(), output),
        ("copy", _) => sources[0].copy(output),
        ("project", _) => sources[0].project(output),
        ("union", _) => union(&refs(sources), output),
        ("intersection", _) => intersection(&refs(sources), output),
        other => panic!("unknown operation {other:?}"),
    }
}

#[test]
fn refused_operations_have_the_listed_error() {
    for row in table("golden-refused/operations.tsv") {
        let sources = open_all(&row["sources"]);
        let error = operate(&row["operation"], &sources, &Output::default()).unwrap_err();
        assert_eq!(error.name(), row["error"], "{} {}", row["operation"], row["sources"]);
    }
}

#[test]
fn operations_make_the_golden_results() {
    for row in table("golden/operations.tsv") {
        let sources = open_all(&row["sources"]);
        let expected = open(&row["result"]);
        let mut info = expected.info().clone();
        let output = Output { form: info.form, ..Output::default() };
        let made = operate(&row["operation"], &sources, &output).unwrap();
        let name = &row["result"];
        if made.as_bytes() == expected.as_bytes() {
            continue;
        }
        assert!(made.info().n_estimated, "{name}");
        // How n is estimated is not part of the format.
        info.n = made.info().n;
        assert_eq!(made.info(), &info, "{name}");
        let bodies =
            [&made, &expected].map(|filter| filter.as_bytes()[info.form_size()..].to_vec());
        assert_eq!(bodies[0], bodies[1], "{name}");
    }
}

trait FormSize {
    fn form_size(&self) -> usize;
}

impl FormSize for bloomfile::Info {
    fn form_size(&self) -> usize {
        if self.form == Form::File {
            4096
        } else {
            512
        }
    }
}

#[test]
fn folding_equals_building_smaller() {
    for layout in [Layout::Blocked, Layout::Classic, Layout::Counting] {
        let build = |m: u64| {
            let mut builder = Builder::new().layout(layout).bits(m).hashes(4);
            (0..300_u32).for_each(|i| builder.add(&i.to_le_bytes()));
            builder.build().unwrap()
        };
        let folded = build(512 * 12).fold(3, &Output::default()).unwrap();
        assert_eq!(folded.as_bytes()[4096..], build(512 * 4).as_bytes()[4096..]);
        assert_eq!(folded.info().m_unfolded, 512 * 12);
        let error = folded.fold(7, &Output::default()).unwrap_err();
        assert_eq!(error.name(), "BLOOMFILE_EFACTOR");
        assert!(matches!(folded.fold(0, &Output::default()), Err(Error::Factor)));
    }
}

#[test]
fn incompatible_sources_are_refused() {
    let error =
        |names: &str| union(&refs(&open_all(names)), &Output::default()).unwrap_err().name();
    assert_eq!(error("blocked-file.bloom,classic-file.bloom"), "BLOOMFILE_EDIFFERENTLAYOUT");
    assert_eq!(error("blocked-file.bloom,application-blocked.bloom"), "BLOOMFILE_EDIFFERENTHASH");
    assert_eq!(error("blocked-file.bloom,blocked-k1.bloom"), "BLOOMFILE_EDIFFERENTHASHCOUNT");
    assert_eq!(error("blocked-bytes.bloom,blocked-seed.bloom"), "BLOOMFILE_EDIFFERENTSEED");
    assert_eq!(error("key-kind-text.bloom,key-kind-bytes.bloom"), "BLOOMFILE_EKEYKIND");
    assert_eq!(error("key-kind-unknown-said.bloom,key-kind-lower.bloom"), "BLOOMFILE_EKEYKIND");
    assert_eq!(error("key-kind-text.bloom,key-kind-newer-6.bloom"), "BLOOMFILE_EFEATURE");
    assert_eq!(error("ribbon-file.bloom"), "BLOOMFILE_EISRIBBON");
    assert_eq!(error("slice-first.bloom"), "BLOOMFILE_EISSLICE");
    assert_eq!(error("series-1.bloom"), "BLOOMFILE_EISSERIES");
    let counting = open("counting-file.bloom");
    let error = intersection(&[&counting], &Output::default()).unwrap_err();
    assert_eq!(error.name(), "BLOOMFILE_EISCOUNTING");
    let error = open("ribbon-file.bloom").project(&Output::default()).unwrap_err();
    assert_eq!(error.name(), "BLOOMFILE_ENOTCOUNTING");
    assert!(matches!(union(&[], &Output::default()), Err(Error::Empty)));
}

#[test]
fn operations_refuse_damaged_sources() {
    let damaged = Filter::open(refused("page-0-bit-flipped.bloom")).unwrap();
    let output = Output::default();
    assert!(matches!(damaged.copy(&output), Err(Error::Page(0))));
    assert!(matches!(damaged.fold(1, &output), Err(Error::Page(0))));
    assert!(matches!(union(&[&damaged], &output), Err(Error::Page(0))));
    assert!(matches!(diff(&damaged, &damaged), Err(Error::Page(0))));
}

#[test]
fn ribbon_is_copied_but_not_folded() {
    let ribbon = open("ribbon-two-pages.bloom");
    let error = ribbon.fold(2, &Output::default()).unwrap_err();
    assert_eq!(error.name(), "BLOOMFILE_EISRIBBON");
    let small = ribbon.fold(1, &Output { form: Form::Embedded, ..Output::default() }).unwrap();
    assert!(small.as_bytes().len() < ribbon.as_bytes().len());
    assert_eq!(maybes(&small, &digests_for(&small, "keys/seen.keys")), 2000);
}

#[test]
fn all_slices_join_into_the_whole() {
    for row in table("golden/slices.tsv") {
        let slices = open_all(&row["slices"]);
        let whole = join(&refs(&slices), false, &Output::default()).unwrap();
        assert_eq!(sha256(whole.as_bytes()), row["sha256"], "{}", row["slices"]);
    }
}

#[test]
fn incomplete_slices_are_not_joined() {
    for row in table("golden-refused/slices.tsv") {
        let slices = open_all(&row["slices"]);
        let error = join(&refs(&slices), false, &Output::default()).unwrap_err();
        assert_eq!(error.name(), row["error"], "{}", row["slices"]);
    }
    assert!(matches!(join(&[], true, &Output::default()), Err(Error::Incomplete)));
    let halves = open_all("slice-half-first.bloom,slice-half-last.bloom");
    join(&refs(&halves), true, &Output::default()).unwrap();
}

#[test]
fn slices_are_copied_as_slices() {
    let slice = open("slice-middle.bloom");
    assert_eq!(slice.copy(&Output::default()).unwrap().as_bytes(), slice.as_bytes());
    let embedded = Output { form: Form::Embedded, ..Output::default() };
    assert_eq!(slice.copy(&embedded).unwrap_err().name(), "BLOOMFILE_EISSLICE");
}

#[test]
fn patches_are_made_and_applied_byte_for_byte() {
    for row in table("golden/patches.tsv") {
        let (base, result) = (open(&row["base"]), open(&row["result"]));
        let patch = std::fs::read(golden(&row["patch"])).unwrap();
        assert_eq!(sha256(&patch), row["sha256"]);
        assert_eq!(diff(&base, &result).unwrap(), patch, "{}", row["patch"]);
        assert_eq!(apply(&base, &patch).unwrap().as_bytes(), result.as_bytes());
    }
}

#[test]
fn refused_patches_have_the_listed_error() {
    for row in table("golden-refused/patches.tsv") {
        let patch = std::fs::read(refused(&row["patch"])).unwrap();
        // Some bases are refused themselves.
        let error = Filter::open_any_hash(golden(&row["base"]))
            .and_then(|base| apply(&base, &patch))
            .unwrap_err();
        assert_eq!(error.name(), row["error"], "{}", row["patch"]);
    }
}

#[test]
fn bytes_behind_a_patch_are_reported_before_its_body() {
    let mut patch = std::fs::read(golden("classic-embedded-to-patched-classic.patch")).unwrap();
    patch[157] ^= 1; // another body, which ends earlier
    patch[196..200].copy_from_slice(&[0x46, 0xD1, 0x11, 0xA0]); // part_crc
    let error = apply(&open("classic-embedded.bloom"), &patch).unwrap_err();
    assert_eq!(error.name(), "BLOOMFILE_ETRAILING");
}

#[test]
fn different_filters_have_no_patch() {
    let error = |base: &str, result: &str| diff(&open(base), &open(result)).unwrap_err().name();
    assert_eq!(error("ribbon-file.bloom", "ribbon-file.bloom"), "BLOOMFILE_EISRIBBON");
    assert_eq!(error("slice-first.bloom", "slice-last.bloom"), "BLOOMFILE_EDIFFERENTBITS");
    assert_eq!(error("series-1.bloom", "series-3.bloom"), "BLOOMFILE_EDIFFERENTBITS");
    assert_eq!(error("watermark.bloom", "watermark-file.bloom"), "BLOOMFILE_EDIFFERENTFORM");
}

#[test]
fn series_are_patched() {
    let base = open("series-3.bloom");
    let patch = diff(&base, &base).unwrap();
    assert_eq!(apply(&base, &patch).unwrap().as_bytes(), base.as_bytes());
    let base = open("series-application.bloom");
    let patch = diff(&base, &base).unwrap();
    assert_eq!(apply(&base, &patch).unwrap().as_bytes(), base.as_bytes());
    let cut = apply(&base, &patch[..patch.len() - 1]).unwrap_err();
    assert_eq!(cut.name(), "BLOOMFILE_ETRUNCATED");
}

#[test]
fn written_file_replaces_the_old_file_without_temporary_files() {
    let folder = std::env::temp_dir().join(format!("bloomfile-rust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.bloom");
    std::fs::write(&path, "old").unwrap();
    let filter = open("blocked-file.bloom");
    filter.write_file(&path).unwrap();
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert!(matches!(write_file(&folder, b"x"), Err(Error::Io(_))));
    assert!(matches!(write_file(&folder.join("no/a"), b"x"), Err(Error::Io(_))));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_are_written_whatever_other_threads_and_dead_processes_write() {
    let folder = std::env::temp_dir().join(format!("bloomfile-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..=100 {
        let left = format!(".bloomfile.{}.{number}.tmp", std::process::id());
        std::fs::write(folder.join(left), "").unwrap();
    }
    std::thread::scope(|scope| {
        for number in 0..150 {
            let path = folder.join(number.to_string());
            scope.spawn(move || write_file(&path, &[0; 100_000]).unwrap());
        }
    });
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 101 + 150);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn results_answer_maybe_until_their_application_hash_is_named() {
    let name = HashName { id: 0x8000_0001, self_test: 7 };
    let build = |builder: Builder| {
        let mut builder = builder.hash(name);
        builder.add_digest(5);
        let bytes = builder.build().unwrap().to_vec();
        let mut filter = Filter::from_bytes_any_hash(&bytes).unwrap().copy(&Output::default());
        // A wrong name is no better than none.
        let _ = filter.as_mut().unwrap().state_hash(HashName { self_test: 8, ..name });
        filter.unwrap()
    };
    let output = Output::default();
    let blocked = build(Builder::new().bits(1024).hashes(4));
    let counting = build(Builder::new().layout(Layout::Counting));
    let slice = build(Builder::new().bits(1024).hashes(4).slice(0, 1));
    let patch = diff(&blocked, &blocked).unwrap();
    let results = [
        blocked.copy(&output),
        blocked.fold(2, &output),
        union(&[&blocked], &output),
        intersection(&[&blocked], &output),
        counting.project(&output),
        join(&[&slice], false, &output),
        apply(&blocked, &patch),
    ];
    for result in results {
        let mut result = result.unwrap();
        assert!(result.contains_digest(!5) && matches!(result.error(), Some(Error::Hash)));
        result.state_hash(name).unwrap();
        assert!(result.contains_digest(5) && !result.contains_digest(!5));
    }
}

#[cfg(unix)]
fn folder_of(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("bloomfile-rust-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes files into a new folder, then a filter over `a.bloom`. Returns the error, after which the
/// file must be unchanged.
#[cfg(unix)]
fn error_of_writing(test: &str, files: &[(&str, &[u8])]) -> Option<&'static str> {
    let folder = folder_of(test);
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let path = folder.join("a.bloom");
    let before = std::fs::read(&path).ok();
    let error = open("classic-file.bloom").write_file(&path).err().map(|error| error.name());
    assert_eq!(std::fs::read(&path).ok() == before, error.is_some());
    let others = files.iter().filter(|file| file.0 != "a.bloom").count();
    let left = usize::from(path.exists()) + others;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), left);
    std::fs::remove_dir_all(&folder).unwrap();
    error
}

#[cfg(unix)]
#[test]
fn live_filter_is_not_replaced_even_if_it_is_damaged() {
    let error = |bytes: &[u8]| error_of_writing("live", &[("a.bloom", bytes)]);
    let live = std::fs::read(refused("live-clean.bloom")).unwrap();
    let poisoned = std::fs::read(refused("poisoned.bloom")).unwrap();
    let layer = std::fs::read(golden("live/growing-2/filter.bloom")).unwrap();
    for whole in [&live, &poisoned, &layer] {
        assert_eq!(error(whole), Some("BLOOMFILE_ELIVE"));
        for at in (0..4096).step_by(61).chain([8, 12, 13, 2048, 3072]) {
            let mut damaged = whole[..4096].to_vec();
            damaged[at] ^= 0x12;
            assert_eq!(error(&damaged), Some("BLOOMFILE_ELIVE"), "{at}");
        }
        let mut torn = whole[..4096].to_vec();
        torn[2048] ^= 1;
        torn[3072] ^= 1;
        assert_eq!(error(&torn), Some("BLOOMFILE_ELIVE"));
    }
    let mut lost = layer.clone();
    lost[2048..4096].fill(0);
    assert_eq!(error(&lost), Some("BLOOMFILE_ELIVE"));
}

#[cfg(unix)]
#[test]
fn sealed_filters_and_other_files_are_replaced() {
    let interrupted = ["interrupted-seal-0.bloom", "interrupted-seal-1.bloom"];
    for name in interrupted.into_iter().chain(["blocked-file.bloom", "blocked-embedded.bloom"]) {
        let sealed = std::fs::read(golden(name)).unwrap();
        assert_eq!(error_of_writing("others", &[("a.bloom", &sealed)]), None, "{name}");
    }
    let mut like_live = [0; 4096];
    like_live[2048 + 8] = 1;
    assert_eq!(error_of_writing("others", &[("a.bloom", &like_live)]), None);
    assert_eq!(error_of_writing("others", &[("a.bloom", b"")]), None);
}

#[cfg(unix)]
#[test]
fn lost_first_file_of_a_live_series_is_not_replaced() {
    let first = std::fs::read(golden("live/growing-2/filter.bloom")).unwrap();
    let second = std::fs::read(golden("live/growing-2/filter.bloom.1")).unwrap();
    let sealed = std::fs::read(golden("blocked-file.bloom")).unwrap();
    let slice = std::fs::read(golden("application-slice-ends.bloom")).unwrap();
    let damaged = |at: usize| {
        let mut damaged = second.clone();
        damaged[at] ^= 1;
        damaged
    };
    let layers = [&*second, &damaged(200), &damaged(12), &second[..100], &second[..4096]];
    let others = [&*first, &sealed, &slice, b"text", b""];
    for (i, next) in layers.into_iter().chain(others).enumerate() {
        let error = if i < layers.len() { Some("BLOOMFILE_ESERIES") } else { None };
        assert_eq!(error_of_writing("lost", &[("a.bloom.1", next)]), error, "{i}");
        for lost in [b"".as_slice(), b"text", &first[..100]] {
            let files = [("a.bloom", lost), ("a.bloom.1", next)];
            assert_eq!(error_of_writing("lost", &files), error, "{i}");
        }
        let files = [("a.bloom", &*sealed), ("a.bloom.1", next)];
        assert_eq!(error_of_writing("lost", &files), None, "{i}");
    }
}

#[cfg(unix)]
#[test]
fn written_file_keeps_owner_and_mode_of_the_old_file_and_a_link_to_it() {
    use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};
    let folder = folder_of("rights");
    let (path, link) = (folder.join("a.bloom"), folder.join("link.bloom"));
    symlink("a.bloom", &link).unwrap();
    let own = std::fs::metadata(&folder).unwrap();
    for mode in [0o600, 0o640, 0o666] {
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        // Only root may give a file away.
        let (user, group) = if chown(&path, Some(1234), Some(4321)).is_ok() {
            (1234, 4321)
        } else {
            (own.uid(), own.gid())
        };
        write_file(&link, b"new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let new = std::fs::metadata(&path).unwrap();
        assert_eq!((new.uid(), new.gid(), new.mode() & 0o7777), (user, group, mode));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn file_is_written_where_a_dangling_link_leads() {
    use std::os::unix::fs::symlink;
    let folder = folder_of("links");
    std::fs::create_dir(folder.join("real")).unwrap();
    symlink("real", folder.join("alias")).unwrap();
    symlink("../made", folder.join("real/up")).unwrap();
    symlink(folder.join("real/up"), folder.join("far")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    symlink("no/where", folder.join("lost")).unwrap();
    for link in ["alias/up", "far", "far"] {
        write_file(&folder.join(link), link.as_bytes()).unwrap();
        assert_eq!(std::fs::read(folder.join("made")).unwrap(), link.as_bytes());
        assert!(std::fs::symlink_metadata(folder.join(link)).unwrap().is_symlink());
    }
    let long = "n".repeat(255);
    write_file(&folder.join(&long), b"x").unwrap();
    for refused in ["loop", "lost", "real", "alias", ".."] {
        assert!(matches!(write_file(&folder.join(refused), b"x"), Err(Error::Io(_))), "{refused}");
    }
    let mut names: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["alias", "far", "loop", "lost", "made", long.as_str(), "real"]);
    assert_eq!(std::fs::read_dir(folder.join("real")).unwrap().count(), 1);
    assert!(matches!(write_file("/dev/null".as_ref(), b"x"), Err(Error::Io(_))));
    std::fs::remove_dir_all(&folder).unwrap();
}
