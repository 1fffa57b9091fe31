//! What a package consists of: the list in the manifest of the command, staged as it is installed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::date;
use super::place::Place;
use crate::{process, tree};

/// The manifest's folder, from which its paths begin.
const MANIFEST: &str = "crates/plimsoll";

/// The variant of the manifest that has the page, too: another compiler makes that.
pub(super) const WITH_PAGE: &str = "with-page";

/// What all packages say of themselves.
pub(super) struct List {
    pub(super) version: String,
    pub(super) maintainer: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) licence: String,
    pub(super) files: Vec<Staged>,
}

/// A file as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Staged {
    /// Where it lies now, with the date of the package.
    pub(super) source: PathBuf,
    /// Where it goes, from the root, without a slash before it.
    pub(super) to: String,
    pub(super) mode: u32,
}

/// Stages all that the manifest lists and what cargo-deb adds by itself: licence and unit.
pub(super) fn staged(plimsoll: &Path, place: &Place) -> Result<List> {
    let root = tree::root();
    let manifest = table(&root.join(MANIFEST).join("Cargo.toml"))?;
    let workspace = table(&root.join("Cargo.toml"))?;
    let package = &manifest["package"];
    let deb = &package["metadata"]["deb"];
    let text = |value: &toml::Value| value.as_str().unwrap_or_default().to_owned();
    let common = &workspace["workspace"]["package"];
    let with_page = &deb["variants"][WITH_PAGE]["merge-assets"]["append"];
    let mut files = Vec::new();
    for list in [&deb["assets"], with_page] {
        for asset in list.as_array().context("assets")? {
            files.extend(asset_of(asset, plimsoll).context("assets of the manifest")?);
        }
    }
    files.retain(|(_, to, _)| !to.starts_with("usr/share/lintian/"));
    for (source, to) in [
        ("LICENSE-MIT", "usr/share/licenses/plimsoll/LICENSE-MIT"),
        (
            "LICENSE-APACHE",
            "usr/share/licenses/plimsoll/LICENSE-APACHE",
        ),
        ("packaging/plimsoll-guard.service", UNIT),
    ] {
        files.push((root.join(source), to.to_owned(), 0o644));
    }
    let place = place.folder.join("stage");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let files: Result<Vec<Staged>> = files.into_iter().map(|file| stage(&place, file)).collect();
    Ok(List {
        version: text(&common["version"]),
        maintainer: text(&deb["maintainer"]),
        summary: text(&package["description"]),
        description: text(&deb["extended-description"]).trim().to_owned(),
        licence: text(&common["license"]),
        files: files?,
    })
}

/// Where the guard's unit goes.
pub(super) const UNIT: &str = "usr/lib/systemd/system/plimsoll-guard.service";

fn table(path: &Path) -> Result<toml::Table> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

/// A row: what, where to, mode. The programs lie where cargo built them; a star stands for names.
fn asset_of(asset: &toml::Value, plimsoll: &Path) -> Option<Vec<(PathBuf, String, u32)>> {
    let [source, to, mode] = asset.as_array()?.as_slice() else {
        return None;
    };
    let (source, to) = (source.as_str()?, to.as_str()?);
    let mode = u32::from_str_radix(mode.as_str()?, 8).ok()?;
    let sources = match source.strip_prefix("target/release/") {
        Some(program) => vec![plimsoll.with_file_name(program)],
        None => matching(&tree::root().join(MANIFEST).join(source))?,
    };
    let files = sources.into_iter().map(|source| {
        let to = match to.ends_with('/') {
            true => format!("{to}{}", source.file_name()?.to_str()?),
            false => to.to_owned(),
        };
        // Only Debian has it elsewhere.
        let to = to.replace("/zsh/vendor-completions/", "/zsh/site-functions/");
        Some((source, to, mode))
    });
    files.collect()
}

/// The files of a name, in which a star may stand first.
fn matching(path: &Path) -> Option<Vec<PathBuf>> {
    let Some(end) = path.file_name()?.to_str()?.strip_prefix('*') else {
        return Some(vec![path.to_owned()]);
    };
    let entries = fs::read_dir(path.parent()?).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_str().is_some_and(|name| name.ends_with(end)))
        .collect();
    paths.sort();
    Some(paths)
}

fn stage(place: &Path, (source, to, mode): (PathBuf, String, u32)) -> Result<Staged> {
    let path = place.join(&to);
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    match mode {
        0o755 => {
            let mut strip = process::program("strip");
            process::succeed(strip.arg("-o").arg(&path).arg(&source))?;
        }
        _ => {
            fs::copy(&source, &path).with_context(|| source.display().to_string())?;
        }
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    File::options()
        .append(true)
        .open(&path)?
        .set_modified(date::time()?)?;
    Ok(Staged {
        source: path,
        to,
        mode,
    })
}
