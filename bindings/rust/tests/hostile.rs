// SPDX-License-Identifier: MIT
//! Damaged and hostile bytes: an error or *maybe*, never a panic, never a wrong "no".
//!
//! The mutations are the same in every run. `BLOOMFILE_FUZZ_SECONDS` makes the last test longer.

mod common;

use bloomfile::{apply, join, union, Filter, Output};
use common::*;
use std::time::{Duration, Instant};

/// Images of each layout and form, with the files of their keys.
const IMAGES: [(&str, &str); 11] = [
    ("blocked-file.bloom", "keys/urls.keys"),
    ("blocked-embedded.bloom", "keys/few.keys"),
    ("classic-file.bloom", "keys/urls.keys"),
    ("classic-m1.bloom", "keys/three.keys"),
    ("counting-embedded.bloom", "keys/few.keys"),
    ("counting-file.bloom", "keys/urls.keys"),
    ("ribbon-embedded.bloom", "keys/few.keys"),
    ("ribbon-two-pages.bloom", "keys/seen.keys"),
    ("slice-middle.bloom", "keys/urls.keys"),
    ("series-3.bloom", "keys/few.keys"),
    ("interrupted-seal-0.bloom", "keys/few.keys"),
];

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Opens and uses an image in every way. Returns whether it opened.
fn use_image(image: &[u8], keys: &[Vec<u8>]) -> bool {
    let Ok(filter) = Filter::from_bytes_any_hash(image) else { return false };
    let mut answers = vec![false; keys.len()];
    assert_eq!(filter.contains_many(keys, &mut answers), keys.len(), "a key is lost");
    assert!(keys.iter().all(|key| filter.contains(key)), "a key is lost");
    let whole = filter.verify().is_ok();
    assert!(keys.iter().all(|key| filter.contains(key)), "a key is lost");
    assert!(whole || filter.error().is_some());
    true
}

#[test]
fn flipped_header_bytes_are_refused_or_harmless() {
    for (name, keys) in IMAGES {
        let (image, keys) = (std::fs::read(golden(name)).unwrap(), lines(keys));
        let size = if Filter::from_bytes(&image).unwrap().info().form == bloomfile::Form::File {
            4096
        } else {
            512
        };
        for at in 0..size {
            let mut damaged = image.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(!use_image(&damaged, &keys), "{name}: byte {at} is not covered");
            damaged[at] ^= 0xFF;
            assert!(!use_image(&damaged, &keys), "{name}: byte {at} is not covered");
        }
    }
}

#[test]
fn truncated_images_are_refused_at_every_length() {
    for (name, _) in IMAGES {
        let image = std::fs::read(golden(name)).unwrap();
        for size in 0..image.len() {
            assert!(Filter::from_bytes(&image[..size]).is_err(), "{name}: {size} bytes");
        }
        let longer = [&image[..], &[0]].concat();
        assert_eq!(Filter::from_bytes(&longer).unwrap_err().name(), "BLOOMFILE_ETRAILING");
    }
}

