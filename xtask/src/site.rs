//! `cargo xtask site`: the documents as they are, as a site with a search that needs no server.
//!
//! The documents lie in it as they do in the checkout, so their links lead where they lead there;
//! what a document links to comes along. mdBook makes the pages. The reports of the studies and the
//! model in a browser are put beside them, where they are asked for (`--reports`) or built
//! (`cargo xtask page`). A link that leads nowhere is an error.

mod links;
mod summary;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::tools::Tool;
use crate::{binary, process, tree};

const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    features: &["search"],
};

/// What the pages are made with.
const BOOK: &str = r#"[book]
title = "Plimsoll"
description = "The load line for Linux memory"
language = "en"

[build]
use-default-preprocessors = false

[output.html]
no-section-label = true
print.enable = false

[output.html.fold]
enable = true

[output.html.search]
limit-results = 30
"#;

/// Documents that are there without being linked to, and folders of them.
const DOCUMENTS: [&str; 2] = ["README.md", "docs"];

/// `cargo xtask site [--reports]`: prints where the first page lies.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let with_reports = match arguments {
        [] => false,
        [flag] if flag == "--reports" => true,
        _ => bail!("site takes --reports or nothing"),
    };
    let place = tree::root().join("target/site");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let source = place.join("src");
    let documents = gathered(&source)?;
    let beside = beside(&place.join("reports"), with_reports)?;
    fs::write(place.join("book.toml"), BOOK)?;
    fs::write(
        source.join("SUMMARY.md"),
        summary::text(&documents, &beside)?,
    )?;
    let mut mdbook = process::program(MDBOOK.installed()?);
    process::succeed(mdbook.args(["build"]).arg(&place))?;
    let book = place.join("book");
    put(&beside, &book)?;
    let broken = links::broken(&book)?;
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n{}", broken.join("\n"));
    }
    println!("{}", book.join("index.html").display());
    Ok(())
}

/// Copies the documents and what they link to; the documents, by their path.
fn gathered(source: &Path) -> Result<BTreeSet<String>> {
    let all = tree::sources(&["md"])?.into_iter().map(|it| it.path);
    let named = |path: &String| {
        DOCUMENTS
            .iter()
            .any(|top| path == top || path.starts_with(&format!("{top}/")))
    };
    let mut waiting: Vec<String> = all.filter(named).collect();
    let mut taken = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if !taken.insert(path.clone()) {
            continue;
        }
        let from = tree::root().join(&path);
        let to = source.join(&path);
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::copy(&from, &to).with_context(|| path.clone())?;
        if path.ends_with(".md") {
            let text = fs::read_to_string(&from)?;
            waiting.extend(links::below_root(&path, &text));
        }
    }
    taken.retain(|path| path.ends_with(".md"));
    Ok(taken)
}

/// A page that mdBook does not make.
struct Beside {
    title: String,
    /// Where it lies now.
    from: PathBuf,
    /// Where it goes, from the site's root.
    to: String,
}

/// The reports of the studies and the model's page, as far as they are there.
fn beside(folder: &Path, with_reports: bool) -> Result<Vec<Beside>> {
    let mut beside = Vec::new();
    let page = tree::root().join("target/page/plimsoll.html");
    if page.exists() {
        beside.push(Beside {
            title: "The model in the browser".to_owned(),
            from: page,
            to: "page/plimsoll.html".to_owned(),
        });
    }
    if with_reports {
        let plimsoll = binary::release()?;
        for study in studies()? {
            let mut report = process::program(&plimsoll);
            report
                .args(["report", &study, "--quiet", "--out"])
                .arg(folder);
            process::succeed(report.stdout(std::process::Stdio::null()))?;
            beside.push(Beside {
                title: format!("The report of {study}"),
                from: folder.join(format!("{study}.html")),
                to: format!("reports/{study}.html"),
            });
        }
    }
    Ok(beside)
}

/// The studies that have records.
fn studies() -> Result<Vec<String>> {
    let files = fs::read_dir(tree::root().join("studies"))?;
    let names = files.filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let has_records = |name: &String| tree::root().join("records").join(name).is_dir();
    let mut names: Vec<String> = names.filter(has_records).collect();
    names.sort();
    Ok(names)
}

/// Puts them into the site.
fn put(beside: &[Beside], book: &Path) -> Result<()> {
    for page in beside {
        let to = book.join(&page.to);
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::copy(&page.from, &to).with_context(|| page.from.display().to_string())?;
    }
    Ok(())
}
