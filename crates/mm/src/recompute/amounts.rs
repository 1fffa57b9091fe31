//! MemAvailable and the dirty thresholds, by the rule that gives what the kernel prints.

use alloc::vec::Vec;

use crate::formula::available::{self, Available};
use crate::formula::dirty::{self, Amount, Dirtyable, DirtyableRule, PercentRule, Thresholds};
use crate::formula::reserve;
use crate::rules::{Print, Row, Rule, prints, tried};
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Kib, Pages};
use crate::zoneinfo::{Zone, ZoneKind};

/// Pages by which another reserve must differ to be told from pages that move.
const MOVES: u64 = 64;

/// How a computed figure stands to the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Equal.
    Equal,
    /// The kernel prints another number.
    Differs,
    /// The kernel prints none.
    Unprinted,
}

/// Which reserve was taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveAs {
    /// As zoneinfo has it.
    Printed,
    /// As it was made while zones were boosted.
    Boosted,
    /// As the ratios give it now: it was made again after zoneinfo was read.
    Remade,
}

/// MemAvailable as it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableBy {
    /// Its terms.
    pub terms: Available,
    /// The rule.
    pub rule: available::Rule,
    /// The row of the rule.
    pub row: &'static Row,
    /// The reserve that was taken off.
    pub reserve: ReserveAs,
    /// Whether it is the kernel's number.
    pub fit: Fit,
}

/// The dirty thresholds as they are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdsBy {
    /// What ratios are of.
    pub dirtyable: Pages,
    /// The thresholds.
    pub thresholds: Thresholds,
    /// The rows of the two rules: what is dirtyable, and what a percent is.
    pub rows: [&'static Row; 2],
    /// The reserve that was taken off.
    pub reserve: ReserveAs,
    /// Whether they are the kernel's numbers.
    pub fit: Fit,
}

impl Snapshot {
    /// MemAvailable, term by term.
    #[must_use]
    pub fn available(&self) -> Option<Available> {
        self.available_by().map(|computed| computed.terms)
    }

    /// MemAvailable by the rule that gives the kernel's number, else by that of its release.
    #[must_use]
    pub fn available_by(&self) -> Option<AvailableBy> {
        let meminfo = self.meminfo.as_ref()?;
        let pages = |amount: Kib| amount.pages_floor(self.page);
        let lows = self.zones()?.iter().map(|zone| zone.watermarks.low);
        let inputs = available::Inputs {
            free: pages(meminfo.mem_free?),
            totalreserve: self.totalreserve()?,
            file: pages(meminfo.active_file?.saturating_add(meminfo.inactive_file?)),
            reclaimable: pages(meminfo.kreclaimable.or(meminfo.sreclaimable)?),
            low_watermarks: lows.sum(),
        };
        let printed = meminfo.mem_available.map(pages);
        let reserves = self.reserves_in_turn();
        let by = |(rule, row): (available::Rule, &'static Row)| {
            reserves.iter().map(move |&(reserve, totalreserve)| {
                let inputs = available::Inputs {
                    totalreserve,
                    ..inputs
                };
                let terms = available::available_by(rule, inputs, self.nameless());
                AvailableBy {
                    terms,
                    rule,
                    row,
                    reserve,
                    fit: Fit::of(printed.map(|printed| printed == terms.total)),
                }
            })
        };
        let all = tried(self.span(), |rule| self.available_rule(rule)).flat_map(by);
        let all: Vec<AvailableBy> = all.collect();
        let equal = all.iter().find(|computed| computed.fit == Fit::Equal);
        equal.or_else(|| all.first()).copied()
    }

    fn available_rule(&self, rule: Rule) -> Option<available::Rule> {
        match rule {
            Rule::Available(available::Rule::Nameless) if self.nameless() == Pages::ZERO => {
                Some(available::Rule::Reserve)
            }
            Rule::Available(rule) => Some(rule),
            _ => None,
        }
    }

    /// What the item without a name holds, in pages.
    fn nameless(&self) -> Pages {
        let bytes = self.zoneinfo.as_ref().and_then(|info| info.shape.nameless);
        Bytes(bytes.unwrap_or(0)).pages_floor(self.page)
    }

