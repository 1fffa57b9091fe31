//! Stock kernels from Debian 12: fetched by apt with a configuration of our own, unpacked into the
//! cache and never installed. No root is needed and the system stays as it is. Programs of a
//! release come the same way.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::kernel::Stock;
use super::{failed, tools};
use crate::bench::{BenchError, Progress};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl Stock {
    /// Its directory in the cache.
    fn name(self) -> &'static str {
        match self {
            Self::Linux6_1 => "6.1",
            Self::Linux6_12 => "6.12",
        }
    }

    /// The packages that depend on the newest build of it. The security archive has 6.12 built for
    /// Debian 12, with its headers' tools.
    fn packages(self) -> [&'static str; 2] {
        match self {
            Self::Linux6_1 => ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"],
            Self::Linux6_12 => [
                "linux-image-6.12-cloud-amd64",
                "linux-headers-6.12-cloud-amd64",
            ],
        }
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

/// Packages of a Debian release, unpacked below `place`; what they depend on is not.
///
/// # Errors
/// That apt is missing, knows no Debian mirror, or cannot reach it.
pub(super) fn unpacked(
    suite: &str,
    packages: &[&str],
    place: &Path,
) -> Result<PathBuf, BenchError> {
    let apt = Apt::new(place, suite)?;
    apt.update()?;
    apt.download(&packages.iter().map(|it| (*it).to_owned()).collect())?;
    let root = place.join("root");
    unpack(&apt.downloads, &root)?;
    Ok(root)
}

fn fetch(stock: Stock, place: &Path) -> Result<PathBuf, BenchError> {
    let apt = Apt::new(place, "bookworm")?;
    apt.update()?;
    let mut packages = BTreeSet::new();
    for package in stock.packages() {
        apt.add_with_dependencies(package, &mut packages)?;
    }
    apt.download(&packages)?;
    let root = place.join("root");
    unpack(&apt.downloads, &root)?;
    point_headers_at(&root, stock, place)?;
    Ok(root)
}

/// apt with its own sources, lists and cache.
struct Apt {
    configuration: PathBuf,
    downloads: PathBuf,
}

impl Apt {
    fn new(place: &Path, suite: &str) -> Result<Self, BenchError> {
        let apt = Self {
            configuration: place.join("apt.conf"),
            downloads: place.join("downloads"),
        };
        for directory in [
            "lists/partial",
            "cache/archives/partial",
            "sources",
            "downloads",
        ] {
            let path = place.join(directory);
            fs::create_dir_all(&path).map_err(|error| failed(&path, &error))?;
        }
        let sources = place.join("sources/debian.sources");
        fs::write(&sources, sources_of(&mirror()?, suite))
            .map_err(|error| failed(&sources, &error))?;
        fs::write(&apt.configuration, configuration(place))
            .map_err(|error| failed(&apt.configuration, &error))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Result<Command, BenchError> {
        let mut command = Command::new(tools::find(program, "apt")?);
        command
            .env("APT_CONFIG", &self.configuration)
            .current_dir(&self.downloads);
        Ok(command)
    }

    fn update(&self) -> Result<(), BenchError> {
        tools::run(self.command("apt-get")?.args(["-q", "update"])).map(drop)
    }

    /// Adds what the package depends on in turn, as far as it is a part of the kernel.
    fn add_with_dependencies(
        &self,
        package: &str,
        packages: &mut BTreeSet<String>,
    ) -> Result<(), BenchError> {
        let mut show = self.command("apt-cache")?;
        let text = tools::run(show.args(["show", "--no-all-versions", package]))?;
        for dependency in dependencies(&String::from_utf8_lossy(&text)) {
            if packages.insert(dependency.clone()) {
                self.add_with_dependencies(&dependency, packages)?;
            }
        }
        Ok(())
    }

    fn download(&self, packages: &BTreeSet<String>) -> Result<(), BenchError> {
        tools::run(
            self.command("apt-get")?
                .args(["-q", "download"])
                .args(packages),
        )
        .map(drop)
    }
}

/// The parts of the kernel that a package depends on. Of alternatives the first is taken: the
/// signed image, and not the same one without a signature.
fn dependencies(show: &str) -> Vec<String> {
    let parts = ["linux-image-", "linux-headers-", "linux-kbuild-"];
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

/// The mirror from which this system takes Debian's packages.
fn mirror() -> Result<String, BenchError> {
    let mut targets = Command::new(tools::find("apt-get", "apt")?);
    let targets = tools::run(targets.args(["indextargets", "--format", "$(SITE) $(COMPONENT)"]))?;
    let targets = String::from_utf8_lossy(&targets);
    debian_site(&targets).map(str::to_owned).ok_or_else(|| {
        let text =
            "apt knows no Debian mirror for a stock kernel: name an image with --kernel PATH";
        BenchError::Unavailable(text.into())
    })
}

fn debian_site(targets: &str) -> Option<&str> {
    targets.lines().find_map(|line| {
        let (site, component) = line.split_once(' ')?;
        let site = site.trim_end_matches('/');
        (component == "main" && site.ends_with("/debian")).then_some(site)
    })
}

fn sources_of(site: &str, release: &str) -> String {
    let key = if Path::new(KEYRING).exists() {
        format!("Signed-By: {KEYRING}\n")
    } else {
        String::new()
    };
    let source = |site: &str, suite: &str| {
        format!(
            "Types: deb\nURIs: {site}\nSuites: {suite}\nComponents: main\nArchitectures: \
             amd64\n{key}\n"
        )
    };
    let security = format!("{release}-security");
    source(site, release) + &source(&format!("{site}-security"), &security)
}

fn configuration(place: &Path) -> String {
    let place = place.display();
    format!(
        "Dir::Etc::sourcelist \"/dev/null\";\n\
         Dir::Etc::sourceparts \"{place}/sources\";\n\
         Dir::State::lists \"{place}/lists\";\n\
         Dir::Cache \"{place}/cache\";\n\
         APT::Architecture \"amd64\";\n\
         APT::Sandbox::User \"root\";\n\
         APT::Update::Error-Mode \"any\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"3\";\n"
    )
}

fn unpack(downloads: &Path, root: &Path) -> Result<(), BenchError> {
    let dpkg = tools::find("dpkg-deb", "dpkg")?;
    let entries = fs::read_dir(downloads).map_err(|error| failed(downloads, &error))?;
    for entry in entries.flatten() {
        tools::run(Command::new(&dpkg).arg("-x").arg(entry.path()).arg(root))?;
    }
    Ok(())
}

/// The headers' Makefile includes another by its installed path, which is not where it lies now.
fn point_headers_at(root: &Path, stock: Stock, place: &Path) -> Result<(), BenchError> {
    let kernels = place.parent().expect("the place is in a directory");
    let sources = root.join("usr/src");
    let entries = fs::read_dir(&sources).map_err(|error| failed(&sources, &error))?;
    for entry in entries.flatten() {
        let path = entry.path().join("Makefile");
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let Some(include) = text.strip_prefix("include /usr/src/") else {
            continue;
        };
        let there = kernels.join(stock.name()).join("usr/src").join(include);
        fs::write(&path, format!("include {}", there.display()))
            .map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_debians_own_archive_and_no_one_elses() {
        let targets = "https://packages.example.org/apt main\n\
                       https://download.example.org/linux/debian stable\n\
                       http://mirror.example.org/debian-security main\n\
                       http://mirror.example.org/debian/ main\n";
        assert_eq!(
            debian_site(targets),
            Some("http://mirror.example.org/debian")
        );
        assert_eq!(
            debian_site("http://archive.example.org/ubuntu main\n"),
            None
        );
    }

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
