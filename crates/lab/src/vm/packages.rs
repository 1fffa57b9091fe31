//! Stock kernels of Debian's: fetched by apt, unpacked into the cache and never installed.
//! Programs of a release come the same way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use mm::stock::Stock;

use super::apt::Apt;
use super::failed::failed;
use super::{Release, cache, headers, tools};
use answer::bench::{BenchError, Progress};

/// The unpacked image, modules and headers of a stock kernel. What was fetched once is kept.
///
/// # Errors
/// That apt is missing, knows no Debian mirror, or cannot reach it.
pub(super) fn stock(
    stock: &Stock,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, BenchError> {
    let kernels = cache.join("kernels");
    let root = kernels.join(stock.name);
    if root.exists() {
        return Ok(root);
    }
    progress(Progress::Stage(format!("fetches {}", described(stock))));
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

fn unfetched(stock: &Stock, error: BenchError) -> BenchError {
    match error {
        BenchError::Failed(why) => BenchError::Unavailable(format!(
            "{} cannot be fetched from {}: {why}; or name an image with --kernel PATH",
            described(stock),
            stock.suites.join(" and ")
        )),
        other => other,
    }
}

/// "Debian's Linux 6.1", "Debian's newest Linux".
fn described(stock: &Stock) -> String {
    match stock.name == stock.line {
        true => format!("Debian's Linux {}", stock.line),
        false => format!("Debian's {} Linux", stock.name),
    }
}

/// A package of a Debian release as it is in the archive, for tests that install it in a VM; the
/// newest build of a kernel for the package that only depends on it. What was fetched once is kept.
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
        let newest = dependencies(&apt.show(name)?).into_iter().next();
        apt.download([newest.as_deref().unwrap_or(name)])?;
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

fn fetch(stock: &Stock, place: &Path) -> Result<PathBuf, BenchError> {
    let apt = Apt::new(stock.suites, place)?;
    let mut packages = BTreeSet::new();
    for package in stock.packages {
        add_with_dependencies(&apt, package, &mut packages)?;
    }
    apt.download(&packages)?;
    let root = place.join("root");
    unpack(&apt.downloads, &root)?;
    let kept = place.parent().unwrap_or(place).join(stock.name);
    headers::settle(&root, &kept)?;
    if let Some(release) = stock.libraries.and_then(Release::of_suite) {
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
