//! Why watermarks may differ from what the tunables give now: pages that came to a zone later.
//!
//! The kernel makes the marks at boot and when `vm.min_free_kbytes` or `vm.watermark_scale_factor`
//! is written, with the managed pages of that moment. The pages of the initial RAM disk come back
//! after the last of these at boot. So we look for the number of pages that, taken from one zone,
//! gives the kernel's marks in all zones: if there is one, the difference is explained.

use mm::formula::reserve::default_ratio;
use mm::formula::watermarks::{Rule, Steps, ZoneSize, watermarks_by};
use mm::snapshot::Snapshot;
use mm::units::Pages;
use mm::zoneinfo::{Watermarks, Zone};

/// Pages that came to a zone after the marks were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LatePages {
    /// The zone.
    pub(crate) zone: &'static str,
    /// Its node.
    pub(crate) node: u32,
    /// How many, as the smallest number that gives the kernel's marks.
    pub(crate) pages: Pages,
}

/// Numbers of pages that are tried in one zone: as many give the same high mark at most, save where
/// all memory is in one zone.
const TRIED: usize = 10_000;

/// The same where another zone has late pages too.
const TRIED_OF_A_PAIR: usize = 500;

/// The work grows with the square of the zones.
const MOST_ZONES_OF_A_PAIR: usize = 16;

/// The pages, if any number of them in any one zone explains the kernel's marks.
pub(crate) fn late_pages(snapshot: &Snapshot) -> Option<LatePages> {
    let (rule, steps) = (snapshot.watermark_rule()?, snapshot.marks()?.steps);
    let zones = &snapshot.zoneinfo.as_ref()?.zones;
    let found = |(index, zone): (usize, &Zone)| {
        let marks = Marks {
            zones,
            rule,
            steps,
            index,
            other: None,
        };
        let pages = marks.explaining(TRIED)?;
        Some(LatePages {
            zone: zone.kind.name(),
            node: zone.node,
            pages,
        })
    };
    zones.iter().enumerate().find_map(found)
}

/// The pages of two zones that explain the kernel's marks: those that a reserve tells of one, give
/// or take, with any number in another. The highest zone of which a reserve tells is taken first.
/// On a machine of many zones none are looked for.
pub(crate) fn late_pair(snapshot: &Snapshot) -> Option<[LatePages; 2]> {
    let (rule, steps) = (snapshot.watermark_rule()?, snapshot.marks()?.steps);
    let zones = &snapshot.zoneinfo.as_ref()?.zones;
    let told = late_zones(snapshot);
    if zones.iter().filter(|zone| zone.is_populated()).count() > MOST_ZONES_OF_A_PAIR {
        return None;
    }
    told.iter().rev().take(4).find_map(|other| {
        let is_other = |zone: &Zone| zone.kind.name() == other.zone && zone.node == other.node;
        let at = zones.iter().position(is_other)?;
        let others = zones.iter().enumerate();
        let mut others = others.filter(|(index, zone)| *index != at && zone.is_usable());
        others.find_map(|(index, zone)| {
            let pages = around(other.pages).find_map(|late| {
                let marks = Marks {
                    zones,
                    rule,
                    steps,
                    index,
                    other: Some((at, late)),
                };
                marks.explaining(TRIED_OF_A_PAIR).map(|pages| (pages, late))
            });
            let (pages, late) = pages?;
            let found = LatePages {
                zone: zone.kind.name(),
                node: zone.node,
                pages,
            };
            let other = LatePages {
                pages: late,
                ..other.clone()
            };
            Some([found, other])
        })
    })
}

/// Numbers of pages that a reserve with the ratio 256 does not tell from this one, a few of them.
fn around(pages: Pages) -> impl Iterator<Item = Pages> {
    let near = (0..=8).flat_map(|step: u64| [step * 16, step * 16 + 1]);
    let below = near
        .clone()
        .map(move |off| pages.saturating_sub(Pages(off)));
    let above = near.map(move |off| pages.saturating_add(Pages(off)));
    below.zip(above).flat_map(|(below, above)| [below, above])
}

