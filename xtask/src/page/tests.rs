//! What the page is tried in: Node for its bytes, Chromium for its looks.

use std::path::Path;

use anyhow::Result;

use crate::{binary, process, tree};

/// The packages of npm that drive the browser, and that look for what keeps people out.
const NPM: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.1"];

/// Compares the answers of the module with those of the command, for every built-in study.
pub(super) fn equal(wasm: &Path) -> Result<()> {
    let mut node = process::program("node");
    node.arg("page/tests/equal.mjs").arg(wasm);
    process::succeed(node.arg(binary::release()?))
}

/// Asks the module whether what the guided tours say is so.
pub(super) fn tours(wasm: &Path, tours: &str) -> Result<()> {
    let file = wasm.with_file_name("tours.json");
    std::fs::write(&file, tours)?;
    let mut node = process::program("node");
    node.arg("page/tests/tours.mjs").arg(wasm);
    process::succeed(node.arg(file))
}

/// Uses the page in Chromium, which has to be installed, and leaves pictures beside it.
pub(super) fn browser(page: &Path) -> Result<()> {
    let place = tree::root().join("target/tools/page-tests");
    if !place.join("node_modules").exists() {
        let mut npm = process::program("npm");
        npm.args(["install", "--silent", "--no-save", "--prefix"]);
        process::succeed(npm.arg(&place).args(NPM))?;
    }
    let mut node = process::program("node");
    node.arg("page/tests/browser.mjs").arg(page);
    node.arg(place.join("node_modules"));
    process::succeed(node.arg(binary::release()?))
}
