// SPDX-License-Identifier: MIT
//! Allocations that fail: an error, never an abort.

use bloomfile::{apply, diff, join, union, Builder, Error, Filter, Layout, Output, Result};
use std::alloc::{GlobalAlloc, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The size from which allocations count, and how many of them still succeed.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);
static LEFT: AtomicUsize = AtomicUsize::new(0);

struct Failing;

// SAFETY: as `System`, or no memory, which is always allowed.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        let counts = layout.size() >= LEAST.load(SeqCst);
        if counts && LEFT.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() {
            return std::ptr::null_mut();
        }
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: std::alloc::Layout) {
        System.dealloc(start, layout);
    }
}

#[global_allocator]
static MEMORY: Failing = Failing;

/// Lets each allocation of at least `least` bytes fail, one in each run. Returns how many there are.
fn fail_each(least: usize, work: impl Fn() -> Result<()>) -> usize {
    for successes in 0.. {
        LEFT.store(successes, SeqCst);
        LEAST.store(least, SeqCst);
        let result = work();
        LEAST.store(usize::MAX, SeqCst);
        match result {
            Err(Error::Memory) => {}
            result => {
                result.unwrap();
                return successes;
            }
        }
    }
    unreachable!()
}

#[test]
fn every_large_allocation_that_fails_is_an_error() {
    let output = Output::default();
    for layout in [Layout::Blocked, Layout::Classic, Layout::Counting, Layout::Ribbon] {
        let build = || {
            // Larger than what a page of the layout ribbon takes to solve.
            let mut builder = Builder::new().layout(layout).bits(1 << 23);
            (0..1 << 16).for_each(|i| builder.add_digest(i << 48));
            builder.add_text("a")?;
            builder.build()
        };
        assert!(fail_each(1 << 18, || build().map(drop)) >= 3, "{layout:?}");
        let filter = build().unwrap();
        let image = filter.to_vec();
        let path = std::env::temp_dir().join(format!("bloomfile-memory-{}", std::process::id()));
        filter.write_file(&path).unwrap();
        assert!(fail_each(1 << 18, || Filter::copy_of(&image).map(drop)) >= 1);
        assert!(fail_each(1 << 18, || Filter::open(&path).map(drop)) >= 1);
        std::fs::remove_file(&path).unwrap();
        assert!(fail_each(1 << 18, || filter.copy(&output).map(drop)) >= 1);
        if layout != Layout::Ribbon {
            assert!(fail_each(1 << 18, || filter.fold(2, &output).map(drop)) >= 1);
            assert!(fail_each(1 << 18, || union(&[&filter, &filter], &output).map(drop)) >= 2);
            let patch = diff(&filter, &filter).unwrap();
            assert!(fail_each(1 << 18, || apply(&filter, &patch).map(drop)) >= 1);
        }
        if layout == Layout::Counting {
            assert!(fail_each(1 << 18, || filter.project(&output).map(drop)) >= 1);
        }
    }
    let zeros = std::env::temp_dir().join(format!("bloomfile-zeros-{}", std::process::id()));
    std::fs::File::create(&zeros).and_then(|file| file.set_len(1 << 30)).unwrap();
    let refuse = || match Filter::open(&zeros) {
        Err(Error::Magic) => Ok(()),
        result => result.map(drop),
    };
    assert_eq!(fail_each(1 << 12, refuse), 0, "a file that is not a filter is read whole");
    std::fs::remove_file(&zeros).unwrap();
    let slice = Builder::new().bits(1 << 23).hashes(3).slice(0, 1).build().unwrap();
    assert!(fail_each(1 << 18, || join(&[&slice], false, &output).map(drop)) >= 1);
    // Each page takes 2 bits, and 4 bytes more in the layout ribbon: 2 KiB here.
    for (layout, bits) in [(Layout::Blocked, 1 << 28), (Layout::Ribbon, 1 << 24)] {
        let image = Builder::new().layout(layout).bits(bits).build().unwrap();
        assert!(fail_each(1 << 11, || Filter::from_bytes(image.as_bytes()).map(drop)) >= 1);
        if layout == Layout::Blocked {
            assert!(fail_each(1 << 14, || diff(&image, &image).map(drop)) >= 1);
        }
    }
}
