//! The cause of a kill or a failure, computed from the report's own numbers and nothing else.

use alloc::vec::Vec;

use super::holders::has_memory_elsewhere;
use super::linux_2_4;
use super::message::Refused;
use super::report::{Event, Report};
use super::zone_check::{Answer, COSTLY_ORDER, Request, ZoneCheck, check};
use crate::units::Kib;
use crate::zoneinfo::ZoneKind;

/// The smallest zone whose held-back memory can be the story: the 16 MiB of DMA never are.
const LARGE: Kib = Kib(64 << 10);

/// Of a zone's memory the boost has to hold back more than one part in this many to be the story.
const BOOSTED: u64 = 64;

/// Whose kill it was, or whose refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The kernel's: no zone that the request may use had enough.
    Machine,
    /// The limit of a control group.
    Group,
    /// The kernel's, within the nodes of a memory policy.
    Policy,
    /// The kernel's, within the nodes of a cpuset.
    Cpuset,
    /// An operator's, by SysRq f.
    SysRq,
    /// kswapd's own, for `lru_gen/min_ttl_ms`.
    MinTtl,
    /// A page fault's, which was told that there is no memory; the request is not in the report.
    PageFault,
    /// A program's or a person's: not the kernel.
    UserSpace,
    /// Nobody's: overcommit refused, and nothing was killed.
    Overcommit,
    /// A task or a CPU that is stuck; not of memory by itself.
    Stuck,
    /// Nobody's: CMA found no run of pages.
    Cma,
    /// Nobody's: `pids.max` of a control group refused a fork.
    Pids,
    /// Nobody's: vmalloc got no pages or no address space.
    Vmalloc,
    /// Nobody's: a slab cache could not grow.
    Slab,
    /// Nobody's: memory was dumped, and nothing failed.
    Dump,
    /// The kernel's within a container, by what its runtime says; which limit is not told.
    Container,
    /// The kernel's; the report's beginning is lost, or what would tell whether zones or a group's
    /// limit refused.
    Unknown,
}

/// Why the zones refused. The first of a cause is the main one, each holds by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A block of the order is not free, with enough free pages.
    Fragmented,
    /// Free memory is CMA's, which only movable pages may use.
    Cma,
    /// Free memory is kept for atomic requests of higher orders.
    Highatomic,
    /// The mark is raised by a watermark boost.
    Boost,
    /// A lower zone keeps its memory from requests that could use a higher one.
    Reserve,
    /// Zones that the request may not use have memory.
    HigherZones,
    /// Nodes that the request may not use have memory.
    OtherNodes,
    /// All that it may use is used.
    Shortage,
    /// The zones that are printed refused, and others are not printed, which have memory: a cpuset
    /// or a memory policy bound the request, or the log is cut.
    NodesNotShown,
    /// The report shows memory that would have done: it was printed later than the refusal.
    Unseen,
    /// The report has no zones.
    NotShown,
}

/// The cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Whose.
    pub whose: Whose,
    /// Each zone against the request; empty where zones do not matter.
    pub zones: Vec<ZoneCheck>,
    /// Why they refused, the main reason first; empty where zones do not matter. Of a dump: why
    /// they would refuse a request of the kernel for one page.
    pub refusals: Vec<Refusal>,
    /// Whether the request is an assumption: an order-0 request of the kernel that may wait.
    pub assumed: bool,
    /// The order of the request.
    pub order: u32,
}

