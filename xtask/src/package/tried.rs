//! Packages as they are used: installed, upgraded and removed, each in a root of its own with
//! busybox and nothing else, and run there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::list::UNIT;
use super::place::folder;
use crate::process;

/// A package manager that works on a root.
struct Manager {
    /// How its packages end.
    ends: &'static str,
    program: &'static str,
    /// What it keeps its records in, below the root.
    folders: &'static [&'static str],
    files: &'static [&'static str],
    root: fn(&mut Command, &Path),
    install: &'static [&'static str],
    remove: &'static [&'static str],
    unit: Option<&'static str>,
}

const MANAGERS: [Manager; 3] = [
    Manager {
        ends: ".deb",
        program: "dpkg",
        folders: &[
            "var/lib/dpkg/updates",
            "var/lib/dpkg/info",
            "var/lib/dpkg/triggers",
        ],
        files: &["var/lib/dpkg/status"],
        root: |dpkg, root| {
            dpkg.arg("--root").arg(root).args(["--log", "/dev/null"]);
        },
        install: &["--install"],
        remove: &["--purge", "plimsoll"],
        unit: Some("usr/lib/systemd/system/plimsoll-guard.service"),
    },
    Manager {
        ends: ".rpm",
        program: "rpm",
        folders: &["var/lib/rpm"],
        files: &[],
        root: |rpm, root| {
            rpm.arg("--root")
                .arg(root)
                .args(["--force-debian", "--dbpath", "/var/lib/rpm"]);
        },
        install: &["--upgrade"],
        remove: &["--erase", "plimsoll"],
        unit: Some(UNIT),
    },
    Manager {
        ends: ".pkg.tar.zst",
        program: "pacman",
        folders: &["var/lib/pacman", "var/cache/pacman/pkg", "var/log", "tmp"],
        files: &[],
        root: |pacman, root| {
            pacman
                .arg("--root")
                .arg(root)
                .args(["--noconfirm", "--config", "/dev/null"]);
        },
        install: &["--upgrade"],
        remove: &["--remove", "plimsoll"],
        unit: Some(UNIT),
    },
];

/// What `plimsoll serve` serves.
const PAGE: &str = "usr/share/plimsoll/plimsoll.html";

/// What a user may have made, which only a purge takes away.
const OURS: &str = "etc/plimsoll/guard.toml";

/// Tries each of the packages that a manager of this machine can install, as root, and those of the
/// next revision over them.
pub(super) fn all(packages: &[PathBuf], next: &[PathBuf]) -> Result<()> {
    for manager in &MANAGERS {
        let mut is_there = process::program(manager.program);
        if is_there.arg("--version").output().is_err() {
            println!(
                "skipped: {} is missing: {} not tried",
                manager.program, manager.ends
            );
            continue;
        }
        let name = manager.program;
        let tried = manager.tried(own(packages, manager.ends)?, own(next, manager.ends)?);
        tried.with_context(|| name.to_owned())?;
        println!("{name}: installed, run, upgraded, run and removed");
    }
    unpacked(own(packages, ".tar.gz")?).context("the archive")?;
    image(own(packages, ".oci.tar")?).context("the image")
}

/// The package among those that ends so.
fn own<'a>(packages: &'a [PathBuf], ends: &str) -> Result<&'a Path> {
    let mut packages = packages.iter();
    let own = packages.find(|path| path.to_string_lossy().ends_with(ends));
    let own = own.with_context(|| format!("there is no {ends}"))?;
    Ok(own)
}

/// An empty root.
fn root(name: &str) -> Result<PathBuf> {
    let root = folder().join("roots").join(name);
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    fs::create_dir_all(&root)?;
    Ok(root)
}

/// Unpacks the archive over `/usr/local` of a root with nothing else, and runs it.
fn unpacked(archive: &Path) -> Result<()> {
    let root = root("archive")?;
    let local = root.join("usr/local");
    fs::create_dir_all(&local)?;
    let mut tar = process::program("tar");
    tar.arg("--extract").arg("--file").arg(archive);
    tar.arg("--directory")
        .arg(local)
        .arg("--strip-components=1");
    process::succeed(&mut tar)?;
    let mut run = process::program("chroot");
    run.arg(&root)
        .args(["/usr/local/bin/plimsoll", "--version"]);
    process::succeed(&mut run)?;
    let page = PAGE.replace("usr/", "usr/local/");
    ensure!(root.join(&page).exists(), "{page} is missing");
    Ok(fs::remove_dir_all(root)?)
}

