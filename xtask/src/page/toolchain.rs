//! Debian's compiler for the web: fetched, unpacked, and what it builds.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{process, tree};

/// The version of the compiler: a part of the name of one of its packages.
const RUSTC: &str = "1.96";
/// The version of LLVM that it is built on.
const LLVM: &str = "22";
/// What it is told to build for: a module without a host, whose few imports the page has.
const TARGET: &str = "wasm32-wasip1";

/// The packages: the compiler, its libraries, the source of the standard library, the linker and
/// the C library that the standard library takes its allocator from.
fn packages() -> [String; 7] {
    [
        "rustc-web".to_owned(),
        "rust-web-src".to_owned(),
        "libstd-rust-web-dev".to_owned(),
        format!("libstd-rust-web-{RUSTC}"),
        format!("libllvm{LLVM}"),
        format!("lld-{LLVM}"),
        "wasi-libc".to_owned(),
    ]
}

/// Builds the crate `page`.
///
/// # Errors
/// A package cannot be had, or the build fails.
pub(super) fn build() -> Result<()> {
    let root = unpacked()?;
    let usr = root.join("usr");
    let libc = usr.join("lib/wasm32-wasi");
    let flags = format!(
        "-C link-self-contained=no -L native={} -C link-arg={}",
        libc.display(),
        libc.join("crt1-reactor.o").display()
    );
    let mut cargo = process::cargo();
    cargo.current_dir(tree::root().join("page"));
    cargo.args([
        "build",
        "--workspace",
        "--release",
        "--locked",
        "--target",
        TARGET,
    ]);
    cargo.arg("-Zbuild-std=std,panic_abort");
    cargo
        .arg("--target-dir")
        .arg(tree::root().join("target/page"));
    // A stable compiler builds the standard library only where it is told that it may.
    cargo.env("RUSTC_BOOTSTRAP", "1");
    cargo.env("RUSTC", usr.join("bin/rustc"));
    cargo.env("LD_LIBRARY_PATH", usr.join("lib/x86_64-linux-gnu"));
    cargo.env("CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS", flags);
    let linker = usr.join(format!("bin/wasm-ld-{LLVM}"));
    process::succeed(cargo.env("CARGO_TARGET_WASM32_WASIP1_LINKER", linker))
}

/// Where the packages are unpacked; fetched unless they are there.
fn unpacked() -> Result<PathBuf> {
    let place = tree::root()
        .join("target/tools")
        .join(format!("rustc-web-{RUSTC}"));
    if place.exists() {
        return Ok(place);
    }
    let fetched = place.with_extension("fetched");
    std::fs::create_dir_all(&fetched)?;
    fetch(&fetched).context(
        "the compiler for the web cannot be had: it is fetched with apt-get from Debian 12 with \
         its security updates; `apt-get update` renews the lists",
    )?;
    // The folder has its name when all is in it.
    let half = place.with_extension("half");
    for entry in std::fs::read_dir(&fetched)? {
        let mut dpkg = process::program("dpkg");
        process::succeed(dpkg.arg("-x").arg(entry?.path()).arg(&half))?;
    }
    std::fs::rename(&half, &place)?;
    std::fs::remove_dir_all(&fetched)?;
    Ok(place)
}

fn fetch(folder: &Path) -> Result<()> {
    let mut apt = process::program("apt-get");
    apt.current_dir(folder).args(["download", "--quiet=2"]);
    process::succeed(apt.args(packages()))
}