impl Cause {
    /// Computes the cause.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let request = Request::of(report);
        let whose = whose(report);
        let mut cause = Self {
            whose,
            zones: Vec::new(),
            refusals: Vec::new(),
            assumed: request.assumed,
            order: request.order,
        };
        let by_zones = matches!(
            whose,
            Whose::Machine
                | Whose::Policy
                | Whose::Cpuset
                | Whose::Unknown
                | Whose::PageFault
                | Whose::Dump
        );
        if by_zones {
            cause.zones = check(report, &request);
            cause.refusals = match report.is_of_2_4() {
                // It fails where reclaim of every zone that may serve found nothing.
                true => alloc::vec![Refusal::Shortage],
                false => refusals(&cause.zones),
            };
            cause.settle(report);
            cause.look_elsewhere(report);
        }
        cause
    }

    /// The zone that tells a reason: of those that do the one with most of it.
    #[must_use]
    pub fn telling(&self, refusal: Refusal) -> Option<&ZoneCheck> {
        let telling = self.zones.iter().filter(|zone| tells(refusal, zone));
        telling.max_by_key(|zone| match refusal {
            Refusal::Cma => zone.cma,
            Refusal::Boost => zone.boost,
            Refusal::Highatomic => zone.highatomic,
            Refusal::HigherZones | Refusal::OtherNodes => zone.free,
            _ => zone.managed,
        })
    }

    /// Whether the kernel gives up rather than kill for such a request.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        self.order > COSTLY_ORDER
    }

    /// Before 5.0 the kernel does not say that nodes bound the request: where nodes that were not
    /// allowed have memory, they did.
    fn settle(&mut self, report: &Report) {
        let kill = report.event == Event::OomKill && self.whose == Whose::Machine;
        if kill && self.refusals.first() == Some(&Refusal::OtherNodes) {
            self.whose = match report.nodemask {
                Some(_) => Whose::Policy,
                None => Whose::Cpuset,
            };
        }
    }

    /// A kill for a cpuset or a memory policy prints the nodes of that alone; the line that names
    /// the constraint is the last but one.
    fn look_elsewhere(&mut self, report: &Report) {
        let untold = report.event == Event::OomKill && report.constraint.is_none();
        let refused = self.refusals.first() == Some(&Refusal::Shortage);
        if untold && refused && has_memory_elsewhere(report) {
            self.refusals.insert(0, Refusal::NodesNotShown);
        }
    }
}

impl Report {
    /// Whether Linux 2.4 wrote it, which never says where an allocation failed.
    #[must_use]
    pub fn is_of_2_4(&self) -> bool {
        linux_2_4::order(&self.head).is_some()
    }
}

fn whose(report: &Report) -> Whose {
    match report.event {
        Event::UserSpace(_) => return Whose::UserSpace,
        Event::Overcommit => return Whose::Overcommit,
        Event::HungTask | Event::Lockup => return Whose::Stuck,
        Event::AllocationFailure | Event::AllocationStall => return Whose::Machine,
        Event::Cma => return Whose::Cma,
        Event::Fork => return Whose::Pids,
        Event::Container => return Whose::Container,
        Event::Vmalloc => return Whose::Vmalloc,
        Event::Slab => return Whose::Slab,
        Event::Dump(_) => return Whose::Dump,
        Event::OomKill => {}
    }
    if report.sysrq {
        return Whose::SysRq;
    }
    match report.constraint.as_deref() {
        Some("CONSTRAINT_MEMCG") => return Whose::Group,
        Some("CONSTRAINT_MEMORY_POLICY") => return Whose::Policy,
        Some("CONSTRAINT_CPUSET") => return Whose::Cpuset,
        _ => {}
    }
    let asked = report.gfp.as_ref();
    match asked {
        _ if report.group.is_told() || report.refused == Refused::Group => Whose::Group,
        Some(_) if report.task.starts_with("kswapd") => Whose::MinTtl,
        Some(gfp) if gfp.mask == Some(0) => Whose::PageFault,
        Some(_) if says_zones(report) => Whose::Machine,
        _ => Whose::Unknown,
    }
}

/// Whether anything says that zones refused: a log that is cut behind the request may be of a
/// group's limit as well.
fn says_zones(report: &Report) -> bool {
    let none = report.constraint.as_deref() == Some("CONSTRAINT_NONE");
    none || !report.zones.is_empty() || report.refused == Refused::Zones
}

