//! The only writer of a tunable: one write, read back.
//!
//! A write that the kernel accepts need not have happened: `vm.dirty_bytes` below two pages and
//! `ksm/pages_to_scan` under its advisor keep their old value without an error. So every write is
//! read back. Journal, rollback and exclusive partners are the business of whoever calls.

use std::fs;
use std::io::{self, Write as _};

use mm::catalogue::{self, SettingError, Tunable};
use mm::settings::Setting;

use crate::Root;
use crate::facts::place;
use mm::notes::Place;

/// A write that happened, in the file's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The value before.
    pub before: String,
    /// The value after.
    pub after: String,
}

/// Why a tunable was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The catalogue does not know the tunable, or the tunable does not take the value.
    #[error(transparent)]
    Invalid(#[from] SettingError),
    /// `vm.*` belongs to the whole machine, and a container must not change it for its neighbours.
    #[error("{setting}: not written from inside a container: it would change the whole machine")]
    Container {
        /// What was asked for.
        setting: Setting,
    },
    /// The file could not be read or written.
    #[error(
        "{setting}: /{path}: {}: {}",
        crate::root::reason(error),
        way_out(error)
    )]
    Refused {
        /// What was asked for.
        setting: Setting,
        /// The tunable's file, without the leading slash.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// The kernel took the write and holds another value.
    #[error(
        "{setting}: /{path}: the kernel took the write and holds {held}: {}",
        kept(before, held)
    )]
    NotTaken {
        /// What was asked for.
        setting: Setting,
        /// The tunable's file, without the leading slash.
        path: String,
        /// What it was before.
        before: String,
        /// What it is now.
        held: String,
    },
}

/// Writes a setting and reads it back.
///
/// It is written even where it is so already: some writes have effects of their own, as
/// `vm.watermark_scale_factor` recomputes the watermarks.
///
/// # Errors
/// A [`WriteError`]: the value is not there afterwards.
pub fn write(root: &Root, setting: &Setting) -> Result<Written, WriteError> {
    let named = catalogue::check(setting)?;
    let (tunable, path) = (named.tunable, named.path());
    if place(root) == Place::Container {
        return Err(WriteError::Container {
            setting: setting.clone(),
        });
    }
    let written =
        put(root, &path, tunable, &setting.value).map_err(|error| WriteError::Refused {
            setting: setting.clone(),
            path: path.clone(),
            error,
        })?;
    if tunable.means_same(&setting.value, &written.after) {
        return Ok(written);
    }
    Err(WriteError::NotTaken {
        setting: setting.clone(),
        path,
        before: written.before,
        held: written.after,
    })
}

/// Reads, writes, and reads again.
fn put(root: &Root, path: &str, tunable: &Tunable, value: &str) -> io::Result<Written> {
    let read = || root.read(path).map(|text| tunable.value_in(&text));
    let before = read()?;
    raw(root, path, value)?;
    Ok(Written {
        before,
        after: read()?,
    })
}

/// The whole value in one `write`, as the kernel's handlers want it.
pub(crate) fn raw(root: &Root, path: &str, value: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).truncate(true).open(root.join(path))?;
    file.write_all(format!("{value}\n").as_bytes())
}

/// What the error means for a tunable, and what to do.
pub(crate) fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "run as root",
        io::ErrorKind::NotFound => "this kernel has no such tunable",
        io::ErrorKind::InvalidInput => "the kernel refuses this value",
        io::ErrorKind::ReadOnlyFilesystem => "mounted read-only, as in a container",
        io::ErrorKind::ResourceBusy => "the kernel cannot change it now; try again",
        _ => "nothing was changed",
    }
}

fn kept(before: &str, held: &str) -> &'static str {
    if before == held {
        "it kept the old value, as it does with one it cannot use"
    } else {
        "it adjusted the value"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with one tunable's file.
    fn root(path: &str, text: &str) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
        fs::write(file, text).expect("a file");
        (directory, root)
    }

    fn setting(tunable: &str, value: &str) -> Setting {
        Setting {
            tunable: tunable.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn a_value_is_written_and_read_back() {
        let (_directory, root) = root("proc/sys/vm/swappiness", "60\n");
        let written = write(&root, &setting("vm.swappiness", "10")).expect("a plain file");
        assert_eq!(
            (written.before.as_str(), written.after.as_str()),
            ("60", "10")
        );
        assert_eq!(root.read("proc/sys/vm/swappiness").expect("there"), "10\n");
    }

    #[test]
    fn what_the_catalogue_refuses_is_not_written() {
        let (_directory, root) = root("proc/sys/vm/swappiness", "60\n");
        for (name, value) in [("vm.swapiness", "10"), ("vm.swappiness", "many")] {
            let error = write(&root, &setting(name, value)).expect_err("refused");
            assert!(matches!(error, WriteError::Invalid(_)), "{error}");
        }
        assert_eq!(root.read("proc/sys/vm/swappiness").expect("there"), "60\n");
    }

    #[test]
    fn a_kernel_without_the_tunable_is_named_in_one_line() {
        let (_directory, root) = root("proc/sys/vm/other", "1\n");
        let error = write(&root, &setting("vm.swappiness", "10")).expect_err("no file");
        assert_eq!(
            error.to_string(),
            "vm.swappiness = 10: /proc/sys/vm/swappiness: No such file or directory: \
             this kernel has no such tunable"
        );
    }

    #[test]
    fn a_value_that_the_kernel_drops_is_noticed() {
        // As vm.dirty_bytes is kept below two pages; no file does that.
        let error = |held: &str| {
            let not_taken = WriteError::NotTaken {
                setting: setting("vm.dirty_bytes", "8192"),
                path: "proc/sys/vm/dirty_bytes".to_owned(),
                before: "0".to_owned(),
                held: held.to_owned(),
            };
            not_taken.to_string()
        };
        assert!(error("0").contains("kept the old value"), "{}", error("0"));
        assert!(error("4096").contains("adjusted"), "{}", error("4096"));
    }

    #[test]
    fn a_devices_own_tunable_is_written_below_that_device() {
        let (_directory, root) = root("sys/block/sdb/bdi/max_ratio", "100\n");
        let written = write(&root, &setting("bdi.sdb.max_ratio", "5")).expect("a plain file");
        assert_eq!(written.after, "5");
        let error = write(&root, &setting("bdi.sdc.max_ratio", "5")).expect_err("no device");
        let said = error.to_string();
        assert!(said.contains("/sys/block/sdc/bdi/max_ratio"), "{said}");
    }

    #[test]
    fn nothing_is_written_from_inside_a_container() {
        let (_directory, root) = root("proc/sys/vm/swappiness", "60\n");
        fs::create_dir_all(root.join("proc/self/ns")).expect("a directory");
        let link = root.join("proc/self/ns/pid");
        std::os::unix::fs::symlink("pid:[4026532517]", link).expect("a link");
        let error = write(&root, &setting("vm.swappiness", "10")).expect_err("a container");
        assert!(matches!(error, WriteError::Container { .. }), "{error}");
        assert_eq!(root.read("proc/sys/vm/swappiness").expect("there"), "60\n");
    }
}