/// Has skopeo read the image, and runs what is in its layer as the user that it names.
fn image(image: &Path) -> Result<()> {
    let mut skopeo = process::program("skopeo");
    if skopeo.arg("--version").output().is_err() {
        println!("skipped: skopeo is missing: the image was not tried");
        return Ok(());
    }
    let copied = root("image")?;
    let mut skopeo = process::program("skopeo");
    skopeo.args(["copy", "--quiet", "--insecure-policy"]);
    skopeo.arg(format!("oci-archive:{}", image.display()));
    process::succeed(skopeo.arg(format!("dir:{}", copied.display())))?;
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(copied.join("manifest.json"))?)?;
    let layer = manifest["layers"][0]["digest"].as_str();
    let layer = layer.and_then(|digest| digest.strip_prefix("sha256:"));
    let root = root("layer")?;
    let mut tar = process::program("tar");
    tar.args(["--extract", "--gzip", "--file"]);
    tar.arg(copied.join(layer.context("the image has a layer")?));
    process::succeed(tar.arg("--directory").arg(&root))?;
    let mut run = process::program("chroot");
    run.arg("--userspec=65534:65534").arg(&root);
    process::succeed(run.args(["/usr/bin/plimsoll", "--version"]))?;
    println!("skopeo: the image is read, and what is in it runs");
    fs::remove_dir_all(copied)?;
    Ok(fs::remove_dir_all(root)?)
}

impl Manager {
    fn tried(&self, package: &Path, next: &Path) -> Result<()> {
        let root = self.made()?;
        for package in [package, next] {
            self.asked(&root, self.install, Some(package))?;
            self.runs(&root)?;
        }
        fs::create_dir_all(root.join("etc/plimsoll"))?;
        fs::write(root.join(OURS), "")?;
        self.asked(&root, self.remove, None)?;
        ensure!(!root.join("usr/bin/plimsoll").exists(), "the command stays");
        let is_purged = self.remove[0] == "--purge";
        ensure!(
            root.join(OURS).exists() != is_purged,
            "{OURS}: a purge alone takes it away"
        );
        Ok(fs::remove_dir_all(root)?)
    }

    /// A root with a shell and no package.
    fn made(&self) -> Result<PathBuf> {
        let root = root(self.program)?;
        for below in ["bin", "usr/bin", "dev", "etc"].iter().chain(self.folders) {
            fs::create_dir_all(root.join(below))?;
        }
        for file in self.files {
            fs::write(root.join(file), "")?;
        }
        let busybox = ["/bin/busybox", "/usr/bin/busybox"].map(Path::new);
        let busybox = busybox.into_iter().find(|path| path.exists());
        let busybox = busybox.context("there is no busybox (apt-get install busybox-static)")?;
        fs::copy(busybox, root.join("bin/busybox"))?;
        let install = ["/bin/busybox", "--install", "-s", "/bin"];
        process::succeed(process::program("chroot").arg(&root).args(install))
            .context("busybox must be static: apt-get install busybox-static")?;
        Ok(root)
    }

    fn asked(&self, root: &Path, words: &[&str], package: Option<&Path>) -> Result<()> {
        let mut manager = process::program(self.program);
        (self.root)(&mut manager, root);
        manager.args(words).args(package);
        let output = manager
            .output()
            .with_context(|| process::describe(&manager))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}: {}: {said}", process::describe(&manager), output.status);
        }
        Ok(())
    }

    /// Whether what was installed works there.
    fn runs(&self, root: &Path) -> Result<()> {
        for program in ["/usr/bin/plimsoll", "/usr/bin/plimsoll-guard"] {
            let mut run = process::program("chroot");
            process::succeed(run.arg(root).args([program, "--version"]))?;
        }
        let unit = self.unit.is_none_or(|unit| root.join(unit).exists());
        ensure!(unit, "the guard's unit is missing");
        ensure!(root.join(PAGE).exists(), "{PAGE} is missing");
        Ok(())
    }
}