    /// The reserve as it may have been when a number was made: as it is printed first.
    fn reserves_in_turn(&self) -> Vec<(ReserveAs, Pages)> {
        let Some(zones) = self.zones() else {
            return Vec::new();
        };
        let printed = reserve::totalreserve(zones);
        let mut all = Vec::from([(ReserveAs::Printed, printed)]);
        let boosted: Vec<Zone> = zones
            .iter()
            .map(|zone| Zone {
                boost: None,
                ..zone.clone()
            })
            .collect();
        all.push((ReserveAs::Boosted, reserve::totalreserve(&boosted)));
        if let Some(rows) = self.protection() {
            let remade = zones.iter().zip(rows).map(|(zone, protection)| Zone {
                protection,
                ..zone.clone()
            });
            let remade: Vec<Zone> = remade.collect();
            all.push((ReserveAs::Remade, reserve::totalreserve(&remade)));
        }
        // What a few pages change, pages that move change as well.
        let tells = |pages: Pages| pages.0.abs_diff(printed.0) > MOVES;
        all.retain(|&(reserve, pages)| reserve == ReserveAs::Printed || tells(pages));
        all
    }

    /// The memory that dirty ratios are taken of.
    #[must_use]
    pub fn dirtyable(&self) -> Option<Pages> {
        self.thresholds_by().map(|computed| computed.dirtyable)
    }

    /// The dirty thresholds as the tunables give them now.
    #[must_use]
    pub fn thresholds(&self) -> Option<Thresholds> {
        self.thresholds_by().map(|computed| computed.thresholds)
    }

    /// What counts against the dirty thresholds: what is dirty or under writeback, and what an NFS
    /// server has not committed where that is neither.
    #[must_use]
    pub fn unwritten(&self) -> Option<Pages> {
        let pages = |item| self.vmstat(item).map(Pages);
        let unstable = match prints(self.span(), Print::Unstable) {
            Some(false) => Pages::ZERO,
            _ => pages("nr_unstable").unwrap_or_default(),
        };
        let local = pages("nr_dirty")?.saturating_add(pages("nr_writeback")?);
        Some(local.saturating_add(unstable))
    }

    /// The dirty thresholds by the rules that give the kernel's, else by those of its release.
    ///
    /// Free pages are counted twice, in vmstat and in meminfo. On a stock kernel it is one counter,
    /// read at two moments, and vmstat's is of the moment in which the thresholds were computed. A
    /// kernel that brings memory in as it is needed computes with meminfo's. So the count that
    /// gives the kernel's own thresholds is taken, else the one that is near.
    #[must_use]
    pub fn thresholds_by(&self) -> Option<ThresholdsBy> {
        let all = self.thresholds_in_turn(self.dirty_amounts()?)?;
        let equal = all.iter().find(|computed| computed.fit == Fit::Equal);
        let dirty = self.vmstat("nr_dirty_threshold").map(Pages);
        let half = || {
            all.iter()
                .find(|computed| dirty == Some(computed.thresholds.dirty))
        };
        equal.or_else(half).or_else(|| all.first()).copied()
    }

    fn thresholds_in_turn(&self, amounts: [Amount; 2]) -> Option<Vec<ThresholdsBy>> {
        let printed = self.printed_thresholds();
        let (frees, file) = (self.frees(), self.file()?);
        let percents: Vec<_> = tried(self.span(), percent).collect();
        let rules = tried(self.span(), dirtyable);
        let pairs = rules.flat_map(|rule| percents.iter().map(move |percent| (rule, *percent)));
        let reserves: Vec<_> = self.reserves_in_turn().into_iter().collect();
        let mut all = Vec::new();
        for ((rule, of), (percent, percent_row)) in pairs {
            for &(reserve, totalreserve) in &reserves {
                let of_memory = |&free: &Pages| {
                    let memory = Dirtyable {
                        free,
                        totalreserve,
                        file,
                        anonymous: self.anonymous_that_can_go(),
                    };
                    let dirtyable = memory.below(self.high_memory(), rule);
                    let thresholds = dirty::thresholds_by(percent, amounts, dirtyable, self.page);
                    ThresholdsBy {
                        dirtyable,
                        thresholds,
                        rows: [of, percent_row],
                        reserve,
                        fit: Fit::of(printed.map(|printed| printed == thresholds)),
                    }
                };
                all.extend(frees.iter().map(of_memory));
            }
        }
        Some(all)
    }

    fn printed_thresholds(&self) -> Option<Thresholds> {
        Some(Thresholds {
            background: Pages(self.vmstat("nr_dirty_background_threshold")?),
            dirty: Pages(self.vmstat("nr_dirty_threshold")?),
        })
    }

