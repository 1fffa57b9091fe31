//! What the rules look at: every fact is asked for by name and may be absent.
//!
//! An amount comes from meminfo, or from the report of a kernel log where there is no meminfo.

use crate::fact::{Fact, Missing};
use mm::capture::Frame;
use mm::catalogue::folder;
use mm::kernel_log::{Holders, Report};
use mm::memcg::Memcg;
use mm::meminfo::Meminfo;
use mm::recompute::{Node, Place, Standing};
use mm::snapshot::Snapshot;
use mm::swaps::SwapArea;
use mm::units::{Bytes, Kib, PageSize, Pages};
use mm::zoneinfo::{Zone, Zoneinfo};

use crate::interval::Interval;

/// A frame, parsed, and what happened since an earlier one.
#[derive(Debug)]
pub(crate) struct Looked<'a> {
    snapshot: &'a Snapshot,
    frame: &'a Frame,
    interval: Option<&'a Interval<'a>>,
    holders: Option<Holders>,
}

impl<'a> Looked<'a> {
    /// What rules may ask of a frame.
    pub(crate) fn new(
        frame: &'a Frame,
        snapshot: &'a Snapshot,
        interval: Option<&'a Interval<'a>>,
    ) -> Self {
        Self {
            snapshot,
            frame,
            interval,
            holders: snapshot.report.as_ref().map(Holders::of),
        }
    }

    /// The state, for what the library computes from it: that says itself what it lacks.
    pub(super) fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// Whether the evidence contradicts itself.
    pub(super) fn contradicts(&self) -> bool {
        !self.snapshot.contradictions().is_empty()
    }

