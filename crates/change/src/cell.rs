//! What holds one value: a file, or several of which one counts.
//!
//! `vm.dirty_bytes` and `vm.dirty_ratio` are one limit: writing one sets the other to 0, and 0 is
//! no value that could be written back. So the value of the pair is that of the side that counts,
//! and taking a change back writes that side.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use mm::catalogue::{self, DefaultRule, Named, Tunable};

use crate::machine::{Failure, Kind, Value};

/// What holds one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The name of the tunable, or of the first of several.
    pub name: String,
    /// Whether all of its files show one value, each in a unit of its own.
    pub has_views: bool,
    faces: Vec<Face>,
}

/// One file of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Face {
    path: String,
    tunable: &'static Tunable,
}

impl Cell {
    /// The cell of a tunable, by the catalogue's name; `None` where the catalogue has no such name,
    /// or has it for no file that could be written.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let named = catalogue::named(name).filter(|named| !named.tunable.is_action())?;
        let (mut all, has_views) = match named.cell() {
            catalogue::Cell::Single(one) => (Vec::from([one]), false),
            catalogue::Cell::Exclusive(two) => (two.to_vec(), false),
            catalogue::Cell::Views(views) => (views, true),
        };
        let name = match has_views {
            true => all.first()?.to_string(),
            false => all.iter().map(Named::to_string).min()?,
        };
        if !has_views {
            // The side that counts by default comes last: it is the one where both are 0.
            all.sort_by_key(|it| it.tunable.default != DefaultRule::Partner);
        }
        let face = |it: Named<'_>| Face {
            path: it.path(),
            tunable: it.tunable,
        };
        Some(Self {
            name,
            has_views,
            faces: all.into_iter().map(face).collect(),
        })
    }

    /// The value, from what its files hold: that of the side that counts, or of the first view that
    /// this kernel has.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read(
        &self,
        mut read: impl FnMut(&str) -> Result<String, Failure>,
    ) -> Result<Value, Failure> {
        let mut last = None;
        for face in &self.faces {
            let text = match read(&face.path) {
                Err(failure) if self.has_views && failure.kind == Kind::Missing => {
                    last = Some(Err(failure));
                    continue;
                }
                text => face.tunable.value_in(&text?),
            };
            let counts = self.has_views || text != "0";
            let path = face.path.clone();
            last = Some(Ok(Value { path, text }));
            if counts {
                break;
            }
        }
        last.unwrap_or_else(|| {
            Err(Failure {
                path: self.name.clone(),
                reason: "it has no file".to_string(),
                kind: Kind::Missing,
            })
        })
    }

    /// The tunable behind one of its files.
    #[must_use]
    pub fn tunable(&self, path: &str) -> Option<&'static Tunable> {
        let face = self.faces.iter().find(|face| face.path == path)?;
        Some(face.tunable)
    }

    /// Whether two values of this cell are the same: `0x0007` and `7` are.
    #[must_use]
    pub fn same(&self, a: &Value, b: &Value) -> bool {
        let means = |tunable: &Tunable| tunable.means_same(&a.text, &b.text);
        a.path == b.path && self.tunable(&a.path).map_or(a.text == b.text, means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;
    use alloc::collections::BTreeMap;

    fn value(cell: &str, files: &[(&str, &str)]) -> Value {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        let read = |path: &str| {
            let text = files.get(path).map(|text| (*text).to_owned());
            text.ok_or_else(|| Failure {
                path: path.to_owned(),
                reason: "missing".to_owned(),
                kind: Kind::Missing,
            })
        };
        Cell::of(cell)
            .expect("a tunable")
            .read(read)
            .expect("files")
    }

    #[test]
    fn the_value_of_views_is_that_of_the_first_that_this_kernel_has() {
        let fine = ("sys/block/sda/bdi/max_ratio_fine", "200000\n");
        let ratio = ("sys/block/sda/bdi/max_ratio", "20\n");
        for name in ["bdi.sda.max_ratio", "bdi.sda.max_bytes"] {
            assert_eq!(value(name, &[fine, ratio]).path, fine.0);
            assert_eq!(value(name, &[ratio]).path, ratio.0);
        }
        let names = ["bdi.sda.max_ratio", "bdi.sda.max_bytes"];
        let cells = names.map(|name| Cell::of(name).expect("a tunable").name);
        assert_eq!(cells, ["bdi.sda.max_ratio_fine", "bdi.sda.max_ratio_fine"]);
    }

    #[test]
    fn what_acts_once_has_no_value_to_go_back_to() {
        assert_eq!(Cell::of("vm.drop_caches"), None);
    }

    #[test]
    fn the_value_of_a_pair_is_that_of_the_side_that_counts() {
        let (ratio, bytes) = ("proc/sys/vm/dirty_ratio", "proc/sys/vm/dirty_bytes");
        for name in ["vm.dirty_ratio", "vm.dirty_bytes"] {
            let at = |r, b| {
                let value = value(name, &[(ratio, r), (bytes, b)]);
                (value.path, value.text)
            };
            assert_eq!(at("20\n", "0\n"), (ratio.to_owned(), "20".to_owned()));
            assert_eq!(at("0\n", "9000\n"), (bytes.to_owned(), "9000".to_owned()));
            assert_eq!(at("0\n", "0\n"), (ratio.to_owned(), "0".to_owned()));
        }
    }

    #[test]
    fn a_pair_has_one_name_and_its_values_differ_by_their_file() {
        let pair = Cell::of("vm.dirty_ratio").expect("a tunable");
        assert_eq!(Cell::of("vm.dirty_bytes"), Some(pair.clone()));
        let value = |path: &str, text: &str| Value {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let ratio = value("proc/sys/vm/dirty_ratio", "20");
        assert!(!pair.same(&ratio, &value("proc/sys/vm/dirty_bytes", "20")));
        assert!(pair.same(&ratio, &value("proc/sys/vm/dirty_ratio", "20\n")));
    }

    #[test]
    fn spellings_of_one_value_are_the_same() {
        let cell = Cell::of("lru_gen.enabled").expect("a tunable");
        let at = |text: &str| Value {
            path: "sys/kernel/mm/lru_gen/enabled".to_owned(),
            text: text.to_owned(),
        };
        assert!(cell.same(&at("0x0007"), &at("y")));
        assert!(!cell.same(&at("0x0003"), &at("y")));
        assert_eq!(Cell::of("no.such"), None);
    }
}
