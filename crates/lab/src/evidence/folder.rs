//! A folder and all below it: a tree of `/proc` and `/sys`, a sosreport, a folder of captures.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mm::evidence::command::Hint;
use mm::evidence::{self, Reading, clean, heading, path};

use super::intake::{EvidenceError, Intake, LONGEST_FILE, LONGEST_LOG, Place};

/// Entries that are looked at.
const MOST: usize = 200_000;

/// Bytes of a file of unknown name by which it is told.
const SNIFFED: u64 = 16 << 10;

/// File systems that the kernel makes, by their magic number (`statfs(2)`).
const LIVE: [(rustix::fs::FsWord, &str); 6] = [
    (0x9fa0, "/proc"),
    (0x6265_6572, "/sys"),
    (0x6367_7270, "control groups"),
    (0x0027_e0eb, "control groups"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
];

/// Reads a folder. `full` is its path from the root.
///
/// # Errors
/// It is a live one, or cannot be listed.
pub(super) fn read(intake: &mut Intake, folder: &Path, full: &Path) -> Result<(), EvidenceError> {
    if let Some(what) = is_live(full) {
        return Err(EvidenceError::Live(what));
    }
    let mut walk = vec![full.to_owned()];
    let mut looked = 0;
    fs::read_dir(folder)?;
    while let Some(below) = walk.pop() {
        let (folders, files) = listed(&below, &mut looked);
        // A stack gives back the last first.
        walk.extend(
            folders
                .into_iter()
                .rev()
                .filter(|folder| is_live(folder).is_none()),
        );
        for file in files {
            self::file(intake, &file, full)?;
        }
        if looked >= MOST {
            let mut reading = Reading::of(&folder.to_string_lossy());
            reading.pass(format!(
                "more than {MOST} files; the rest was not looked at"
            ));
            intake.readings.push(reading);
            break;
        }
    }
    Ok(())
}

/// The folders and the files in a folder, by name. Links, pipes and devices are left out.
fn listed(folder: &Path, looked: &mut usize) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        *looked += 1;
        if *looked >= MOST {
            break;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(entry.path()),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    folders.sort();
    files.sort();
    (folders, files)
}

fn file(intake: &mut Intake, file: &Path, root: &Path) -> Result<(), EvidenceError> {
    let name = file.to_string_lossy();
    let root = root.to_string_lossy();
    let tree = tree_of(&name);
    let tree = tree
        .strip_prefix(root.trim_matches('/'))
        .unwrap_or_default();
    let size = fs::metadata(file).map_or(0, |kind| kind.len());
    match File::open(file) {
        Ok(reader) => intake.among(reader, &name, tree.trim_matches('/'), size),
        Err(error) => {
            if path::known(&name).is_some() {
                let mut reading = Reading::of(&name);
                reading.pass(format!("cannot be read: {error}"));
                intake.readings.push(reading);
            }
            Ok(())
        }
    }
}

/// The part of a name that the files of one machine share.
pub(super) fn tree_of(name: &str) -> &str {
    let sos = || name.find("sos_commands/").map(|at| &name[..at]);
    let known = path::known(name).map(|(tree, _)| tree);
    known.or_else(sos).unwrap_or_default().trim_matches('/')
}

/// The file system of the kernel that a path lies on.
pub(super) fn is_live(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
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
            let mut reading = Reading::of(name);
            reading.pass(format!("longer than {} MiB", longest >> 20));
            self.readings.push(reading);
            return Ok(());
        }
        let before = self.readings.len();
        self.plain(io::Cursor::new(head).chain(reader), name, Place::Among)?;
        self.readings[before..]
            .iter_mut()
            .for_each(|reading| tree.clone_into(&mut reading.tree));
        Ok(())
    }

    /// Notes where an archive is damaged.
    pub(super) fn breaks_off(&mut self, error: &io::Error) {
        let mut reading = Reading::of("");
        reading.pass(format!("the archive breaks off: {error}"));
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
