//! The files that hold one value together.

use alloc::vec::Vec;

use super::names::whole;
use super::tunable::Tunable;
use super::{Named, find};

/// What must be saved to bring a tunable back as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// One file.
    Single(Named<'a>),
    /// Two that exclude each other: writing one switches the other off, which then reads 0 and must
    /// not be written with it. The one that was asked for is first.
    Exclusive([Named<'a>; 2]),
    /// Several that show one value, which any of them sets. The first that a kernel has holds it
    /// exactly, and is what brings it back.
    Views(Vec<Named<'a>>),
}

impl<'a> Named<'a> {
    /// The files that hold its value.
    #[must_use]
    pub fn cell(self) -> Cell<'a> {
        if let Some(partner) = self.tunable.partner.and_then(find) {
            let tunable = partner;
            return Cell::Exclusive([self, Named { tunable, ..self }]);
        }
        match self.tunable.views {
            [] => Cell::Single(self),
            views => Cell::Views(views.iter().filter_map(|name| self.other(name)).collect()),
        }
    }

    /// Others that the kernel changes by itself when this one is written.
    pub fn touched(self) -> impl Iterator<Item = Named<'a>> {
        self.tunable
            .touches
            .iter()
            .filter_map(move |name| self.other(name))
    }

    /// Another row, of the same device.
    fn other(self, name: &str) -> Option<Named<'a>> {
        let tunable: &'static Tunable = whole().find(|tunable| tunable.name == name)?;
        match tunable.scope() == self.tunable.scope() {
            true => Some(Named { tunable, ..self }),
            false => Some(tunable.of_each()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::resolve;
    use alloc::string::{String, ToString};

    fn names(cell: Cell<'_>) -> Vec<String> {
        let named = match cell {
            Cell::Single(one) => Vec::from([one]),
            Cell::Exclusive(two) => two.to_vec(),
            Cell::Views(views) => views,
        };
        named.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_value_is_held_by_one_file_by_a_pair_or_by_several_views() {
        let of = |key| names(resolve(key).expect("a tunable").cell());
        assert_eq!(of("swappiness"), ["vm.swappiness"]);
        assert_eq!(of("dirty_bytes"), ["vm.dirty_bytes", "vm.dirty_ratio"]);
        let fine = [
            "bdi.sda.max_ratio_fine",
            "bdi.sda.max_ratio",
            "bdi.sda.max_bytes",
        ];
        assert_eq!(of("bdi.sda.max_bytes"), fine);
        assert_eq!(of("bdi.sda.max_ratio"), fine);
    }

    #[test]
    fn a_view_lists_itself_and_every_view_of_a_value_has_the_same_list() {
        for tunable in whole() {
            let others = whole().filter(|other| tunable.views.contains(&other.name));
            let others: Vec<_> = others.collect();
            assert_eq!(others.len(), tunable.views.len(), "{}", tunable.name);
            assert!(others.iter().all(|other| other.views == tunable.views));
            assert!(tunable.views.is_empty() || tunable.views.contains(&tunable.name));
            assert!(tunable.views.is_empty() || tunable.partner.is_none());
        }
    }

    #[test]
    fn what_is_touched_exists_and_is_not_of_the_same_value() {
        for tunable in whole() {
            let touched: Vec<_> = tunable.of_each().touched().collect();
            assert_eq!(touched.len(), tunable.touches.len(), "{}", tunable.name);
            assert!(!touched.iter().any(|it| it.tunable.name == tunable.name));
        }
        let touched = resolve("thp").expect("a tunable").touched().next();
        assert_eq!(
            touched.map(|it| it.to_string()).as_deref(),
            Some("vm.min_free_kbytes")
        );
    }
}
