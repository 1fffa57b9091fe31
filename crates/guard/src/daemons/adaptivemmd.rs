//! The rule of oracle/adaptivemm's daemon for `vm.watermark_scale_factor`.
//!
//! It fits a line to the last eight counts of each node's free pages. Where a line falls so fast
//! that the node is soon below its high watermark, or it is already, the factor is raised by the
//! share of the memory that is not free; where none falls, it is lowered. Rates are whole pages in
//! a millisecond, a slope is in hundredths of that. What the daemon does beside this, compaction
//! and `vm.vfs_cache_pressure`, is not here.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::settings::Setting;
use mm::units::{Nanos, PageSize};
use mm::zoneinfo::ZoneKind;

use super::host::{Host, SCALE_FACTOR, setting};

/// Samples that a line is fitted to.
const SAMPLES: usize = 8;
/// The most aggressive of its three ways allows this factor. It samples every 15 s then; the one
/// that it comes with has 700 and 30 s.
const MOST: u64 = 1000;
const LEAST: u64 = 10;

/// The daemon with what it remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Adaptivemmd {
    /// By node: milliseconds, and free pages then.
    lines: BTreeMap<u32, VecDeque<(i64, i64)>>,
    /// When it looked last, and what kswapd had reclaimed by then.
    last: Option<(Nanos, u64)>,
    /// Pages that kswapd reclaims in a millisecond.
    rate: u64,
}

/// Pages of a node, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Node {
    free: u64,
    min: u64,
    low: u64,
    high: u64,
    managed: u64,
}

/// What free memory comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trend {
    Eases,
    Holds,
    RunsOut,
}

impl Adaptivemmd {
    /// The settings to write now, if any.
    pub(super) fn decide(&mut self, host: &Host) -> Vec<Setting> {
        let nodes = nodes(host);
        let trends: Vec<Trend> = nodes
            .iter()
            .map(|(number, node)| self.trend(*number, node, host.at))
            .collect();
        let factor = match &trends {
            trends if trends.contains(&Trend::RunsOut) => raised(host, &nodes),
            trends if trends.contains(&Trend::Eases) => Some(lowered(host, &nodes)),
            _ => None,
        };
        self.measure(host);
        match factor {
            Some(factor) if factor != host.scale_factor => vec![setting(SCALE_FACTOR, factor)],
            _ => Vec::new(),
        }
    }

    fn trend(&mut self, number: u32, node: &Node, at: Nanos) -> Trend {
        let line = self.lines.entry(number).or_default();
        if line.len() == SAMPLES {
            line.pop_front();
        }
        line.push_back((
            (at.0 / Nanos::MILLI.0).cast_signed(),
            node.free.cast_signed(),
        ));
        let Some(slope) = slope(line) else {
            return Trend::Holds;
        };
        if slope >= 0 {
            return Trend::Eases;
        }
        let above = node.free.saturating_sub(node.high);
        let Some(catches_up) = above.checked_div(self.rate) else {
            return Trend::Holds;
        };
        match above == 0 || above / slope.unsigned_abs() <= catches_up.saturating_mul(3) {
            true => Trend::RunsOut,
            false => Trend::Holds,
        }
    }

    /// How fast kswapd reclaims.
    fn measure(&mut self, host: &Host) {
        let reclaimed = host.vmstat.get("pgsteal_kswapd").unwrap_or(0);
        if let Some((at, before)) = self.last.replace((host.at, reclaimed))
            && before > 0
        {
            let span = host.at.saturating_sub(at).0 / Nanos::MILLI.0;
            let rate = reclaimed.saturating_sub(before).checked_div(span);
            self.rate = rate.unwrap_or(self.rate);
        }
    }
}

/// The slope of the line of least squares through the samples, in hundredths of a page in a
/// millisecond; `None` before there are enough.
fn slope(line: &VecDeque<(i64, i64)>) -> Option<i64> {
    let (first, _) = line.front().filter(|_| line.len() == SAMPLES)?;
    let points = || {
        line.iter()
            .map(|(at, free)| (i128::from(at - first), i128::from(*free)))
    };
    let count = SAMPLES as i128;
    let sum = |of: fn((i128, i128)) -> i128| points().map(of).sum::<i128>();
    let (x, y) = (sum(|(x, _)| x), sum(|(_, y)| y));
    let (xx, xy) = (sum(|(x, _)| x * x), sum(|(x, y)| x * y));
    let slope = ((count * xy - x * y) * 100).checked_div(count * xx - x * x)?;
    i64::try_from(slope).ok()
}

