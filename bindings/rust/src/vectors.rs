// SPDX-License-Identifier: MIT
//! The rows of `tests/vectors.tsv`, against the functions of this crate.

use crate::body;
use crate::builder::{cut, Builder};
use crate::bytes::{crc32, put};
use crate::filter::Filter;
use crate::hash::{cells, digest, mulhi, places, self_test, test_string, C};
use crate::image::{parse_label, LAYER_BIT};
use crate::info::{Form, Info, Layout, PAGE};
use crate::patch::{apply, diff};
use crate::ribbon::{maybe, Head, Row, Shape, HEAD};
use crate::seal::seal;
use crate::sizes::{choose, choose_k, rate, ribbon_rate};
use crate::solve::solve;
use std::collections::HashMap;
use std::string::{String, ToString};
use std::vec::Vec;

struct Vector {
    kind: String,
    layout: Option<Layout>,
    input: HashMap<String, String>,
    answer: String,
}

impl Vector {
    fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let pairs = fields[2].split(' ').filter_map(|pair| pair.split_once('='));
        let layouts = ["", "blocked", "classic", "counting", "ribbon"];
        let number = layouts.iter().position(|&name| name == fields[1]).unwrap();
        Vector {
            kind: fields[0].into(),
            layout: Layout::from_number(number as u32),
            input: pairs.map(|(name, value)| (name.into(), value.into())).collect(),
            answer: fields[3].into(),
        }
    }

    fn text(&self, name: &str) -> &str {
        &self.input[name]
    }

    fn has(&self, name: &str) -> bool {
        self.input.contains_key(name)
    }

    fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap()
    }

    fn hex(&self, name: &str) -> u64 {
        u64::from_str_radix(self.text(name), 16).unwrap()
    }

    fn list(&self, name: &str) -> Vec<u64> {
        self.text(name).split(',').map(|number| number.parse().unwrap()).collect()
    }

    fn layout(&self) -> Layout {
        self.layout.unwrap()
    }

    fn form(&self) -> Form {
        match self.input.get("header_size").map(String::as_str) {
            Some("512") => Form::Embedded,
            _ => Form::File,
        }
    }

    /// The image of core 20.7 with other numbers of bits, positions and keys.
    fn image_of(&self, m: u64, k: u32, keys: u64) -> Filter<'static> {
        let mut builder = Builder::new()
            .layout(self.layout())
            .form(self.form())
            .seed(self.hex("seed"))
            .bits(m)
            .hashes(k)
            .capacity(keys.max(1));
        if self.has("slice") {
            builder = builder.slice(self.number("slice"), self.number("slices"));
        }
        let string = test_string::<2100>();
        for length in 0..keys as usize {
            builder.add(&string[..length]);
        }
        builder.build().unwrap()
    }

    fn image(&self) -> Filter<'static> {
        self.image_of(self.number("m"), self.number("k") as u32, self.number("keys"))
    }
}

fn vectors() -> Vec<Vector> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors.tsv");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(Vector::parse).collect()
}

