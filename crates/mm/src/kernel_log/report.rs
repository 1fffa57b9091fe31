//! A report of the kernel, read: what was asked, by whom, what each zone had, and who was killed.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::gfp::Gfp;
use super::group::Group;
use super::linux_2_4;
use super::message::{self, Kind, Refused, is_row, kind};
use super::nodes::NodeSet;
use super::panic::Panic;
use super::prefix::strip;
use super::slab::Slabs;
use super::tasks::{Killed, Processes};
use super::text::{after, leading_number, number_after, pairs, value_of};
use super::user_space::Killer;
use super::zone::{self, HugePages, Node, Zone, ZoneLine};
use crate::items::Items;
use crate::units::{Kib, PageSize, Pages};

/// Victims, zones and nodes that are kept of one report.
const MOST: usize = 1024;

/// What a report is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// The kernel's OOM killer.
    #[default]
    OomKill,
    /// An allocation that got no memory; nothing was killed.
    AllocationFailure,
    /// An allocation that waits (4.9 to 4.14).
    AllocationStall,
    /// Overcommit refused address space; nothing was killed.
    Overcommit,
    /// A program killed, or somebody did.
    UserSpace(Killer),
    /// A task that is stuck: named only.
    HungTask,
    /// A CPU that is stuck: named only.
    Lockup,
    /// CMA found no run of pages; nothing was killed.
    Cma,
    /// `pids.max` of a control group refused a fork; no lack of memory.
    Fork,
    /// vmalloc got no pages or no address space; nothing was killed.
    Vmalloc,
    /// A slab cache could not grow; nothing was killed.
    Slab,
    /// A dump of memory: nothing failed and nothing was killed.
    Dump(Dump),
    /// A container's runtime or an orchestrator says that a kernel OOM kill ended it.
    Container,
}

/// Why memory was dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// SysRq m asked.
    SysRq,
    /// A panic that is not for memory (`panic_print`).
    Panic,
    /// The log does not say.
    Untold,
}

/// A report. What the text does not hold is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What it is about.
    pub event: Event,
    /// The message that tells it, without its time.
    pub head: String,
    /// The task that asked.
    pub task: String,
    /// What it asked for.
    pub gfp: Option<Gfp>,
    /// log2 of the pages that it asked for in one piece; -1 where SysRq asked.
    pub order: Option<i32>,
    /// The kernel's release.
    pub release: Option<String>,
    /// "Hardware name:", which tells a virtual machine.
    pub hardware: Option<String>,
    /// The size of a page, by the smallest block of the free lists, or by what was killed against
    /// its row of the table; 4 KiB where neither is there.
    pub page: PageSize,
    /// Whether the report tells the size of a page.
    pub page_told: bool,
    /// Nodes that the memory policy allows; `None` for all.
    pub nodemask: Option<NodeSet>,
    /// Nodes that the cpuset allows.
    pub mems_allowed: Option<NodeSet>,
    /// The cpuset.
    pub cpuset: Option<String>,
    /// The kernel's word for what bound the allocation, since 5.0: `CONSTRAINT_MEMCG`.
    pub constraint: Option<String>,
    /// What refused, by the call trace or the words of the kill.
    pub refused: Refused,
    /// The limit that the description of a container names, as it is written.
    pub container_limit: Option<String>,
    /// The summary under "Mem-Info", in pages.
    pub summary: Items,
    /// Nodes, since 4.8.
    pub nodes: Vec<Node>,
    /// Zones.
    pub zones: Vec<Zone>,
    /// Whether free blocks are listed of a zone whose line is not there: the log begins behind it.
    pub misses_zones: bool,
    /// Whether the lines of two reports are mixed: a zone has two lines that differ.
    pub mixed: bool,
    /// Pools of huge pages.
    pub huge_pages: Vec<HugePages>,
    /// Page frames of RAM.
    pub ram: Option<Pages>,
    /// Of them above the kernel's map or for movable pages only.
    pub high: Option<Pages>,
    /// Of them never the allocator's.
    pub reserved: Option<Pages>,
    /// Of them CMA's.
    pub cma: Option<Pages>,
    /// Pages in the page cache, the swap cache with them.
    pub page_cache: Option<Pages>,
    /// Swap, and what is free of it.
    pub swap: Option<Kib>,
    /// Free swap.
    pub swap_free: Option<Kib>,
    /// The table of processes.
    pub processes: Processes,
    /// The control group's part.
    pub group: Group,
    /// Slab caches that could not grow, and those that hold memory.
    pub slabs: Slabs,
    /// What was killed.
    pub killed: Vec<Killed>,
    /// Whether a whole group was killed (`memory.oom.group`).
    pub whole_group: bool,
    /// Why the kernel panicked, where it did.
    pub panic: Option<Panic>,
    /// Whether nothing could be killed.
    pub no_victim: bool,
    /// Whether SysRq asked.
    pub sysrq: bool,
    /// Messages that tell the event, for events of several.
    pub messages: u64,
    /// Whether a message says that the OOM killer ran: without one the report is a dump.
    oom_told: bool,
}

