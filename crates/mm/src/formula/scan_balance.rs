//! Which pages the classic LRU scans: anonymous memory, the page cache, or both, and how many.
//!
//! `get_scan_count`, with what `shrink_node` decides before it (`prepare_scan_control`) and the
//! costs that `lru_note_cost` (`mm/swap.c`) keeps; the arithmetic is the same in 6.1, 6.12 and 7.2.
//! The kernel takes every amount of the node, or of the control group's part of it, as it stands
//! when the pass begins; all are pages, unscaled.

use crate::formula::mul_div;
use crate::units::Pages;

/// Pages that reclaim handles at a time (`SWAP_CLUSTER_MAX`).
pub const BATCH: Pages = Pages(32);

/// The largest swappiness that is a weight; 100 weighs both types alike.
pub const MAX_SWAPPINESS: u64 = 200;

/// The swappiness by which `memory.reclaim` asks for anonymous memory only (since 6.16).
pub const ANON_ONLY: u64 = 201;

/// Something of both types of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// Of anonymous memory.
    pub anon: T,
    /// Of the page cache.
    pub file: T,
}

/// What a pass knows when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// From 12 (a 4096th of each list) down to 0 (all of it).
    pub priority: u32,
    /// `vm.swappiness` or the control group's own: 0 to [`MAX_SWAPPINESS`], or [`ANON_ONLY`].
    pub swappiness: u64,
    /// Anonymous pages can go somewhere: a swap slot is free, within the group's `memory.swap.max`,
    /// or a slower node takes them; and this reclaim may swap.
    pub can_swap: bool,
    /// Reclaim of the whole node, rather than for the limit of a control group (`memory.max`,
    /// `memory.high`, `memory.reclaim`).
    pub global: bool,
    /// The inactive lists.
    pub inactive: Both<Pages>,
    /// Both file lists of the node (for `file_is_tiny`, never of a group alone).
    pub node_file: Pages,
    /// Free pages of the node.
    pub free: Pages,
    /// The high watermarks of the node's zones, summed, boost included.
    pub high_watermarks: Pages,
    /// Active pages of the type may be deactivated: its inactive list is low
    /// ([`crate::formula::inactive`]), or refaults of the type were activated since the last pass.
    pub may_deactivate: Both<bool>,
    /// Set once trimming the cache failed at every priority (`no_cache_trim_mode`, since 6.10).
    pub no_cache_trim: bool,
    /// What reclaim of either type has cost of late.
    pub costs: Costs,
}

/// What a pass scans, in the kernel's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// The page cache only (`SCAN_FILE`).
    File,
    /// Anonymous memory only (`SCAN_ANON`).
    Anon,
    /// The same part of both (`SCAN_EQUAL`).
    Equal,
    /// Of each type `fraction / (anon + file)` (`SCAN_FRACT`).
    Fractions(Both<u64>),
}

/// Why a pass scans what it does, in the order in which the kernel asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Anonymous pages cannot go anywhere.
    NoSwap,
    /// A control group at its limit, with a swappiness of 0.
    GroupWithoutSwappiness,
    /// `memory.reclaim` was asked for anonymous memory only.
    AnonOnly,
    /// Priority 0: the last pass before the OOM killer.
    NearOom,
    /// What the cache has left does not reach the high watermarks (`file_is_tiny`).
    FileIsTiny,
    /// There are inactive file pages enough and they are not in use (`cache_trim_mode`).
    CacheTrim,
    /// Neither: swappiness and costs decide.
    Costs,
}

/// What reclaim of each type has cost, in pages (`anon_cost`, `file_cost`). No kernel file shows
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Of anonymous memory.
    pub anon: u64,
    /// Of the page cache.
    pub file: u64,
}

impl Inputs {
    /// Whether the cache alone is trimmed: a pass at this priority finds inactive file pages, and
    /// none of the active ones need to be deactivated.
    #[must_use]
    pub fn cache_trim(&self) -> bool {
        at(self.inactive.file, self.priority) > Pages::ZERO
            && !self.may_deactivate.file
            && !self.no_cache_trim
    }

    /// Whether the cache is so small that taking all of it would not reach the high watermarks,
    /// while there are cold anonymous pages to be had.
    #[must_use]
    pub fn file_is_tiny(&self) -> bool {
        self.global
            && self.node_file.saturating_add(self.free) <= self.high_watermarks
            && !self.may_deactivate.anon
            && at(self.inactive.anon, self.priority) > Pages::ZERO
    }

    /// The first rule that holds.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self {
                can_swap: false, ..
            } => Reason::NoSwap,
            Self {
                global: false,
                swappiness: 0,
                ..
            } => Reason::GroupWithoutSwappiness,
            _ if self.swappiness > MAX_SWAPPINESS => Reason::AnonOnly,
            _ if self.priority == 0 && self.swappiness > 0 => Reason::NearOom,
            _ if self.file_is_tiny() => Reason::FileIsTiny,
            _ if self.cache_trim() => Reason::CacheTrim,
            _ => Reason::Costs,
        }
    }

    /// What the pass scans.
    #[must_use]
    pub fn balance(&self) -> Balance {
        match self.reason() {
            Reason::NoSwap | Reason::GroupWithoutSwappiness | Reason::CacheTrim => Balance::File,
            Reason::AnonOnly | Reason::FileIsTiny => Balance::Anon,
            Reason::NearOom => Balance::Equal,
            Reason::Costs => Balance::Fractions(fractions(self.swappiness, self.costs)),
        }
    }
}

