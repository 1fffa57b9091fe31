//! The cause of a kill or a failure, computed from the report's own numbers and nothing else.

use alloc::vec::Vec;

use super::judge::{Answer, COSTLY_ORDER, Judged, Request, judge};
use super::report::{Event, Report};
use crate::units::Kib;
use crate::zoneinfo::ZoneKind;

/// The smallest zone whose held-back memory can be the story: the 16 MiB of DMA never are.
const LARGE: Kib = Kib(64 << 10);

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
    /// The kernel's; the report's beginning is lost.
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
    pub zones: Vec<Judged>,
    /// Why they refused, the main reason first; empty where zones do not matter.
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
            Whose::Machine | Whose::Policy | Whose::Cpuset | Whose::Unknown | Whose::PageFault
        );
        if by_zones {
            cause.zones = judge(report, &request);
            cause.refusals = refusals(&cause.zones);
            cause.settle();
        }
        cause
    }

    /// The zone that tells a reason: of those that do the one with most of it.
    #[must_use]
    pub fn telling(&self, refusal: Refusal) -> Option<&Judged> {
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

    /// Nodes that were not allowed and have memory make the reason theirs.
    fn settle(&mut self) {
        if self.whose == Whose::Machine && self.refusals.first() == Some(&Refusal::OtherNodes) {
            self.whose = Whose::Policy;
        }
    }
}

fn whose(report: &Report) -> Whose {
    match report.event {
        Event::UserSpace(_) => return Whose::UserSpace,
        Event::Overcommit => return Whose::Overcommit,
        Event::HungTask | Event::Lockup => return Whose::Stuck,
        Event::AllocationFailure | Event::AllocationStall => return Whose::Machine,
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
        _ if report.group.is_told() && report.group.memory.is_some() => Whose::Group,
        Some(_) if report.task.starts_with("kswapd") => Whose::MinTtl,
        Some(gfp) if gfp.mask == Some(0) => Whose::PageFault,
        Some(_) => Whose::Machine,
        None => Whose::Unknown,
    }
}

/// Whether a zone shows this reason.
fn tells(refusal: Refusal, zone: &Judged) -> bool {
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
        Refusal::NotShown => false,
    }
}

/// The reasons, those that explain more first.
fn refusals(zones: &[Judged]) -> Vec<Refusal> {
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
        |zone: &Judged| !matches!(zone.answer, Answer::AboveRequest | Answer::OtherNode);
    if zones.is_empty() {
        return alloc::vec![Refusal::NotShown];
    }
    if any(Refusal::Unseen) {
        return alloc::vec![Refusal::Unseen];
    }
    let mut found: Vec<Refusal> = ORDER.into_iter().filter(|&refusal| any(refusal)).collect();
    if holds_much(zones) {
        found.sort_by_key(|refusal| *refusal == Refusal::Shortage);
    }
    if !zones.iter().any(may_serve) {
        found.push(Refusal::NotShown);
    }
    found
}

/// Whether what lower zones keep is much: a sixteenth of the zones that refused. Usual reserves are
/// some 256th, and are part of every shortage.
fn holds_much(zones: &[Judged]) -> bool {
    let refused = || zones.iter().filter(|zone| zone.answer == Answer::Refused);
    let held = refused()
        .filter(|zone| tells(Refusal::Reserve, zone))
        .map(|zone| zone.usable);
    let all: Kib = refused().map(|zone| zone.managed).sum();
    held.sum::<Kib>().0 > all.0 / 16
}

/// Whether a machine has memory that its kernel does not map: a 32-bit one.
#[must_use]
pub fn has_high_memory(zones: &[Judged]) -> bool {
    zones.iter().any(|zone| zone.kind == ZoneKind::HighMem)
}
