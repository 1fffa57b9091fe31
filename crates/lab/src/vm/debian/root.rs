//! The file system of a Debian: packages unpacked into an archive that a kernel takes as its root.
//!
//! No script of a package runs. What scripts would have made and a boot needs is made here: the
//! first users, the merged `/usr`, the marks of a system that has booted before. Compared with what
//! mmdebstrap installs of the same packages, no file of `sysctl.d`, `tmpfiles.d`, `udev` or of
//! systemd's own units differs; it takes 7 s instead of 35, and no root.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tar::EntryType;

use crate::vm::apt::Apt;
use crate::vm::failed::failed;
use crate::vm::initramfs::Archive;
use crate::vm::{Release, tools};
use answer::bench::{BenchError, Progress};

/// What is asked for; apt adds what it depends on.
const PACKAGES: &[&str] = &[
    "base-files",
    "base-passwd",
    "bash",
    "bsdutils",
    "coreutils",
    "dash",
    "dbus",
    "diffutils",
    "dpkg",
    "e2fsprogs",
    "findutils",
    "grep",
    "init-system-helpers",
    "kmod",
    "libc-bin",
    "login",
    "mawk",
    "mount",
    "perl-base",
    "procps",
    "sed",
    "systemd",
    "systemd-sysv",
    "udev",
    "util-linux",
];

/// What only takes memory.
const LEFT_OUT: &[&str] = &[
    "usr/share/bash-completion/",
    "usr/share/common-licenses/",
    "usr/share/doc/",
    "usr/share/i18n/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/locale/",
    "usr/share/man/",
    "usr/share/zsh/",
    "usr/lib/udev/hwdb.d/",
    "usr/lib/x86_64-linux-gnu/gconv/",
];

/// Directories that packages may still name by their old places.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Counts up when the same packages make another root than before.
const RECIPE: u32 = 3;

