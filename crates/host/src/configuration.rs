//! The configuration of this machine: the files of [`conf::places::WHERE`] as a tree of texts.
//!
//! Links are kept as links, and what they lead to is handed over under its own path; one that leads
//! to a device, a pipe or a directory out of the list is not opened. Whoever reads another root
//! stays in it: a link to `/etc` is the root's own.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use conf::places::{Place, Take, WHERE};
use conf::{Entry, Tree};

use crate::Root;

/// The longest file that is handed over, in bytes.
const LONGEST: u64 = 1 << 20;

/// All files together, in bytes; those beyond are named as not read.
const MOST: u64 = 64 << 20;

/// Names that are taken of one directory.
const MOST_NAMES: usize = 4096;

/// Directories below one another that [`Take::All`] goes down.
const DEEPEST: usize = 4;

/// Links that are followed on the way to a file; the kernel allows as many.
const MOST_LINKS: usize = 40;

/// The configuration of the machine with this root. What cannot be read is in the tree, with the
/// reason; what is not there is not.
#[must_use]
pub fn read(root: &Root) -> Tree {
    read_places(root, WHERE)
}

/// The same for places of the caller's choice.
#[must_use]
pub fn read_places(root: &Root, places: &[Place]) -> Tree {
    let mut reader = Reader {
        root,
        tree: Tree::default(),
        bytes: 0,
        seen: BTreeSet::new(),
    };
    for place in places {
        reader.take(place.path, place.take, 0);
    }
    reader.tree
}

struct Reader<'a> {
    root: &'a Root,
    tree: Tree,
    bytes: u64,
    /// Files that were read, and directories that were listed.
    seen: BTreeSet<String>,
}

impl Reader<'_> {
    fn take(&mut self, path: &str, take: Take, depth: usize) {
        if path.starts_with("proc/") {
            return self.kernel_file(path);
        }
        let Some(real) = self.follow(path) else {
            return;
        };
        let Ok(metadata) = fs::symlink_metadata(self.root.join(&real)) else {
            return;
        };
        match take {
            _ if metadata.is_dir() && matches!(take, Take::File | Take::Presence) => {
                self.tree.put(&real, Entry::Directory);
            }
            Take::Presence => self.tree.put(&real, Entry::File(String::new())),
            _ if metadata.is_dir() => self.directory(&real, take, depth),
            _ if metadata.is_file() => self.file(&real),
            _ => {}
        }
    }

    /// A file of the kernel, which looking at must not change anything.
    fn kernel_file(&mut self, path: &str) {
        match self.root.look(path) {
            Ok(text) => self.tree.put(path, Entry::File(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.tree.put(path, Entry::Unreadable(why(&error))),
        }
    }

    /// Where a path leads. Every link on the way goes into the tree; none where it leads nowhere,
    /// or to a device.
    fn follow(&mut self, path: &str) -> Option<String> {
        let mut links = 0;
        let mut at: Vec<String> = Vec::new();
        let mut todo: Vec<String> = parts(path);
        while let Some(part) = todo.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            at.push(part);
            let here = at.join("/");
            if here == "dev" || here == "proc" || here == "sys" {
                return None;
            }
            let Ok(to) = fs::read_link(self.root.join(&here)) else {
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            let to = to.to_string_lossy().into_owned();
            at.pop();
            if to.starts_with('/') {
                at.clear();
            }
            todo.extend(parts(&to));
            self.tree.put(&here, Entry::Link(to));
        }
        Some(at.join("/"))
    }

    fn directory(&mut self, path: &str, take: Take, depth: usize) {
        if depth > DEEPEST || !self.seen.insert(path.to_owned()) {
            return;
        }
        let entries = match fs::read_dir(self.root.join(path)) {
            Ok(entries) => entries,
            Err(error) => return self.tree.put(path, Entry::Unreadable(why(&error))),
        };
        self.tree.put(path, Entry::Directory);
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(MOST_NAMES).collect();
        names.sort_unstable();
        for name in names {
            let below = format!("{path}/{name}");
            let is_directory = self.root.is_directory(&below);
            match take {
                Take::All => self.take(&below, take, depth + 1),
                _ if is_directory => self.take(&below, Take::File, depth + 1),
                _ => self.take(&below, take, depth + 1),
            }
        }
    }

    fn file(&mut self, path: &str) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        let entry = match self.text(path) {
            Ok(text) => Entry::File(text),
            Err(error) => Entry::Unreadable(why(&error)),
        };
        self.tree.put(path, entry);
    }

    fn text(&mut self, path: &str) -> io::Result<String> {
        let length = fs::metadata(self.root.join(path))?.len();
        if length > LONGEST || self.bytes + length > MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes += length;
        self.root.read(path)
    }
}

