//! The evidence of many machines: what in a folder or in an archive is of one host.
//!
//! Every entry of it is a host: a folder, an archive or a file. Where there is but one folder, its
//! entries are meant; a folder that has a machine's `proc`, `sys` or `sos_commands` is one host.
//! What is read of a host is bounded as it is for `inspect`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;
use std::path::{Path, PathBuf};

use files::{Folder, Kind, named};

use unpack::archive::{self, End};
use unpack::packed::{self, Form, Left};
use unpack::{Intake, UnpackError, tree_of};

use super::folder::is_machine;
use super::{EvidenceError, Found, read, read_folder, read_stream};

/// Hosts that are looked for in one folder or archive.
pub const MOST: usize = 100_000;

/// Members that are looked at in one archive: a sosreport has ten thousand.
const MEMBERS: usize = 4_000_000;

/// Bytes to which an archive of many hosts may expand, with all that is packed in it.
pub const ALL_EXPANDED: u64 = 64 << 30;

/// Folders that are gone down where each has but one.
const DEEPEST: usize = 16;

/// The evidence of one host.
#[derive(Debug)]
pub struct Host {
    /// Where it lies, for people.
    pub path: String,
    evidence: Evidence,
}

#[derive(Debug)]
enum Evidence {
    /// To be read where it lies.
    Whole(PathBuf),
    /// To be read from a folder that is held open.
    Entry(Folder, OsString, Kind),
    /// From an archive, whose members were read in their order.
    Read(Result<Found, EvidenceError>),
}

impl Host {
    /// What it holds.
    ///
    /// # Errors
    /// Those of [`read`].
    pub fn read(self) -> Result<Found, EvidenceError> {
        match self.evidence {
            Evidence::Whole(path) => read(&path),
            Evidence::Entry(folder, name, Kind::Folder) => read_folder(&folder.folder(name)?),
            Evidence::Entry(folder, name, _) => {
                read_stream(folder.entry(name)?.open()?, &self.path)
            }
            Evidence::Read(found) => found,
        }
    }

    /// Bytes that it holds in memory before it is read, as far as they count.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let Evidence::Read(Ok(found)) = &self.evidence else {
            return 0;
        };
        let files = found.frames.iter().flat_map(|frame| frame.files.values());
        files.map(|text| text.len() as u64).sum()
    }
}

/// What takes hosts, one after the other; `false` where it takes no more.
pub type Take<'a> = &'a mut dyn FnMut(Host) -> bool;

/// Finds the hosts of a folder, of an archive, or of one piece of evidence, in the order of their
/// names or of the archive.
///
/// # Errors
/// It cannot be read or listed, or an archive breaks off or holds too much; the hosts before that
/// were found.
pub fn each(path: &Path, take: Take<'_>) -> Result<(), EvidenceError> {
    if path.is_dir() {
        return in_folder(path, take);
    }
    match Outline::of(path)? {
        Some(outline) => in_archive(path, &outline, take),
        None => {
            take(whole(path));
            Ok(())
        }
    }
}

fn whole(path: &Path) -> Host {
    Host {
        path: path.display().to_string(),
        evidence: Evidence::Whole(path.to_owned()),
    }
}

/// How many hosts a place has; `None` where it is an archive, which has to be read for it, or
/// nothing that [`each`] reads.
#[must_use]
pub fn count(path: &Path) -> Option<usize> {
    if path.is_dir() {
        return match listing(path).ok()? {
            Listing::One(_) => Some(1),
            Listing::Entries(_, _, names) => Some(names.len()),
        };
    }
    let is_archive = || Some(open(path, &Left::of(ALL_EXPANDED)).ok()?.1 == Form::Tar);
    (path.is_file() && !is_archive()?).then_some(1)
}

fn in_folder(path: &Path, take: Take<'_>) -> Result<(), EvidenceError> {
    match listing(path)? {
        Listing::One(path) => {
            take(whole(&path));
        }
        Listing::Entries(folder, shown, names) => entries(&folder, &shown, names, take),
    }
    Ok(())
}

/// What a folder has.
enum Listing {
    One(PathBuf),
    Entries(Folder, PathBuf, Vec<(OsString, Kind)>),
}

fn listing(path: &Path) -> Result<Listing, EvidenceError> {
    let mut folder = Folder::at(path)?;
    let mut shown = path.to_owned();
    for _ in 0..DEEPEST {
        let mut names = folder.names(MOST + 1)?;
        if is_machine(&names) {
            return Ok(Listing::One(shown));
        }
        names.retain(|(name, _)| !name.as_encoded_bytes().starts_with(b"."));
        match &names[..] {
            [(name, Kind::Folder)] => {
                shown.push(name);
                folder = folder.folder(name)?;
            }
            [] => break,
            _ if names.len() > MOST => return Err(EvidenceError::TooMany(MOST, "hosts")),
            _ => return Ok(Listing::Entries(folder, shown, names)),
        }
    }
    Err(EvidenceError::Hosts("no host lies in it"))
}

fn entries(folder: &Folder, shown: &Path, mut names: Vec<(OsString, Kind)>, take: Take<'_>) {
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, kind) in names {
        let path = shown.join(&name).display().to_string();
        let evidence = Evidence::Entry(folder.clone(), name, kind);
        if !take(Host { path, evidence }) {
            return;
        }
    }
}