    /// The text that a tool printed.
    pub(crate) fn tool(&self, tool: &str) -> Option<&'a str> {
        self.frame.file(&format!("{}{tool}", evidence::TOOLS))
    }

    /// A file's text.
    pub(crate) fn file(&self, path: &str) -> Option<&'a str> {
        self.frame.file(path)
    }

    /// The size of a page.
    pub(super) fn page(&self) -> PageSize {
        self.snapshot.page
    }

    /// Pages in bytes.
    pub(crate) fn bytes(&self, pages: u64) -> Bytes {
        Pages(pages).bytes(self.page())
    }

    /// `/proc/meminfo`.
    pub(super) fn meminfo(&self) -> Fact<&'a Meminfo> {
        self.snapshot
            .meminfo
            .as_ref()
            .ok_or(Missing("/proc/meminfo"))
    }

    /// The `meminfo` of each node, by its number.
    pub(super) fn meminfo_of_nodes(&self) -> Vec<(u32, Meminfo)> {
        let of_node = |(path, text): (&String, &String)| {
            let node = path.strip_prefix("sys/devices/system/node/node")?;
            let node = node.strip_suffix("/meminfo")?.parse().ok()?;
            let prefix = format!("Node {node} ");
            let lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
            let lines: Vec<&str> = lines.collect();
            Some((node, Meminfo::read(&lines.join("\n")).0?))
        };
        self.frame.files.iter().filter_map(of_node).collect()
    }

    /// An amount by its name in meminfo, or the same of the areas of swap, of `/proc/vmstat` or of
    /// a report.
    pub(super) fn amount(&self, item: &'static str) -> Fact<Kib> {
        let of_swaps = || self.of_swaps(item).or_else(|| self.of_vmstat(item));
        match (self.meminfo(), &self.holders) {
            (Ok(meminfo), _) => meminfo.get(item).or_else(of_swaps).ok_or(Missing(item)),
            (Err(missing), None) => of_swaps().ok_or(missing),
            (Err(missing), Some(holders)) => {
                let told = self.of_report(item, holders);
                told.or_else(|| self.of_vmstat(item)).ok_or(missing)
            }
        }
    }

    /// `/proc/swaps` lists all areas with their size and use.
    fn of_swaps(&self, item: &str) -> Option<Kib> {
        let areas = &self.snapshot.swaps.as_ref()?.areas;
        let sum = |part: fn(&SwapArea) -> Kib| {
            areas.iter().map(part).fold(Kib::ZERO, Kib::saturating_add)
        };
        match item {
            "SwapTotal" => Some(sum(|area| area.size)),
            "SwapFree" => Some(sum(|area| Kib(area.size.0.saturating_sub(area.used.0)))),
            _ => None,
        }
    }

    /// `/proc/vmstat` counts the pages of slab (2.6.19 on).
    fn of_vmstat(&self, item: &str) -> Option<Kib> {
        let counter = match item {
            "SUnreclaim" => "nr_slab_unreclaimable",
            "SReclaimable" => "nr_slab_reclaimable",
            _ => return None,
        };
        let pages = self.snapshot.vmstat.as_ref()?.get(counter)?;
        Some(Pages(pages).kib(self.page()))
    }

    fn of_report(&self, item: &str, holders: &Holders) -> Option<Kib> {
        let report = self.snapshot.report.as_ref()?;
        let part = match item {
            "MemTotal" => return holders.total.map(kib),
            "SwapTotal" => return report.swap,
            "SwapFree" => return report.swap_free,
            "SUnreclaim" => "slab_unreclaimable",
            "SReclaimable" => "slab_reclaimable",
            "PageTables" => "page_tables",
            "Shmem" => "shared",
            "KernelStack" => "kernel_stacks",
            _ => return None,
        };
        holders.get(part).map(kib)
    }

    /// All memory.
    pub(super) fn total(&self) -> Fact<Kib> {
        self.amount("MemTotal").and_then(|total| match total {
            Kib::ZERO => Err(Missing("MemTotal")),
            total => Ok(total),
        })
    }

    /// A count of meminfo, such as that of huge pages.
    pub(super) fn count(&self, item: &'static str) -> Fact<u64> {
        self.meminfo()?.other.get(item).ok_or(Missing(item))
    }

    /// A counter since boot.
    pub(super) fn counter(&self, item: &'static str) -> Fact<u64> {
        let vmstat = self.snapshot.vmstat.as_ref();
        let vmstat = vmstat.ok_or(Missing("/proc/vmstat"))?;
        vmstat.get(item).ok_or(Missing(item))
    }

    /// The sum of the counters of a name, those of the zones of kernels before 4.8 among them.
    pub(super) fn counters(&self, name: &'static str) -> Fact<u64> {
        let vmstat = self.snapshot.vmstat.as_ref();
        let vmstat = vmstat.ok_or(Missing("/proc/vmstat"))?;
        crate::reclaim::sum(vmstat.iter(), &[name]).ok_or(Missing(name))
    }

    /// How much a counter grew in a second.
    pub(super) fn rate(&self, item: &'static str) -> Fact<f64> {
        // Of two readings the difference leaves out what did not move.
        let there = self.counter(item)?;
        let interval = self.interval.ok_or(Missing("a second reading"))?;
        let grown = match interval.vmstat.get(item) {
            Some(grown) => grown.min(there),
            None => 0,
        };
        Ok(interval.per_second(grown))
    }

    /// The state at the beginning of the interval, and its seconds.
    pub(super) fn before(&self) -> Fact<(&'a Snapshot, f64)> {
        let interval = self.interval.ok_or(Missing("a second reading"))?;
        Ok((interval.first, interval.span.seconds()))
    }

    /// The interval's growth of a counter; `None` where there is no interval.
    pub(super) fn grown(&self, item: &str) -> Option<u64> {
        self.interval?.vmstat.get(item)
    }

    /// The value of a tunable that is a number.
    pub(super) fn setting(&self, name: &'static str) -> Fact<u64> {
        let mut paths = self.frame.files.keys();
        let any = paths.any(|path| folder::holds(folder::VM, path));
        let without = if any { name } else { "vm.*" };
        self.snapshot.number(name).ok_or(Missing(without))
    }

    /// `/proc/zoneinfo`.
    pub(super) fn zones(&self) -> Fact<&'a Zoneinfo> {
        self.snapshot
            .zoneinfo
            .as_ref()
            .ok_or(Missing("/proc/zoneinfo"))
    }

    /// Zones with memory, each with what stands against its marks.
    pub(super) fn standings(&self) -> Fact<Vec<(&'a Zone, Standing)>> {
        let populated = self.zones()?.populated();
        let standing = |zone| (zone, self.snapshot.standing(zone));
        Ok(populated.map(standing).collect())
    }

    /// Where the zones of a node stand.
    pub(super) fn places(&self, node: u32) -> Fact<Vec<Place>> {
        let standings = self.standings()?.into_iter();
        let of_node = standings.filter(|(zone, _)| zone.node == node);
        Ok(of_node.map(|(_, standing)| standing.place).collect())
    }

    /// The nodes, and what kswapd makes of them.
    pub(super) fn nodes(&self) -> Fact<Vec<Node>> {
        self.zones()?;
        Ok(self.snapshot.nodes())
    }

    /// The control groups, by path.
    pub(super) fn groups(&self) -> Fact<impl Iterator<Item = (&'a str, &'a Memcg)>> {
        let groups = &self.snapshot.memcgs;
        match groups.is_empty() {
            true => Err(Missing("files of control groups")),
            false => Ok(groups.iter().map(|(name, group)| (name.as_str(), group))),
        }
    }

    /// The control groups, where at least one tells what a rule asks for.
    pub(super) fn groups_telling(
        &self,
        tells: fn(&Memcg) -> bool,
        what: &'static str,
    ) -> Fact<impl Iterator<Item = (&'a str, &'a Memcg)>> {
        let any = self.groups()?.any(|(_, group)| tells(group));
        any.then_some(()).ok_or(Missing(what))?;
        self.groups()
    }

    /// A report of the kernel.
    pub(super) fn report(&self) -> Fact<&'a Report> {
        self.snapshot.report.as_ref().ok_or(Missing("dmesg"))
    }

    /// Who holds memory by the report.
    pub(super) fn holders(&self) -> Fact<&Holders> {
        self.holders.as_ref().ok_or(Missing("dmesg"))
    }
}

fn kib(bytes: Bytes) -> Kib {
    Kib(bytes.0 / 1024)
}
