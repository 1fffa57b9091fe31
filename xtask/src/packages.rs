//! The Debian packages that the tests need, and whether they can be had.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process;

/// A program that the tests run, or a library that one of them loads, and the package it comes in.
struct Needed {
    file: &'static str,
    package: &'static str,
    purpose: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed {
        file: "qemu-system-x86_64",
        package: "qemu-system-x86",
        purpose: "boots a kernel",
    },
    Needed {
        file: "mke2fs",
        package: "e2fsprogs",
        purpose: "makes the disks",
    },
    Needed {
        file: "gcc",
        package: "gcc",
        purpose: "builds the disk module",
    },
    Needed {
        file: "make",
        package: "make",
        purpose: "builds the disk module",
    },
    Needed {
        file: "zstd",
        package: "zstd",
        purpose: "packs kernel modules as distributions do",
    },
    Needed {
        file: "strace",
        package: "strace",
        purpose: "shows what boot-time loaders write, and which files are opened",
    },
    Needed {
        file: "libelf.so.1",
        package: "libelf1",
        purpose: "is loaded by the kernel's build tools",
    },
    Needed {
        file: "busybox",
        package: "busybox",
        purpose: "reads the initramfs that was packed",
    },
    Needed {
        file: "promtool",
        package: "prometheus",
        purpose: "reads figures, and tests the alerts",
    },
    Needed {
        file: "prometheus_client/openmetrics/parser.py",
        package: "python3-prometheus-client",
        purpose: "reads figures strictly",
    },
    Needed {
        file: "tmux",
        package: "tmux",
        purpose: "is the terminal of top",
    },
    Needed {
        file: "g++",
        package: "g++",
        purpose: "builds the fuzz targets",
    },
    Needed {
        file: "fusermount3",
        package: "fuse3",
        purpose: "lets a user mount, as attackers do",
    },
];

/// Where Debian keeps an administrator's programs, libraries, and modules of Python.
const FOLDERS: &[&str] = &[
    "/usr/sbin",
    "/sbin",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/python3/dist-packages",
];

/// Installs what is missing if it may. Gives back a line for each program that is still missing.
pub(crate) fn install() -> Vec<String> {
    let missing: Vec<&Needed> = NEEDED.iter().filter(|n| !n.is_there()).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let packages: Vec<&str> = missing.iter().map(|needed| needed.package).collect();
    match may_install() {
        Ok(()) => apt_get_install(&packages),
        Err(why) => eprintln!("cannot install {}: {why}", packages.join(" ")),
    }
    let absent = missing.into_iter().filter(|needed| !needed.is_there());
    absent.map(Needed::complaint).collect()
}

fn may_install() -> Result<(), &'static str> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("this is no Debian (no apt-get)");
    }
    if !is_root() {
        return Err("only root may; run `sudo apt-get install` with these names");
    }
    Ok(())
}

/// `/proc/self` belongs to the user who runs us.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

fn apt_get_install(packages: &[&str]) {
    eprintln!("installs {}", packages.join(" "));
    let apt_get = || {
        let mut command = process::program("apt-get");
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(Stdio::null());
        command
    };
    let install = |command: &mut Command| {
        let options = ["install", "-y", "--no-install-recommends"];
        process::succeed(command.args(options).args(packages))
    };
    // The lists of a fresh machine are empty or old: fetch them once and try again.
    let outcome = install(&mut apt_get()).or_else(|_| {
        process::succeed(apt_get().arg("update"))?;
        install(&mut apt_get())
    });
    if let Err(error) = outcome {
        eprintln!("{error:#}");
    }
}

impl Needed {
    fn is_there(&self) -> bool {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let usual = FOLDERS.iter().map(Into::into);
        std::env::split_paths(&folders)
            .chain(usual)
            .any(|folder| folder.join(self.file).is_file())
    }

    fn complaint(&self) -> String {
        let Self {
            file,
            package,
            purpose,
        } = self;
        format!("no {file}, which {purpose}: apt-get install {package}")
    }
}