/// Whether a zone shows this reason.
fn tells(refusal: Refusal, zone: &ZoneCheck) -> bool {
    let refused = zone.answer == Answer::Refused;
    let needed = zone.needed();
    match refusal {
        Refusal::Fragmented => zone.answer == Answer::NoBlock,
        Refusal::Cma => refused && zone.usable.saturating_add(zone.cma) > needed,
        Refusal::Highatomic => {
            refused
                && zone.highatomic > Kib::ZERO
                && zone.usable.saturating_add(zone.highatomic) > needed
        }
        Refusal::Boost => {
            let lower = zone
                .mark
                .saturating_sub(zone.boost)
                .saturating_add(zone.reserve);
            refused && zone.boost > Kib::ZERO && zone.usable > lower
        }
        Refusal::Reserve => refused && zone.usable > zone.high && zone.managed >= LARGE,
        Refusal::HigherZones => zone.answer == Answer::AboveRequest && zone.has_plenty(),
        Refusal::OtherNodes => zone.answer == Answer::OtherNode && zone.has_plenty(),
        Refusal::Shortage => refused,
        Refusal::Unseen => matches!(zone.answer, Answer::Serves | Answer::Unknown),
        Refusal::NodesNotShown | Refusal::NotShown => false,
    }
}

/// The reasons, those that explain more first.
fn refusals(zones: &[ZoneCheck]) -> Vec<Refusal> {
    const ORDER: [Refusal; 8] = [
        Refusal::Fragmented,
        Refusal::Cma,
        Refusal::Highatomic,
        Refusal::HigherZones,
        Refusal::OtherNodes,
        Refusal::Boost,
        Refusal::Shortage,
        Refusal::Reserve,
    ];
    let any = |refusal| zones.iter().any(|zone| tells(refusal, zone));
    let may_serve =
        |zone: &ZoneCheck| !matches!(zone.answer, Answer::AboveRequest | Answer::OtherNode);
    if zones.is_empty() {
        return alloc::vec![Refusal::NotShown];
    }
    if any(Refusal::Unseen) {
        return alloc::vec![Refusal::Unseen];
    }
    let mut found: Vec<Refusal> = ORDER.into_iter().filter(|&refusal| any(refusal)).collect();
    if !boosts_much(zones) {
        found.sort_by_key(|refusal| *refusal == Refusal::Boost);
    }
    if holds_much(zones) {
        found.sort_by_key(|refusal| *refusal == Refusal::Shortage);
    }
    let tells_why = |zone: &ZoneCheck| may_serve(zone) && zone.answer != Answer::NoReserve;
    if !zones.iter().any(tells_why) {
        found.push(Refusal::NotShown);
    }
    found
}

/// Whether what lower zones keep is much: a sixteenth of the zones that refused. Usual reserves are
/// some 256th, and are part of every shortage.
fn holds_much(zones: &[ZoneCheck]) -> bool {
    let refused = || zones.iter().filter(|zone| zone.answer == Answer::Refused);
    let held = refused()
        .filter(|zone| tells(Refusal::Reserve, zone))
        .map(|zone| zone.usable);
    let all: Kib = refused().map(|zone| zone.managed).sum();
    held.sum::<Kib>().0 > all.0 / 16
}

/// Whether what a boost holds back is much of its zone. Less is used up a moment later: the zone is
/// full.
fn boosts_much(zones: &[ZoneCheck]) -> bool {
    zones.iter().any(|zone| {
        let lower = zone.needed().saturating_sub(zone.boost);
        let held = zone.usable.saturating_sub(lower);
        tells(Refusal::Boost, zone) && held.0 > zone.managed.0 / BOOSTED
    })
}

