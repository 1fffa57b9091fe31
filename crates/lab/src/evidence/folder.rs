//! A folder and all below it: a tree of `/proc` and `/sys`, a sosreport, a folder of captures.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use evidence::command::Hint;
use evidence::{Reading, clean, heading, path};
use files::{Folder, Found, Kind};
use rustix::fs::FsWord;

use super::intake::{EvidenceError, Intake, LONGEST_FILE, LONGEST_LOG, Place};

/// Entries that are looked at.
const MOST: usize = 200_000;

/// Bytes of a file of unknown name by which it is told.
const SNIFFED: u64 = 16 << 10;

/// Files in which a machine calls itself by its name. Their names only tell whose evidence it is.
const NAMES_A_HOST: [&str; 3] = [
    "proc/sys/kernel/hostname",
    "etc/hostname",
    "sos_commands/host/hostname",
];

/// Bytes of such a file: `HOST_NAME_MAX` and what may follow.
const LONGEST_NAME: u64 = 255;

/// File systems that the kernel makes, by their magic number (`statfs(2)`).
const LIVE: [(FsWord, &str); 6] = [
    (0x9fa0, "/proc"),
    (0x6265_6572, "/sys"),
    (0x6367_7270, "control groups"),
    (0x0027_e0eb, "control groups"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
];

/// Reads a folder. `full` is its path from the root, by which its files are called.
///
/// # Errors
/// It is a live one, or cannot be listed.
pub(super) fn read(intake: &mut Intake, top: &Folder, full: &Path) -> Result<(), EvidenceError> {
    if let Some(what) = is_live(top) {
        return Err(EvidenceError::Live(what));
    }
    top.names(0)?;
    let mut walk = vec![PathBuf::new()];
    let mut looked = 0;
    while let Some(below) = walk.pop() {
        let Some(folder) = next(intake, top, &below) else {
            continue;
        };
        let names = folder.names(MOST - looked).unwrap_or_default();
        looked += names.len();
        let (folders, files) = sorted(names);
        // A stack gives back the last first.
        walk.extend(folders.into_iter().rev().map(|name| below.join(name)));
        for name in files {
            if let Ok(found) = folder.entry(&name) {
                file(intake, &found, &full.join(&below).join(name), full)?;
            }
        }
        if looked >= MOST {
            let why = format!("more than {MOST} files; the rest was not looked at");
            intake.pass(&full.to_string_lossy(), why);
            break;
        }
    }
    Ok(())
}

/// A folder to be looked at: not a live one, nor one that the system refuses.
fn next(intake: &mut Intake, top: &Folder, below: &Path) -> Option<Folder> {
    let folder = top.folder(below);
    if let Err(error) = &folder
        && error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
    {
        intake.pass(
            "",
            "folders too deep below one another are not looked at".to_owned(),
        );
    }
    folder.ok().filter(|folder| is_live(folder).is_none())
}

/// The folders and the files among names. Links, pipes and devices are left out.
fn sorted(names: Vec<(OsString, Kind)>) -> (Vec<OsString>, Vec<OsString>) {
    let of = |wanted: Kind| {
        let names = names.iter().filter(move |(_, kind)| *kind == wanted);
        names.map(|(name, _)| name.clone()).collect()
    };
    (of(Kind::Folder), of(Kind::Regular))
}

fn file(intake: &mut Intake, found: &Found, name: &Path, root: &Path) -> Result<(), EvidenceError> {
    let name = name.to_string_lossy();
    let root = root.to_string_lossy();
    let tree = tree_of(&name);
    let tree = tree
        .strip_prefix(root.trim_matches('/'))
        .unwrap_or_default();
    match found.open() {
        Ok(reader) => intake.among(reader, &name, tree.trim_matches('/'), found.size()),
        Err(error) => {
            if path::known(&name).is_some() {
                intake.pass(&name, format!("cannot be read: {error}"));
            }
            Ok(())
        }
    }
}

/// Whether a folder of these entries is that of one machine.
pub(super) fn is_machine(names: &[(OsString, Kind)]) -> bool {
    let tops = ["proc", "sys", "sos_commands"];
    let mut folders = names.iter().filter(|(_, kind)| *kind == Kind::Folder);
    folders.any(|(name, _)| tops.iter().any(|top| name == top))
}

/// The part of a name that the files of one machine share.
pub(super) fn tree_of(name: &str) -> &str {
    let sos = || name.find("sos_commands/").map(|at| &name[..at]);
    let known = path::known(name).map(|(tree, _)| tree);
    known.or_else(sos).unwrap_or_default().trim_matches('/')
}

/// Whether a name is this path, or ends in it.
fn ends_in(name: &str, path: &str) -> bool {
    let before = name.strip_suffix(path);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The file system of the kernel that a folder lies on.
fn is_live(folder: &Folder) -> Option<&'static str> {
    live(rustix::fs::fstatfs(folder.fd()).ok()?.f_type)
}

/// The file system of the kernel with this number.
pub(super) fn live(kind: FsWord) -> Option<&'static str> {
    let live = LIVE.iter().find(|(magic, _)| *magic == kind);
    live.map(|(_, what)| *what)
}

