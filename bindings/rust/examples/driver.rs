// SPDX-License-Identifier: MIT
//! The driver of the proof across languages: `tests/languages/README.md` describes the protocol.

use bloomfile::{
    apply, diff, intersection, join, union, Builder, Error, Filter, Form, HashName, Info, KeyKind,
    Layout, Output,
};
use std::io::{BufRead, Write};
use std::path::Path;

const ABILITIES: &str = "blocked classic counting ribbon slices series applications \
                         build-blocked build-classic build-ribbon verify fold union intersection join diff apply";

/// An answer, or the name of an error and what follows it.
type Answer = Result<String, String>;

fn refusal(error: Error) -> String {
    match error {
        Error::Io(error) => other(error),
        error => error.name().to_owned(),
    }
}

fn other(problem: impl std::fmt::Display) -> String {
    format!("-\t{problem}")
}

fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Blocked => "blocked",
        Layout::Classic => "classic",
        Layout::Counting => "counting",
        _ => "ribbon",
    }
}

fn layout(name: &str) -> Result<Layout, String> {
    let all = [Layout::Blocked, Layout::Classic, Layout::Counting, Layout::Ribbon];
    all.into_iter().find(|&layout| layout_name(layout) == name).ok_or_else(|| other("layout"))
}

fn kind_name(kind: KeyKind) -> String {
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

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| other(format!("not a number: {text}")))
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(other)
}

fn lines(path: &str) -> Result<Vec<Vec<u8>>, String> {
    let bytes = std::fs::read(path).map_err(other)?;
    let mut lines: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    Ok(lines)
}

/// Opens a file of any hash function.
fn source(path: &str) -> Result<Filter<'static>, String> {
    Filter::open_any_hash(path).map_err(refusal)
}

fn sources(paths: &[&str]) -> Result<Vec<Filter<'static>>, String> {
    paths.iter().map(|path| source(path)).collect()
}

fn written(result: Result<Filter<'static>, Error>, path: &str) -> Answer {
    result.and_then(|filter| filter.write_file(path)).map_err(refusal)?;
    Ok(String::new())
}

#[derive(Default)]
struct Driver {
    filter: Option<Filter<'static>>,
    /// Whether keys are digests in hexadecimal.
    digests: bool,
}

impl Driver {
    fn answer(&mut self, words: &[&str]) -> Answer {
        match *words {
            ["abilities"] => Ok(ABILITIES.into()),
            ["open", path] => self.open(path, None),
            ["open", path, id, self_test] => {
                let id = u32::try_from(hexadecimal(id)?).map_err(other)?;
                self.open(path, Some(HashName { id, self_test: hexadecimal(self_test)? }))
            }
            ["lookup", path] => self.look_up(path, false),
            ["batch", path] => self.look_up(path, true),
            ["random", seed, count] => self.random(number(seed)?, number(count)?),
            ["images", path] => images(&std::fs::read(path).map_err(other)?),
            ["verify"] => self.verify(),
            ["error"] => match self.filter()?.error() {
                None => Ok(String::new()),
                Some(error) => Err(refusal(error)),
            },
            ["build", ref options @ ..] => build(options),
            ["fold", factor, path, out] => {
                written(source(path)?.fold(number(factor)?, &Output::default()), out)
            }
            ["union", out, ref paths @ ..] => merge(union, out, paths),
            ["intersection", out, ref paths @ ..] => merge(intersection, out, paths),
            ["join", out, ref paths @ ..] => {
                let slices = sources(paths)?;
                let slices: Vec<_> = slices.iter().collect();
                written(join(&slices, false, &Output::default()), out)
            }
            ["diff", old, new, out] => {
                let patch = diff(&source(old)?, &source(new)?);
                let write = |patch: Vec<u8>| bloomfile::write_file(Path::new(out), &patch);
                patch.and_then(write).map_err(refusal)?;
                Ok(String::new())
            }
            ["apply", base, patch, out] => {
                let base = source(base)?;
                written(apply(&base, &std::fs::read(patch).map_err(other)?), out)
            }
            _ => Err(other("no such command")),
        }
    }

