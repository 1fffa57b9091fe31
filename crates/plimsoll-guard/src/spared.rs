//! Files that are never locked: those that the configuration excepts, and those of groups with a
//! limit, beyond a quarter of that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use guard::File;
use host::mounts::Local;
use host::units;
use mm::units::{Bytes, Nanos};

use crate::charged::{self, Charged, Group};
use crate::locks::{Locks, Seen};
use crate::log;
use crate::mounts::Mounts;

/// What may be locked of a group's limit is one part of this many.
const PARTS: u64 = 4;
/// A file that was spared is not looked at again for this time.
const AGAIN: Nanos = Nanos(60 * Nanos::SECOND.0);
/// Files that are remembered at most.
const FILES_MAX: usize = 2048;

/// What is spared.
#[derive(Debug)]
pub(crate) struct Spared {
    /// As the configuration names it, links followed; and units by their names.
    except: Vec<PathBuf>,
    /// `None` where the kernel does not tell whose a page is.
    pub(crate) charged: Option<Charged>,
    /// Until when files are spared.
    until: BTreeMap<File, Nanos>,
    /// Sizes of files that may be locked, and the groups against whose limits they count.
    limited: BTreeMap<File, (Bytes, Vec<u64>)>,
    /// Groups that were read since [`Spared::forget`], by their inode numbers.
    groups: BTreeMap<u64, Option<Group>>,
    /// Groups that were told of.
    said: BTreeSet<String>,
}

impl Spared {
    pub(crate) fn new(except: &[String]) -> Self {
        // A link that the configuration names is meant.
        let local = Local::now().ok();
        let real = |name: &String| {
            let path = PathBuf::from(name);
            let found = local.as_ref().and_then(|local| local.find(&path).ok());
            found.and_then(|found| found.path().ok()).unwrap_or(path)
        };
        Self {
            except: except.iter().map(real).collect(),
            charged: Charged::new(),
            until: BTreeMap::new(),
            limited: BTreeMap::new(),
            groups: BTreeMap::new(),
            said: BTreeSet::new(),
        }
    }

    /// Forgets files that are not locked any more, a while after they were looked at, and what
    /// limits groups had.
    pub(crate) fn forget(&mut self, locks: &Locks) {
        self.groups.clear();
        self.limited.retain(|file, _| locks.has(*file));
    }

    /// Whether it is known that a file is spared, without a look at it.
    pub(crate) fn knows(&self, file: File, now: Nanos) -> bool {
        self.until.get(&file).is_some_and(|until| now < *until)
    }

    /// Whether an open file of this size is spared.
    pub(crate) fn spares(
        &mut self,
        file: File,
        (open, size): (&fs::File, Bytes),
        seen: Seen,
        mounts: &Mounts,
    ) -> bool {
        let group = seen.group.and_then(|inode| {
            let read = || charged::group(inode, mounts);
            self.groups.entry(inode).or_insert_with(read).clone()
        });
        self.limited.remove(&file);
        let is_spared = self.is_excepted(open, group.as_ref())
            || group.is_some_and(|group| self.is_over(file, size, &group));
        if is_spared {
            if self.until.len() >= FILES_MAX {
                self.until.clear();
            }
            let now = host::facts::since_boot();
            self.until.insert(file, now.saturating_add(AGAIN));
        }
        is_spared
    }

    fn is_excepted(&self, open: &fs::File, group: Option<&Group>) -> bool {
        if self.except.is_empty() {
            return false;
        }
        // One whose place the kernel does not know any more might be anywhere.
        let path = charged::path(open).filter(|path| path.as_os_str() != "/");
        self.except
            .iter()
            .any(|name| match name.to_str().and_then(units::named) {
                Some(unit) => group.is_some_and(|group| units::has(unit, &group.path)),
                None => path.as_ref().is_none_or(|path| path.starts_with(name)),
            })
    }

    /// Whether a file would be too much for a limit of its group or of one above. Where it is not,
    /// it counts.
    fn is_over(&mut self, file: File, size: Bytes, group: &Group) -> bool {
        let is_over = |(inode, limit): &&(u64, Bytes)| {
            let same = self.limited.values();
            let same = same.filter(|(_, groups)| groups.contains(inode));
            let locked: Bytes = same.map(|(size, _)| *size).sum();
            locked.saturating_add(size) > Bytes(limit.0 / PARTS)
        };
        let Some((_, limit)) = group.limits.iter().find(is_over) else {
            let groups: Vec<u64> = group.limits.iter().map(|(inode, _)| *inode).collect();
            if !groups.is_empty() {
                self.limited.insert(file, (size, groups));
            }
            return false;
        };
        if self.said.len() < FILES_MAX && self.said.insert(group.path.clone()) {
            log::line(format_args!(
                "floor: files of group {} are locked up to a quarter of its limit of {limit}; said \
                 once",
                group.path
            ));
        }
        true
    }
}
