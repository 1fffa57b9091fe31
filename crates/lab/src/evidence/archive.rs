//! The members of a tar archive, one after the other; nothing is written, so their names can do no
//! harm.

use std::io::Read;

use super::folder;
use super::intake::{EvidenceError, Intake, Place};

/// Members that are looked at.
const MOST: usize = 200_000;

/// Archives within archives that are unpacked: `sos collect` packs one a host.
const DEEPEST: usize = 2;

/// Reads an archive.
///
/// # Errors
/// It is damaged before its first member, or holds too much.
pub(super) fn read(
    intake: &mut Intake,
    reader: impl Read,
    depth: usize,
) -> Result<(), EvidenceError> {
    let mut archive = tar::Archive::new(reader);
    for (entry, before) in archive.entries()?.take(MOST).zip(0_usize..) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if before > 0 => {
                intake.breaks_off(&error);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let size = entry.size();
        member(intake, entry, &name, size, depth)?;
    }
    Ok(())
}

/// Takes one member, where its name or its beginning says that it is evidence.
fn member(
    intake: &mut Intake,
    entry: impl Read,
    name: &str,
    size: u64,
    depth: usize,
) -> Result<(), EvidenceError> {
    if is_archive(name) && depth < DEEPEST {
        return match intake.unpack(Box::new(entry), name, Place::Among, depth + 1) {
            Err(EvidenceError::Io(error)) => {
                intake.breaks_off(&error);
                Ok(())
            }
            other => other,
        };
    }
    intake.among(entry, name, folder::tree_of(name), size)
}

fn is_archive(name: &str) -> bool {
    let ends = [
        ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst", ".txz", ".gz", ".xz", ".zst",
    ];
    ends.iter().any(|end| name.ends_with(end))
}
