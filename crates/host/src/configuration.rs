//! The configuration of this machine: the files of [`conf::places::WHERE`] as a tree of texts.
//!
//! Links are kept as links, and what they lead to is handed over under its own path; one that leads
//! to a device, a pipe or a directory out of the list is not opened. Whoever reads another root
//! stays in it: a link to `/etc` is the root's own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use conf::places::{Place, Take, WHERE};
use conf::{Entry, Tree};
use files::{Folder, Found, Kind};
use mm::text::weight;

use crate::{Root, root};

/// The longest file that is handed over, in bytes.
const LONGEST: u64 = 1 << 20;

/// All files together, by their [`weight`]; those beyond are named as not read.
pub const MOST: u64 = 16 << 20;

/// Names that are taken of one directory.
const MOST_NAMES: usize = 4096;

/// Directories below one another that [`Take::All`] goes down.
const DEEPEST: usize = 4;

/// Whose files are no configuration, and may act when they are read.
const KERNELS: [&str; 3] = ["dev", "proc", "sys"];

/// The configuration of the machine with this root. What cannot be read is in the tree, with the
/// reason; what is not there is not.
#[must_use]
pub fn read(root: &Root) -> Tree {
    read_places(root, WHERE)
}

/// The same for places of the caller's choice.
#[must_use]
pub fn read_places(root: &Root, places: &[Place]) -> Tree {
    let mut tree = Tree::default();
    let Ok(top) = root.folder() else {
        return tree;
    };
    let mut reader = Reader {
        root,
        top,
        tree: &mut tree,
        taken: 0,
        seen: BTreeSet::new(),
    };
    for place in places {
        match place.path.starts_with("proc/") {
            true => reader.kernel_file(place.path),
            false => reader.take(place.path, place.take, 0),
        }
    }
    tree
}

struct Reader<'a> {
    root: &'a Root,
    top: Folder,
    tree: &'a mut Tree,
    taken: u64,
    /// Files that were read, and directories that were listed.
    seen: BTreeSet<String>,
}

impl Reader<'_> {
    fn take(&mut self, path: &str, take: Take, depth: usize) {
        let Some((real, found)) = self.find(path) else {
            return;
        };
        // In a directory of files another one is only there.
        let is_listed = match take {
            Take::All => true,
            Take::Files => depth == 0,
            Take::File | Take::Presence => false,
        };
        match (take, found.kind()) {
            (_, Kind::Folder) if is_listed => self.directory(&real, found, take, depth),
            (_, Kind::Folder) => self.tree.put(&real, Entry::Directory),
            (Take::Presence, _) => self.tree.put(&real, Entry::File(String::new())),
            (_, Kind::Regular) => self.file(&real, &found),
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

    /// What a path leads to, under its own path. Every link on the way goes into the tree; none
    /// where it leads nowhere, or to the kernel's.
    fn find(&mut self, path: &str) -> Option<(String, Found)> {
        let mut followed = |link: &Path, to: &OsStr| {
            if let Some(link) = link.to_str() {
                let to = to.to_string_lossy().into_owned();
                self.tree.put(link, Entry::Link(to));
            }
        };
        let found = self.top.find_by(path, &mut followed).ok()?;
        let real = found.below().to_str()?.to_owned();
        let is_kernels = KERNELS.iter().any(|it| found.below().starts_with(it));
        (!is_kernels).then_some((real, found))
    }

    fn directory(&mut self, path: &str, found: Found, take: Take, depth: usize) {
        if depth > DEEPEST || !self.seen.insert(path.to_owned()) {
            return;
        }
        let names = found.into_folder().and_then(|it| it.names(MOST_NAMES));
        let names = match names {
            Ok(names) => names,
            Err(error) => return self.tree.put(path, Entry::Unreadable(why(&error))),
        };
        self.tree.put(path, Entry::Directory);
        for (name, _) in names {
            if let Some(name) = name.to_str() {
                self.take(&format!("{path}/{name}"), take, depth + 1);
            }
        }
    }

    fn file(&mut self, path: &str, found: &Found) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        let entry = match self.text(found) {
            Ok(text) => Entry::File(text),
            Err(error) => Entry::Unreadable(why(&error)),
        };
        self.tree.put(path, entry);
    }

    fn text(&mut self, found: &Found) -> io::Result<String> {
        let bytes = found.read(LONGEST)?;
        let taken = self.taken + weight(&bytes);
        if taken > MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.taken = taken;
        Ok(root::text(bytes))
    }
}

/// Why a file cannot be read, in the system's words without its number.
fn why(error: &io::Error) -> String {
    error.kind().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{Entry, LONGEST, Place, Root, Take, Tree, WHERE, read, read_places};
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
    fn no_link_of_an_image_leads_to_the_host_or_to_a_kernel_file() {
        let (_directory, root) = testing::root(&[
            ("etc/sysctl.d/10.conf", "a = 1\n"),
            ("proc/sys/vm/swappiness", "60\n"),
        ]);
        let host = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&host, "host\n").expect("a file");
        for (name, to) in [
            ("20.conf", host.path()),
            ("30.conf", Path::new("/proc/sys/vm/swappiness")),
        ] {
            symlink(to, root.join("etc/sysctl.d").join(name)).expect("a link");
        }
        let tree = read_files("etc/sysctl.d", &root);
        assert_eq!(tree.find("etc/sysctl.d/20.conf"), Found::Nothing);
        let of_machine = read_places(&Root::new(root.path()), WHERE);
        assert!(
            of_machine
                .entries()
                .all(|(_, entry)| *entry != Entry::File("host\n".into()))
        );
        assert_eq!(tree.find("etc/sysctl.d/30.conf"), Found::Nothing);
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