    fn filter(&self) -> Result<&Filter<'static>, String> {
        self.filter.as_ref().ok_or_else(|| other("no open image"))
    }

    fn open(&mut self, path: &str, name: Option<HashName>) -> Answer {
        self.filter = None;
        self.digests = name.is_some_and(|name| name.id != 1);
        let mut filter = source(path)?;
        if let Some(name) = name {
            filter.state_hash(name).map_err(refusal)?;
        }
        let list = |number: fn(&Info) -> u64| {
            filter.layers().map(|info| number(info).to_string()).collect::<Vec<_>>().join(",")
        };
        let info = filter.info();
        let answer = [
            layout_name(info.layout).to_owned(),
            list(|info| info.n),
            list(|info| info.m),
            list(|info| info.k.into()),
            info.seed.to_string(),
            if info.form == Form::File { "file" } else { "embedded" }.to_owned(),
            kind_name(info.key_kind),
        ]
        .join("\t");
        self.filter = Some(filter);
        Ok(answer)
    }

    fn look_up(&self, path: &str, batch: bool) -> Answer {
        let filter = self.filter()?;
        let keys = lines(path)?;
        let mut answers = vec![false; keys.len()];
        // Kinds of keys are not compared: the suite looks up lines in filters of every kind.
        let hashed = || keys.iter().map(|key| filter.digest(key)).collect::<Vec<_>>();
        let maybes = if self.digests {
            let digests = keys.iter().map(|key| hexadecimal(&String::from_utf8_lossy(key)));
            let digests = digests.collect::<Result<Vec<u64>, String>>()?;
            if batch {
                filter.contains_digests(&digests, &mut answers)
            } else {
                digests.iter().filter(|&&digest| filter.contains_digest(digest)).count()
            }
        } else if batch {
            filter.contains_digests(&hashed(), &mut answers)
        } else {
            hashed().iter().filter(|&&digest| filter.contains_digest(digest)).count()
        };
        Ok(format!("{maybes}\t{}", keys.len()))
    }

    fn random(&self, seed: u64, count: u64) -> Answer {
        let filter = self.filter()?;
        let (mut state, mut maybes, mut answers) = (seed, 0, crc32fast::Hasher::new());
        for _ in 0..count {
            let hit = filter.contains(&split_mix(&mut state).to_le_bytes());
            maybes += u64::from(hit);
            answers.update(if hit { b"1" } else { b"0" });
        }
        Ok(format!("{maybes}\t{:08x}", answers.finalize()))
    }

    fn verify(&self) -> Answer {
        match self.filter()?.verify() {
            Ok(()) => Ok(String::new()),
            Err(Error::Page(page)) => Err(format!("BLOOMFILE_EPAGE\t{page}")),
            Err(error) => Err(format!("{}\t-", refusal(error))),
        }
    }
}

/// Answers for every image of a file.
fn images(mut file: &[u8]) -> Answer {
    let mut answers = Vec::new();
    while let Some((head, rest)) = file.split_at_checked(8) {
        let (size, count) = head.split_at(4);
        let number = |bytes| usize::try_from(little_endian(bytes)).map_err(other);
        let (image, rest) = rest.split_at_checked(number(size)?).ok_or_else(|| other("image"))?;
        let count = 8 * number(count)?;
        let (keys, rest) = rest.split_at_checked(count).ok_or_else(|| other("keys"))?;
        answers.push(answer_image(image, keys).unwrap_or_else(refusal));
        file = rest;
    }
    Ok(answers.join("\t"))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Opens an image three times, so that three kinds of lookups meet pages that were not checked yet.
fn answer_image(image: &[u8], keys: &[u8]) -> Result<String, Error> {
    let digests: Vec<_> = keys.chunks_exact(8).map(little_endian).collect();
    let filter = Filter::from_bytes_any_hash(image)?;
    let name = filter.info().hash;
    let first = if name.id == 1 {
        bits(keys.chunks_exact(8).map(|key| filter.contains_digest(filter.digest(key))))
    } else {
        together(&filter, &digests)
    };
    let batch = together(&open_named(image, name)?, &digests);
    let filter = open_named(image, name)?;
    let before = singly(&filter, &digests);
    let verdict = match filter.verify() {
        Ok(()) => "ok".to_owned(),
        Err(Error::Page(page)) => format!("BLOOMFILE_EPAGE {page}"),
        Err(error) => refusal(error),
    };
    let after = together(&filter, &digests);
    Ok(format!("{first}:{batch}:{before}:{verdict}:{after}:{}:", singly(&filter, &digests)))
}

fn open_named(image: &[u8], name: HashName) -> Result<Filter<'_>, Error> {
    if name.id == 1 {
        return Filter::copy_of(image);
    }
    let mut filter = Filter::from_bytes_any_hash(image)?;
    filter.state_hash(name)?;
    Ok(filter)
}

fn singly(filter: &Filter<'_>, digests: &[u64]) -> String {
    bits(digests.iter().map(|&digest| filter.contains_digest(digest)))
}

fn together(filter: &Filter<'_>, digests: &[u64]) -> String {
    let mut answers = vec![false; digests.len()];
    filter.contains_digests(digests, &mut answers);
    bits(answers.into_iter())
}

fn bits(answers: impl Iterator<Item = bool>) -> String {
    answers.map(|maybe| if maybe { '1' } else { '0' }).collect()
}

/// The next output of `SplitMix64`.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn build(options: &[&str]) -> Answer {
    let &[name, _n, m, k, seed, fpr, capacity, form, keys, out] = options else {
        return Err(other("build needs ten words"));
    };
    let fpr: f64 = number(fpr)?;
    let mut builder = Builder::new()
        .layout(layout(name)?)
        .bits(number(m)?)
        .hashes(number(k)?)
        .seed(number(seed)?)
        .capacity(number(capacity)?)
        .form(if form == "file" { Form::File } else { Form::Embedded });
    if fpr != 0.0 {
        builder = builder.fpr(fpr);
    }
    for key in lines(keys)? {
        builder.add(&key);
    }
    written(builder.build(), out)
}

type Merge = fn(&[&Filter<'_>], &Output) -> Result<Filter<'static>, Error>;

fn merge(how: Merge, out: &str, paths: &[&str]) -> Answer {
    let sources = sources(paths)?;
    let sources: Vec<_> = sources.iter().collect();
    written(how(&sources, &Output::default()), out)
}

fn main() -> std::io::Result<()> {
    let mut driver = Driver::default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        match driver.answer(&words) {
            Ok(answer) if answer.is_empty() => writeln!(out, "ok")?,
            Ok(answer) => writeln!(out, "ok\t{answer}")?,
            Err(error) => writeln!(out, "error\t{error}")?,
        }
        out.flush()?;
    }
    Ok(())
}
