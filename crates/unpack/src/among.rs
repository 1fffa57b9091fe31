//! A file among others, which may have nothing to do with memory.

use std::io::{self, Read};

use evidence::command::Hint;
use evidence::{Reading, clean, heading, path};

use crate::intake::{Intake, LONGEST_FILE, LONGEST_LOG, Place, UnpackError, capture_in};

/// Bytes of a file of unknown name by which it is told.
const SNIFFED: u64 = 16 << 10;

/// The part of a name that the files of one machine share.
#[must_use]
pub fn tree_of(name: &str) -> &str {
    let sos = || name.find("sos_commands/").map(|at| &name[..at]);
    let known = path::known(name).map(|(tree, _)| tree);
    known.or_else(sos).unwrap_or_default().trim_matches('/')
}

impl Intake {
    /// A file among others: taken where its name or its beginning says that it is evidence. `tree`
    /// is the part of its name that the files of one machine share.
    ///
    /// # Errors
    /// There is more of it than is kept.
    pub fn among(
        &mut self,
        mut reader: impl Read,
        name: &str,
        tree: &str,
        size: u64,
    ) -> Result<(), UnpackError> {
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

    /// Notes where an archive is damaged.
    pub(crate) fn breaks_off(&mut self, error: &io::Error) {
        self.pass("", format!("the archive breaks off: {error}"));
    }

    /// Notes what is not taken, and why.
    pub fn pass(&mut self, name: &str, why: String) {
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
    hinted || capture_in(&text).is_some() || !evidence::split(&text, name).pieces.is_empty()
}
