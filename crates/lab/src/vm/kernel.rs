//! Which kernel: this machine's, a stock one of Debian's, or any image.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use files::named;
use mm::stock::Stock;

use super::failed::failed;
use super::options::VmOptions;
use super::packages;
use answer::bench::{BenchError, Progress};
use answer::machine::DEFAULT_KERNEL;

/// A kernel's image has some 10 MiB; a larger file is something else.
const MOST_BYTES: u64 = 256 << 20;

/// What `--kernel` takes.
fn others() -> String {
    let names: Vec<&str> = Stock::spellings().collect();
    format!("say host, {} or the path of an image", names.join(", "))
}

/// A kernel as a user names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KernelChoice {
    /// The one this machine runs where its image is found, else Debian's [`DEFAULT_KERNEL`].
    #[default]
    Default,
    /// `host`: the one this machine runs.
    Host,
    /// `6.1` or `newest`: a stock kernel of Debian's, fetched once and kept.
    Stock(&'static Stock),
    /// The same by its line of releases, where Debian may have moved on since.
    Line(&'static Stock),
    /// The path of a bzImage.
    Image(PathBuf),
}

impl FromStr for KernelChoice {
    type Err = Infallible;

    /// Whatever is no other name is a path.
    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(match name {
            "host" => Self::Host,
            name => match Stock::named(name) {
                Some(stock) if stock.name == name => Self::Stock(stock),
                Some(stock) => Self::Line(stock),
                None => Self::Image(name.into()),
            },
        })
    }
}

/// A kernel that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    /// As `uname -r` prints it.
    pub release: String,
    /// Who built it and when, as the image says.
    pub build: String,
    pub image: PathBuf,
    /// `lib/modules/RELEASE`.
    pub modules: Option<PathBuf>,
    /// Where modules are built: it has the `Makefile` of the kernel's build.
    pub headers: Option<PathBuf>,
}

/// Finds the kernel, or fetches it.
///
/// # Errors
/// What was not found and the way out.
pub(super) fn resolve(
    options: &VmOptions,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Kernel, BenchError> {
    let mut kernel = match &options.kernel {
        KernelChoice::Host => of_this_machine()?,
        KernelChoice::Default => match of_this_machine() {
            Ok(kernel) => kernel,
            Err(_) => stock(default_stock(), cache, progress)?,
        },
        KernelChoice::Stock(row) => stock(row, cache, progress)?,
        KernelChoice::Line(row) => still_of(row, stock(row, cache, progress)?)?,
        KernelChoice::Image(path) => named(path)?,
    };
    if let Some(modules) = &options.modules {
        kernel.modules = Some(modules.clone());
        kernel.headers = directory(modules.join("build")).or(kernel.headers);
    }
    Ok(kernel)
}

fn default_stock() -> &'static Stock {
    Stock::named(DEFAULT_KERNEL).expect("the default is a row of the stock kernels")
}

fn stock(
    row: &Stock,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Kernel, BenchError> {
    under(&packages::stock(row, cache, progress)?)
}

/// Refuses a kernel that is not of the row's line any more.
fn still_of(row: &Stock, kernel: Kernel) -> Result<Kernel, BenchError> {
    match row.has(&kernel.release) {
        true => Ok(kernel),
        false => Err(BenchError::Unavailable(format!(
            "Debian's {} kernel is Linux {} and not {}: say --kernel {}, or name an image",
            row.name, kernel.release, row.line, row.name
        ))),
    }
}

fn of_this_machine() -> Result<Kernel, BenchError> {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let image = PathBuf::from(format!("/boot/vmlinuz-{release}"));
    found(image, Path::new("/")).map_err(|error| {
        BenchError::Unavailable(format!("this machine's kernel: {error}; {}", others()))
    })
}

/// The kernel of unpacked packages: one image in `boot`, or since 7.0 beside its modules.
fn under(root: &Path) -> Result<Kernel, BenchError> {
    let modules = root.join("usr/lib/modules");
    let releases = fs::read_dir(&modules).into_iter().flatten().flatten();
    let places = [root.join("boot")]
        .into_iter()
        .chain(releases.map(|entry| entry.path()));
    let image = places.into_iter().find_map(|place| image_in(&place));
    let missing = || BenchError::Failed(format!("{}: no vmlinuz in it", root.display()));
    found(image.ok_or_else(missing)?, root)
}

fn image_in(folder: &Path) -> Option<PathBuf> {
    let is_image = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b"vmlinuz")
    };
    let mut paths = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    paths.find(is_image)
}

/// An image anywhere; in a `boot` directory, its modules are looked for beside that.
fn named(path: &Path) -> Result<Kernel, BenchError> {
    if !path.exists() {
        let text = format!("kernel {}: no such file; {}", path.display(), others());
        return Err(BenchError::Unavailable(text));
    }
    if path.is_dir() {
        let text = format!("kernel {}: a directory; {}", path.display(), others());
        return Err(BenchError::Unavailable(text));
    }
    let root = path
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"));
    let kernel = found(path.to_owned(), root)?;
    match kernel.modules {
        Some(_) => Ok(kernel),
        None => found(path.to_owned(), Path::new("/")),
    }
}

