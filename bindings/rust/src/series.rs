// SPDX-License-Identifier: MIT
//! All layers of a sealed series, or the single image that a container holds.

use crate::error::{Error, Result};
use crate::image::{parse, Image};
use crate::info::{Layer, PAGE};
use alloc::vec::Vec;

/// Opens every layer of the series, or the image, that fills the container.
pub(crate) fn parse_all(container: &[u8], applications: bool) -> Result<Vec<Image>> {
    let first = parse(container, 0, applications)?;
    let mut images = Vec::new();
    let mut last = first;
    check_first(&last)?;
    while !is_last(&last) {
        let start = (last.start + last.size()).next_multiple_of(PAGE);
        let next = parse(container, start, applications)?;
        check_next(&last, &next)?;
        images.push(last);
        last = next;
    }
    images.push(last);
    Ok(images)
}

fn check_first(image: &Image) -> Result<()> {
    match &image.info.layer {
        Some(layer) if layer.layer != 0 || layer.link != 0 => Err(Error::Series),
        _ => Ok(()),
    }
}

fn is_last(image: &Image) -> bool {
    match &image.info.layer {
        Some(layer) => layer.layer + 1 == u64::from(layer.layers),
        None => true,
    }
}

/// Whether an image is the layer that follows another one, with the right link.
pub(crate) fn check_next(last: &Image, next: &Image) -> Result<()> {
    let follows = match (&last.info.layer, &next.info.layer) {
        (Some(layer), Some(after)) => {
            are_alike(last, next, layer, after)
                && after.layer == layer.layer + 1
                && after.link == last.link()
        }
        _ => false,
    };
    if follows {
        Ok(())
    } else {
        Err(Error::Series)
    }
}

/// Returns whether two sealed layers belong to one series.
fn are_alike(one: &Image, two: &Image, layer: &Layer, other: &Layer) -> bool {
    let (a, b) = (&one.info, &two.info);
    a.hash == b.hash
        && a.seed == b.seed
        && a.layout == b.layout
        && (one.compat ^ two.compat) & 1 == 0
        && a.key_kind == b.key_kind
        && a.tag == b.tag
        && a.label == b.label
        && layer.series_fpr.to_bits() == other.series_fpr.to_bits()
        && layer.layers == other.layers
}
