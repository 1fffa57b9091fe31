//! Kernel modules of our own: one file of C, built for a kernel when it is first needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mm::stock::Stock;

use super::failed::failed;
use super::kernel::Kernel;
use super::tools;
use answer::bench::{BenchError, Progress};

/// The disk module.
pub(super) const DISK: Source<'static> = Source {
    name: "plimsoll_disk",
    text: include_str!("../../../../disk-module/plimsoll_disk.c"),
    makefile: include_str!("../../../../disk-module/Makefile"),
};
/// A module of one file of C, which is built for each kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// Its name, without an ending.
    pub name: &'a str,
    /// The C.
    pub text: &'a str,
    /// What the kernel's build is told.
    pub makefile: &'a str,
}

/// Tells one version of the disk module from another.
pub(super) fn fingerprint() -> u64 {
    DISK.fingerprint()
}

impl Source<'_> {
    /// The module, built unless it was built before.
    ///
    /// # Errors
    /// That the kernel's headers or the compiler are missing, or what the compiler said.
    pub(super) fn built(
        &self,
        kernel: &Kernel,
        cache: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, BenchError> {
        let key = format!("{}-{:016x}", kernel.release, self.fingerprint());
        let built = cache.join("modules").join(key);
        let path = built.join(format!("{}.ko", self.name));
        if !path.exists() {
            let text = format!("builds {} for Linux {}", self.name, kernel.release);
            progress(Progress::Stage(text));
            build(self, kernel, &built)?;
        }
        Ok(path)
    }

    /// Tells one version of it from another (FNV-1a).
    fn fingerprint(&self) -> u64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let bytes = self.text.bytes().chain(self.makefile.bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, step)
    }
}

fn build(source: &Source<'_>, kernel: &Kernel, destination: &Path) -> Result<(), BenchError> {
    let headers = kernel.headers.as_ref().ok_or_else(|| no_headers(kernel))?;
    let make = tools::find("make", "make")?;
    let parent = destination.parent().expect("a path inside the cache");
    fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    let place = tempfile::tempdir_in(parent).map_err(|error| failed(parent, &error))?;
    let code = format!("{}.c", source.name);
    for (name, text) in [(code.as_str(), source.text), ("Makefile", source.makefile)] {
        let path = place.path().join(name);
        fs::write(&path, text).map_err(|error| failed(&path, &error))?;
    }
    let mut command = Command::new(make);
    command
        .arg("-s")
        .arg("-C")
        .arg(headers)
        .arg(format!("M={}", place.path().display()));
    // Type information for BPF needs one more program and nobody reads it.
    command
        .args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
        .args(compiler(headers)?);
    tools::run(&mut command)?;
    fs::create_dir_all(destination).map_err(|error| failed(destination, &error))?;
    let module = format!("{}.ko", source.name);
    let path = destination.join(&module);
    fs::rename(place.path().join(&module), &path).map_err(|error| failed(&path, &error))
}

/// The default compiler in place of the kernel's own, which may have known an option more.
const DEFAULT_COMPILER: &[&str] = &["CC=gcc", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT="];

/// Debian's headers name the compiler of the kernel; where it is not installed, the default one is
/// near enough for a module.
fn compiler(headers: &Path) -> Result<&'static [&'static str], BenchError> {
    let variables = fs::read_to_string(headers.join(".kernelvariables")).unwrap_or_default();
    let named = variables.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let named = named
        .into_iter()
        .find(|word| word.starts_with("gcc-"))
        .unwrap_or("gcc");
    if tools::on_path(named).is_some() {
        return Ok(&[]);
    }
    tools::find("gcc", "gcc").map(|_| DEFAULT_COMPILER)
}

/// Not where they would come from: Debian keeps images of kernels whose headers are gone.
fn no_headers(kernel: &Kernel) -> BenchError {
    let (release, all) = (&kernel.release, Stock::spellings().collect::<Vec<_>>());
    BenchError::Unavailable(format!(
        "virtual time needs the headers of Linux {release}, as in /lib/modules/{release}/build: \
         install them where your distribution has them, use --clock wall, or a stock kernel, which \
         comes with its own (--kernel {})",
        all.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_headers_the_way_out_is_told() {
        let root = tempfile::tempdir().unwrap();
        let kernel = Kernel {
            release: "6.1".into(),
            build: String::new(),
            image: root.path().join("boot/vmlinuz"),
            modules: None,
            headers: None,
        };
        let error = DISK.built(&kernel, root.path(), &mut |_| ()).unwrap_err();
        let ways = "where your distribution has them, use --clock wall, or a stock kernel";
        assert!(error.to_string().contains(ways), "{error}");
        assert!(!error.to_string().contains("apt-get"), "{error}");
    }
}