fn found(image: PathBuf, root: &Path) -> Result<Kernel, BenchError> {
    let bytes = named::read(&image, MOST_BYTES).map_err(|error| failed(&image, &error))?;
    let (release, build) = version(&bytes).ok_or_else(|| {
        let text = format!(
            "{}: not a kernel image for x86 (a bzImage); {}",
            image.display(),
            others()
        );
        BenchError::Unavailable(text)
    })?;
    let places = ["lib/modules", "usr/lib/modules"].map(|place| root.join(place).join(&release));
    let modules = places.into_iter().find_map(directory);
    let built_in_place = directory(
        root.join("usr/src")
            .join(format!("linux-headers-{release}")),
    );
    let installed = modules
        .as_ref()
        .and_then(|modules| directory(modules.join("build")));
    Ok(Kernel {
        release,
        build,
        image,
        modules,
        headers: built_in_place.or(installed),
    })
}

fn directory(path: PathBuf) -> Option<PathBuf> {
    path.is_dir().then_some(path)
}

/// The release that a bzImage names and the rest of that text: Documentation/arch/x86/boot.rst,
/// `kernel_version`.
fn version(image: &[u8]) -> Option<(String, String)> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let pointer: [u8; 2] = image.get(0x20e..0x210)?.try_into().ok()?;
    let text = image.get(usize::from(u16::from_le_bytes(pointer)) + 0x200..)?;
    let end = text.iter().take(256).position(|byte| *byte == 0)?;
    let text = str::from_utf8(&text[..end]).ok()?;
    let (release, build) = text.split_once(' ').unwrap_or((text, ""));
    let plausible = release.starts_with(|c: char| c.is_ascii_digit()) && !release.contains('/');
    plausible.then(|| (release.to_owned(), build.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        bytes[0x300..0x300 + text.len()].copy_from_slice(text);
        bytes
    }

    #[test]
    fn an_image_names_its_release() {
        let text = b"6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP";
        let (release, build) = version(&image(text)).unwrap();
        assert_eq!(release, "6.1.0-56-cloud-amd64");
        assert_eq!(build, "(debian-kernel@lists.debian.org) #1 SMP");
        assert_eq!(version(&image(b"../../etc ")), None);
        assert_eq!(version(b"#!/bin/sh"), None);
        assert_eq!(version(&[]), None);
    }

    #[test]
    fn names_are_names_and_the_rest_are_paths() {
        let choice = |name: &str| name.parse::<KernelChoice>().unwrap();
        assert_eq!(choice("host"), KernelChoice::Host);
        for name in Stock::names() {
            assert_eq!(
                choice(name),
                KernelChoice::Stock(Stock::named(name).unwrap())
            );
        }
        let newest = Stock::named("newest").unwrap();
        assert_eq!(choice(newest.line), KernelChoice::Line(newest));
        assert_eq!(choice("6.5"), KernelChoice::Image("6.5".into()));
    }

    #[test]
    fn a_line_that_debian_has_left_is_refused_with_the_way_out() {
        let of = |release: &str| Kernel {
            release: release.into(),
            build: String::new(),
            image: PathBuf::new(),
            modules: None,
            headers: None,
        };
        let newest = Stock::named("newest").unwrap();
        let same = of(&format!("{}.4+deb13-cloud-amd64", newest.line));
        assert_eq!(still_of(newest, same.clone()).unwrap(), same);
        let error = still_of(newest, of("99.1.2")).unwrap_err().to_string();
        let expected = format!(
            "Debian's newest kernel is Linux 99.1.2 and not {}: say --kernel newest, or name an \
             image",
            newest.line
        );
        assert_eq!(error, expected);
    }

    #[test]
    fn modules_and_headers_lie_beside_the_image() {
        let root = tempfile::tempdir().unwrap();
        let modules = root.path().join("lib/modules/6.1.0-56");
        let headers = root.path().join("usr/src/linux-headers-6.1.0-56");
        for directory in [&modules, &headers, &root.path().join("boot")] {
            fs::create_dir_all(directory).unwrap();
        }
        let path = root.path().join("boot/vmlinuz-6.1.0-56");
        fs::write(&path, image(b"6.1.0-56 (x)")).unwrap();
        let kernel = named(&path).unwrap();
        assert_eq!(kernel, under(root.path()).unwrap());
        assert_eq!(
            (kernel.modules, kernel.headers),
            (Some(modules), Some(headers))
        );
    }

    #[test]
    fn what_is_no_kernel_is_refused_in_one_line() {
        let error = named(Path::new("6.5")).unwrap_err().to_string();
        assert_eq!(error, format!("kernel 6.5: no such file; {}", others()));
        let error = named(Path::new("/bin")).unwrap_err().to_string();
        assert_eq!(error, format!("kernel /bin: a directory; {}", others()));
        let error = named(Path::new("/bin/sh")).unwrap_err().to_string();
        let what = "/bin/sh: not a kernel image for x86 (a bzImage)";
        assert_eq!(error, format!("{what}; {}", others()));
    }
}