fn join(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest_answer(v: &Vector) -> String {
    let key = match v.input.get("text") {
        Some(text) => text.as_bytes().to_vec(),
        None => test_string::<5000>()[..v.number("length") as usize].to_vec(),
    };
    format!("{:016x}", digest(&key, v.hex("seed")))
}

fn positions_answer(v: &Vector) -> String {
    let (m, k, digest) = (v.number("m"), v.number("k") as u32, v.hex("digest"));
    if v.layout() != Layout::Blocked {
        return join(cells(digest, k, m));
    }
    let block = mulhi(digest, m / 512);
    join(places(digest, k).map(|place| 512 * block + place as u64))
}

fn body_answer(v: &Vector) -> String {
    let filter = v.image();
    let info = filter.info();
    format!("{:08x} {} {}", filter.body_crc(), info.ones, info.overflow)
}

fn entries_answer(v: &Vector) -> String {
    let filter = v.image();
    let body_size = crate::info::body_size(v.layout(), v.form(), v.number("m")) as usize;
    let entries = &filter.as_bytes()[v.form().header_size() + body_size..];
    let hexadecimal = |entry: &[u8]| format!("{:08x}", crate::bytes::u32_at(entry, 0));
    entries.chunks(4).map(hexadecimal).collect::<Vec<_>>().join(" ")
}

fn image_answer(bytes: &[u8]) -> String {
    format!("{} {:016x}", bytes.len(), digest(bytes, 0))
}

fn columns_answer(v: &Vector) -> String {
    let (lines, groups) = (v.number("lines"), v.number("groups"));
    let words = 16 * lines - 2;
    let shape = Shape::new(groups, 0, words);
    let sum = (0..groups - 1).map(|group| 1_u64 << (32 - shape.columns(group).1)).sum();
    join([shape.fewest(), shape.few(), sum])
}

fn lookup_answer(v: &Vector) -> String {
    let (lines, groups) = (v.number("lines"), v.number("groups"));
    let words = 16 * lines - 2;
    let row = Row::new(v.hex("digest"), v.number("page_seed"), groups);
    let shape = Shape::new(groups, 0, words);
    let word = |number: u64| (number + 1).wrapping_mul(C) >> 32;
    let (first, columns) = shape.columns(row.group);
    let (second, _) = shape.columns(row.group + 1);
    let bits = (0..columns).fold(0_u64, |bits, col| {
        let (left, right) = (word(first + col), word(second + col));
        let pair = left | right << 32;
        bits | u64::from((pair & row.coefficients).count_ones() & 1) << col
    });
    format!("{:016x} {} {:016x} {:08x}", row.hash, row.group, row.coefficients, bits)
}

fn page_answer(v: &Vector) -> String {
    let string = test_string::<2500>();
    let keys = v.number("keys") as usize;
    let digests: Vec<u64> =
        (0..keys).map(|length| digest(&string[..length], v.hex("seed"))).collect();
    let mut page = vec![0; 64 * v.number("lines") as usize];
    solve(&digests, &mut page).unwrap();
    assert!(page.len() >= HEAD);
    let head = Head(crate::bytes::u64_at(&page, 0));
    let maybes = (1..=4096_u64).filter(|count| maybe(&page, count.wrapping_mul(C))).count();
    let crc = crc32(&page);
    format!("{} {} {} {crc:08x} {maybes}", head.groups(), head.seed(), head.keys())
}

fn cut_answer(v: &Vector) -> String {
    let (blocks, slices) = (v.number("m") / 512, v.number("slices"));
    let block = mulhi(v.hex("digest"), blocks);
    let pages = u128::from(blocks.div_ceil(64));
    let slice = (u128::from(block / 64 + 1) * u128::from(slices) - 1) / pages;
    let range = cut(blocks, slice as u64, slices).unwrap();
    assert!(range.contains(&block));
    join([slice as u64, range.start, 512 * (range.end - range.start)])
}

fn rate_answer(v: &Vector) -> f64 {
    if v.layout() == Layout::Ribbon {
        return ribbon_rate(v.number("n"), v.number("m") / 512);
    }
    rate(v.layout(), v.number("n"), v.number("m"), v.number("k") as u32).unwrap()
}

fn size_answer(v: &Vector) -> String {
    let n = v.number("n");
    if v.has("m") {
        let m = v.number("m");
        let m = if v.layout().has_blocks() { m.next_multiple_of(512) } else { m };
        return format!("{m} {}", choose_k(v.layout(), n, m));
    }
    let k = v.input.get("k").map(|k| k.parse().unwrap());
    match choose(v.layout(), v.form(), n, v.text("fpr").parse().unwrap(), k) {
        Ok((m, k)) => format!("{m} {k}"),
        Err(error) => error.name().into(),
    }
}

/// Core 20.8: section 4's image, changed.
fn refused_answer(v: &Vector) -> String {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/whole-file-of-the-text.bloom");
    let mut image = std::fs::read(path).unwrap();
    if v.has("size") {
        image.resize(v.number("size") as usize, 0);
    }
    if v.has("at") {
        let digits = v.text("bytes");
        let bytes: Vec<u8> = (0..digits.len() / 2)
            .map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        v.list("at").iter().for_each(|&at| put(&mut image, at as usize, &bytes));
    }
    if v.input.get("mend").is_some_and(|mend| mend == "1") {
        restore_checksums(&mut image);
    }
    let error = Filter::copy_of(&image).and_then(|filter| filter.verify()).unwrap_err();
    error.name().into()
}

fn restore_checksums(image: &mut [u8]) {
    let crc = crc32(&image[..252]).to_le_bytes();
    put(image, 252, &crc);
    for record in [256, 384] {
        put(image, record + 60, &crc);
        let record_crc = crc32(&image[record..record + 124]).to_le_bytes();
        put(image, record + 124, &record_crc);
    }
}

/// The fields of a layer, bytes 240 to 303 of its header.
struct LayerFields {
    series: u64,
    layer: u64,
    generations: u32,
    layers: u32,
    rest: [u64; 5],
}

impl LayerFields {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.series.to_le_bytes());
        bytes.extend_from_slice(&self.layer.to_le_bytes());
        bytes.extend_from_slice(&self.generations.to_le_bytes());
        bytes.extend_from_slice(&self.layers.to_le_bytes());
        self.rest.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes
    }
}

