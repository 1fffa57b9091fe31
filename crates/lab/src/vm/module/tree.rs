//! The modules of a kernel as they lie in its folder: which there are, and what each needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use files::named;
use mm::units::Bytes;

use super::{Module, Purpose};
use crate::vm::failed::failed;
use crate::vm::kernel::Kernel;
use answer::bench::BenchError;

/// What a VM may need of a kernel is a dozen modules of a few MiB. The bounds hold for what is read
/// until a module has all that it depends on, which bounds how deep the search goes as well.
const MOST_MODULES: usize = 100;
const MOST_TOGETHER: Bytes = Bytes(256 << 20);

/// `modules.builtin` has some 50 KiB.
const MOST_BUILT_IN: u64 = 16 << 20;

/// The modules of a kernel.
pub(super) struct Tree<'a> {
    kernel: &'a Kernel,
    /// Its folder.
    folder: &'a Path,
    /// The files by their normal names.
    files: BTreeMap<String, PathBuf>,
    /// The normal names of what could have been modules; `None` where no file says.
    built_in: Option<BTreeSet<String>>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(kernel: &'a Kernel) -> Result<Option<Self>, BenchError> {
        let Some(folder) = &kernel.modules else {
            return Ok(None);
        };
        Ok(Some(Self {
            kernel,
            folder,
            files: files(&folder.join("kernel")).map_err(|error| {
                let release = &kernel.release;
                let way_out = format!("give the folder lib/modules/{release} to --modules");
                BenchError::Failed(format!("{error}; {way_out}"))
            })?,
            built_in: built_in(&folder.join("modules.builtin"))?,
        }))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(&normal(name))
    }

    /// Adds a module behind those it depends on, unless it is built in. `users` are those that need
    /// it, each for the one before.
    pub(super) fn add(
        &self,
        name: &str,
        purpose: Purpose,
        users: &[&Module],
        modules: &mut Vec<Module>,
    ) -> Result<(), BenchError> {
        let Some(path) = self.files.get(&normal(name)) else {
            return self.built_in(name);
        };
        let of_path = plain_name(path);
        if modules.iter().any(|module| module.name == of_path) {
            return Ok(());
        }
        let refused = |why: String| BenchError::Failed(format!("{}: {why}", path.display()));
        if users.iter().any(|user| user.name == of_path) {
            let circle: Vec<&str> = users.iter().map(|user| &*user.name).collect();
            let circle = circle.join(", ");
            return Err(refused(format!(
                "it needs itself, by way of {circle}; install the kernel's modules again"
            )));
        }
        let module = Module::read(path, purpose)?;
        self.check_release(&module, path)?;
        let users = [users, &[&module]].concat();
        let read = || users.iter().copied().chain(modules.iter());
        let together: usize = read().map(|module| module.content.len()).sum();
        if read().count() > MOST_MODULES || together as u64 > MOST_TOGETHER.0 {
            return Err(refused(format!(
                "a VM loads up to {MOST_MODULES} modules of {MOST_TOGETHER} together: give \
                 another kernel to --kernel, or its modules to --modules"
            )));
        }
        for dependency in noted("depends", &module.content).split(',') {
            self.add(dependency, purpose, &users, modules)?;
        }
        modules.push(module);
        Ok(())
    }

    /// Refuses what is neither a module nor built in.
    pub(super) fn built_in(&self, name: &str) -> Result<(), BenchError> {
        let known = self.built_in.as_ref();
        if name.is_empty() || known.is_none_or(|names| names.contains(&normal(name))) {
            return Ok(());
        }
        Err(BenchError::Failed(format!(
            "Linux {} has no {name}, neither built in nor in {}: install the rest of its modules \
             or give another kernel to --kernel",
            self.kernel.release,
            self.folder.display()
        )))
    }

    /// A kernel loads no module of another: the first word of its `vermagic` is the release.
    fn check_release(&self, module: &Module, path: &Path) -> Result<(), BenchError> {
        let magic = noted("vermagic", &module.content);
        let of = magic.split(' ').next().unwrap_or_default();
        let wanted = &self.kernel.release;
        if of == wanted {
            return Ok(());
        }
        Err(BenchError::Failed(format!(
            "{}: a module of Linux {of}, and the kernel is Linux {wanted}: give the folder of its \
             own to --modules",
            path.display()
        )))
    }
}

/// The normal names that a `modules.builtin` lists, if there is one.
fn built_in(list: &Path) -> Result<Option<BTreeSet<String>>, BenchError> {
    let name = |line: &str| normal_name(Path::new(line));
    match named::text(list, MOST_BUILT_IN) {
        Ok(text) => Ok(Some(text.lines().filter_map(name).collect())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(list, &error)),
    }
}

/// The modules in a tree by their normal names.
fn files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, BenchError> {
    let mut files = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| failed(&directory, &error))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            } else if let Some(name) = normal_name(&path) {
                files.insert(name, path);
            }
        }
    }
    Ok(files)
}

/// The kernel takes `-` and `_` in a module's name for the same.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// A module's name by that of its file.
fn normal_name(path: &Path) -> Option<String> {
    plain_name(path).strip_suffix(".ko").map(normal)
}

/// The file's name without the ending of a compression.
pub(super) fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut endings = [".gz", ".xz", ".zst"].into_iter();
    let plain = endings.find_map(|ending| name.strip_suffix(ending));
    plain.unwrap_or(&name).to_owned()
}

/// What a module notes of itself, as in `depends=a,b` and `vermagic=6.1 SMP`.
fn noted(key: &str, module: &[u8]) -> String {
    let mark = format!("\0{key}=");
    let mut windows = module.windows(mark.len());
    let Some(at) = windows.position(|window| window == mark.as_bytes()) else {
        return String::new();
    };
    let value = module[at + mark.len()..].split(|byte| *byte == 0).next();
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}
