//! systemd-sysctl: collects all lines first, then writes each key once.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::key;
use super::line::{Says, lines};
use super::loader::Loader;
use crate::glob;
use crate::live::Live;
use crate::load::{Lost, MOST_MATCHES, Source, Why, Write};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

/// A key and what the lines so far say about it.
struct Kept {
    /// `None` keeps patterns off the key.
    value: Option<String>,
    may_fail: bool,
    origin: Origin,
    /// Its place in the order of writes.
    place: usize,
}

#[derive(Default)]
struct Keys {
    by_key: BTreeMap<String, Kept>,
    lost: Vec<Lost>,
    /// The next place in the order.
    next: usize,
}

pub(super) fn writes(tree: &Tree, sources: &[Source], live: &Live) -> (Vec<Write>, Vec<Lost>) {
    let mut keys = Keys::default();
    for source in sources.iter().filter(|source| source.fate.is_read()) {
        let Found::File { text, .. } = tree.find(&source.path) else {
            continue;
        };
        for line in lines(text, Loader::Systemd) {
            keys.take(line.says, Origin::new(&source.path, line.number));
        }
    }
    keys.written(live)
}

impl Keys {
    fn take(&mut self, says: Says<'_>, origin: Origin) {
        let (name, value, may_fail) = match says {
            Says::Nothing | Says::Comment(_) => return,
            Says::Sets {
                key,
                value,
                may_fail,
            } => (key, Some(value.to_owned()), may_fail),
            Says::Excludes(key) => (key, None, false),
            Says::Nonsense(text) => {
                let path = text.to_owned();
                return self.lose(origin, path, None, Why::Nonsense);
            }
        };
        let name = key::systemd(name);
        match self.by_key.get_mut(&name) {
            Some(kept) if kept.value == value => {
                kept.may_fail |= may_fail;
                let before = Why::SetBefore(kept.origin.clone());
                self.lose(origin, key::path(&name), value, before);
            }
            _ => self.keep(name, value, may_fail, origin),
        }
    }

    /// Puts a key at the end of the order, out of the place that it may have had.
    fn keep(&mut self, name: String, value: Option<String>, may_fail: bool, origin: Origin) {
        let kept = Kept {
            value,
            may_fail,
            origin,
            place: self.next,
        };
        self.next += 1;
        let why = match kept.value {
            Some(_) => Why::SetAgain(kept.origin.clone()),
            None => Why::TakenBack(kept.origin.clone()),
        };
        let path = key::path(&name);
        if let Some(old) = self.by_key.insert(name, kept) {
            self.lose(old.origin, path, old.value, why);
        }
    }

    fn lose(&mut self, origin: Origin, path: String, value: Option<String>, why: Why) {
        self.lost.push(Lost {
            origin,
            path,
            value,
            why,
        });
    }

    fn written(mut self, live: &Live) -> (Vec<Write>, Vec<Lost>) {
        let mut order: Vec<(&String, &Kept)> = self.by_key.iter().collect();
        order.sort_by_key(|(_, kept)| kept.place);
        let mut out = Out {
            live,
            now: BTreeMap::new(),
            writes: Vec::new(),
            lost: Vec::new(),
        };
        for (name, kept) in order {
            match &kept.value {
                None => out.lost.push(Lost {
                    origin: kept.origin.clone(),
                    path: key::path(name),
                    value: None,
                    why: Why::Excludes,
                }),
                Some(value) if glob::is_pattern(name) => {
                    out.pattern(&self.by_key, name, value, kept);
                }
                Some(value) => out.write(key::path(name), value, kept, None),
            }
        }
        self.lost.append(&mut out.lost);
        (out.writes, self.lost)
    }
}

struct Out<'a> {
    live: &'a Live,
    /// What has been written so far.
    now: BTreeMap<String, String>,
    writes: Vec<Write>,
    lost: Vec<Lost>,
}

impl Out<'_> {
    fn pattern(&mut self, by_key: &BTreeMap<String, Kept>, name: &str, value: &str, kept: &Kept) {
        for pattern in glob::braces(&key::path(name)) {
            let room = MOST_MATCHES.saturating_sub(self.writes.len() + self.lost.len());
            for path in self.live.matching(&pattern).take(room) {
                let named = by_key.get(path.strip_prefix(key::ROOT).unwrap_or(path));
                match named.map(|named| named.origin.clone()) {
                    None => self.write(path.to_owned(), value, kept, Some(name)),
                    Some(by) => self.lose(path.to_owned(), value, kept, Why::Named(by)),
                }
            }
        }
    }

    fn write(&mut self, path: String, value: &str, kept: &Kept, pattern: Option<&str>) {
        if path.split('/').any(|part| part == "..") {
            return self.lose(path, value, kept, Why::BadPath);
        }
        let now = self.now.get(&path).map(String::as_str);
        let now = now.or_else(|| self.live.value(&path));
        let is_live = now.is_some_and(|now| same(now, value));
        self.now.insert(path.clone(), value.to_owned());
        self.writes.push(Write {
            path,
            value: value.to_owned(),
            origin: kept.origin.clone(),
            pattern: pattern.map(key::path),
            may_fail: kept.may_fail,
            is_live,
        });
    }

    fn lose(&mut self, path: String, value: &str, kept: &Kept, why: Why) {
        self.lost.push(Lost {
            origin: kept.origin.clone(),
            path,
            value: Some(value.to_owned()),
            why,
        });
    }
}

/// Whether two texts are the same but for ends of lines after them.
fn same(a: &str, b: &str) -> bool {
    const ENDS: &[char] = &['\n', '\r'];
    a.trim_end_matches(ENDS) == b.trim_end_matches(ENDS)
}
