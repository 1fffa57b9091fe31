//! Reclaim of file pages on request: `memory.reclaim` of a control group, or the machine's nodes.
//!
//! Which files a kernel has, and whether they take `swappiness=0` (6.11), is found out by writing.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mm::units::Bytes;

/// A control group's file.
const GROUPS: &str = "memory.reclaim";
/// The folder of the machine's nodes.
const NODES: &str = "/sys/devices/system/node";

/// What is known of this kernel's ways.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reclaim {
    /// It does not know `swappiness=`.
    is_plain: bool,
    /// The machine's way, once it was found.
    machine: Option<Way>,
}

/// A way to reclaim from the whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    Root(PathBuf),
    Nodes(Vec<PathBuf>),
    None,
}

impl Reclaim {
    /// Reclaims from a group whose folder is `group`. That there was less to have is no error.
    pub(crate) fn group(&mut self, group: &Path, amount: Bytes) -> io::Result<()> {
        let file = group.join(GROUPS);
        if !self.is_plain {
            match put(&file, &files_only(amount)) {
                Err(error) if is_invalid(&error) => self.is_plain = true,
                done => return done,
            }
        }
        put(&file, &amount.0.to_string())
    }

    /// Whether the machine can be asked: for no bytes at all.
    pub(crate) fn has_machine(&mut self, cgroup2: Option<&Path>) -> bool {
        let asked = self.machine(cgroup2, Bytes::ZERO);
        !asked.is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
    }

    /// Reclaims from the machine; `Unsupported` where this kernel has no way that leaves anonymous
    /// memory alone. That there was less to have is no error.
    pub(crate) fn machine(&mut self, cgroup2: Option<&Path>, amount: Bytes) -> io::Result<()> {
        if self.machine.is_none() {
            self.machine = Some(find(cgroup2));
        }
        let done = match &self.machine {
            Some(Way::Root(file)) => put(file, &files_only(amount)),
            Some(Way::Nodes(files)) => {
                let each = Bytes(amount.0 / files.len().max(1) as u64);
                files
                    .iter()
                    .try_for_each(|file| put(file, &files_only(each)))
            }
            Some(Way::None) | None => Err(io::ErrorKind::Unsupported.into()),
        };
        match done {
            // A file that is there and takes no `swappiness=` would swap applications out.
            Err(error) if is_invalid(&error) || error.kind() == io::ErrorKind::NotFound => {
                let is_root = matches!(self.machine, Some(Way::Root(_)));
                self.machine = Some(if is_root { nodes() } else { Way::None });
                match is_root {
                    true => self.machine(cgroup2, amount),
                    false => Err(io::ErrorKind::Unsupported.into()),
                }
            }
            done => done,
        }
    }
}

fn find(cgroup2: Option<&Path>) -> Way {
    let root = cgroup2.map(|mount| mount.join(GROUPS));
    match root.filter(|file| file.exists()) {
        Some(file) => Way::Root(file),
        None => nodes(),
    }
}

fn nodes() -> Way {
    let entries = fs::read_dir(NODES).into_iter().flatten();
    let files = entries.filter_map(|entry| Some(entry.ok()?.path().join("reclaim")));
    let mut files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
    files.sort_unstable();
    match files.is_empty() {
        true => Way::None,
        false => Way::Nodes(files),
    }
}

fn files_only(amount: Bytes) -> String {
    format!("{} swappiness=0", amount.0)
}

/// One write; `EAGAIN` says that less was reclaimed than asked for.
fn put(file: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(file)?;
    match file.write(text.as_bytes()) {
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(()),
        done => done.map(drop),
    }
}

fn is_invalid(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_asked_for_file_pages_in_bytes() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join(GROUPS);
        fs::write(&file, "").expect("a file");
        let mut reclaim = Reclaim::default();
        reclaim
            .group(directory.path(), Bytes(4096))
            .expect("a write");
        assert_eq!(
            fs::read_to_string(file).expect("a file"),
            "4096 swappiness=0"
        );
        let gone = reclaim.group(&directory.path().join("gone"), Bytes(1));
        assert_eq!(gone.expect_err("gone").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_root_group_goes_before_the_nodes() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join(GROUPS);
        fs::write(&file, "").expect("a file");
        assert_eq!(find(Some(directory.path())), Way::Root(file));
    }
}
