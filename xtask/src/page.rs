//! `cargo xtask page`: the model in a browser, as one file that needs nothing else.
//!
//! The crate `page` is built for WebAssembly by Debian's rustc for the web, which is fetched with
//! apt-get and unpacked below `target/tools`; nothing is installed. The file is put together from
//! `page/site`.

mod tests;
mod toolchain;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::tree;

/// The most that the file may have; it comes down with what the file has.
const MOST_BYTES: usize = 2_100_000;

/// `cargo xtask page [--test | --browser]`: prints where the file lies.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let test: fn(&Path) -> Result<()> = match arguments.as_slice() {
        [] => |_| Ok(()),
        ["--test"] => |_| tests::equal(&wasm()),
        ["--browser"] => tests::browser,
        _ => bail!(
            "page takes --test or --browser, found \"{}\"",
            arguments.join(" ")
        ),
    };
    let page = make()?;
    println!("{}", page.display());
    test(&page)
}

/// Where the model is built to.
fn wasm() -> PathBuf {
    tree::root().join("target/page/wasm32-wasip1/release/plimsoll_page.wasm")
}

/// Builds the model and puts the file together.
fn make() -> Result<PathBuf> {
    toolchain::build()?;
    let text = page(&fs::read(wasm())?)?;
    if text.len() > MOST_BYTES {
        bail!(
            "plimsoll.html has {} bytes, and the most is {MOST_BYTES}",
            text.len()
        );
    }
    let path = tree::root().join("target/page/plimsoll.html");
    fs::write(&path, text)?;
    Ok(path)
}

/// The file around a model.
fn page(model: &[u8]) -> Result<String> {
    let part = |name: &str| {
        let path = tree::root().join("page/site").join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let script = part("page.js")?;
    // A worker that is a module does not start on a page that was opened from a disk.
    let worker = part("engine.js")?.replace("export ", "") + &part("worker.js")?;
    let packed = BASE64_STANDARD.encode(gzip(model)?);
    let parts = [
        ("@policy@", policy(&script)),
        ("@style@", part("page.css")?),
        ("@worker@", worker),
        ("@model@", packed),
        ("@tours@", part("tours.json")?),
        ("@script@", script),
    ];
    parts
        .iter()
        .try_fold(part("index.html")?, |text, (mark, part)| {
            let (before, behind) = text
                .split_once(mark)
                .with_context(|| format!("no {mark}"))?;
            Ok(format!("{before}{part}{behind}"))
        })
}

/// What the page may do: run its own script, start its worker, and nothing beyond itself.
fn policy(script: &str) -> String {
    // The text of the element begins at the line break behind its tag.
    let hash = BASE64_STANDARD.encode(Sha256::digest(format!("\n{script}")));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}' 'wasm-unsafe-eval' blob:; \
         worker-src blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