/// The pages that each zone lacked when the reserves were made, give or take half the ratio: what
/// the populated zone below keeps back from requests for it is its pages over the default ratio.
pub(crate) fn late_zones(snapshot: &Snapshot) -> Vec<LatePages> {
    let zones = snapshot.zoneinfo.iter().flat_map(|info| &info.zones);
    let zones: Vec<&Zone> = zones.filter(|zone| zone.is_populated()).collect();
    let late = |(lower, zone): (&&Zone, &&Zone)| {
        let ratio = default_ratio(lower.kind);
        let kept = lower.protection.iter().find(|kept| kept.0 > 0)?;
        let then = kept.0.saturating_mul(ratio).saturating_add(ratio / 2);
        let pages = Pages(zone.managed.0.saturating_sub(then));
        let tells = lower.node == zone.node && ratio > 0 && pages.0 > ratio;
        tells.then(|| LatePages {
            zone: zone.kind.name(),
            node: zone.node,
            pages,
        })
    };
    let pairs = zones.iter().zip(zones.iter().skip(1));
    pairs.filter_map(late).collect()
}

/// The marks of all zones as they were when one of them had fewer pages.
struct Marks<'a> {
    zones: &'a [Zone],
    rule: Rule,
    steps: Steps,
    index: usize,
    /// Another zone, and the pages that it lacked.
    other: Option<(usize, Pages)>,
}

impl Marks<'_> {
    /// The smallest number of late pages that gives the kernel's marks.
    fn explaining(&self, tried: usize) -> Option<Pages> {
        let zone = &self.zones[self.index];
        let kernel = zone.unboosted().high;
        let first = self.first_at_most(kernel, zone.managed);
        let same = (first..=zone.managed.0).take_while(|&late| self.high(late) == kernel);
        same.take(tried)
            .find(|&late| self.equal_the_kernels(late))
            .map(Pages)
    }

    /// The fewest late pages with which the zone's high mark is not above `mark`, by bisection: the
    /// mark falls with each page that the zone lacks.
    fn first_at_most(&self, mark: Pages, managed: Pages) -> u64 {
        let (mut low, mut high) = (0, managed.0);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.high(middle) <= mark {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    fn high(&self, late: u64) -> Pages {
        self.with(late)[self.index].high
    }

    fn equal_the_kernels(&self, late: u64) -> bool {
        let three = |marks: Watermarks| (marks.min, marks.low, marks.high);
        let mut pairs = self.zones.iter().zip(self.with(late));
        pairs.all(|(zone, marks)| !zone.is_populated() || three(zone.unboosted()) == three(marks))
    }

    fn with(&self, late: u64) -> Vec<Watermarks> {
        let mut sizes: Vec<ZoneSize> = self.zones.iter().map(ZoneSize::from).collect();
        let lacking = self.other.into_iter().chain([(self.index, Pages(late))]);
        for (index, pages) in lacking {
            let managed = &mut sizes[index].managed;
            *managed = managed.saturating_sub(pages);
        }
        watermarks_by(self.steps, &sizes, self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::capture::Frame;

    /// A 3840 MiB VM with Linux 6.1 as it booted, and with its Normal zone's low mark as given.
    fn booted(normal_low: u64) -> Snapshot {
        let zone = |name, managed, [min, low, high]: [u64; 3]| {
            format!(
                "Node 0, zone {name}\n  pages free 9\n boost 0\n min {min}\n low {low}\n \
                 high {high}\n spanned {managed}\n present {managed}\n managed {managed}\n \
                 protection: (0, 0, 0)\n"
            )
        };
        let zoneinfo = [
            zone("DMA", 3840, [69, 86, 103]),
            zone("DMA32", 757_818, [13_595, 16_993, 20_391]),
            zone("Normal", 179_400, [3231, normal_low, 4845]),
        ];
        let mut frame = Frame::default();
        let mut put = |path: &str, text: String| frame.files.insert(path.to_owned(), text);
        put("proc/zoneinfo", zoneinfo.concat());
        put("proc/sys/vm/min_free_kbytes", "67584".to_owned());
        put("proc/sys/vm/watermark_scale_factor", "10".to_owned());
        Snapshot::parse(&frame)
    }

    #[test]
    fn the_initial_ram_disk_explains_the_marks_of_a_booted_vm() {
        let late = late_pages(&booted(4038)).expect("an explanation");
        assert_eq!((late.zone, late.node), ("DMA32", 0));
        // The lowmem reserves of the same moment bound it to 2875 to 3074 pages.
        assert!((2800..=3150).contains(&late.pages.0), "{late:?}");
    }

    #[test]
    fn marks_that_no_number_of_pages_gives_stay_unexplained() {
        assert_eq!(late_pages(&booted(4040)), None);
    }
}