impl Intake {
    /// A file among others: taken where its name or its beginning says that it is evidence.
    pub(super) fn among(
        &mut self,
        mut reader: impl Read,
        name: &str,
        tree: &str,
        size: u64,
    ) -> Result<(), EvidenceError> {
        if NAMES_A_HOST.iter().any(|path| ends_in(name, path)) {
            return self.name_of_host(reader);
        }
        let known = path::known(name).is_some();
        let longest = if known { LONGEST_FILE } else { LONGEST_LOG };
        let mut head = Vec::new();
        if let Err(error) = reader.by_ref().take(SNIFFED).read_to_end(&mut head) {
            self.breaks_off(&error);
            return Ok(());
        }
        if !(known || is_evidence(&head, name)) {
            self.unknown += 1;
            return Ok(());
        }
        if size > longest {
            self.pass(name, format!("longer than {} MiB", longest >> 20));
            return Ok(());
        }
        let before = self.readings.len();
        self.plain(io::Cursor::new(head).chain(reader), name, Place::Among)?;
        self.readings[before..]
            .iter_mut()
            .for_each(|reading| tree.clone_into(&mut reading.tree));
        Ok(())
    }

    /// What the machine calls itself; the first file that says it counts.
    fn name_of_host(&mut self, reader: impl Read) -> Result<(), EvidenceError> {
        let mut text = String::new();
        let read = reader.take(LONGEST_NAME).read_to_string(&mut text);
        let name = text.trim();
        if read.is_ok() && !name.is_empty() && self.host.is_none() {
            self.host = Some(name.to_owned());
        }
        Ok(())
    }

    /// Notes where an archive is damaged.
    pub(super) fn breaks_off(&mut self, error: &io::Error) {
        self.pass("", format!("the archive breaks off: {error}"));
    }

    /// Notes what is not taken, and why.
    pub(super) fn pass(&mut self, name: &str, why: String) {
        let mut reading = Reading::of(name);
        reading.pass(why);
        self.readings.push(reading);
    }
}

/// Whether a file of unknown path is evidence, by its name or its first bytes.
fn is_evidence(head: &[u8], name: &str) -> bool {
    if !clean::is_text(head) {
        return false;
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    let logs = [
        "dmesg", "journal", "messages", "syslog", "kern.log", "boot.msg",
    ];
    if logs.iter().any(|log| base.contains(log)) {
        return true;
    }
    let (text, _) = clean::decode(head);
    let hinted = !matches!(heading::of_name(name), Hint::None | Hint::Other);
    hinted
        || super::intake::capture_in(&text).is_some()
        || !evidence::split(&text, name).pieces.is_empty()
}
