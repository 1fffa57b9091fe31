//! `cargo xtask page`: the model in a browser, as one file that needs nothing else.
//!
//! The crate `page` is built for WebAssembly by Debian's rustc for the web, which is fetched with
//! apt-get and unpacked below `target/tools`; nothing is installed. The file is put together from
//! `page/site`.

mod packed;
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
const MOST_BYTES: usize = 1_505_000;

/// `cargo xtask page [--test | --browser]`: prints where the file lies.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let test: fn(&Path) -> Result<()> = match arguments.as_slice() {
        [] => |_| Ok(()),
        ["--test"] => |_| {
            tests::equal(&wasm())?;
            tests::tours(&wasm(), &tours()?)
        },
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
    module("plimsoll_page")
}

/// Where a crate of the page is built to.
fn module(name: &str) -> PathBuf {
    let folder = tree::root().join("target/page/wasm32-wasip1/release");
    folder.join(name).with_extension("wasm")
}

/// Builds the model and puts the file together; where it lies.
pub(crate) fn make() -> Result<PathBuf> {
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
    let script = ["page.js", "evidence.js", "live.js", "start.js"].map(part);
    let script = script.into_iter().collect::<Result<String>>()?;
    // A worker that is a module does not start on a page that was opened from a disk.
    let worker = part("engine.js")?.replace("export ", "") + &part("worker.js")?;
    let packed = packed::lzma(model)?;
    let expand = gzip(&fs::read(module("plimsoll_page_expand"))?)?;
    let parts = [
        ("@policy@", policy(&script)),
        ("@style@", part("page.css")?),
        ("@worker@", worker),
        ("@model@", packed::sevens(&packed)),
        ("@expand@", packed::sevens(&expand)),
        ("@tours@", tours()?),
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

/// The guided tours of `page/tours` in the order of their names, as JSON.
fn tours() -> Result<String> {
    let folder = tree::root().join("page/tours");
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let tour = |path: &PathBuf| -> Result<toml::Value> {
        let tour = toml::from_str(&fs::read_to_string(path)?);
        tour.with_context(|| path.display().to_string())
    };
    let tours = paths.iter().map(tour).collect::<Result<Vec<_>>>()?;
    Ok(serde_json::to_string(&tours)?)
}

/// What the page may do: run its own script, start its worker, and nothing beyond itself.
fn policy(script: &str) -> String {
    // The text of the element begins at the line break behind its tag.
    let hash = BASE64_STANDARD.encode(Sha256::digest(format!("\n{script}")));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}' 'wasm-unsafe-eval' blob:; \
         connect-src 'none'; worker-src blob:; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'"
    )
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
