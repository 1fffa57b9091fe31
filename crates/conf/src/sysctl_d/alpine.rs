//! busybox's `sysctl -p`, as Alpine's start script runs it: every assignment is written, in the
//! order of the lines, and no key is a pattern.

use alloc::string::String;
use alloc::vec::Vec;

use super::key;
use super::line::{Says, lines};
use super::loader::Loader;
use crate::live::Live;
use crate::load::{Lost, Source, Why, Write};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

pub(super) fn writes(tree: &Tree, sources: &[Source], live: &Live) -> (Vec<Write>, Vec<Lost>) {
    let mut writes = Vec::new();
    let mut lost = Vec::new();
    for source in sources.iter().filter(|source| source.fate.is_read()) {
        let Found::File { text, .. } = tree.find(&source.path) else {
            continue;
        };
        for line in lines(text, Loader::Alpine) {
            let origin = Origin::new(&source.path, line.number);
            match line.says {
                Says::Sets { key, value, .. } => {
                    let (key, value) = (unfolded(key), unfolded(value));
                    match key::busybox(&key, live) {
                        Some(path) => writes.push(Write::new(path, value, origin)),
                        None => lost.push(Lost {
                            origin,
                            path: key::path(&key),
                            value: Some(value),
                            why: Why::BadPath,
                        }),
                    }
                }
                Says::Nonsense(text) => lost.push(Lost::nonsense(text, origin)),
                Says::Nothing | Says::Comment(_) | Says::Excludes(_) => {}
            }
        }
    }
    (writes, lost)
}

/// A text without the ends of lines after which it goes on.
fn unfolded(text: &str) -> String {
    text.replace("\\\n", "")
}
