//! Which kernel: this machine's, a stock one of Debian's, or any image.

use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use files::named;
use mm::stock::Stock;

use super::options::VmOptions;
use super::packages;
use answer::bench::{BenchError, Progress};
use answer::machine::DEFAULT_KERNEL;

/// A kernel's image has some 10 MiB; a larger file is something else.
const MOST_BYTES: u64 = 256 << 20;

/// Length of the release that `uname` tells.
const MOST_OF_RELEASE: usize = 64;

/// What `--kernel` takes beside `host`.
fn others() -> String {
    let names: Vec<&str> = Stock::spellings().collect();
    format!("{} or the path of an image", names.join(", "))
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
    of_a_host(&uname.release().to_string_lossy(), Path::new("/"))
}

/// The running kernel of a host: distributions have the image in one of three places. One that may
/// not be read says more than those that are not there.
fn of_a_host(release: &str, root: &Path) -> Result<Kernel, BenchError> {
    let places = [
        format!("boot/vmlinuz-{release}"),
        format!("usr/lib/modules/{release}/vmlinuz"),
        format!("lib/modules/{release}/vmlinuz"),
    ];
    let places = places.map(|place| root.join(place));
    let mut why = None;
    for image in &places {
        match named::read(image, MOST_BYTES) {
            Ok(bytes) => return found(image, &bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => why = why.or_else(|| Some(unreadable(image, &error))),
        }
    }
    Err(why.unwrap_or_else(|| {
        let places = places.map(|place| place.display().to_string()).join(", ");
        let text = format!("this machine's kernel: no image of Linux {release} in {places}");
        BenchError::Unavailable(format!("{text}; say {}", others()))
    }))
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
    named(&image.ok_or_else(missing)?)
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

/// An image anywhere.
fn named(path: &Path) -> Result<Kernel, BenchError> {
    let bytes = named::read(path, MOST_BYTES).map_err(|error| unreadable(path, &error))?;
    found(path, &bytes)
}

/// Why an image cannot be read. Some distributions let only root read theirs.
fn unreadable(image: &Path, error: &io::Error) -> BenchError {
    let way_out = match error.kind() {
        ErrorKind::PermissionDenied => {
            "as root copy it to where you may read it, and give the copy's path to --kernel".into()
        }
        _ => format!("say host, {}", others()),
    };
    let why = match error.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => may_not_read(image),
        _ => error.to_string(),
    };
    BenchError::Unavailable(format!("kernel {}: {why}; {way_out}", image.display()))
}

/// Whose the image is and what its mode allows, as far as its folder may be searched.
fn may_not_read(image: &Path) -> String {
    fs::metadata(image).map_or_else(
        |_| "you may not search its folder".into(),
        |it| {
            let (mode, owner) = (it.mode() & 0o777, it.uid());
            format!("you may not read it (mode {mode:03o}, of user {owner})")
        },
    )
}

/// The kernel of an image, and what belongs to it: below the root that the image lies in, or below
/// that of this machine.
fn found(image: &Path, bytes: &[u8]) -> Result<Kernel, BenchError> {
    let unfit = |what: &str| {
        let text = format!("kernel {}: {what}; say host, {}", image.display(), others());
        BenchError::Unavailable(text)
    };
    let version = version(bytes);
    let (release, build) = version.ok_or_else(|| unfit("not an image for x86 (a bzImage)"))?;
    if (bytes.len() as u64) < length(bytes) {
        return Err(unfit("the image is cut short"));
    }
    // The nearest root, and this machine's last.
    let place = fs::canonicalize(image).unwrap_or_else(|_| image.to_owned());
    let below = |paths: &[String]| {
        let mut roots = place.ancestors().skip(1);
        roots.find_map(|root| paths.iter().find_map(|path| directory(root.join(path))))
    };
    let modules = below(&["lib", "usr/lib"].map(|lib| format!("{lib}/modules/{release}")));
    let headers = below(&[format!("usr/src/linux-headers-{release}")]);
    let built = modules.as_ref().map(|modules| modules.join("build"));
    Ok(Kernel {
        headers: headers.or_else(|| directory(built?)),
        release,
        build,
        image: image.to_owned(),
        modules,
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
    let of_release = |c: char| c.is_ascii_alphanumeric() || "._+~-".contains(c);
    let plausible = release.starts_with(|c: char| c.is_ascii_digit())
        && release.len() <= MOST_OF_RELEASE
        && release.chars().all(of_release)
        && !build.contains(char::is_control);
    plausible.then(|| (release.to_owned(), build.to_owned()))
}

/// The bytes of an image by its header: the first part in sectors, the other in units of 16 bytes
/// (`setup_sects` and `syssize` in the same document). A signature may follow.
fn length(image: &[u8]) -> u64 {
    let sectors = match image[0x1f1] {
        0 => 4,
        sectors => u64::from(sectors),
    };
    let size = image[0x1f4..0x1f8].try_into().map_or(0, u32::from_le_bytes);
    (sectors + 1) * 512 + u64::from(size) * 16
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn image(text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 5 * 512];
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
        assert_eq!(version(&image(&[b'6'; 64])).unwrap().0.len(), 64);
        assert_eq!(version(&image(&[b'6'; 65])), None);
        let odd = [
            "../../etc ",
            "6.1/2",
            "6.1\n ",
            "6.1\t (x)",
            "6.1\x1b[2J",
            "6.1\u{200b}",
            "6 \x1b",
        ];
        for text in odd {
            assert_eq!(version(&image(text.as_bytes())), None, "{text:?}");
        }
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

    /// A root with the image at this path, and with modules and headers of its release.
    fn root(image_at: &str, modules: &str) -> (tempfile::TempDir, Kernel) {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let image_at = at(image_at);
        let (modules, headers) = (at(modules), at("usr/src/linux-headers-6.1.0-56"));
        for directory in [&modules, &headers, &image_at.parent().unwrap().to_owned()] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(&image_at, image(b"6.1.0-56 (x)")).unwrap();
        let expected = Kernel {
            release: "6.1.0-56".into(),
            build: "(x)".into(),
            image: image_at,
            modules: Some(modules),
            headers: Some(headers),
        };
        (root, expected)
    }

    const DEBIAN: [&str; 2] = ["boot/vmlinuz-6.1.0-56", "lib/modules/6.1.0-56"];
    const FEDORA: [&str; 2] = [
        "usr/lib/modules/6.1.0-56/vmlinuz",
        "usr/lib/modules/6.1.0-56",
    ];

    #[test]
    fn modules_and_headers_lie_below_the_root_of_the_image() {
        for [image, modules] in [DEBIAN, FEDORA] {
            let (root, expected) = root(image, modules);
            assert_eq!(named(&expected.image).unwrap(), expected);
            assert_eq!(under(root.path()).unwrap(), expected);
            assert_eq!(of_a_host("6.1.0-56", root.path()).unwrap(), expected);
        }
    }

    #[test]
    fn an_image_in_a_folder_of_a_root_and_a_link_to_it_have_the_modules_of_that_root() {
        let (root, kernel) = root("boot/efi/6.1.0-56/linux", DEBIAN[1]);
        assert_eq!(named(&kernel.image).unwrap(), kernel);
        let link = tempfile::tempdir().unwrap().path().join("vmlinuz");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&kernel.image, &link).unwrap();
        let modules = named(&link).unwrap().modules;
        fs::remove_dir_all(link.parent().unwrap()).unwrap();
        assert_eq!(modules, kernel.modules);
        drop(root);
    }

    #[test]
    fn a_host_without_an_image_hears_where_it_was_looked_for() {
        let root = tempfile::tempdir().unwrap();
        let error = of_a_host("6.1", root.path()).unwrap_err().to_string();
        let at = |path: &str| root.path().join(path).display().to_string();
        let places = ["boot/vmlinuz-6.1", "usr/lib/modules/6.1/vmlinuz"].map(at);
        let what = format!("no image of Linux 6.1 in {}, ", places.join(", "));
        assert!(error.contains(&what), "{error}");
        assert!(error.ends_with(&others()), "{error}");
    }

    #[test]
    fn an_image_that_may_not_be_read_is_told_with_its_mode() {
        let (_root, kernel) = root(DEBIAN[0], DEBIAN[1]);
        let owner = fs::metadata(&kernel.image).unwrap().uid();
        fs::set_permissions(&kernel.image, fs::Permissions::from_mode(0o600)).unwrap();
        let error = unreadable(&kernel.image, &ErrorKind::PermissionDenied.into()).to_string();
        let expected = format!(
            "kernel {}: you may not read it (mode 600, of user {owner}); as root copy it to where \
             you may read it, and give the copy's path to --kernel",
            kernel.image.display()
        );
        assert_eq!(error, expected);
    }

    #[test]
    fn an_image_cut_short_is_refused() {
        let (_root, kernel) = root(DEBIAN[0], DEBIAN[1]);
        let whole = fs::read(&kernel.image).unwrap();
        for length in [whole.len() - 1, 0x400] {
            fs::write(&kernel.image, &whole[..length]).unwrap();
            let error = named(&kernel.image).unwrap_err().to_string();
            assert!(
                error.contains(": the image is cut short; say host"),
                "{error}"
            );
        }
        for length in 0..0x310 {
            fs::write(&kernel.image, &whole[..length]).unwrap();
            named(&kernel.image).unwrap_err();
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused_in_one_line() {
        let error = |path: &str| named(Path::new(path)).unwrap_err().to_string();
        for (path, why) in [
            ("6.5", "no such file"),
            ("/bin", "is a directory"),
            ("/bin/sh", "not an image for x86 (a bzImage)"),
        ] {
            assert_eq!(
                error(path),
                format!("kernel {path}: {why}; say host, {}", others())
            );
        }
    }
}
