//! The figures of a machine that a change of settings changes, by the kernel's formulas.

use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib};

/// A figure before and after.
#[derive(Debug)]
pub struct Effect {
    /// What it is called.
    pub name: &'static str,
    /// Now.
    pub before: Bytes,
    /// Then.
    pub after: Bytes,
}

/// The figures that differ.
pub fn effects(before: &Snapshot, after: &Snapshot) -> Vec<Effect> {
    let high = |it: &Snapshot| {
        let zones = it.zoneinfo.as_ref()?.zones.iter();
        let pages: u64 = zones.map(|zone| zone.watermarks.high.0).sum();
        Some(Bytes(pages * it.page.bytes()))
    };
    let available = |it: &Snapshot| Some(it.available()?.total.bytes(it.page));
    let dirty = |it: &Snapshot| Some(it.thresholds()?.dirty.bytes(it.page));
    let background = |it: &Snapshot| Some(it.thresholds()?.background.bytes(it.page));
    let commit = |it: &Snapshot| it.commit_limit().map(Kib::bytes);
    type Figure<'a> = (&'static str, &'a dyn Fn(&Snapshot) -> Option<Bytes>);
    let figures: [Figure<'_>; 5] = [
        ("MemAvailable", &available),
        ("kept free (high marks)", &high),
        ("dirty limit", &dirty),
        ("background writeback from", &background),
        ("commit limit", &commit),
    ];
    let both = figures.into_iter().filter_map(|(name, figure)| {
        let (before, after) = (figure(before)?, figure(after)?);
        Some(Effect {
            name,
            before,
            after,
        })
    });
    both.filter(|effect| effect.before != effect.after)
        .collect()
}