/// Where the hosts of an archive lie.
#[derive(Debug, Default)]
struct Outline {
    /// The folder in which all lie; `None` before the first member.
    within: Option<String>,
    /// Whether it holds one machine at its top.
    is_one: bool,
}

impl Outline {
    /// That of a file; `None` where it is no archive.
    fn of(path: &Path) -> Result<Option<Self>, EvidenceError> {
        let (reader, form) = open(path, &Left::of(ALL_EXPANDED))?;
        if form != Form::Tar {
            return Ok(None);
        }
        let mut outline = Self::default();
        archive::members(reader, MEMBERS, &mut |_, name, _| {
            outline.add(tidy(name));
            Ok::<_, EvidenceError>(())
        })?;
        Ok(Some(outline))
    }

    fn add(&mut self, name: &str) {
        let tree = tree_of(name);
        let is_known = evidence::path::known(name).is_some() || !tree.is_empty();
        self.is_one |= is_known && tree.is_empty();
        let unit = if tree.is_empty() { name } else { tree };
        let folder = unit.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.within = Some(match self.within.take() {
            None => folder.to_owned(),
            Some(within) => shared(&within, folder).to_owned(),
        });
    }

    /// The name of the host that a member belongs to, from the top of the archive.
    fn host<'a>(&self, name: &'a str) -> &'a str {
        let within = self.within.as_deref().unwrap_or_default();
        let before = match within.len() {
            0 => 0,
            length => length + 1,
        };
        let rest = name.get(before..).unwrap_or_default();
        let length = rest.find('/').unwrap_or(rest.len());
        &name[..(before + length).min(name.len())]
    }
}

/// The folders that two paths begin with.
fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = 0;
    let parts = one.split('/').zip(other.split('/'));
    for (part, _) in parts.take_while(|(part, same)| part == same) {
        end += part.len() + usize::from(end > 0);
    }
    &one[..end]
}

fn tidy(name: &str) -> &str {
    let name = name.trim_start_matches('/');
    name.strip_prefix("./").unwrap_or(name)
}

fn open(path: &Path, left: &Left) -> Result<(Box<dyn Read>, Form), EvidenceError> {
    let file = named::open(path)?;
    if file.kind != Kind::Regular {
        let why = "hosts are looked for in a folder or a regular file: it is read twice";
        return Err(EvidenceError::Hosts(why));
    }
    Ok(packed::open(Box::new(file), left)?)
}

fn in_archive(path: &Path, outline: &Outline, take: Take<'_>) -> Result<(), EvidenceError> {
    if outline.is_one {
        take(whole(path));
        return Ok(());
    }
    let left = Left::of(ALL_EXPANDED);
    let (reader, _) = open(path, &left)?;
    let mut open = Open {
        shown: path.display().to_string(),
        left,
        host: None,
        closed: HashSet::new(),
        take,
        goes_on: true,
    };
    let end = archive::members(reader, MEMBERS, &mut |entry, name, size| {
        let name = tidy(name);
        open.member(entry, name, outline.host(name), size);
        match open.goes_on {
            true => Ok(()),
            false => Err(EvidenceError::TooMany(MOST, "hosts")),
        }
    });
    open.close();
    match end {
        Err(_) if open.closed.len() <= MOST && !open.goes_on => Ok(()),
        Err(error) => Err(error),
        Ok(End::Whole) => Ok(()),
        Ok(End::BreaksOff(error)) => Err(error.into()),
        Ok(End::TooMany) => Err(EvidenceError::TooMany(MEMBERS, "members")),
    }
}

/// The host whose members are being read.
struct Open<'a> {
    shown: String,
    /// To what all may still expand.
    left: Left,
    host: Option<Reading>,
    /// Those that were read, by hash: a name may be long.
    closed: HashSet<u64>,
    take: Take<'a>,
    goes_on: bool,
}

struct Reading {
    name: String,
    intake: Intake,
    fault: Option<EvidenceError>,
}

impl Open<'_> {
    fn member(&mut self, entry: &mut dyn Read, name: &str, host: &str, size: u64) {
        if self.host.as_ref().is_none_or(|open| open.name != host) {
            self.close();
        }
        let last = host.rsplit('/').next().unwrap_or_default();
        let is_hidden = last.starts_with('.') && last != "..";
        if !self.goes_on || is_hidden || last.is_empty() {
            return;
        }
        let open = self.host.get_or_insert_with(|| Reading {
            name: host.to_owned(),
            intake: Intake::within(&self.left),
            fault: self.closed.contains(&hash(host)).then(apart),
        });
        if open.fault.is_none() {
            let intake = &mut open.intake;
            let read = match name == host {
                true => intake.stream(entry, name),
                false => archive::member(intake, entry, name, size, 0),
            };
            open.fault = read.err().map(UnpackError::into);
        }
    }

    fn close(&mut self) {
        let Some(host) = self.host.take() else {
            return;
        };
        self.closed.insert(hash(&host.name));
        let path = format!("{}: {}", self.shown, host.name);
        let found = match host.fault {
            Some(fault) => Err(fault),
            None => host.intake.found(host.name).map_err(UnpackError::into),
        };
        let evidence = Evidence::Read(found);
        self.goes_on &= (self.take)(Host { path, evidence }) && self.closed.len() <= MOST;
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

fn apart() -> EvidenceError {
    let why = "its files lie apart in the archive: unpack it, and give the folder";
    EvidenceError::Hosts(why)
}

#[cfg(test)]
mod tests;
