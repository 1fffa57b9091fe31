//! Programs of a Debian release, with the libraries that they were built for: fetched, unpacked
//! into the cache and never installed. Tests hold our models of boot-time loaders against them.

use std::fs;
use std::path::{Path, PathBuf};

use super::{cache, failed, packages};
use crate::bench::{BenchError, Progress};

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Debian 12: systemd 252, procps 4.0.2.
    Debian12,
    /// Debian 13: systemd 257, procps 4.0.4.
    Debian13,
}

/// An unpacked root with the programs that set tunables at boot.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The directory that stands for `/`.
    pub root: PathBuf,
}

/// What both releases call the same.
const PACKAGES: &[&str] = &[
    "systemd",
    "libsystemd-shared",
    "libsystemd0",
    "procps",
    "busybox",
    "libproc2-0",
    "libc6",
    "libacl1",
    "libaudit1",
    "libblkid1",
    "libcap-ng0",
    "libcap2",
    "libcrypt1",
    "libgcc-s1",
    "libgcrypt20",
    "libgpg-error0",
    "libip4tc2",
    "libkmod2",
    "liblz4-1",
    "liblzma5",
    "libmount1",
    "libpcre2-8-0",
    "libseccomp2",
    "libselinux1",
    "libzstd1",
    "zlib1g",
];

impl Release {
    /// Its name in the archive.
    pub(super) fn suite(self) -> &'static str {
        match self {
            Self::Debian12 => "bookworm",
            Self::Debian13 => "trixie",
        }
    }

    fn packages(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Debian12 => &["libpam0g", "libssl3"],
            Self::Debian13 => &["libpam0g", "libssl3t64"],
        };
        PACKAGES.iter().chain(own).copied().collect()
    }
}

impl Programs {
    /// Those of a release. What was fetched once is kept.
    ///
    /// # Errors
    /// That apt is missing, knows no Debian mirror, or cannot reach it.
    pub fn fetch(release: Release, progress: &mut dyn FnMut(Progress)) -> Result<Self, BenchError> {
        let programs = cache::directory(None)?.join("programs");
        let root = programs.join(release.suite());
        if root.exists() {
            return Ok(Self { root });
        }
        let stage = format!("fetches programs of Debian's {}", release.suite());
        progress(Progress::Stage(stage));
        fs::create_dir_all(&programs).map_err(|error| failed(&programs, &error))?;
        let place = tempfile::tempdir_in(&programs).map_err(|error| failed(&programs, &error))?;
        let unpacked = packages::unpacked(release, &release.packages(), place.path())?;
        keep(&unpacked, &root)?;
        Ok(Self { root })
    }
}

/// Another process may have been faster; what it fetched is as good.
fn keep(unpacked: &Path, root: &Path) -> Result<(), BenchError> {
    match fs::rename(unpacked, root) {
        Err(error) if !root.exists() => Err(failed(root, &error)),
        _ => Ok(()),
    }
}