impl Balance {
    /// The pages to scan of an anonymous (`file` false) or file list, of which `pages` are due at
    /// the pass's priority ([`due`]).
    #[must_use]
    pub fn share(self, file: bool, pages: Pages) -> Pages {
        match self {
            Self::Equal => pages,
            Self::File if file => pages,
            Self::Anon if !file => pages,
            Self::File | Self::Anon => Pages::ZERO,
            Self::Fractions(of) => {
                let part = if file { of.file } else { of.anon };
                Pages(mul_div(pages.0, part, of.anon.saturating_add(of.file)))
            }
        }
    }
}

impl Costs {
    /// Costs more for one type: 32 pages for each page that was written to make it reclaimable, and
    /// one for each that was scanned or rotated in vain. A refault of a page that had been active
    /// costs as one that was written. Both halve once they exceed a quarter of `lru`, the pages on
    /// the four lists.
    ///
    /// The kernel charges every ancestor group too, each by its own lists.
    pub fn note(&mut self, file: bool, written: u64, in_vain: u64, lru: Pages) {
        let cost = written.saturating_mul(BATCH.0).saturating_add(in_vain);
        self.add(file, cost, lru);
    }

    /// Adds a cost that is already weighed: before 6.2 only pages that were written, and refaults,
    /// cost anything, one each.
    pub fn add(&mut self, file: bool, cost: u64, lru: Pages) {
        let of_type = if file { &mut self.file } else { &mut self.anon };
        *of_type = of_type.saturating_add(cost);
        if self.anon.saturating_add(self.file) > lru.0 / 4 {
            self.anon /= 2;
            self.file /= 2;
        }
    }
}

/// How swappiness and costs weigh: each type by the inverse of its cost, of which a third of the
/// whole is taken as given, so that neither is ever spared for its cost alone.
#[must_use]
pub fn fractions(swappiness: u64, costs: Costs) -> Both<u64> {
    let both = costs.anon.saturating_add(costs.file);
    let (anon, file) = (
        both.saturating_add(costs.anon),
        both.saturating_add(costs.file),
    );
    let total = anon.saturating_add(file).saturating_add(1);
    let against = MAX_SWAPPINESS.saturating_sub(swappiness);
    Both {
        anon: mul_div(swappiness, total, anon.saturating_add(1)),
        file: mul_div(against, total, file.saturating_add(1)),
    }
}

/// The smallest and the largest part of the scan, in permille, that anonymous memory can get where
/// costs decide: the limits for costs of one type only, where one weight is twice the other.
///
/// It is what can be told of a live kernel, which does not show its costs. Swappiness from 0 to
/// [`MAX_SWAPPINESS`].
#[must_use]
pub fn anon_permille(swappiness: u64) -> (u64, u64) {
    let anon = swappiness.min(MAX_SWAPPINESS);
    let file = MAX_SWAPPINESS - anon;
    (
        1000 * anon / (anon + 2 * file),
        2000 * anon / (2 * anon + file),
    )
}

/// The pages of a list that are due for a scan at `priority`, for a group of which `protected`
/// pages of `usage` are left alone; at least [`BATCH`] remain to be scanned at priority 0.
///
/// `protected` is the effective `memory.low` at first and the effective `memory.min` on the retry
/// ([`crate::formula::protection`]); zero for the root.
#[must_use]
pub fn due(list: Pages, protected: Pages, usage: Pages, priority: u32) -> Pages {
    if protected == Pages::ZERO {
        return at(list, priority);
    }
    let usage = usage.max(protected).0;
    let spared = mul_div(list.0, protected.0, usage.saturating_add(1));
    at(list.saturating_sub(Pages(spared)).max(BATCH), priority)
}

