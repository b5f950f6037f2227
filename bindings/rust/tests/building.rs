// SPDX-License-Identifier: MIT
//! The conformance suite of builders: the same bytes from the same keys.

mod common;

use bloomfile::{Builder, Error, Filter, HashName, KeyKind, Layout};
use common::*;

/// Splits options as a shell does, as far as the table needs it.
fn split(options: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in options.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(character),
        }
    }
    words
}

fn tag(digits: &str) -> [u8; 16] {
    std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
}

fn builder(options: &str) -> Builder {
    let mut builder = Builder::new();
    for pair in split(options).chunks(2) {
        let value = pair[1].as_str();
        builder = match pair[0].as_str() {
            "-l" => builder.layout(layout(value)),
            "-m" => builder.bits(value.parse().unwrap()),
            "-k" => builder.hashes(value.parse().unwrap()),
            "--seed" => builder.seed(value.parse().unwrap()),
            "--fpr" => builder.fpr(value.parse().unwrap()),
            "--capacity" => builder.capacity(value.parse().unwrap()),
            "--label" => builder.label(value),
            "--tag" => builder.tag(tag(value)),
            "--slice" => {
                let (slice, slices) = value.split_once('/').unwrap();
                builder.slice(slice.parse::<u64>().unwrap() - 1, slices.parse().unwrap())
            }
            other => panic!("unknown option {other}"),
        };
    }
    builder
}

#[test]
fn golden_images_are_made_byte_for_byte() {
    let mut made = 0;
    for row in table("golden/index.tsv").iter().filter(|row| row["bfcreate"] != "-") {
        let mut builder = builder(&row["bfcreate"]);
        lines(&row["keys"]).iter().for_each(|key| builder.add(key));
        let filter = builder.build().unwrap();
        assert_eq!(sha256(filter.as_bytes()), row["sha256"], "{}", row["file"]);
        made += 1;
    }
    assert!(made > 25);
}

fn with_keys(mut builder: Builder, count: i64) -> Filter<'static> {
    (0..count).for_each(|i| builder.add(&i.to_le_bytes()));
    builder.build().unwrap()
}

fn measured_rate(filter: &Filter<'_>) -> f64 {
    let hits = (0..100_000_i64).filter(|i| filter.contains(&(i - 1_000_000).to_le_bytes())).count();
    hits as f64 / 1e5
}

#[test]
fn every_layout_keeps_its_rate_and_its_keys() {
    for layout in [Layout::Blocked, Layout::Classic, Layout::Counting, Layout::Ribbon] {
        for (target, keys) in [(0.01, 30_000), (0.1, 30_000), (0.001, 100), (0.01, 3000)] {
            let filter = with_keys(Builder::new().layout(layout).fpr(target), keys);
            assert!((0..keys).all(|i| filter.contains(&i.to_le_bytes())), "{layout:?}");
            let rate = measured_rate(&filter);
            assert!(rate < target * 1.2, "{layout:?} {keys} keys: {rate} above {target}");
            assert!((rate - filter.rate()).abs() < target * 0.3, "{rate} {}", filter.rate());
            filter.verify().unwrap();
        }
    }
}

#[test]
fn ribbon_takes_a_quarter_fewer_bytes_than_blocked() {
    let blocked = with_keys(Builder::new(), 50_000);
    let ribbon = with_keys(Builder::new().layout(Layout::Ribbon), 50_000);
    assert!(ribbon.as_bytes().len() * 4 < blocked.as_bytes().len() * 3);
}

#[test]
fn order_and_repetition_of_keys_do_not_matter() {
    let mut forwards = Builder::new();
    let mut backwards = Builder::new();
    (0..500_i64).for_each(|i| forwards.add(&i.to_le_bytes()));
    (0..500_i64).rev().chain(0..9).for_each(|i| backwards.add(&i.to_le_bytes()));
    assert_eq!(forwards.build().unwrap().to_vec(), backwards.build().unwrap().to_vec());
}