fn layer_answer(v: &Vector) -> String {
    let rest = [
        v.number("rest_size"),
        v.hex("link"),
        v.hex("series_fpr"),
        v.number("period"),
        v.number("began"),
    ];
    hex(&LayerFields {
        series: v.hex("series"),
        layer: v.number("layer"),
        generations: v.number("generations") as u32,
        layers: v.number("layers") as u32,
        rest,
    }
    .to_bytes())
}

/// A sealed series of the images of a vector, which a reader of the crate opens.
fn series_answer(v: &Vector) -> String {
    let (m, k, keys) = (v.list("m"), v.list("k"), v.list("keys"));
    let images: Vec<Filter<'_>> =
        (0..m.len()).map(|i| v.image_of(m[i], k[i] as u32, keys[i])).collect();
    let sizes = images.iter().map(|image| image.as_bytes().len());
    let starts: Vec<usize> = sizes
        .scan(0, |start, size| {
            let begin = *start;
            *start = (begin + size).next_multiple_of(PAGE);
            Some(begin)
        })
        .collect();
    let end = starts.last().unwrap() + images.last().unwrap().as_bytes().len();
    let mut series = vec![0; end];
    let mut link = 0;
    for (i, image) in images.iter().enumerate() {
        let mut bytes = image.to_vec();
        put(&mut bytes, 24, &LAYER_BIT.to_le_bytes());
        let fields = LayerFields {
            series: 0,
            layer: i as u64,
            generations: 0,
            layers: images.len() as u32,
            rest: [(end - starts[i]) as u64, link, 0, 0, 0],
        };
        put(&mut bytes, 240, &fields.to_bytes());
        let header_crc = crc32(&bytes[..2044]);
        put(&mut bytes, 2044, &header_crc.to_le_bytes());
        for record in [2048, 3072] {
            put(&mut bytes, record + 60, &header_crc.to_le_bytes());
            let record_crc = crc32(&bytes[record..record + 1020]);
            put(&mut bytes, record + 1020, &record_crc.to_le_bytes());
        }
        link = u64::from(header_crc) | u64::from(image.body_crc()) << 32;
        put(&mut series, starts[i], &bytes);
    }
    let answer = image_answer(&series);
    Filter::copy_of(&series).unwrap().verify().unwrap();
    answer
}

fn patch_answer(v: &Vector) -> String {
    let (m, k) = (v.number("m"), v.number("k") as u32);
    let (base, result) = (v.image_of(m, k, v.number("from")), v.image_of(m, k, v.number("to")));
    let patch = diff(&base, &result).unwrap();
    assert_eq!(apply(&base, &patch).unwrap().as_bytes(), result.as_bytes());
    hex(&patch)
}

fn answer(v: &Vector) -> Option<String> {
    Some(match v.kind.as_str() {
        "crc" => format!("{:08x}", crc32(v.text("text").as_bytes())),
        "digest" => digest_answer(v),
        "selftest" => format!("{:016x}", self_test(v.hex("seed"))),
        "positions" => positions_answer(v),
        "body" => body_answer(v),
        "entries" => entries_answer(v),
        "image" | "slice" => image_answer(v.image().as_bytes()),
        "columns" => columns_answer(v),
        "lookup" => lookup_answer(v),
        "page" => page_answer(v),
        "cut" => cut_answer(v),
        "size" => size_answer(v),
        "patch" => patch_answer(v),
        "layer" => layer_answer(v),
        "series" => series_answer(v),
        _ => return None,
    })
}

#[test]
fn vectors_have_the_listed_answers() {
    for v in vectors() {
        match v.kind.as_str() {
            // Live records and the compact form are left out of this crate.
            "record" | "compact" => {}
            "rate" => {
                let expected: f64 = v.answer.parse().unwrap();
                let error = (rate_answer(&v) - expected).abs();
                assert!(error <= expected * 1e-9, "{:?} {}", v.input, rate_answer(&v));
            }
            "refused" => {
                let expected = v.answer.split(' ').next().unwrap();
                assert_eq!(refused_answer(&v), expected, "{:?}", v.input);
            }
            kind => {
                assert_eq!(answer(&v).as_ref(), Some(&v.answer), "{kind} {:?}", v.input);
            }
        }
    }
}

#[test]
fn label_of_112_bytes_needs_no_zero_byte() {
    let label = "x".repeat(112);
    assert_eq!(parse_label(label.as_bytes()).unwrap(), label);
}

#[test]
fn filter_without_keys_has_an_empty_body() {
    let filter = Builder::new().bits(512).hashes(6).build().unwrap();
    let info: &Info = filter.info();
    let empty = body::empty(info).unwrap();
    assert_eq!(&seal(info, empty).unwrap()[..], filter.as_bytes());
}
