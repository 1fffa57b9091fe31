//! Programs of a Debian release, with the libraries that they were built for: fetched, unpacked
//! into the cache and never installed. Tests hold our models of boot-time loaders against them.

use std::fs;
use std::path::{Path, PathBuf};

use super::failed::failed;
use super::release::Release;
use super::{cache, packages};
use answer::bench::{BenchError, Progress};

/// An unpacked root with the programs that set tunables at boot.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The directory that stands for `/`.
    pub root: PathBuf,
}

impl Programs {
    /// Those of a release. What was fetched once is kept.
    ///
    /// # Errors
    /// That apt is missing, knows no Debian mirror, or cannot reach it.
    pub fn fetch(release: Release, progress: &mut dyn FnMut(Progress)) -> Result<Self, BenchError> {
        let packages = release.packages();
        let unpack = |place: &Path| packages::unpacked(release, &packages, place);
        Self::kept(&cache::directory(None)?, release.suite(), &unpack, progress)
    }

    /// A root with these packages of a release and all that they depend on, in which they run
    /// (`chroot`); no script of a package was run. What was fetched once under this name is kept.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub fn root(
        release: Release,
        name: &str,
        packages: &[&str],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        Self::root_in(&cache::directory(None)?, release, name, packages, progress)
    }

    /// As [`Self::root`], kept below this folder.
    pub(super) fn root_in(
        cache: &Path,
        release: Release,
        name: &str,
        packages: &[&str],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        let name = format!("{}-{name}", release.suite());
        let unpack = |place: &Path| packages::root(release, packages, place);
        Self::kept(cache, &name, &unpack, progress)
    }

    fn kept(
        cache: &Path,
        name: &str,
        unpack: &dyn Fn(&Path) -> Result<PathBuf, BenchError>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        let programs = cache.join("programs");
        let root = programs.join(name);
        if root.exists() {
            return Ok(Self { root });
        }
        progress(Progress::Stage(format!(
            "fetches programs of Debian's {name}"
        )));
        fs::create_dir_all(&programs).map_err(|error| failed(&programs, &error))?;
        let place = tempfile::tempdir_in(&programs).map_err(|error| failed(&programs, &error))?;
        keep(&unpack(place.path())?, &root)?;
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