impl Report {
    /// Reads the text of a frame's [`super::PATH`]; prefixes may still stand before the messages.
    /// `None` where no message is a kernel log's about memory.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut report = Self::default();
        let mut known = false;
        for line in text.split('\n') {
            let line = strip(line);
            known |= report.line(line.text.trim_ascii());
        }
        report.finish();
        known.then_some(report)
    }

    /// Reads a message; whether it tells an event.
    fn line(&mut self, text: &str) -> bool {
        if is_row(text) {
            return self.processes.line(text);
        }
        self.oom_told |= message::tells_oom(text);
        if self.event == Event::Container {
            let limit = message::container_limit(text).map(str::to_owned);
            self.container_limit = self.container_limit.take().or(limit);
        }
        if let Some(killer) = Killer::of("", text) {
            self.tell(Event::UserSpace(killer), text);
            return true;
        }
        match kind(text) {
            Kind::OomHead => self.asked(Event::OomKill, text),
            Kind::FailureHead => self.asked(Event::AllocationFailure, text),
            Kind::StallHead => self.asked(Event::AllocationStall, text),
            Kind::VmallocHead => self.asked(Event::Vmalloc, text),
            Kind::DumpHead => self.tell(Event::Dump(Dump::SysRq), text),
            Kind::SlabHead => {
                self.slabs.line(text);
                self.tell(Event::Slab, text);
            }
            Kind::Chosen | Kind::Killed => self.kill(text),
            Kind::Overcommit => self.tell(Event::Overcommit, text),
            Kind::Hung => self.tell(Event::HungTask, text),
            Kind::Lockup => self.tell(Event::Lockup, text),
            Kind::Cma => self.tell(Event::Cma, text),
            Kind::Fork => {
                self.tell(Event::Fork, text);
                self.group.pids_in(message::fork_rejected(text));
            }
            Kind::Container => self.tell(Event::Container, text),
            Kind::Trace => {
                self.trace(text);
                return false;
            }
            Kind::Body | Kind::Other => return self.body(text),
        }
        true
    }

    /// A group's limit in the trace is the answer: charging may go through the page allocator.
    fn trace(&mut self, text: &str) {
        if self.refused != Refused::Group {
            self.refused = message::of_trace(text).unwrap_or_default();
        }
    }

    fn tell(&mut self, event: Event, text: &str) {
        self.messages += 1;
        if self.head.is_empty() {
            self.event = event;
            self.head = text.to_owned();
            self.task = task_of(event, text);
        }
    }

    fn asked(&mut self, event: Event, text: &str) {
        self.tell(event, text);
        let order = after(text, "order=").or_else(|| after(text, "order:"));
        let order = order.and_then(|order| {
            let end = order.find(|c: char| c != '-' && !c.is_ascii_digit());
            order[..end.unwrap_or(order.len())].parse().ok()
        });
        self.order = order.or_else(|| linux_2_4::order(text));
        self.bounds(text);
    }

    /// The nodes that may serve.
    fn bounds(&mut self, text: &str) {
        if let Some(nodes) = after(text, "nodemask=") {
            self.nodemask = NodeSet::parse(nodes);
        }
        if let Some(nodes) = after(text, "mems_allowed=") {
            self.mems_allowed = NodeSet::parse(nodes);
        }
        if let Some(cpuset) = value_of(text, "cpuset=") {
            self.cpuset = Some(cpuset.to_owned());
        }
    }

    fn kill(&mut self, text: &str) {
        self.messages += 1;
        if self.head.is_empty() {
            self.head = text.to_owned();
        }
        self.no_victim |= text.contains("no killable processes");
        if text.contains("Memory cgroup out of memory") && self.constraint.is_none() {
            self.constraint = Some("CONSTRAINT_MEMCG".into());
        }
        if linux_2_4::victim(text).is_some() {
            self.event = Event::OomKill;
            self.refused = Refused::Zones;
        }
        if text.starts_with("Out of ") && self.refused == Refused::Untold {
            self.refused = Refused::Zones;
        }
        let Some(killed) = Killed::parse(text).filter(|_| self.killed.len() < MOST) else {
            return;
        };
        match self.killed.iter_mut().find(|known| known.pid == killed.pid) {
            Some(known) => {
                let score = known.score.or(killed.score);
                *known = Killed { score, ..killed };
            }
            None if text.contains("Kill process") || self.whole_group => self.killed.push(killed),
            // A child was sacrificed for the process that was chosen.
            None => {
                self.killed.retain(|known| known.anon.is_some());
                self.killed.push(killed);
            }
        }
    }

    fn body(&mut self, text: &str) -> bool {
        if let Some(line) = zone::line(text) {
            self.zone_line(line);
            return true;
        }
        if self.processes.line(text) || self.group.line(text) || self.slabs.line(text) {
            return true;
        }
        if let Some(rest) = text.strip_prefix("oom-kill:") {
            self.constraint = value_of(rest, "constraint=").map(str::to_owned);
            self.bounds(rest);
            self.group.of_summary(rest);
            return true;
        }
        self.release = self.release.take().or_else(|| release(text));
        let hardware = text.strip_prefix("Hardware name: ").map(str::to_owned);
        self.hardware = self.hardware.take().or(hardware);
        self.whole_group |= text.contains("memory.oom.group");
        self.panic = self.panic.or_else(|| Panic::of(text));
        self.sysrq |= text.contains("Manual OOM");
        if text.contains(" mems_allowed=") || text.contains(",mems_allowed=") {
            self.bounds(text);
            return false;
        }
        self.count(text) || self.summary_line(text)
    }

    fn zone_line(&mut self, line: ZoneLine) {
        match line {
            ZoneLine::Zone(zone) => self.zone(zone),
            ZoneLine::Reserve(reserve) => {
                if let Some(zone) = self.zones.last_mut() {
                    zone.reserve = reserve;
                }
            }
            ZoneLine::Blocks(node, kind, blocks) => {
                let same = |zone: &&mut Zone| zone.node == node && zone.kind == kind;
                match self.zones.iter_mut().find(same) {
                    Some(zone) => zone.blocks = blocks,
                    None => self.misses_zones = true,
                }
            }
            ZoneLine::Node(node) => {
                let known = self.nodes.iter().any(|other| other.node == node.node);
                if !known && self.nodes.len() < MOST {
                    self.nodes.push(node);
                }
            }
            ZoneLine::HugePages(pool) if self.huge_pages.len() < MOST => {
                self.huge_pages.push(pool);
            }
            _ => {}
        }
    }

    /// Of two lines of a zone the first counts: what is added up would count it twice.
    fn zone(&mut self, zone: Zone) {
        let same = |other: &&Zone| other.node == zone.node && other.kind == zone.kind;
        match self.zones.iter().find(same) {
            Some(other) => self.mixed |= other.items != zone.items,
            None if self.zones.len() < MOST => self.zones.push(zone),
            None => {}
        }
    }

    /// "12 pages RAM", "Free swap  = 12kB" and the like.
    fn count(&mut self, text: &str) -> bool {
        if text.starts_with("Free swap ") {
            self.swap_free = number_after(text, "=").map(Kib);
            return true;
        }
        if text.starts_with("Total swap ") {
            self.swap = number_after(text, "=").map(Kib);
            return true;
        }
        let Some((number, rest)) = leading_number(text) else {
            return false;
        };
        let pages = Some(Pages(number.min(crate::text::LARGEST_AMOUNT)));
        match rest.trim_ascii() {
            "pages RAM" => self.ram = pages,
            "pages HighMem" | "pages HighMem/MovableOnly" | "pages of HIGHMEM" => self.high = pages,
            "pages reserved" | "reserved pages" => self.reserved = pages,
            "pages cma reserved" => self.cma = pages,
            "total pagecache pages" => self.page_cache = pages,
            _ => return false,
        }
        true
    }

    fn summary_line(&mut self, text: &str) -> bool {
        let is_pair = |word: &str| {
            word.split_once(':').is_some_and(|(_, value)| {
                leading_number(value).is_some_and(|(_, rest)| rest.is_empty())
            })
        };
        let first = text.split(' ').next().unwrap_or_default();
        if kind(text) != Kind::Body || !is_pair(first) {
            return false;
        }
        for (key, value) in pairs(text).take(32) {
            if self.summary.len() < 64 && self.summary.get(key).is_none() {
                self.summary
                    .push(key, value.min(crate::text::LARGEST_AMOUNT));
            }
        }
        true
    }

    /// What needs the release or the page size, which stand behind the head.
    fn finish(&mut self) {
        if self.event == Event::OomKill && !self.oom_told {
            self.event = Event::Dump(match self.panic {
                Some(Panic::Other) => Dump::Panic,
                _ => Dump::Untold,
            });
        }
        if self.mixed {
            // Whose zone a reserve stands behind is not told.
            self.zones.iter_mut().for_each(|zone| zone.reserve.clear());
        }
        let release = self.version();
        self.gfp = Gfp::in_message(&self.head, release);
        self.sysrq |= self.order == Some(-1);
        let blocks = self.zones.iter().find_map(|zone| zone.blocks.first());
        let page = blocks.and_then(|block| PageSize::new(block.size.saturating_mul(1024)));
        let page = page.or_else(|| self.page_by_kill());
        self.page_told = page.is_some();
        self.page = page.unwrap_or_default();
    }

    /// The page size by which the killed process's row and the kilobytes of its kill agree, to a
    /// quarter: between both it may have changed.
    fn page_by_kill(&self) -> Option<PageSize> {
        let of = |killed: &Killed| {
            let mut rows = self.processes.largest.iter();
            let row = rows.find(|row| row.pid == killed.pid)?;
            Some((killed.resident()?, row.rss))
        };
        let (kib, rss) = self.killed.iter().find_map(of)?;
        let sizes = [4096, 8192, 16384, 32768, 65536]
            .into_iter()
            .filter_map(PageSize::new);
        let differs = |page: &PageSize| rss.kib(*page).0.abs_diff(kib.0);
        let mut close = sizes.filter(|page| kib > Kib::ZERO && differs(page) < kib.0 / 4);
        close.next()
    }

    /// Takes the release that something beside the report tells, where the report does not: flags
    /// that are a number only are read by its table.
    pub fn told_release(&mut self, release: &str) {
        if self.release.is_none() {
            self.release = Some(release.to_owned());
            self.gfp = Gfp::in_message(&self.head, self.version());
        }
    }

    /// Major and minor number of the release.
    #[must_use]
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self
            .release
            .as_deref()?
            .split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

