//! Slab caches in a log: those that could not grow, and those that hold memory.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::text::{after, leading_number, number_after};
use crate::units::{Bytes, Kib};

/// Caches that are kept of one report.
const MOST: usize = 1024;

/// Slab caches of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slabs {
    /// Those that could not grow, in the log's order; each once.
    pub failed: Vec<Failed>,
    /// "Unreclaimable slab info": what each cache without a shrinker has.
    pub unreclaimable: Vec<Cache>,
    /// The flags of the last "Unable to allocate memory".
    flags: String,
}

/// A cache that could not grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    /// Its name, without the control group's.
    pub name: String,
    /// The control group whose own cache it is, until 5.8: "12G" of "dentry(100:12G)".
    pub group: Option<String>,
    /// The flags as printed.
    pub flags: String,
    /// Size of an object with what stands around it.
    pub buffer: Option<Bytes>,
    /// Objects on all nodes.
    pub objects: Option<u64>,
}

/// A cache of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its name.
    pub name: String,
    /// What is in use.
    pub used: Kib,
    /// What it holds.
    pub total: Kib,
}

impl Failed {
    /// What its objects take.
    #[must_use]
    pub fn bytes(&self) -> Option<Bytes> {
        let (size, objects) = (self.buffer?, self.objects?);
        Some(Bytes(size.0.saturating_mul(objects)))
    }
}

/// Whether a message is one of these.
pub(super) fn is_line(text: &str) -> bool {
    let cache = text.starts_with("cache: ") && text.contains("object size: ");
    let node = text.starts_with("node ") && text.contains(": slabs: ");
    cache || node || row(text).is_some()
}

/// "kmemleak_object      2449340KB    2449340KB".
fn row(text: &str) -> Option<Cache> {
    let mut words = text.split_ascii_whitespace();
    let (name, used, total) = (words.next()?, words.next()?, words.next()?);
    let kib = |word: &str| word.strip_suffix("KB")?.parse().ok().map(Kib);
    let (used, total) = (kib(used)?, kib(total)?);
    (words.next().is_none() && used <= total).then(|| Cache {
        name: name.to_owned(),
        used,
        total,
    })
}

impl Slabs {
    /// Whether nothing was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.failed.is_empty() && self.unreclaimable.is_empty()
    }

    /// The cache that holds most.
    #[must_use]
    pub fn largest(&self) -> Option<&Cache> {
        self.unreclaimable.iter().max_by_key(|cache| cache.total)
    }

    /// Reads a message; false where it is none of these.
    pub(super) fn line(&mut self, text: &str) -> bool {
        if let Some((before, flags)) = text.split_once("gfp=").filter(|_| is_head(text)) {
            // "(gfp=0x20)" of older kernels.
            let flags = match before.ends_with('(') {
                true => flags.trim_end_matches(')'),
                false => flags,
            };
            flags.clone_into(&mut self.flags);
            return true;
        }
        if let Some(rest) = text.strip_prefix("cache: ") {
            return self.cache(rest);
        }
        if let Some(objects) = text.strip_prefix("node ").and_then(|_| objects(text)) {
            return self.objects(objects);
        }
        let cache = row(text).filter(|_| self.unreclaimable.len() < MOST);
        let is_row = cache.is_some();
        self.unreclaimable.extend(cache);
        is_row
    }

    /// "dentry(100:12G), object size: 192, buffer size: 192, …".
    fn cache(&mut self, text: &str) -> bool {
        let Some((name, rest)) = text.split_once(", object size") else {
            return false;
        };
        let (name, group) = match name.split_once('(') {
            Some((name, of)) => (name, of.trim_end_matches(')').split_once(':')),
            None => (name, None),
        };
        let failed = Failed {
            name: name.to_owned(),
            group: group.map(|(_, group)| group.to_owned()),
            flags: self.flags.clone(),
            buffer: number_after(rest, "buffer size: ").map(Bytes),
            objects: None,
        };
        // The same cache fails again and again: its last figures count.
        let same = |other: &Failed| (&other.name, &other.group) == (&failed.name, &failed.group);
        self.failed.retain(|other| !same(other));
        if self.failed.len() < MOST {
            self.failed.push(failed);
        }
        true
    }

    fn objects(&mut self, objects: u64) -> bool {
        let Some(last) = self.failed.last_mut() else {
            return false;
        };
        let sum = last
            .objects
            .map_or(objects, |sum| sum.saturating_add(objects));
        last.objects = Some(sum);
        true
    }
}

fn is_head(text: &str) -> bool {
    text.contains("Unable to allocate memory on")
}

/// The objects of "node 0: slabs: 26888, objs: 564648, free: 0"; of SLAB's "objs: 12/34" the first.
fn objects(text: &str) -> Option<u64> {
    let rest = after(text, "objs: ")?;
    Some(leading_number(rest)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_could_not_grow_names_its_group_and_its_size() {
        let mut slabs = Slabs::default();
        for line in [
            "SLUB: Unable to allocate memory on node -1, gfp=0x6000c0(GFP_KERNEL)",
            "cache: dentry(100:12G), object size: 192, buffer size: 192, default order: 0, min",
            "node 0: slabs: 26888, objs: 564648, free: 0",
            "node 1: slabs: 1, objs: 2, free: 0",
        ] {
            assert!(slabs.line(line), "{line}");
        }
        let failed = &slabs.failed[0];
        assert_eq!(
            (failed.name.as_str(), failed.group.as_deref()),
            ("dentry", Some("12G"))
        );
        assert_eq!(failed.flags, "0x6000c0(GFP_KERNEL)");
        assert_eq!(failed.bytes(), Some(Bytes(564_650 * 192)));
    }

    #[test]
    fn the_table_of_caches_is_read_and_nothing_like_it() {
        let mut slabs = Slabs::default();
        assert!(slabs.line("kmemleak_object      2449340KB    2449341KB"));
        assert!(
            !slabs.line("kmemleak_object      2KB    1KB"),
            "used is a part of it"
        );
        assert!(!slabs.line("Name                      Used          Total"));
        assert_eq!(
            slabs.largest().map(|cache| cache.used),
            Some(Kib(2_449_340))
        );
    }
}
