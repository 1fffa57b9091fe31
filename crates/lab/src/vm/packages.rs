//! Stock kernels of Debian's: fetched by apt, unpacked into the cache and never installed.
//! Programs of a release come the same way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::Apt;
use super::failed::failed;
use super::{Release, cache, headers, tools};
use answer::bench::{BenchError, Progress};

/// A stock kernel of Debian's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stock {
    /// Linux 5.10, of Debian 11.
    Linux5_10,
    /// Linux 6.1, with the classic LRU.
    Linux6_1,
    /// Linux 6.12, with the multi-generational LRU.
    Linux6_12,
    /// The newest that Debian has built for a release.
    Newest,
}

/// Where a stock kernel is from.
struct Line {
    stock: Stock,
    /// What a user calls it; also its directory in the cache.
    name: &'static str,
    suites: &'static [&'static str],
    /// The packages that depend on the newest build of it.
    packages: [&'static str; 2],
    /// The release whose libraries the headers' programs need, where this machine's are too old.
    libraries: Option<Release>,
}

/// The packages whose names tell no release.
const PACKAGES: [&str; 2] = ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"];

/// The stock kernels, the oldest first. The security archive has 6.12 built for Debian 12, with its
/// headers' programs.
const LINES: &[Line] = &[
    Line {
        stock: Stock::Linux5_10,
        name: "5.10",
        suites: &["bullseye-security"],
        packages: PACKAGES,
        libraries: None,
    },
    Line {
        stock: Stock::Linux6_1,
        name: "6.1",
        suites: &["bookworm", "bookworm-security"],
        packages: PACKAGES,
        libraries: None,
    },
    Line {
        stock: Stock::Linux6_12,
        name: "6.12",
        suites: &["bookworm", "bookworm-security"],
        packages: [
            "linux-image-6.12-cloud-amd64",
            "linux-headers-6.12-cloud-amd64",
        ],
        libraries: None,
    },
    Line {
        stock: Stock::Newest,
        name: "newest",
        suites: &["trixie-backports"],
        packages: PACKAGES,
        libraries: Some(Release::Debian13),
    },
];

impl Stock {
    /// The kernel of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let line = LINES.iter().find(|line| line.name == name)?;
        Some(line.stock)
    }

    /// The names of all, the oldest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LINES.iter().map(|line| line.name)
    }

    /// Its name, which is also its directory in the cache.
    fn name(self) -> &'static str {
        self.line().name
    }

    fn line(self) -> &'static Line {
        let found = LINES.iter().find(|line| line.stock == self);
        found.expect("each stock kernel has a line")
    }
}