/// The task that a head names.
fn task_of(event: Event, text: &str) -> String {
    let end = match event {
        Event::OomKill => text.find(" invoked "),
        Event::Vmalloc => text.find(": vmalloc"),
        Event::AllocationFailure => text.find(": page allocation failure"),
        Event::AllocationStall => text.find(": page allocation stalls"),
        Event::Overcommit => {
            let rest = after(text, "comm: ").unwrap_or_default();
            return rest.split(", ").next().unwrap_or_default().to_owned();
        }
        _ => None,
    };
    end.map_or_else(String::new, |end| text[..end].to_owned())
}

/// The release behind "Not tainted" or "Tainted: G   W", which the line of the task has, or before
/// the number of the build.
fn release(text: &str) -> Option<String> {
    let heads = ["ot tainted ", "Tainted: ", "Linux version "];
    let rest = heads.iter().find_map(|head| after(text, head));
    let named = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let word = match rest {
        Some(rest) => rest.split_ascii_whitespace().find(named)?,
        // "CPU: 5 PID: 1 Comm: x 4.9.24-coreos #1": kernels that print no taint, and broken lines.
        None => {
            let (before, _) = text.split_once(" #")?;
            before.split_ascii_whitespace().next_back().filter(named)?
        }
    };
    Some(word.chars().take(64).collect())
}
