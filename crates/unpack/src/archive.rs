//! The members of a tar archive, one after the other; nothing is written, so their names can do no
//! harm.

use std::io::{self, Read};

use tar::{Entry, EntryType, PaxExtensions};

use crate::among::tree_of;
use crate::intake::{Intake, Place, UnpackError};

/// Members that are looked at.
const MOST: usize = 200_000;

/// Archives within archives that are unpacked: `sos collect` packs one a host.
const DEEPEST: usize = 2;

/// Bytes of what stands before a member: its long name, its attributes.
const LONGEST_BEFORE: u64 = 256 << 10;

/// How an archive ended.
#[derive(Debug)]
pub enum End {
    /// After its last member.
    Whole,
    /// After as many as are looked at.
    TooMany,
    /// It is damaged behind a member.
    BreaksOff(io::Error),
}

/// Reads an archive.
///
/// # Errors
/// It is damaged before its first member, or holds too much.
pub(crate) fn read(
    intake: &mut Intake,
    reader: impl Read,
    depth: usize,
) -> Result<(), UnpackError> {
    let end = members(reader, MOST, &mut |entry, name, size| {
        member(intake, entry, name, size, depth)
    })?;
    match end {
        End::Whole => {}
        End::BreaksOff(error) => intake.breaks_off(&error),
        End::TooMany => {
            let why = format!("more than {MOST} members; the rest was not looked at");
            intake.pass("", why);
        }
    }
    Ok(())
}

/// What takes a regular file of an archive: its text, its name, its size.
pub type Take<'a, E> = &'a mut dyn FnMut(&mut dyn Read, &str, u64) -> Result<(), E>;

/// Gives the regular files among the first `most` members of an archive, in their order.
///
/// # Errors
/// It is damaged before its first member; those of `take`.
pub fn members<E: From<io::Error>>(
    reader: impl Read,
    most: usize,
    take: Take<'_, E>,
) -> Result<End, E> {
    let mut archive = tar::Archive::new(reader);
    let mut named = None;
    for (entry, before) in archive.entries()?.raw(true).zip(0_usize..) {
        let mut entry = match entry {
            _ if before == most => return Ok(End::TooMany),
            Err(error) if before > 0 => return Ok(End::BreaksOff(error)),
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
                take(&mut entry, &String::from_utf8_lossy(&name), size)?;
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => named = None,
        }
    }
    Ok(End::Whole)
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
///
/// # Errors
/// It holds more than is kept.
pub fn member(
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