    /// What is set: of the background threshold and of the other.
    pub(super) fn dirty_amounts(&self) -> Option<[Amount; 2]> {
        Some([
            self.amount("vm.dirty_background_ratio", "vm.dirty_background_bytes")?,
            self.amount("vm.dirty_ratio", "vm.dirty_bytes")?,
        ])
    }

    fn amount(&self, ratio: &str, bytes: &str) -> Option<Amount> {
        let bytes = Bytes(self.number(bytes).unwrap_or(0));
        Some(Amount::from_pair(self.number(ratio)?, bytes))
    }

    /// Free pages by vmstat and by meminfo, the one that is near first: vmstat's, unless it leaves
    /// memory out that was not brought in yet.
    fn frees(&self) -> Vec<Pages> {
        let counted = self.vmstat("nr_free_pages").map(Pages);
        let whole = self.meminfo.as_ref().and_then(|meminfo| meminfo.mem_free);
        let whole = whole.map(|free| free.pages_floor(self.page));
        let near = match (counted, whole) {
            (Some(counted), Some(whole)) => counted.0.abs_diff(whole.0) <= whole.0 / 64,
            _ => true,
        };
        let in_turn = if near {
            [counted, whole]
        } else {
            [whole, counted]
        };
        in_turn.into_iter().flatten().collect()
    }

    /// Page cache on both file lists, of the moment in which the thresholds in vmstat were
    /// computed.
    fn file(&self) -> Option<Pages> {
        let item = |item| self.vmstat(item).map(Pages);
        let lists = item("nr_inactive_file").zip(item("nr_active_file"));
        lists.map(|(inactive, active)| inactive.saturating_add(active))
    }

    /// Both anonymous lists, where any swap is free.
    fn anonymous_that_can_go(&self) -> Pages {
        let swap_free = self.meminfo.as_ref().and_then(|meminfo| meminfo.swap_free);
        let list = |item| Pages(self.vmstat(item).unwrap_or(0));
        match swap_free.is_some_and(|free| free > Kib::ZERO) {
            true => list("nr_inactive_anon").saturating_add(list("nr_active_anon")),
            false => Pages::ZERO,
        }
    }

    /// What high memory has of the dirtyable memory; nothing on a machine without it, and where it
    /// may be dirty.
    fn high_memory(&self) -> Dirtyable {
        let may_be_dirty = self.number("vm.highmem_is_dirtyable") == Some(1);
        let info = self.zoneinfo.as_ref().filter(|_| !may_be_dirty);
        let zones = info.iter().flat_map(|info| &info.zones);
        let mut high = Dirtyable::default();
        for zone in zones.filter(|zone| zone.kind == ZoneKind::HighMem) {
            let item = |old, new| zone.items.get(old).or(zone.items.get(new)).unwrap_or(0);
            let (inactive, active) = (
                item("nr_inactive_file", "nr_zone_inactive_file"),
                item("nr_active_file", "nr_zone_active_file"),
            );
            high.free = high.free.saturating_add(zone.free);
            high.file = high
                .file
                .saturating_add(Pages(inactive.saturating_add(active)));
            let reserve = zone.unboosted().high.min(zone.managed);
            high.totalreserve = high.totalreserve.saturating_add(reserve);
        }
        high
    }
}

impl Fit {
    fn of(equal: Option<bool>) -> Self {
        match equal {
            Some(true) => Self::Equal,
            Some(false) => Self::Differs,
            None => Self::Unprinted,
        }
    }
}

fn dirtyable(rule: Rule) -> Option<DirtyableRule> {
    match rule {
        Rule::Dirtyable(rule) => Some(rule),
        _ => None,
    }
}

fn percent(rule: Rule) -> Option<PercentRule> {
    match rule {
        Rule::Percent(rule) => Some(rule),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;

    #[test]
    fn what_an_nfs_server_has_not_committed_counts_until_5_7() {
        let unwritten = |release: &str| {
            let mut frame = Frame::default();
            let vmstat = "nr_dirty 5\nnr_writeback 2\nnr_unstable 40\n";
            for (path, text) in [
                ("proc/vmstat", vmstat),
                ("proc/sys/kernel/osrelease", release),
            ] {
                frame.files.insert(path.into(), text.into());
            }
            Snapshot::parse(&frame).unwritten()
        };
        assert_eq!(unwritten("5.7.0\n"), Some(Pages(47)));
        assert_eq!(unwritten("5.8.0\n"), Some(Pages(7)));
    }
}