/// The unpacked image, modules and headers of a stock kernel. What was fetched once is kept.
///
/// # Errors
/// That apt is missing, knows no Debian mirror, or cannot reach it.
pub(super) fn stock(
    stock: Stock,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, BenchError> {
    let kernels = cache.join("kernels");
    let root = kernels.join(stock.name());
    if root.exists() {
        return Ok(root);
    }
    progress(Progress::Stage(format!(
        "fetches Debian's Linux {}",
        stock.name()
    )));
    fs::create_dir_all(&kernels).map_err(|error| failed(&kernels, &error))?;
    let place = tempfile::tempdir_in(&kernels).map_err(|error| failed(&kernels, &error))?;
    let unpacked = fetch(stock, place.path()).map_err(|error| unfetched(stock, error))?;
    match fs::rename(&unpacked, &root) {
        // Another process was faster; its kernel is as good.
        Err(_) if root.exists() => Ok(root),
        result => result
            .map(|()| root.clone())
            .map_err(|error| failed(&root, &error)),
    }
}

fn unfetched(stock: Stock, error: BenchError) -> BenchError {
    match error {
        BenchError::Failed(why) => BenchError::Unavailable(format!(
            "Debian's Linux {} cannot be fetched: {why}; or name an image with --kernel PATH",
            stock.name()
        )),
        other => other,
    }
}

/// A package of a Debian release as it is in the archive, for tests that install it in a VM. What
/// was fetched once is kept.
///
/// # Errors
/// That apt is missing, knows no Debian mirror, or cannot reach it.
pub fn package(
    release: Release,
    name: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<u8>, BenchError> {
    let packages = cache::directory(None)?.join("packages");
    let kept = packages.join(format!("{name}-{}.deb", release.suite()));
    if !kept.exists() {
        progress(Progress::Stage(format!(
            "fetches {name} of Debian's {}",
            release.suite()
        )));
        fs::create_dir_all(&packages).map_err(|error| failed(&packages, &error))?;
        let place = tempfile::tempdir_in(&packages).map_err(|error| failed(&packages, &error))?;
        let apt = Apt::new(&release.suites(), place.path())?;
        apt.download([name])?;
        for entry in fs::read_dir(&apt.downloads).into_iter().flatten().flatten() {
            fs::rename(entry.path(), &kept).map_err(|error| failed(&kept, &error))?;
        }
    }
    fs::read(&kept).map_err(|error| failed(&kept, &error))
}

/// Packages of a Debian release, unpacked below `place`; what they depend on is not.
///
/// # Errors
/// That apt is missing, knows no Debian mirror, or cannot reach it.
pub(super) fn unpacked(
    release: Release,
    packages: &[&str],
    place: &Path,
) -> Result<PathBuf, BenchError> {
    let apt = Apt::new(&release.suites(), place)?;
    apt.download(packages)?;
    let root = place.join("root");
    unpack(&apt.downloads, &root)?;
    Ok(root)
}

/// Packages and all that they depend on, unpacked below `place` over the links of a merged `/usr`,
/// which no package has.
///
/// # Errors
/// That apt or tar is missing, or apt knows no Debian mirror or cannot reach it.
pub(super) fn root(
    release: Release,
    packages: &[&str],
    place: &Path,
) -> Result<PathBuf, BenchError> {
    let apt = Apt::new(&release.suites(), place)?;
    apt.download_with_dependencies(packages)?;
    let root = place.join("root");
    for name in ["bin", "lib", "lib64", "sbin"] {
        let (link, directory) = (root.join(name), format!("usr/{name}"));
        fs::create_dir_all(root.join(&directory))
            .and_then(|()| symlink(&directory, &link))
            .map_err(|error| failed(&link, &error))?;
    }
    let (dpkg, tar) = (tools::find("dpkg-deb", "dpkg")?, tools::find("tar", "tar")?);
    let entries = fs::read_dir(&apt.archives).map_err(|error| failed(&apt.archives, &error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    for package in paths.filter(|path| path.extension().is_some_and(|it| it == "deb")) {
        let files = tools::run(Command::new(&dpkg).arg("--fsys-tarfile").arg(package))?;
        let mut unpack = Command::new(&tar);
        unpack
            .args(["-x", "--keep-directory-symlink", "-C"])
            .arg(&root);
        tools::run_with_input(&mut unpack, &files)?;
    }
    Ok(root)
}

fn fetch(stock: Stock, place: &Path) -> Result<PathBuf, BenchError> {
    let line = stock.line();
    let apt = Apt::new(line.suites, place)?;
    let mut packages = BTreeSet::new();
    for package in line.packages {
        add_with_dependencies(&apt, package, &mut packages)?;
    }
    apt.download(&packages)?;
    let root = place.join("root");
    unpack(&apt.downloads, &root)?;
    let kept = place.parent().unwrap_or(place).join(line.name);
    headers::settle(&root, &kept)?;
    if let Some(release) = line.libraries {
        headers::bring_libraries(release, &root, &kept, place)?;
    }
    Ok(root)
}

/// Adds what the package depends on in turn, as far as it is a part of the kernel.
fn add_with_dependencies(
    apt: &Apt,
    package: &str,
    packages: &mut BTreeSet<String>,
) -> Result<(), BenchError> {
    for dependency in dependencies(&apt.show(package)?) {
        if packages.insert(dependency.clone()) {
            add_with_dependencies(apt, &dependency, packages)?;
        }
    }
    Ok(())
}

/// The parts of the kernel that a package depends on. Of alternatives the first is taken: the
/// signed image, and not the same one without a signature.
fn dependencies(show: &str) -> Vec<String> {
    let parts = [
        "linux-image-",
        "linux-binary-",
        "linux-modules-",
        "linux-headers-",
        "linux-kbuild-",
    ];
    let line = show
        .lines()
        .find_map(|line| line.strip_prefix("Depends: "))
        .unwrap_or_default();
    let first_word = |item: &str| item.split_whitespace().next().map(str::to_owned);
    let is_part = |name: &String| parts.iter().any(|part| name.starts_with(part));
    line.split(',')
        .filter_map(first_word)
        .filter(is_part)
        .collect()
}

fn unpack(downloads: &Path, root: &Path) -> Result<(), BenchError> {
    let dpkg = tools::find("dpkg-deb", "dpkg")?;
    let entries = fs::read_dir(downloads).map_err(|error| failed(downloads, &error))?;
    for entry in entries.flatten() {
        tools::run(Command::new(&dpkg).arg("-x").arg(entry.path()).arg(root))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_of_the_kernel_are_fetched() {
        let show = "Package: linux-headers-6.12.117+deb12-cloud-amd64\n\
                    Depends: linux-base, linux-headers-6.12.117+deb12-common (= 6.12.117-1~deb12u1), \
                    linux-image-6.12.117+deb12-cloud-amd64 (= 6.12.117-1~deb12u1) | \
                    linux-image-6.12.117+deb12-cloud-amd64-unsigned (= 6.12.117-1~deb12u1), \
                    linux-kbuild-6.12.117+deb12, gcc-12\n";
        let expected = [
            "linux-headers-6.12.117+deb12-common",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-kbuild-6.12.117+deb12",
        ];
        assert_eq!(dependencies(show), expected);
    }
}