/// The archive of a release's root, made once and kept.
///
/// # Errors
/// That the packages cannot be fetched or unpacked.
pub(super) fn archive(
    release: Release,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, BenchError> {
    let roots = cache.join("debian");
    let path = roots.join(format!("{}-{RECIPE}.cpio", release.suite()));
    if path.exists() {
        return Ok(path);
    }
    let text = format!("fetches Debian {} with systemd", release.suite());
    progress(Progress::Stage(text));
    fs::create_dir_all(&roots).map_err(|error| failed(&roots, &error))?;
    let place = tempfile::tempdir_in(&roots).map_err(|error| failed(&roots, &error))?;
    let bytes = make(release, place.path()).map_err(|error| unfetched(release, error))?;
    // Written beside it, so that no other process ever sees a part.
    let part = place.path().join("root.cpio");
    fs::write(&part, bytes).map_err(|error| failed(&part, &error))?;
    fs::rename(&part, &path).map_err(|error| failed(&path, &error))?;
    Ok(path)
}

fn unfetched(release: Release, error: BenchError) -> BenchError {
    match error {
        BenchError::Failed(why) => BenchError::Unavailable(format!(
            "Debian {} cannot be fetched: {why}",
            release.suite()
        )),
        other => other,
    }
}

fn make(release: Release, place: &Path) -> Result<Vec<u8>, BenchError> {
    let apt = Apt::new(&release.suites(), place)?;
    apt.download_with_dependencies(PACKAGES)?;
    let mut root = Root::new();
    for package in packages(&apt.archives)? {
        let mut dpkg = Command::new(tools::find("dpkg-deb", "dpkg")?);
        let bytes = tools::run(dpkg.arg("--fsys-tarfile").arg(&package))?;
        root.unpack(&bytes)
            .map_err(|error| failed(&package, &error))?;
    }
    root.finish()
}

/// In the order of their names, so that the same packages are the same bytes.
fn packages(archives: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let entries = fs::read_dir(archives).map_err(|error| failed(archives, &error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut packages: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    packages.sort();
    Ok(packages)
}

/// A root that grows by one package at a time.
struct Root {
    archive: Archive,
    /// What is there already: packages share directories.
    names: BTreeSet<String>,
    users: String,
    groups: String,
}

impl Root {
    fn new() -> Self {
        let mut archive = Archive::new();
        archive.skeleton();
        // A package that brings one of these later says its permissions.
        for name in ["usr", "run", "root", "etc", "var"] {
            archive.directory(name, 0o755);
        }
        let mut names = BTreeSet::from([String::new()]);
        for name in MERGED {
            let place = format!("usr/{name}");
            archive.directory(&place, 0o755);
            archive.link(name, place.as_bytes());
            names.extend([name.into(), place]);
        }
        let (users, groups) = (String::new(), String::new());
        Self {
            archive,
            names,
            users,
            groups,
        }
    }

    /// Adds the files of a package. All of them belong to root.
    fn unpack(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        for entry in tar::Archive::new(bytes).entries()? {
            let mut entry = entry?;
            let name = merged(&String::from_utf8_lossy(&entry.path_bytes()));
            let left_out = LEFT_OUT.iter().any(|prefix| name.starts_with(prefix));
            if left_out || !self.names.insert(name.clone()) {
                continue;
            }
            let mode = entry.header().mode()?;
            match entry.header().entry_type() {
                EntryType::Directory => self.archive.directory(&name, mode),
                EntryType::Symlink => {
                    let target = entry.link_name_bytes().unwrap_or_default();
                    self.archive.link(&name, &target);
                }
                EntryType::Regular => {
                    let mut content = Vec::new();
                    entry.read_to_end(&mut content)?;
                    self.note(&name, &content);
                    self.archive.file_with(&name, mode, &content);
                }
                // Hard links are second names of programs that were left out.
                _ => {}
            }
        }
        Ok(())
    }

    fn note(&mut self, name: &str, content: &[u8]) {
        let text = || String::from_utf8_lossy(content).into_owned();
        match name {
            "usr/share/base-passwd/passwd.master" => self.users = text(),
            "usr/share/base-passwd/group.master" => self.groups = text(),
            _ => {}
        }
    }

    fn finish(mut self) -> Result<Vec<u8>, BenchError> {
        if self.users.is_empty() || self.groups.is_empty() {
            return Err(BenchError::Failed("base-passwd has no master files".into()));
        }
        self.users += "messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\n";
        self.groups += "messagebus:x:100:\n";
        let files = [
            ("etc/passwd", self.users.as_str()),
            ("etc/group", &self.groups),
            ("etc/hostname", "debian\n"),
            ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
            // As after the first boot, which builds caches for a minute.
            ("etc/.updated", ""),
            ("var/.updated", ""),
        ];
        for (name, text) in files {
            self.archive.file(name, text.as_bytes());
        }
        if self.names.insert("usr/bin/awk".into()) {
            self.archive.link("usr/bin/awk", b"mawk");
        }
        Ok(self.archive.finish())
    }
}

/// The name without the leading `./`, below `usr` where that was merged.
fn merged(name: &str) -> String {
    let name = name.trim_start_matches("./").trim_end_matches('/');
    let first = name.split('/').next().unwrap_or_default();
    match MERGED.contains(&first) && name != first {
        true => format!("usr/{name}"),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_places_are_those_below_usr() {
        assert_eq!(merged("./bin/sh"), "usr/bin/sh");
        assert_eq!(
            merged("./lib64/ld-linux-x86-64.so.2"),
            "usr/lib64/ld-linux-x86-64.so.2"
        );
        assert_eq!(merged("./usr/lib/sysctl.d/"), "usr/lib/sysctl.d");
        assert_eq!(merged("./library"), "library");
        // The directory itself is the link that is there already.
        assert_eq!(merged("./lib/"), "lib");
        assert_eq!(merged("./"), "");
    }

    #[test]
    fn a_package_is_unpacked_and_its_texts_are_left_out() {
        let mut bytes = tar::Builder::new(Vec::new());
        for (name, text) in [
            ("./bin/tool", "tool"),
            ("./usr/share/doc/tool/README", "long"),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o4755);
            header.set_cksum();
            bytes
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
        let mut root = Root::new();
        root.unpack(&bytes.into_inner().unwrap()).unwrap();
        assert!(root.names.contains("usr/bin/tool"));
        assert!(!root.names.iter().any(|name| name.contains("README")));
        let error = root.finish().unwrap_err().to_string();
        assert_eq!(error, "base-passwd has no master files");
    }
}
