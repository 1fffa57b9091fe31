//! The lowmem reserve of each zone by the rule of its kernel, with the ratios that are told or,
//! since reading them makes the kernel compute the reserves again, those that the reserves
//! themselves tell.

use alloc::vec::Vec;

use super::era::columns;
use crate::formula::reserve::{self, Rule};
use crate::rules::{self, Row};
use crate::snapshot::Snapshot;
use crate::units::Pages;
use crate::zoneinfo::{Zone, ZoneKind};

/// The reserves as they are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserves {
    /// The protection of each zone of zoneinfo, in its order.
    pub rows: Vec<Vec<Pages>>,
    /// Where the ratios are from.
    pub ratios: Ratios,
    /// The row of the rule.
    pub row: &'static Row,
    /// Whether all of them equal the kernel's.
    pub equal: bool,
}

/// Where the ratios of the lowmem reserve are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ratios {
    /// `vm.lowmem_reserve_ratio` was read.
    Told(Vec<u64>),
    /// It was not: the kernel's defaults.
    Default(Vec<u64>),
    /// It was not: those that give the reserves, lowest zone first.
    Inferred(Vec<u64>),
}

impl Ratios {
    fn values(&self) -> &[u64] {
        match self {
            Self::Told(ratios) | Self::Default(ratios) | Self::Inferred(ratios) => ratios,
        }
    }
}

impl Snapshot {
    /// The protection of each zone of zoneinfo, as [`Snapshot::reserves`] has it.
    #[must_use]
    pub fn protection(&self) -> Option<Vec<Vec<Pages>>> {
        self.reserves().map(|reserves| reserves.rows)
    }

    /// The reserves by the ratios that are told, else by the defaults, else by those that give what
    /// is printed; by the rule that gives what is printed, where one does, else by the release's.
    /// `None` where the columns of zoneinfo cannot be told, or zones of a node are missing.
    #[must_use]
    pub fn reserves(&self) -> Option<Reserves> {
        let zones = self.zones()?;
        let kinds = columns(zones)?;
        if !self.zones_are_whole() {
            return None;
        }
        let tried = self.ratios(zones, &kinds);
        let by = |(rule, row): (Rule, &'static Row)| {
            let (kinds, tried) = (&kinds, &tried);
            tried.iter().map(move |ratios| {
                let rows = rows(rule, zones, kinds, ratios.values());
                let equal = zones
                    .iter()
                    .zip(&rows)
                    .all(|(zone, row)| zone.protection == *row);
                let ratios = ratios.clone();
                Reserves {
                    rows,
                    ratios,
                    row,
                    equal,
                }
            })
        };
        let pick = |rule| match rule {
            rules::Rule::Reserve(rule) => Some(rule),
            _ => None,
        };
        let all: Vec<Reserves> = rules::tried(self.span(), pick).flat_map(by).collect();
        let equal = all.iter().position(|reserves| reserves.equal);
        all.into_iter().nth(equal.unwrap_or(0))
    }

    fn ratios(&self, zones: &[Zone], kinds: &[ZoneKind]) -> Vec<Ratios> {
        if let Some(ratios) = self.tunable("vm.lowmem_reserve_ratio") {
            let words = ratios.split_ascii_whitespace();
            let told: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
            return told.into_iter().map(Ratios::Told).collect();
        }
        let default: Vec<u64> = kinds
            .iter()
            .map(|&kind| reserve::default_ratio(kind))
            .collect();
        let with_highmem = kinds.iter().map(|&kind| match kind {
            ZoneKind::HighMem => 32,
            kind => reserve::default_ratio(kind),
        });
        let inferred = kinds.iter().zip(&default);
        let inferred =
            inferred.map(|(&kind, &default)| inferred_ratio(zones, kinds, kind, default));
        Vec::from([
            Ratios::Default(default.clone()),
            Ratios::Default(with_highmem.collect()),
            Ratios::Inferred(inferred.collect()),
        ])
    }
}

fn rows(rule: Rule, zones: &[Zone], kinds: &[ZoneKind], ratios: &[u64]) -> Vec<Vec<Pages>> {
    let row = |zone: &Zone| {
        let managed = managed(zones, zone.node, kinds);
        let column = kinds.iter().position(|&kind| kind == zone.kind);
        let all = reserve::protection_by(rule, &managed, ratios);
        column
            .and_then(|column| all.into_iter().nth(column))
            .unwrap_or_default()
    };
    zones.iter().map(row).collect()
}

/// The managed pages of a node's zones, by column.
fn managed(zones: &[Zone], node: u32, kinds: &[ZoneKind]) -> Vec<Pages> {
    let of = |&kind: &ZoneKind| {
        let mut same = zones
            .iter()
            .filter(|zone| zone.node == node && zone.kind == kind);
        same.next().map_or(Pages::ZERO, |zone| zone.managed)
    };
    kinds.iter().map(of).collect()
}

/// The ratio with which every zone of this kind keeps back what is printed; the default where that
/// is one of several, or where none does.
fn inferred_ratio(zones: &[Zone], kinds: &[ZoneKind], kind: ZoneKind, default: u64) -> u64 {
    let Some(column) = kinds.iter().position(|&other| other == kind) else {
        return default;
    };
    let (mut least, mut most, mut keeps_nothing) = (1_u64, u64::MAX, false);
    let same = |zone: &&Zone| zone.kind == kind && zone.managed > Pages::ZERO;
    for zone in zones.iter().filter(same) {
        let managed = managed(zones, zone.node, kinds);
        let mut above = 0_u64;
        for (pages, kept) in managed.iter().zip(&zone.protection).skip(column + 1) {
            above = above.saturating_add(pages.0);
            keeps_nothing |= above > 0 && kept.0 == 0;
            if kept.0 > 0 {
                least = least.max(above / (kept.0 + 1) + 1);
                most = most.min(above / kept.0);
            }
        }
    }
    match (most == u64::MAX, (least..=most).contains(&default)) {
        (true, _) => {
            if keeps_nothing {
                0
            } else {
                default
            }
        }
        (false, true) => default,
        (false, false) if least <= most => least,
        (false, false) => default,
    }
}
