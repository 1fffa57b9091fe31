//! procps: every assignment is written, in the order of the lines.

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

/// An assignment, or an exclusion where the value is missing.
struct Item {
    path: String,
    value: Option<String>,
    may_fail: bool,
    origin: Origin,
}

pub(super) fn writes(tree: &Tree, sources: &[Source], live: &Live) -> (Vec<Write>, Vec<Lost>) {
    let mut lost = Vec::new();
    let mut items = Vec::new();
    for source in sources.iter().filter(|source| source.fate.is_read()) {
        if let Found::File { text, .. } = tree.find(&source.path) {
            for line in lines(text, Loader::Procps) {
                let origin = Origin::new(&source.path, line.number);
                match item(line.says, origin) {
                    Ok(item) => items.extend(item),
                    Err(line) => lost.push(line),
                }
            }
        }
    }
    let mut writes = Vec::new();
    let named: BTreeMap<&str, &Item> = items.iter().map(|it| (it.path.as_str(), it)).collect();
    for item in &items {
        item.write(&named, live, &mut writes, &mut lost);
    }
    (writes, lost)
}

fn item(says: Says<'_>, origin: Origin) -> Result<Option<Item>, Lost> {
    let (name, value, may_fail) = match says {
        Says::Nothing | Says::Comment(_) => return Ok(None),
        Says::Sets {
            key,
            value,
            may_fail,
        } => (key, Some(value.to_owned()), may_fail),
        Says::Excludes(key) => (key, None, true),
        Says::Nonsense(text) => {
            return Err(Lost {
                origin,
                path: text.to_owned(),
                value: None,
                why: Why::Nonsense,
            });
        }
    };
    Ok(Some(Item {
        path: key::path(&key::procps(name)),
        value,
        may_fail,
        origin,
    }))
}

impl Item {
    fn write(
        &self,
        named: &BTreeMap<&str, &Self>,
        live: &Live,
        writes: &mut Vec<Write>,
        lost: &mut Vec<Lost>,
    ) {
        let Some(value) = &self.value else {
            return lost.push(Lost {
                value: None,
                ..self.lost(&self.path, "", Why::Excludes)
            });
        };
        if !glob::is_pattern(&self.path) {
            match key::resolved(&self.path, |path| live.is_directory(path)) {
                Some(path) => writes.push(self.to(path, value, None)),
                None => lost.push(self.lost(&self.path, value, Why::BadPath)),
            }
            return;
        }
        let Some((spelled, real)) = heads(&self.path, live) else {
            return lost.push(self.lost(&self.path, value, Why::BadPath));
        };
        let pattern = [&real, &self.path[spelled.len()..]].concat();
        let room = MOST_MATCHES.saturating_sub(writes.len() + lost.len());
        for path in live.matching(&pattern).take(room) {
            let found = [spelled, &path[real.len()..]].concat();
            match named.get(found.as_str()) {
                None => writes.push(self.to(path.to_owned(), value, Some(&self.path))),
                Some(by) => lost.push(self.lost(path, value, Why::Named(by.origin.clone()))),
            }
        }
    }

    fn to(&self, path: String, value: &str, pattern: Option<&str>) -> Write {
        Write {
            path,
            value: value.to_owned(),
            origin: self.origin.clone(),
            pattern: pattern.map(str::to_owned),
            may_fail: self.may_fail,
            is_live: false,
        }
    }

    fn lost(&self, path: &str, value: &str, why: Why) -> Lost {
        Lost {
            origin: self.origin.clone(),
            path: path.to_owned(),
            value: Some(value.to_owned()),
            why,
        }
    }
}

/// The part of a pattern up to its last `.`, `..` or doubled slash, as it is spelled and where it
/// leads; what is found is compared with keys as they are spelled. `None` where it leads nowhere.
fn heads<'a>(pattern: &'a str, live: &Live) -> Option<(&'a str, String)> {
    let odd = ["/./", "/../", "//"].map(|odd| pattern.rfind(odd).map(|at| at + odd.len()));
    let Some(end) = odd.into_iter().flatten().max() else {
        return Some(("", String::new()));
    };
    let head = &pattern[..end];
    let mut real = key::resolved(head, |path| live.is_directory(path))?;
    if !real.is_empty() {
        real.push('/');
    }
    Some((head, real))
}
