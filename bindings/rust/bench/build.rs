// SPDX-License-Identifier: MIT
//! Compiles the lookups in C, for the processor that the Rust code is compiled for.
//!
//! pkg-config finds the library, or `BLOOMFILE_BUILD` names a build tree of meson.

use std::env::var;
use std::process::Command;

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn main() {
    println!("cargo:rerun-if-changed=c/lookups.c");
    println!("cargo:rerun-if-env-changed=BLOOMFILE_BUILD");
    let mut pkg_config = Command::new("pkg-config");
    if let Ok(build) = var("BLOOMFILE_BUILD") {
        pkg_config.env("PKG_CONFIG_PATH", format!("{build}/meson-uninstalled"));
    }
    let flags = run(pkg_config.args(["--cflags", "--libs", "bloomfile"]));
    let native = var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("=native"));
    let object = format!("{}/lookups.o", var("OUT_DIR").expect("a folder"));
    run(Command::new("cc")
        .args(["-std=gnu11", "-O3", "-c", "c/lookups.c", "-o", &object])
        .args(flags.split_whitespace().filter(|flag| flag.starts_with("-I")))
        .args(native.then_some("-march=native")));
    println!("cargo:rustc-link-arg={object}");
    for flag in flags.split_whitespace().filter(|flag| !flag.starts_with("-I")) {
        println!("cargo:rustc-link-arg={flag}");
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        }
    }
}
