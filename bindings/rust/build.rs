// SPDX-License-Identifier: MIT
//! Detects stable AVX-512 functions (from Rust 1.89 on), and the conformance suite, which the
//! published crate leaves out.

use std::process::Command;

fn minor_version() -> Option<u32> {
    let rustc = std::env::var_os("RUSTC")?;
    let output = Command::new(rustc).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()?.split('.').nth(1)?.parse().ok()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(bloomfile_avx512, bloomfile_suite)");
    if std::path::Path::new("../../tests/vectors.tsv").exists() {
        println!("cargo:rustc-cfg=bloomfile_suite");
    }
    let is_x86_64 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    if is_x86_64 && minor_version().is_some_and(|minor| minor >= 89) {
        println!("cargo:rustc-cfg=bloomfile_avx512");
    }
}
