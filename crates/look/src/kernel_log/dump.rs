//! A dump of memory at which nothing failed: why it was made, and how the zones stood.

use mm::kernel_log::{Cause, Dump, Event, Refusal, Report, ZoneCheck};

use super::refused::of_zones;

/// Why memory was dumped.
pub(super) fn dumped(report: &Report) -> String {
    let why = match report.event {
        Event::Dump(Dump::SysRq) => "on request (SysRq m): nothing failed and nothing was killed",
        Event::Dump(Dump::Panic) => {
            "at a panic that is not for memory: nothing failed for want of memory and nothing was \
             killed"
        }
        _ => {
            "whose reason is not in this log: no line of it says that anything failed or that \
             anything was killed"
        }
    };
    format!("A dump of memory {why}.")
}

/// The zones of a dump against their marks, and what kswapd makes of it where the release is told.
pub(super) fn of_dump(report: &Report, cause: &Cause) -> Vec<String> {
    let mut zones: Vec<&ZoneCheck> = cause.zones.iter().collect();
    zones.sort_by_key(|zone| core::cmp::Reverse(zone.managed));
    let stands = |zone: &ZoneCheck| {
        let counts = zone
            .free
            .saturating_sub(zone.cma)
            .saturating_sub(zone.highatomic);
        let place = match counts {
            counts if counts < zone.min => format!("below min ({} kB)", zone.min.0),
            counts if counts < zone.low => format!("below low ({} kB)", zone.low.0),
            counts if counts < zone.high => format!("below high ({} kB)", zone.high.0),
            _ => format!("above high ({} kB)", zone.high.0),
        };
        format!(
            "{} (node {}) {} kB, {place}",
            zone.kind, zone.node, counts.0
        )
    };
    let shown: Vec<String> = zones.iter().take(4).map(|zone| stands(zone)).collect();
    if shown.is_empty() {
        return vec!["The log has no whole line of a zone.".to_owned()];
    }
    let mut sentences = vec![format!("Free against the marks: {}.", shown.join("; "))];
    sentences.extend(kswapd(report, &zones));
    let refusal = cause.refusals.first();
    if refusal.is_some_and(|first| !matches!(first, Refusal::Unseen | Refusal::NotShown)) {
        let reasons = of_zones(report, cause).join(" ");
        sentences.push(format!("A page for the kernel would be refused. {reasons}"));
    }
    sentences
}

/// Whether kswapd has work, by the rule of the release.
fn kswapd(report: &Report, zones: &[&ZoneCheck]) -> Option<String> {
    let release = report.version()?;
    let lack = |zone: &&&ZoneCheck| {
        let counts = zone.free.saturating_sub(zone.cma);
        (counts < zone.high).then(|| zone.high.saturating_sub(counts).0)
    };
    let short = zones.iter().find_map(|zone| Some((zone, lack(&zone)?)));
    let (zone, kib) = short?;
    Some(match release < (4, 8) {
        true => format!(
            "Before 4.8 every zone must be above its high mark: kswapd has {kib} kB to free in {}.",
            zone.kind
        ),
        false => format!(
            "Since 4.8 one zone above high is enough for a node: {} alone gives kswapd no work.",
            zone.kind
        ),
    })
    .filter(|_| release < (4, 8) || zones.iter().any(|zone| lack(&zone).is_none()))
}