/// Adds and looks up a key of every type: text, an integer, a record, a byte string.
fn fits(kind: KeyKind, key: &[u8]) -> [bool; 4] {
    type Add = fn(&mut Builder, &[u8]) -> bloomfile::Result<()>;
    type LookUp = fn(&Filter<'_>, &[u8]) -> bloomfile::Result<bool>;
    let ways: [(Add, LookUp); 4] = [
        (
            |builder, key| builder.add_text(std::str::from_utf8(key).unwrap()),
            |filter, key| filter.contains_text(std::str::from_utf8(key).unwrap()),
        ),
        (|builder, _| builder.add_integer(-7), |filter, _| filter.contains_integer(-7)),
        (Builder::add_record, |filter, key| filter.contains_record(key)),
        (
            |builder, key| {
                builder.add(key);
                builder.clone().build().map(drop)
            },
            |filter, key| {
                let (single, error, mut answers) =
                    (filter.contains(key), filter.error(), [false; 3]);
                filter.contains_many(&[key, &[7; 8], key], &mut answers);
                assert_eq!([single; 2], [answers[0], answers[2]], "{:?}", filter.info().key_kind);
                error.map_or(Ok(single), Err)
            },
        ),
    ];
    ways.map(|(add, look_up)| {
        let empty = Builder::new().key_kind(kind).build().unwrap();
        let answer = look_up(&empty, key);
        let mut builder = Builder::new().key_kind(kind);
        let added = add(&mut builder, key);
        match (&added, &answer) {
            (Ok(()), Ok(false)) => assert!(look_up(&builder.build().unwrap(), key).unwrap()),
            (Err(Error::KeyKind), Err(Error::KeyKind)) => {}
            (Err(Error::Feature(_)), Err(Error::Feature(_))) => {}
            _ => panic!("{kind:?}: {added:?} {answer:?}"),
        }
        added.is_ok()
    })
}

#[test]
fn keys_fit_the_kinds_that_the_specification_lists() {
    for (kind, listed) in [
        (KeyKind::Unknown, [true; 4]),
        (KeyKind::Text, [true, false, false, true]),
        (KeyKind::Lower, [true, false, false, true]),
        (KeyKind::Integers, [false, true, false, false]),
        (KeyKind::Fixed(5), [false, false, true, true]),
        (KeyKind::Fixed(8), [false; 4]),
        (KeyKind::Bytes, [false, false, true, true]),
        (KeyKind::Newer(6), [false; 4]),
    ] {
        assert_eq!(fits(kind, b"Apple"), listed, "{kind:?}");
    }
    assert_eq!(fits(KeyKind::Integers, b"12345678"), [false, true, true, true]);
}

#[test]
fn keys_of_lower_are_lowered_in_every_add_and_lookup() {
    let adds: [fn(&mut Builder); 2] = [|b| b.add(b"Apple"), |b| b.add_text("aPPLE").unwrap()];
    for add in adds {
        let mut builder = Builder::new().key_kind(KeyKind::Lower);
        add(&mut builder);
        let filter = builder.build().unwrap();
        assert!(filter.contains_text("Apple").unwrap() && filter.contains(b"APPLE"));
        assert_eq!(filter.contains_many(&["APPLE", "b", "apple"], &mut [false; 3]), 2);
        assert!(filter.contains_digest(filter.digest(b"apple")));
        assert!(!filter.contains_digest(filter.digest(b"Apple")));
    }
}

#[test]
fn first_key_decides_the_kind() {
    let kind = |add: fn(&mut Builder)| {
        let mut builder = Builder::new();
        add(&mut builder);
        builder.build().unwrap().info().key_kind
    };
    assert_eq!(kind(|_| ()), KeyKind::Unknown);
    assert_eq!(kind(|builder| builder.add(b"a")), KeyKind::Unknown);
    assert_eq!(kind(|builder| builder.add_text("a").unwrap()), KeyKind::Text);
    assert_eq!(kind(|builder| builder.add_integer(1).unwrap()), KeyKind::Integers);
    assert_eq!(kind(|builder| builder.add_record(b"ab").unwrap()), KeyKind::Bytes);
    let mut builder = Builder::new();
    builder.add_text("a").unwrap();
    assert!(matches!(builder.add_integer(1), Err(Error::KeyKind)));
}

#[test]
fn signed_and_unsigned_integers_are_found() {
    let mut builder = Builder::new().key_kind(KeyKind::Integers);
    [0, -1, i64::MAX, u64::MAX as i64 - 1].iter().for_each(|&i| builder.add_integer(i).unwrap());
    let filter = builder.build().unwrap();
    assert!(filter.contains_integer(-2).unwrap() && !filter.contains_integer(7).unwrap());
    assert!(filter.contains(&[0xFF; 8]) && filter.contains_record(&[0xFF; 8]).unwrap());
}

#[test]
fn parameters_out_of_range_are_errors() {
    let error = |builder: Builder| builder.build().unwrap_err().name();
    assert_eq!(error(Builder::new().fpr(0.0)), "BLOOMFILE_ERATE");
    assert_eq!(error(Builder::new().fpr(f64::NAN)), "BLOOMFILE_ERATE");
    assert_eq!(error(Builder::new().fpr(1e-300)), "BLOOMFILE_EUNREACHABLE");
    assert_eq!(error(Builder::new().bits(0)), "BLOOMFILE_EBITS");
    assert_eq!(error(Builder::new().bits(u64::MAX)), "BLOOMFILE_EBITS");
    assert_eq!(error(Builder::new().hashes(65)), "BLOOMFILE_EHASHCOUNT");
    assert_eq!(error(Builder::new().capacity(0)), "BLOOMFILE_ECAPACITY");
    assert_eq!(error(Builder::new().slice(0, 1)), "BLOOMFILE_ECAPACITY");
    assert_eq!(error(Builder::new().bits(512).slice(0, 1)), "BLOOMFILE_ECAPACITY");
    assert_eq!(error(Builder::new().bits(512).hashes(6).slice(1, 1)), "BLOOMFILE_ESLICE");
    assert_eq!(error(Builder::new().label("a\nb")), "BLOOMFILE_ELABEL");
    assert_eq!(error(Builder::new().label(&"x".repeat(113))), "BLOOMFILE_ELABEL");
    assert_eq!(error(Builder::new().key_kind(KeyKind::Fixed(0))), "BLOOMFILE_EKEYKIND");
    // More memory than any machine has.
    assert!(matches!(Builder::new().bits(1 << 60).hashes(1).build(), Err(Error::Memory)));
}

const APPLICATION: HashName = HashName { id: 0x8000_0001, self_test: 7 };

#[test]
fn builder_with_an_application_hash_takes_digests_only() {
    type Add = fn(&mut Builder) -> bloomfile::Result<()>;
    let adds: [Add; 4] = [
        |builder| {
            builder.add(b"a");
            Err(Error::Hash)
        },
        |builder| builder.add_text("a"),
        |builder| builder.add_integer(1),
        |builder| builder.add_record(b"a"),
    ];
    for add in adds {
        let mut builder = Builder::new().hash(APPLICATION);
        builder.add_digest(5);
        assert!(matches!(add(&mut builder), Err(Error::Hash)));
        assert!(matches!(builder.build(), Err(Error::Hash)));
    }
    let mut builder = Builder::new().hash(APPLICATION);
    builder.add_digest(5);
    let filter = builder.build().unwrap();
    assert!(filter.contains_digest(5) && !filter.contains_digest(!5));
}

#[test]
fn settings_after_the_first_key_are_errors() {
    let error = |set: fn(Builder) -> Builder| {
        let mut builder = Builder::new();
        builder.add(b"a");
        set(builder).build().unwrap_err().name()
    };
    assert_eq!(error(|builder| builder.seed(1)), "BLOOMFILE_EDIFFERENTSEED");
    assert_eq!(error(|builder| builder.hash(APPLICATION)), "BLOOMFILE_EDIFFERENTHASH");
    assert_eq!(error(|builder| builder.key_kind(KeyKind::Text)), "BLOOMFILE_EKEYKIND");
}

#[test]
fn debug_output_has_neither_bodies_nor_keys() {
    let mut builder = Builder::new().bits(1 << 20).hashes(3);
    (0..1000).for_each(|i| builder.add_digest(i << 50));
    let texts = [format!("{builder:?}"), format!("{:?}", builder.build().unwrap())];
    assert!(texts.iter().all(|text| text.len() < 1500), "{texts:?}");
}