/// The nodes' pages, without the zone for old devices.
fn nodes(host: &Host) -> BTreeMap<u32, Node> {
    let mut nodes = BTreeMap::<u32, Node>::new();
    let zones = host.zoneinfo.zones.iter();
    for zone in zones.filter(|zone| zone.is_usable() && zone.kind != ZoneKind::Dma) {
        let (node, marks) = (nodes.entry(zone.node).or_default(), zone.watermarks);
        node.add(&Node {
            free: zone.free.0,
            min: marks.min.0,
            low: marks.low.0,
            high: marks.high.0,
            managed: zone.managed.0,
        });
    }
    nodes
}

impl Node {
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.free, other.free),
            (&mut self.min, other.min),
            (&mut self.low, other.low),
            (&mut self.high, other.high),
            (&mut self.managed, other.managed),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }

    fn sum(nodes: &BTreeMap<u32, Self>) -> Self {
        let mut sum = Self::default();
        nodes.values().for_each(|node| sum.add(node));
        sum
    }
}

/// Down to what is not free, or by a tenth where that is no less or little is free.
fn lowered(host: &Host, nodes: &BTreeMap<u32, Node>) -> u64 {
    let (all, count) = (Node::sum(nodes), nodes.len().max(1) as u64);
    let tenth_less = mul_div(host.scale_factor, 9, 10);
    let is_short = all.free < (all.low / count).midpoint(all.high / count);
    let wanted = match used(host, &all) / 10 * 10 {
        wanted if is_short || wanted >= host.scale_factor => tenth_less,
        wanted => wanted,
    };
    bounded(host, &all, wanted)
}

/// Up to what is not free, or half of that where there is less to reclaim or less need, or by a
/// tenth or two where there is neither; `None` where the low watermark would then lie above what
/// is free or can be reclaimed.
fn raised(host: &Host, nodes: &BTreeMap<u32, Node>) -> Option<u64> {
    let (all, count, now) = (
        Node::sum(nodes),
        nodes.len().max(1) as u64,
        host.scale_factor,
    );
    let cached = cached(host);
    let (used, high) = (used(host, &all), all.high / count);
    let [missing, above] = [high.saturating_sub(all.free), all.free.saturating_sub(high)];
    let wanted = if all.free < high && cached > missing {
        used / 10 * 10
    } else if all.free < high || cached > above {
        used / 20 * 10
    } else if now > 100 {
        mul_div(now, 11, 10)
    } else {
        mul_div(now, 12, 10)
    };
    let wanted = match wanted {
        0 => return None,
        wanted if wanted == now => mul_div(now, 11, 10),
        wanted => wanted,
    };
    let tries = [bounded(host, &all, wanted), mul_div(now, 11, 10)];
    let mut tries = tries.into_iter();
    tries.find(|factor| {
        let gap = mul_div(all.low.saturating_sub(all.min), *factor, now);
        let low = all.min.saturating_add(gap);
        cached > low.saturating_add(all.free / 50)
    })
}

/// The thousandths of the memory that are not free; huge pages are left out.
fn used(host: &Host, all: &Node) -> u64 {
    let managed = all.managed.saturating_sub(huge(host));
    1000_u64.saturating_sub(mul_div(all.free, 1000, managed))
}

/// Within its bounds; the upper one is smaller by the share of huge pages.
fn bounded(host: &Host, all: &Node, factor: u64) -> u64 {
    let most = mul_div(MOST, all.managed.saturating_sub(huge(host)), all.managed);
    factor.clamp(LEAST, most.max(LEAST))
}

/// Pages that huge pages take.
fn huge(host: &Host) -> u64 {
    host.meminfo
        .hugetlb
        .unwrap_or_default()
        .pages_floor(PageSize::FOUR_KIB)
        .0
}

