//! The order of a site: that of docs/README.md, the pages of findings and rules below theirs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::Beside;
use crate::tree;

const ORDER: &str = "docs/README.md";

/// Documents that pages of a folder belong to.
const BELOW: [(&str, &str); 2] = [
    ("docs/findings.md", "docs/findings/"),
    ("docs/lint.md", "docs/rules/"),
];

/// mdBook's SUMMARY.md. Each document stands in it once.
pub(super) fn text(documents: &BTreeSet<String>, beside: &[Beside]) -> Result<String> {
    let mut left = documents.clone();
    let mut text = "# Summary\n".to_owned();
    let order = fs::read_to_string(tree::root().join(ORDER))?;
    line(&mut text, "", "README.md", &mut left)?;
    for paragraph in order.split("\n\n").skip(1) {
        if let Some(title) = paragraph.strip_suffix(':') {
            write!(text, "\n# {}\n\n", title.replace('\n', " "))?;
        }
        for link in super::links::below_root(ORDER, paragraph) {
            entry(&mut text, &link, &mut left)?;
        }
    }
    if !beside.is_empty() {
        text += "\n# Made by the model\n\n- [Pages](pages.md)\n";
        fs::write(tree::root().join("target/site/src/pages.md"), pages(beside))?;
    }
    text += "\n# More\n\n";
    while let Some(path) = left.first().cloned() {
        entry(&mut text, &path, &mut left)?;
    }
    Ok(text)
}

/// A document, and those that belong to it.
fn entry(text: &mut String, path: &str, left: &mut BTreeSet<String>) -> Result<()> {
    line(text, "- ", path, left)?;
    let below = BELOW.iter().find(|(of, _)| *of == path);
    let pages: Vec<String> = match below {
        Some((_, folder)) => left
            .iter()
            .filter(|it| it.starts_with(folder))
            .cloned()
            .collect(),
        None => Vec::new(),
    };
    pages
        .iter()
        .try_for_each(|page| line(text, "  - ", page, left))
}

fn line(text: &mut String, mark: &str, path: &str, left: &mut BTreeSet<String>) -> Result<()> {
    if left.remove(path) {
        writeln!(text, "{mark}[{}]({path})", title(path)?)?;
    }
    Ok(())
}

/// The first heading of a document.
fn title(path: &str) -> Result<String> {
    let text = fs::read_to_string(tree::root().join(path))?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let heading = heading.with_context(|| format!("{path} has no heading"))?;
    Ok(heading.replace(['[', ']'], ""))
}

/// The page that leads to what mdBook does not make.
fn pages(beside: &[Beside]) -> String {
    let mut text = "# Pages\n\nMade by the same model as the command's answers.\n\n".to_owned();
    for page in beside {
        text += &format!("- [{}]({})\n", page.title, page.to);
    }
    text
}
