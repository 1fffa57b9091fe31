//! apt with a configuration of our own: packages of a Debian release are fetched and never
//! installed. No root is needed and the system stays as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::failed::failed;
use super::tools;
use answer::bench::BenchError;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with its own sources, lists and cache, and nothing installed.
#[derive(Debug)]
pub(super) struct Apt {
    configuration: PathBuf,
    /// Where [`Self::download`] puts packages.
    pub downloads: PathBuf,
    /// Where [`Self::download_with_dependencies`] puts them.
    pub archives: PathBuf,
}

impl Apt {
    /// Sets it up in a folder of its own and fetches the lists of these suites.
    pub(super) fn new(suites: &[impl AsRef<str>], place: &Path) -> Result<Self, BenchError> {
        let apt = Self {
            configuration: place.join("apt.conf"),
            downloads: place.join("downloads"),
            archives: place.join("cache/archives"),
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
        let texts = [
            ("sources/debian.sources", sources_of(&mirror()?, suites)),
            ("apt.conf", configuration(place)),
            ("status", String::new()),
        ];
        for (name, text) in texts {
            let path = place.join(name);
            fs::write(&path, text).map_err(|error| failed(&path, &error))?;
        }
        tools::run(apt.command("apt-get")?.args(["-q", "update"]))?;
        Ok(apt)
    }

    /// What apt knows of a package: its fields.
    pub(super) fn show(&self, package: &str) -> Result<String, BenchError> {
        let mut show = self.command("apt-cache")?;
        let text = tools::run(show.args(["show", "--no-all-versions", package]))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Fetches these packages alone.
    pub(super) fn download(
        &self,
        packages: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<(), BenchError> {
        let mut command = self.command("apt-get")?;
        command.args(["-q", "download"]);
        command.args(packages.into_iter().map(|name| name.as_ref().to_owned()));
        tools::run(&mut command).map(drop)
    }

    /// Fetches these packages and all that they depend on, as apt resolves it where nothing is
    /// installed.
    pub(super) fn download_with_dependencies(&self, packages: &[&str]) -> Result<(), BenchError> {
        let mut command = self.command("apt-get")?;
        command.args(["-q", "-y", "--no-install-recommends", "--download-only"]);
        tools::run(command.arg("install").args(packages)).map(drop)
    }

    fn command(&self, program: &str) -> Result<Command, BenchError> {
        let mut command = Command::new(tools::find(program, "apt")?);
        command
            .env("APT_CONFIG", &self.configuration)
            .current_dir(&self.downloads);
        Ok(command)
    }
}

/// The mirror from which this system takes Debian's packages.
fn mirror() -> Result<String, BenchError> {
    let mut targets = Command::new(tools::find("apt-get", "apt")?);
    let targets = tools::run(targets.args(["indextargets", "--format", "$(SITE) $(COMPONENT)"]))?;
    let targets = String::from_utf8_lossy(&targets);
    let unknown = || BenchError::Failed("apt's sources name no Debian mirror".into());
    debian_site(&targets).map(str::to_owned).ok_or_else(unknown)
}

fn debian_site(targets: &str) -> Option<&str> {
    targets.lines().find_map(|line| {
        let (site, component) = line.split_once(' ')?;
        let site = site.trim_end_matches('/');
        (component == "main" && site.ends_with("/debian")).then_some(site)
    })
}

fn sources_of(site: &str, suites: &[impl AsRef<str>]) -> String {
    let key = if Path::new(KEYRING).exists() {
        format!("Signed-By: {KEYRING}\n")
    } else {
        String::new()
    };
    let source = |suite: &str| {
        let archive = match suite.ends_with("-security") {
            true => "-security",
            false => "",
        };
        format!(
            "Types: deb\nURIs: {site}{archive}\nSuites: {suite}\nComponents: main\nArchitectures: \
             amd64\n{key}\n"
        )
    };
    suites.iter().map(|suite| source(suite.as_ref())).collect()
}

fn configuration(place: &Path) -> String {
    let place = place.display();
    format!(
        "Dir::Etc::sourcelist \"/dev/null\";\n\
         Dir::Etc::sourceparts \"{place}/sources\";\n\
         Dir::State::lists \"{place}/lists\";\n\
         Dir::State::status \"{place}/status\";\n\
         Dir::Cache \"{place}/cache\";\n\
         APT::Architecture \"amd64\";\n\
         APT::Sandbox::User \"root\";\n\
         APT::Update::Error-Mode \"any\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"3\";\n"
    )
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
}
