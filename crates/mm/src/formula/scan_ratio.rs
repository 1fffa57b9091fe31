//! How a scan was shared before 5.8: each kind by how few of its pages that were looked at lately
//! were in use (`get_scan_ratio`, since 2.6.35 `get_scan_count`).
//!
//! Learnt from the discussion of "split LRU lists into anon & file sets" (2.6.28) and of "balance
//! LRU lists based on relative thrashing" (5.8), which replaced it.

use crate::formula::mul_div;
use crate::formula::scan_balance::{Both, MAX_SWAPPINESS};
use crate::units::Pages;

/// Pages that came to the lists or were looked at lately, and those of them that were, or became,
/// active (`struct zone_reclaim_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// All.
    pub scanned: Both<u64>,
    /// Those in use.
    pub rotated: Both<u64>,
}

impl Recent {
    /// Notes pages of one kind.
    pub fn note(&mut self, file: bool, scanned: u64, rotated: u64) {
        let of = |both: &mut Both<u64>, pages: u64| {
            let kind = if file { &mut both.file } else { &mut both.anon };
            *kind = kind.saturating_add(pages);
        };
        of(&mut self.scanned, scanned);
        of(&mut self.rotated, rotated);
    }

    /// Halves what is known of a kind once it is more than a quarter of the kind's lists: as each
    /// scan begins.
    pub fn fade(&mut self, lists: Both<Pages>) {
        if self.scanned.anon > lists.anon.0 / 4 {
            self.scanned.anon /= 2;
            self.rotated.anon /= 2;
        }
        if self.scanned.file > lists.file.0 / 4 {
            self.scanned.file /= 2;
            self.rotated.file /= 2;
        }
    }

    /// The weights of both kinds. Where `spares_at_zero` (since 3.5), a swappiness of 0 weighs
    /// anonymous memory as nothing; before, each weight was one more.
    #[must_use]
    pub fn fractions(&self, swappiness: u64, spares_at_zero: bool) -> Both<u64> {
        let more = u64::from(!spares_at_zero);
        let swappiness = swappiness.min(MAX_SWAPPINESS);
        let weight = |priority: u64, scanned: u64, rotated: u64| {
            let (scanned, rotated) = (scanned.saturating_add(1), rotated.saturating_add(1));
            mul_div(priority + more, scanned, rotated)
        };
        Both {
            anon: weight(swappiness, self.scanned.anon, self.rotated.anon),
            file: weight(
                MAX_SWAPPINESS - swappiness,
                self.scanned.file,
                self.rotated.file,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_scanned_by_how_few_of_its_pages_are_in_use() {
        let mut recent = Recent::default();
        assert_eq!(
            recent.fractions(60, true),
            Both {
                anon: 60,
                file: 140
            }
        );
        recent.note(true, 999, 9);
        recent.note(false, 99, 49);
        let of = recent.fractions(60, true);
        assert_eq!(
            of,
            Both {
                anon: 120,
                file: 14_000
            }
        );
    }

    #[test]
    fn a_swappiness_of_zero_weighed_as_one() {
        let recent = Recent::default();
        assert_eq!(recent.fractions(0, true), Both { anon: 0, file: 200 });
        assert_eq!(recent.fractions(0, false), Both { anon: 1, file: 201 });
    }

    #[test]
    fn what_is_known_fades_by_halves_beyond_a_quarter_of_the_lists() {
        let mut recent = Recent::default();
        recent.note(true, 101, 50);
        recent.note(false, 100, 50);
        let lists = Both {
            anon: Pages(400),
            file: Pages(400),
        };
        recent.fade(lists);
        assert_eq!(
            recent.scanned,
            Both {
                anon: 100,
                file: 50
            }
        );
        assert_eq!(recent.rotated, Both { anon: 50, file: 25 });
    }
}