fn at(list: Pages, priority: u32) -> Pages {
    Pages(list.0.checked_shr(priority).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pass at priority 12 over 4 GiB of each type, with costs to weigh.
    const PASS: Inputs = Inputs {
        priority: 12,
        swappiness: 60,
        can_swap: true,
        global: true,
        inactive: Both {
            anon: Pages(1 << 18),
            file: Pages(1 << 18),
        },
        node_file: Pages(1 << 20),
        free: Pages(20_000),
        high_watermarks: Pages(25_000),
        may_deactivate: Both {
            anon: true,
            file: true,
        },
        no_cache_trim: false,
        costs: Costs { anon: 0, file: 0 },
    };
    const COLD: Both<bool> = Both {
        anon: false,
        file: false,
    };

    #[test]
    fn without_swap_only_the_cache_is_scanned_at_any_swappiness() {
        for swappiness in [0, 60, 200] {
            let pass = Inputs {
                can_swap: false,
                swappiness,
                ..PASS
            };
            assert_eq!(
                (pass.reason(), pass.balance()),
                (Reason::NoSwap, Balance::File)
            );
        }
    }

    #[test]
    fn a_swappiness_of_zero_forbids_swapping_for_a_group_but_not_for_the_node() {
        let node = Inputs {
            swappiness: 0,
            ..PASS
        };
        assert_eq!(
            node.balance(),
            Balance::Fractions(Both { anon: 0, file: 200 })
        );
        let tiny = Inputs {
            node_file: Pages(5000),
            may_deactivate: COLD,
            ..node
        };
        assert_eq!(tiny.balance(), Balance::Anon);
        let group = Inputs {
            global: false,
            ..tiny
        };
        assert_eq!(group.reason(), Reason::GroupWithoutSwappiness);
    }

    #[test]
    fn the_last_pass_scans_both_alike_unless_swappiness_is_zero() {
        let last = Inputs {
            priority: 0,
            may_deactivate: COLD,
            ..PASS
        };
        assert_eq!(last.balance(), Balance::Equal);
        let zero = Inputs {
            swappiness: 0,
            ..last
        };
        assert_eq!(zero.reason(), Reason::CacheTrim);
    }

    #[test]
    fn inactive_cache_that_is_not_in_use_goes_first() {
        let streaming = Inputs {
            may_deactivate: COLD,
            ..PASS
        };
        assert_eq!(streaming.reason(), Reason::CacheTrim);
        let short = Inputs {
            inactive: Both {
                file: Pages(4095),
                ..PASS.inactive
            },
            ..streaming
        };
        assert_eq!(short.reason(), Reason::Costs);
        let failed = Inputs {
            no_cache_trim: true,
            ..streaming
        };
        assert_eq!(failed.reason(), Reason::Costs);
    }

    #[test]
    fn a_tiny_cache_is_left_alone_up_to_the_sum_of_the_high_watermarks() {
        let tiny = Inputs {
            node_file: Pages(5000),
            may_deactivate: COLD,
            ..PASS
        };
        assert_eq!(tiny.reason(), Reason::FileIsTiny);
        let one_more = Inputs {
            node_file: Pages(5001),
            ..tiny
        };
        assert_eq!(one_more.reason(), Reason::CacheTrim);
        let group = Inputs {
            global: false,
            ..tiny
        };
        assert_eq!(group.reason(), Reason::CacheTrim);
    }

    #[test]
    fn memory_reclaim_may_ask_for_anonymous_memory_only() {
        let asked = Inputs {
            swappiness: ANON_ONLY,
            global: false,
            ..PASS
        };
        assert_eq!(asked.balance(), Balance::Anon);
    }

    #[test]
    fn swappiness_weighs_and_costs_shift_by_no_more_than_two() {
        let of = |anon, file| fractions(60, Costs { anon, file });
        assert_eq!(
            of(0, 0),
            Both {
                anon: 60,
                file: 140
            }
        );
        // 1001 anon and 2000 file of 3001 + 1 in all: 60 * 3001 / 1001 and 140 * 3001 / 2001.
        assert_eq!(
            of(0, 1000),
            Both {
                anon: 179,
                file: 209
            }
        );
        assert_eq!(
            of(1000, 0),
            Both {
                anon: 89,
                file: 419
            }
        );
        assert_eq!(anon_permille(60), (176, 461));
        assert_eq!(anon_permille(100), (333, 666));
    }

    #[test]
    fn shares_are_rounded_down() {
        let of = Balance::Fractions(Both {
            anon: 60,
            file: 140,
        });
        assert_eq!(of.share(false, Pages(101)), Pages(30));
        assert_eq!(of.share(true, Pages(101)), Pages(70));
        assert_eq!(Balance::Anon.share(true, Pages(101)), Pages(0));
    }

    #[test]
    fn a_write_costs_a_batch_and_costs_are_forgotten_by_halves() {
        let mut costs = Costs::default();
        costs.note(false, 2, 10, Pages(1000));
        assert_eq!(costs, Costs { anon: 74, file: 0 });
        costs.note(true, 0, 176, Pages(1000));
        assert_eq!(
            costs,
            Costs {
                anon: 74,
                file: 176
            }
        );
        costs.note(true, 0, 1, Pages(1000));
        assert_eq!(costs, Costs { anon: 37, file: 88 });
    }

    #[test]
    fn protection_spares_its_part_of_every_list_but_for_a_batch() {
        // Half of 1 GiB is protected: 65536 * 131072 / 262145 are spared.
        let list = Pages(65_536);
        assert_eq!(due(list, Pages::ZERO, Pages(262_144), 2), Pages(16_384));
        assert_eq!(due(list, Pages(131_072), Pages(262_144), 0), Pages(32_769));
        assert_eq!(due(list, Pages(300_000), Pages(262_144), 0), BATCH);
    }
}
