//! The members of a tar archive, one after the other; nothing is written, so their names can do no
//! harm.

use std::io::Read;

use tar::{Entry, EntryType, PaxExtensions};

use crate::among::tree_of;
use crate::intake::{Intake, Place, UnpackError};

/// Members that are looked at.
const MOST: usize = 200_000;

/// Archives within archives that are unpacked: `sos collect` packs one a host.
const DEEPEST: usize = 2;

/// Bytes of what stands before a member: its long name, its attributes.
const LONGEST_BEFORE: u64 = 256 << 10;

/// Reads an archive.
///
/// # Errors
/// It is damaged before its first member, or holds too much.
pub(crate) fn read(
    intake: &mut Intake,
    reader: impl Read,
    depth: usize,
) -> Result<(), UnpackError> {
    let mut archive = tar::Archive::new(reader);
    let mut named = None;
    for (entry, before) in archive.entries()?.raw(true).zip(0_usize..) {
        let mut entry = match entry {
            _ if before == MOST => {
                let why = format!("more than {MOST} members; the rest was not looked at");
                intake.pass("", why);
                return Ok(());
            }
            Err(error) if before > 0 => {
                intake.breaks_off(&error);
                return Ok(());
            }
            entry => entry?,
        };
        match entry.header().entry_type() {
            EntryType::GNULongName | EntryType::XHeader => {
                named = name_of_next(&mut entry).or(named);
            }
            EntryType::Regular => {
                let name = named
                    .take()
                    .unwrap_or_else(|| entry.path_bytes().into_owned());
                let size = entry.size();
                member(intake, entry, &String::from_utf8_lossy(&name), size, depth)?;
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => named = None,
        }
    }
    Ok(())
}

/// The name that stands before the member it is for. The library reads it without bound.
fn name_of_next(entry: &mut Entry<'_, impl Read>) -> Option<Vec<u8>> {
    let kind = entry.header().entry_type();
    let mut bytes = Vec::new();
    // Where the archive breaks off here, the next member says so.
    entry.take(LONGEST_BEFORE).read_to_end(&mut bytes).ok()?;
    if kind == EntryType::GNULongName {
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.truncate(end.unwrap_or(bytes.len()));
        return Some(bytes);
    }
    let mut attributes = PaxExtensions::new(&bytes).filter_map(Result::ok);
    let path = attributes.find(|attribute| attribute.key_bytes() == b"path");
    path.map(|path| path.value_bytes().to_owned())
}

/// Takes one member, where its name or its beginning says that it is evidence.
fn member(
    intake: &mut Intake,
    entry: impl Read,
    name: &str,
    size: u64,
    depth: usize,
) -> Result<(), UnpackError> {
    if is_archive(name) && depth < DEEPEST {
        return match intake.unpack(Box::new(entry), name, Place::Among, depth + 1) {
            Err(UnpackError::Io(error)) => {
                intake.breaks_off(&error);
                Ok(())
            }
            other => other,
        };
    }
    intake.among(entry, name, tree_of(name), size)
}

fn is_archive(name: &str) -> bool {
    let ends = [
        ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst", ".txz", ".gz", ".xz", ".zst",
    ];
    ends.iter().any(|end| name.ends_with(end))
}