/// The components of a path that say something, the last one first.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split('/').rev();
    let parts = parts.filter(|part| !matches!(*part, "" | "."));
    parts.map(str::to_owned).collect()
}

/// Why a file cannot be read, in the system's words without its number.
fn why(error: &io::Error) -> String {
    error.kind().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::root::testing;
    use conf::Found;

    fn read_files(directory: &'static str, root: &Root) -> Tree {
        let take = Take::Files;
        let path = directory;
        read_places(root, &[Place { path, take }])
    }

    #[test]
    fn links_are_kept_and_what_they_lead_to_is_read_within_the_root() {
        let (_directory, root) = testing::root(&[
            ("etc/sysctl.conf", "vm.swappiness = 1\n"),
            ("etc/sysctl.d/10.conf", "a = 1\n"),
            ("usr/lib/sysctl.d/50.conf", "b = 1\n"),
        ]);
        symlink("../sysctl.conf", root.join("etc/sysctl.d/99.conf")).expect("a link");
        symlink("/dev/null", root.join("etc/sysctl.d/50.conf")).expect("a link");
        symlink("/etc/no", root.join("etc/sysctl.d/60.conf")).expect("a link");
        symlink("usr/lib", root.join("lib")).expect("a link");
        let tree = read_files("etc/sysctl.d", &root);
        let text = |path| match tree.find(path) {
            Found::File { text, .. } => text,
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(text("etc/sysctl.d/99.conf"), "vm.swappiness = 1\n");
        assert_eq!(text("etc/sysctl.d/10.conf"), "a = 1\n");
        assert_eq!(tree.find("etc/sysctl.d/50.conf"), Found::Null);
        assert_eq!(tree.find("etc/sysctl.d/60.conf"), Found::Nothing);
        let tree = read_files("lib/sysctl.d", &root);
        assert_eq!(tree.list("lib/sysctl.d"), ["50.conf"]);
        assert_eq!(tree.entry("lib"), Some(&Entry::Link("usr/lib".into())));
    }

    #[test]
    fn what_is_too_long_or_endless_is_named_and_not_read() {
        let (_directory, root) = testing::root(&[("etc/sysctl.d/10.conf", "a = 1\n")]);
        let long = fs::File::create(root.join("etc/sysctl.d/20.conf")).expect("a file");
        long.set_len(LONGEST + 1).expect("its length");
        symlink("/dev/zero", root.join("etc/sysctl.d/30.conf")).expect("a link");
        symlink("40.conf", root.join("etc/sysctl.d/40.conf")).expect("a link");
        fs::create_dir(root.join("etc/sysctl.d/50.conf")).expect("a directory");
        let tree = read_files("etc/sysctl.d", &root);
        assert_eq!(
            tree.find("etc/sysctl.d/20.conf"),
            Found::Unreadable("file too large")
        );
        assert_eq!(tree.find("etc/sysctl.d/30.conf"), Found::Nothing);
        assert_eq!(tree.find("etc/sysctl.d/40.conf"), Found::Nothing);
        let directory = Found::Directory("etc/sysctl.d/50.conf".into());
        assert_eq!(tree.find("etc/sysctl.d/50.conf"), directory);
    }

    #[test]
    fn this_machine_has_a_configuration_that_its_loaders_read() {
        let (_directory, root) = testing::root(&[
            ("etc/sysctl.d/10.conf", "vm.swappiness = 1\n"),
            ("usr/lib/sysctl.d/50.conf", "vm.swappiness = 2\n"),
            ("etc/systemd/system/a.service.d/x/y.conf", ""),
            ("proc/cmdline", "quiet\n"),
            ("etc/shadow", "secret"),
        ]);
        let tree = read(&root);
        assert_eq!(tree.entry("etc/shadow"), None);
        assert_eq!(
            tree.entry("proc/cmdline"),
            Some(&Entry::File("quiet\n".into()))
        );
        assert_eq!(tree.list("etc/systemd/system/a.service.d/x"), ["y.conf"]);
        let live = conf::Live::default();
        let load = conf::sysctl_d::load(&tree, conf::sysctl_d::Loader::Systemd, &live);
        let values: Vec<&str> = load.writes.iter().map(|it| it.value.as_str()).collect();
        assert_eq!(values, ["2"]);
    }
}