/// Whether a machine has memory that its kernel does not map: a 32-bit one.
#[must_use]
pub fn has_high_memory(zones: &[ZoneCheck]) -> bool {
    zones.iter().any(|zone| zone.kind == ZoneKind::HighMem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    /// A report of one zone Normal of 4 GiB with these items and blocks, of this release.
    fn report(head: &str, release: &str, zone: &str, blocks: &str) -> Report {
        let text = format!(
            "x {head}\nCPU: 0 PID: 1 Comm: x Not tainted {release} #1\n\
             Node 0 Normal {zone} managed:4194304kB\nlowmem_reserve[]: 0 0\n\
             Node 0 Normal: {blocks}\n"
        );
        Report::parse(&text).expect("a report")
    }

    fn main_of(report: &Report) -> Refusal {
        Cause::of(report).refusals[0]
    }

    const KILL: &str = "invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0";

    #[test]
    fn the_mark_must_be_exceeded_and_not_only_reached() {
        let at = |free| {
            let zone = format!("free:{free}kB min:1000kB low:1250kB high:1500kB");
            main_of(&report(KILL, "6.1.0", &zone, "1*4kB (U) = 4kB"))
        };
        assert_eq!(at(1000), Refusal::Shortage);
        assert_eq!(at(1004), Refusal::Unseen);
    }

    /// What is free of the pages for atomic requests counts where it is printed, else all of them.
    #[test]
    fn pages_for_atomic_requests_are_taken_off_for_others() {
        let with = |items: &str| {
            let zone = format!("free:2000kB min:1000kB low:1250kB high:1500kB {items}");
            main_of(&report(KILL, "6.12.0", &zone, "1*4kB (U) = 4kB"))
        };
        assert_eq!(with("reserved_highatomic:1200KB"), Refusal::Highatomic);
        assert_eq!(
            with("reserved_highatomic:1200KB free_highatomic:100KB"),
            Refusal::Unseen
        );
    }

    #[test]
    fn movable_requests_use_cma_and_others_do_not() {
        let zone = "free:2000kB min:1000kB low:1250kB high:1500kB free_cma:1500kB";
        let of = |head: &str| main_of(&report(head, "5.10.0", zone, "1*4kB (UC) = 4kB"));
        assert_eq!(of(KILL), Refusal::Cma);
        let movable = KILL.replace("0xcc0(GFP_KERNEL)", "0x100cca(GFP_HIGHUSER_MOVABLE)");
        assert_eq!(of(&movable), Refusal::Unseen);
    }

    /// Before 4.4 smaller blocks were taken off against a mark halved for each order: 100 kB in
    /// blocks of 16 kB are below 1000/4 kB. Since then one block is enough.
    #[test]
    fn before_4_4_one_block_of_the_order_was_not_enough() {
        let head = "invoked oom-killer: gfp_mask=0xd0, order=2, oom_score_adj=0";
        let zone = "free:2012kB min:1000kB low:1250kB high:1500kB";
        let of = |head: &str, release| {
            main_of(&report(
                head,
                release,
                zone,
                "476*4kB (U) 0*8kB 6*16kB (U) = 2000kB",
            ))
        };
        assert_eq!(of(head, "4.3.0"), Refusal::Fragmented);
        assert_eq!(
            of(&head.replace("0xd0", "0x24000c0"), "4.4.0"),
            Refusal::Unseen
        );
    }

    /// What it holds back of the zone's 4 GiB must be more than a 64th of them.
    #[test]
    fn a_boost_that_alone_refuses_is_named() {
        let with = |free, boost| {
            let zone =
                format!("free:{free}kB boost:{boost}kB min:200000kB low:201000kB high:202000kB");
            Cause::of(&report(KILL, "6.1.0", &zone, "1*4kB (U) = 4kB")).refusals
        };
        assert_eq!(with(190_000, 100_000)[0], Refusal::Boost);
        let little = [Refusal::Shortage, Refusal::Boost];
        assert_eq!(with(165_000, 100_000), little);
        assert_eq!(with(90_000, 100_000), [Refusal::Shortage]);
        assert_eq!(with(190_000, 0), [Refusal::Shortage]);
    }

    /// Kernels 5.0 to 5.2 print no boost, and keep it: low is less than a quarter above min.
    #[test]
    fn a_boost_that_is_not_printed_is_told_by_the_marks() {
        let with = |low| {
            let zone = format!("free:190000kB min:200000kB low:{low}kB high:{low}kB");
            Cause::of(&report(KILL, "5.2.0", &zone, "1*4kB (U) = 4kB"))
        };
        let boosted = with(225_000);
        assert_eq!(boosted.refusals[0], Refusal::Boost);
        assert_eq!(boosted.zones[0].boost, Kib(200_000 - 100_000 - 16));
        assert_eq!(with(250_000).refusals, [Refusal::Shortage]);
    }

    /// A kill for a cpuset prints its nodes alone, and says so behind the table of processes.
    #[test]
    fn memory_that_is_free_in_no_zone_that_is_printed_is_no_shortage() {
        let with = |free: u64, end: &str| {
            let text = format!(
                "x {KILL}\nfree:{free} free_pcp:0\n\
                 Node 1 Normal free:900kB min:1000kB low:1250kB high:1500kB managed:99999kB\n{end}"
            );
            main_of(&Report::parse(&text).expect("a report"))
        };
        assert_eq!(with(601, ""), Refusal::NodesNotShown);
        assert_eq!(with(600, ""), Refusal::Shortage);
        let told = "oom-kill:constraint=CONSTRAINT_CPUSET,mems_allowed=1";
        assert_eq!(with(601, told), Refusal::Shortage);
    }

    /// An abnormal reserve (a ratio of 1) is the story; a usual one is part of every shortage.
    #[test]
    fn a_large_lowmem_reserve_is_named_before_shortage() {
        let with = |reserve: u64, free: u64| {
            let text = format!(
                "x {KILL}\n\
                 Node 0 DMA32 free:{free}kB min:1000kB low:1250kB high:1500kB managed:2000000kB\n\
                 lowmem_reserve[]: 0 {reserve} {reserve}\n\
                 Node 0 Normal free:900kB min:1000kB low:1250kB high:1500kB managed:2000000kB\n\
                 lowmem_reserve[]: 0 0 0\n"
            );
            main_of(&Report::parse(&text).expect("a report"))
        };
        assert_eq!(with(500_000, 1_900_000), Refusal::Reserve);
        assert_eq!(with(2000, 8000), Refusal::Shortage);
    }

    #[test]
    fn whose_kill_it_was_is_told_by_the_message() {
        let of = |text: &str| {
            let report = Report::parse(text).expect("a report");
            Cause::of(&report).whose
        };
        let asked = |mask: &str| format!("invoked oom-killer: gfp_mask={mask}, order=0");
        assert_eq!(of(&format!("x {}", asked("0x0()"))), Whose::PageFault);
        assert_eq!(
            of(&format!("kswapd0 {}", asked("0xcc0(GFP_KERNEL)"))),
            Whose::MinTtl
        );
        let sysrq = "kworker/0:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1";
        assert_eq!(of(sysrq), Whose::SysRq);
        assert_eq!(
            of("Memory cgroup out of memory: Killed process 1 (x)"),
            Whose::Group
        );
        assert_eq!(of("Out of memory: Killed process 1 (x)"), Whose::Unknown);
    }

    #[test]
    fn before_5_0_nodes_that_bound_the_request_are_told_by_their_free_memory() {
        let zones = "Node 0 Normal free:90000kB min:1000kB low:1250kB high:1500kB managed:99999kB\n\
                     Node 1 Normal free:900kB min:1000kB low:1250kB high:1500kB managed:99999kB\n";
        let of = |bound: &str| {
            let text: String = format!("x {KILL}\nx cpuset=a mems_allowed={bound}\n{zones}");
            let cause = Cause::of(&Report::parse(&text).expect("a report"));
            (cause.whose, cause.refusals[0])
        };
        assert_eq!(of("1"), (Whose::Cpuset, Refusal::OtherNodes));
        assert_eq!(of("0-1"), (Whose::Machine, Refusal::Unseen));
    }
}