#[test]
fn flipped_body_bits_never_lose_a_key() {
    let mut random = 1;
    for (name, keys) in IMAGES {
        let (image, keys) = (std::fs::read(golden(name)).unwrap(), lines(keys));
        for _ in 0..300 {
            let mut damaged = image.clone();
            for _ in 0..=xorshift(&mut random) % 4 {
                let at = 512 + xorshift(&mut random) as usize % (image.len() - 512);
                damaged[at] ^= 1 << (random % 8);
            }
            use_image(&damaged, &keys);
        }
        // A lost page may come back as zeros.
        let mut damaged = image.clone();
        let body = if damaged[13] == 2 { 512 } else { 4096 };
        let end = damaged.len() - 4;
        damaged[body..end.min(body + 4096)].fill(0);
        use_image(&damaged, &keys);
    }
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Makes the checksums of a mutated header right, so that its fields are looked at.
fn restore_checksums(image: &mut [u8]) {
    let size = if image[13] == 2 { 512 } else { 4096 };
    if image.len() < size {
        return;
    }
    let crc = crc32fast::hash(&image[..size / 2 - 4]).to_le_bytes();
    put(image, size / 2 - 4, &crc);
    for record in [size / 2, size / 4 * 3] {
        put(image, record + 60, &crc);
        let crc = crc32fast::hash(&image[record..record + size / 4 - 4]).to_le_bytes();
        put(image, record + size / 4 - 4, &crc);
    }
}

/// A number that a careless reader might compute with.
fn extreme(random: &mut u64) -> u64 {
    let power = 1_u64 << (xorshift(random) % 64);
    match xorshift(random) % 5 {
        0 => power,
        1 => power.wrapping_sub(1),
        2 => power.wrapping_neg(),
        3 => xorshift(random) % 4096,
        _ => xorshift(random),
    }
}

/// Uses an image in which anything may be wrong, except for checksums. Nothing may panic.
fn use_hostile(image: &[u8]) {
    let Ok(filter) = Filter::from_bytes_any_hash(image) else { return };
    let digests: Vec<u64> = (0..200_u64).map(|i| i << 56 | i.wrapping_mul(i)).collect();
    let mut answers = vec![false; digests.len()];
    filter.contains_digests(&digests, &mut answers);
    let _ = filter.contains(b"key");
    let _ = filter.verify();
    let _ = filter.fold(2, &Output::default());
    let _ = filter.copy(&Output::default());
    let _ = filter.project(&Output::default());
    let _ = union(&[&filter], &Output::default());
    let _ = join(&[&filter], true, &Output::default());
}

fn mutate_image(image: &mut Vec<u8>, random: &mut u64) {
    for _ in 0..=xorshift(random) % 3 {
        let words = (image.len().min(4096) / 4) as u64;
        let at = 4 * (xorshift(random) % words) as usize;
        // Mostly the fields; other bytes of a header are reserved.
        let at = if xorshift(random) % 4 != 0 { at % 304 } else { at };
        let value = extreme(random).to_le_bytes();
        let size = if xorshift(random) % 2 == 0 { 4 } else { 8 };
        let end = (at + size).min(image.len());
        image[at..end].copy_from_slice(&value[..end - at]);
    }
    if xorshift(random) % 4 == 0 {
        image.truncate(xorshift(random) as usize % (image.len() + 1));
    }
    if image.len() >= 512 {
        restore_checksums(image);
    }
}

fn mutate_patch(patch: &mut Vec<u8>, random: &mut u64) {
    for _ in 0..=xorshift(random) % 3 {
        let at = xorshift(random) as usize % patch.len();
        match xorshift(random) % 3 {
            0 => patch[at] = xorshift(random) as u8,
            1 => patch[at] ^= 1 << (*random % 8),
            _ => drop(patch.splice(at..at, extreme(random).to_le_bytes())),
        }
    }
    // The checksum of the only part of the smallest patches is before the end, a zero.
    if patch.len() > 60 && xorshift(random) % 2 == 0 {
        let end = patch.len() - 5;
        let start = 27 + 2 + usize::from(patch[28]) % 64 + 4;
        if start < end {
            let crc = crc32fast::hash(&patch[start..end]).to_le_bytes();
            put(patch, end, &crc);
        }
    }
}

#[test]
fn mutations_never_panic() {
    let seconds = std::env::var("BLOOMFILE_FUZZ_SECONDS").ok().and_then(|word| word.parse().ok());
    let (begin, limit) = (Instant::now(), Duration::from_secs(seconds.unwrap_or(1)));
    let images: Vec<Vec<u8>> =
        IMAGES.iter().map(|(name, _)| std::fs::read(golden(name)).unwrap()).collect();
    let patches: Vec<(Filter<'_>, Vec<u8>, Filter<'_>)> = table("golden/patches.tsv")
        .iter()
        .map(|row| {
            let open = |name: &str| Filter::open_any_hash(golden(name)).unwrap();
            let patch = std::fs::read(golden(&row["patch"])).unwrap();
            (open(&row["base"]), patch, open(&row["result"]))
        })
        .collect();
    let mut random = 88_172_645_463_325_252;
    while begin.elapsed() < limit {
        let mut image = images[xorshift(&mut random) as usize % images.len()].clone();
        mutate_image(&mut image, &mut random);
        use_hostile(&image);
        let (base, patch, result) = &patches[xorshift(&mut random) as usize % patches.len()];
        let mut patch = patch.clone();
        mutate_patch(&mut patch, &mut random);
        if let Ok(made) = apply(base, &patch) {
            assert_eq!(made.as_bytes(), result.as_bytes(), "a wrong patch has a result");
        }
    }
}
