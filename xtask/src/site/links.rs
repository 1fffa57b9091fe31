//! Links of documents and of pages, and where they lead.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::tree;

/// The files of the checkout that a document links to, by their paths from its root; of a folder
/// those that lie in it.
pub(super) fn below_root(path: &str, text: &str) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', '#', ' ']).next());
    let files = links.filter(|link| !link.is_empty() && !is_elsewhere(link));
    let files = files.filter_map(|link| plain(&folder.join(link)));
    let files = files.flat_map(|file| match tree::root().join(&file).is_dir() {
        true => inside(&file),
        false => vec![file],
    });
    files
        .filter(|file| tree::root().join(file).is_file())
        .filter_map(|file| Some(file.to_str()?.to_owned()))
        .collect()
}

/// What lies in a folder of the checkout.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(tree::root().join(folder))
        .into_iter()
        .flatten();
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.map(|name| folder.join(name)).collect()
}

/// Whether a link leads out of the site.
fn is_elsewhere(link: &str) -> bool {
    let schemes = ["http:", "https:", "mailto:", "data:", "//", "javascript:"];
    schemes.iter().any(|scheme| link.starts_with(scheme))
}

/// A path without `..`; `None` where it leads out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir if plain.pop() => {}
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(plain)
}

/// Links of a site's pages that lead nowhere, one line each.
pub(super) fn broken(book: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read(book, Path::new(""), &mut pages)?;
    let mut broken = Vec::new();
    for (page, text) in &pages {
        // It is shown for any address, and its links begin at the site's.
        if page == Path::new("404.html") {
            continue;
        }
        for link in links(text) {
            if !leads(book, page, link, &pages) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    Ok(broken)
}

fn read(book: &Path, below: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(book.join(below))? {
        let path = below.join(entry?.file_name());
        if book.join(&path).is_dir() {
            read(book, &path, pages)?;
        } else if path.extension().is_some_and(|it| it == "html") {
            pages.insert(path.clone(), fs::read_to_string(book.join(&path))?);
        }
    }
    Ok(())
}

fn links(page: &str) -> impl Iterator<Item = &str> {
    let named = ["href=\"", "src=\""].into_iter();
    let links = named.flat_map(|name| page.split(name).skip(1));
    links
        .filter_map(|rest| rest.split('"').next())
        .filter(|link| !link.is_empty() && !is_elsewhere(link))
}

fn leads(book: &Path, page: &Path, link: &str, pages: &BTreeMap<PathBuf, String>) -> bool {
    let (file, place) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => Some(page.to_owned()),
        file => plain(&page.parent().unwrap_or(Path::new("")).join(file)),
    };
    let Some(target) = target.filter(|target| book.join(target).exists()) else {
        return false;
    };
    let has = |text: &String| text.contains(&format!("id=\"{place}\""));
    place.is_empty() || pages.get(&target).is_none_or(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_brings_what_it_links_to() {
        let text = "[a](../LICENSE-MIT), [b](https://x.example), [c](#d), [e](no-such-file.md)";
        assert_eq!(below_root("docs/x.md", text), ["LICENSE-MIT"]);
        assert!(below_root("x.md", "[a](../../etc/passwd)").is_empty());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let book = tempfile::tempdir().unwrap();
        let page = "<a href=\"b.html#there\"><a href=\"b.html#not\"><img src=\"c.svg\">";
        fs::write(book.path().join("a.html"), page).unwrap();
        fs::write(book.path().join("b.html"), "<h1 id=\"there\">").unwrap();
        let broken = broken(book.path()).unwrap();
        assert_eq!(broken, ["a.html: b.html#not", "a.html: c.svg"]);
    }
}
