//! What holds one value: a file, or several of which one counts.
//!
//! `vm.dirty_bytes` and `vm.dirty_ratio` are one limit: writing one sets the other to 0, and 0 is
//! no value that could be written back. So the value of the pair is that of the side that counts,
//! and taking a change back writes that side.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use mm::catalogue::{self, DefaultRule, Tunable};

/// A file, without the leading slash, and the text that it holds or is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The file.
    pub path: String,
    /// The text, as it is written.
    pub text: String,
}

/// What holds one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The name of the tunable, or of the first of a pair.
    pub name: String,
    faces: Vec<Face>,
}

/// One file of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Face {
    path: String,
    tunable: &'static Tunable,
}

impl Cell {
    /// The cell of a tunable, by the catalogue's name; `None` where the catalogue has no such name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let named = catalogue::named(name)?;
        let own = Face {
            path: named.path(),
            tunable: named.tunable,
        };
        let Some(partner) = named.tunable.partner.and_then(catalogue::named) else {
            let name = name.to_owned();
            return Some(Self {
                name,
                faces: [own].into(),
            });
        };
        let partner = Face {
            path: partner.path(),
            tunable: partner.tunable,
        };
        // The side that counts by default comes last: it is the one where both are 0.
        let mut faces: Vec<Face> = [own, partner].into();
        faces.sort_by_key(|face| face.tunable.default != DefaultRule::Partner);
        let name = faces.iter().map(|face| face.tunable.name).min()?.to_owned();
        Some(Self { name, faces })
    }

    /// The value, from what its files hold.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(&self, mut read: impl FnMut(&str) -> Result<String, E>) -> Result<Value, E> {
        let mut last = None;
        for face in &self.faces {
            let text = face.tunable.value_in(&read(&face.path)?);
            let counts = text != "0";
            let path = face.path.clone();
            last = Some(Value { path, text });
            if counts {
                break;
            }
        }
        Ok(last.unwrap_or_else(|| unreachable!("a cell has a file")))
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
    use alloc::collections::BTreeMap;
    use core::convert::Infallible;

    fn value(cell: &str, files: &[(&str, &str)]) -> Value {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        let read = |path: &str| Ok::<_, Infallible>(files[path].to_owned());
        let Ok(value) = Cell::of(cell).expect("a tunable").read(read);
        value
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