/// What it takes for pages that can be reclaimed.
fn cached(host: &Host) -> u64 {
    let lists = ["nr_inactive_file", "nr_inactive_anon"];
    let pages = lists.iter().filter_map(|list| host.vmstat.get(list));
    pages.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use mm::units::Pages;
    use mm::vmstat::Vmstat;
    use mm::zoneinfo::{self, Zone, Zoneinfo};

    /// A zone of 100 000 pages.
    fn zone(free: u64) -> Zone {
        Zone {
            node: 0,
            kind: ZoneKind::Normal,
            free: Pages(free),
            boost: None,
            watermarks: zoneinfo::Watermarks {
                min: Pages(1_000),
                low: Pages(1_250),
                high: Pages(1_500),
                promo: None,
            },
            spanned: Pages(100_000),
            present: Pages(100_000),
            managed: Pages(100_000),
            cma: None,
            protection: Vec::new(),
            items: mm::items::Items::default(),
            pagesets: Vec::new(),
        }
    }

    /// What it sets at the eighth sample, and that it sets nothing before. Every 15 s `step` pages
    /// more are free, up to `last`; kswapd reclaims `stolen` meanwhile.
    fn set(step: i64, last: i64, stolen: u64, cached: u64, factor: u64) -> Option<u64> {
        let mut daemon = Adaptivemmd::default();
        for sample in 1..=8 {
            let vmstat = format!(
                "pgsteal_kswapd {}\nnr_inactive_file {cached}\n",
                stolen * sample
            );
            let free = (last - step * (8 - sample.cast_signed())).cast_unsigned();
            let host = Host {
                at: Nanos(15 * Nanos::SECOND.0 * sample),
                vmstat: Vmstat::parse(&vmstat).expect("counters"),
                zoneinfo: Zoneinfo {
                    zones: vec![zone(free)],
                    ..Zoneinfo::default()
                },
                scale_factor: factor,
                ..Host::default()
            };
            let decided = daemon.decide(&host);
            if sample == 8 {
                let decided = decided.first()?;
                return decided.value.parse().ok();
            }
            assert_eq!(decided, [], "sample {sample}");
        }
        None
    }

    #[test]
    fn below_the_high_watermark_the_factor_is_what_is_not_free() {
        assert_eq!(set(-3_000, 1_400, 30_000, 50_000, 10), Some(980));
        let same = set(-3_000, 1_400, 30_000, 90_000, 980);
        assert_eq!(same, Some(1_000), "a tenth more, up to the bound");
    }

    #[test]
    fn a_low_watermark_that_the_page_cache_cannot_fill_is_not_set() {
        let tenth = set(-3_000, 1_400, 30_000, 25_528, 10);
        assert_eq!(tenth, Some(11), "low would be 1000 + 980 / 10 * 250");
        assert_eq!(set(-3_000, 1_400, 30_000, 25_529, 10), Some(980));
        assert_eq!(set(-3_000, 1_400, 30_000, 1_303, 10), None);
    }

    #[test]
    fn above_it_a_fall_counts_that_kswapd_could_not_catch_up_with_in_time() {
        // 20 hundredths of a page in a millisecond. Its source divides by the hundredths: 3000 pages
        // take 150 then.
        assert_eq!(set(-3_000, 4_500, 30_000, 50_000, 10), Some(470));
        assert_eq!(set(-3_000, 4_500, 1_500_000, 50_000, 10), None, "or 30");
        assert_eq!(set(-3_000, 4_500, 30_000, 2_999, 10), Some(12));
        assert_eq!(set(-3_000, 4_500, 14_000, 50_000, 10), None, "no rate yet");
    }

    #[test]
    fn it_is_lowered_where_free_memory_does_not_fall_by_ten_pages_a_second() {
        assert_eq!(set(3_000, 30_000, 0, 50_000, 980), Some(700));
        assert_eq!(set(3_000, 30_000, 0, 50_000, 700), Some(630));
        assert_eq!(set(-100, 1_300, 30_000, 50_000, 700), Some(630), "short");
        assert_eq!(set(3_000, 30_000, 0, 50_000, 10), None, "its least");
    }
}
