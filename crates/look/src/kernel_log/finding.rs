//! An event of a log as a finding: which cause it has a name for, and what to do about it.

use mm::kernel_log::{
    Answer, Cause, Event, Failed, Gfp, Holders, Killer, Refusal, Report, Whose, ZoneCheck,
};

use super::diagnosis;
use super::settings::Settings;
use crate::findings::{Said, Severity, Sure};

/// What the rest of the log tells about an event.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    /// Slab caches that could not grow, of all events.
    pub(super) failed: Vec<Failed>,
    /// The label of a page allocation that failed, whose report has the zones and the order.
    pub(super) pages: Option<String>,
}

impl Context {
    /// The caches of a control group that could not grow: its limit of kernel memory refused.
    pub(super) fn of_group(&self) -> Option<(&str, Vec<&Failed>)> {
        let group = self
            .failed
            .iter()
            .find_map(|failed| failed.group.as_deref())?;
        let same = |failed: &&Failed| failed.group.as_deref() == Some(group);
        Some((group, self.failed.iter().filter(same).collect()))
    }
}

/// The finding of an event.
pub(super) fn finding(
    report: &Report,
    cause: &Cause,
    holders: &Holders,
    settings: &Settings,
    context: &Context,
) -> (&'static str, Said) {
    let name = name(report, cause, context);
    let why = diagnosis::why(report, cause, holders, context);
    let why = match why.is_empty() {
        true => report.head.clone(),
        false => why.join(" "),
    };
    let what = diagnosis::what(report, cause, context);
    let mut said = Said::new(severity(report), what, why, next(name, report, settings));
    if let Some(not) = settings.would_not.first() {
        said = said.not(not.trim_end_matches('.'));
    }
    if let Some(collect) = collect(name, report, cause) {
        let sure = match name {
            "group-kernel-limit" | "oom-policy" | "oom-cpuset" | "oom-machine" => Sure::Likely,
            _ => Sure::Open,
        };
        said = said.unsure(sure, collect);
    }
    (name, said)
}

/// The name of its cause.
pub(super) fn name(report: &Report, cause: &Cause, context: &Context) -> &'static str {
    match cause.whose {
        Whose::Group if report.group.kernel.is_some_and(|kernel| kernel.is_full()) => {
            "group-kernel-limit"
        }
        Whose::Group => "group-limit",
        Whose::Policy => "oom-policy",
        Whose::Cpuset => "oom-cpuset",
        Whose::SysRq => "oom-sysrq",
        Whose::MinTtl => "oom-min-ttl",
        Whose::PageFault if context.of_group().is_some() => "group-kernel-limit",
        Whose::PageFault if shows_refusal(cause) => of_zones(report, cause),
        Whose::PageFault => "oom-page-fault",
        Whose::Machine | Whose::Unknown => of_zones(report, cause),
        Whose::UserSpace if report.event == Event::UserSpace(Killer::Exit137) => {
            "signal-unexplained"
        }
        Whose::UserSpace => "kill-by-user-space",
        Whose::Overcommit => "overcommit-refused",
        Whose::Stuck => "task-stuck",
        Whose::Cma => "cma-failed",
        Whose::Pids => "group-pids-limit",
        Whose::Container => "kill-of-container",
        Whose::Vmalloc => "vmalloc-failed",
        Whose::Slab => "slab-failed",
        Whose::Dump => "memory-dump",
    }
}

/// Whether the zones show why they refused.
fn shows_refusal(cause: &Cause) -> bool {
    let first = cause.refusals.first();
    let hidden = [Refusal::Unseen, Refusal::NodesNotShown, Refusal::NotShown];
    first.is_some_and(|first| !hidden.contains(first))
}

fn of_zones(report: &Report, cause: &Cause) -> &'static str {
    let first = cause.refusals.first().copied();
    match report.event {
        Event::AllocationStall => return "allocation-stall",
        Event::AllocationFailure => {
            let atomic = report.gfp.as_ref().is_some_and(Gfp::is_atomic);
            return match (cause.order, atomic) {
                (1.., _) => "allocation-failed-order",
                (0, true) => "allocation-failed-atomic",
                (0, false) => "allocation-failed",
            };
        }
        _ => {}
    }
    match first {
        Some(Refusal::Fragmented) => "oom-fragmented",
        Some(Refusal::Cma) => "oom-cma",
        Some(Refusal::Highatomic) => "oom-highatomic",
        Some(Refusal::Boost) => "oom-boost",
        Some(Refusal::Reserve) => "oom-lowmem-reserve",
        Some(Refusal::HigherZones) => "oom-low-zone",
        Some(Refusal::OtherNodes) => "oom-cpuset",
        Some(Refusal::Shortage) => "oom-machine",
        Some(Refusal::Unseen) => "oom-unexplained",
        Some(Refusal::NodesNotShown | Refusal::NotShown) | None => "evidence-cut",
    }
}

fn severity(report: &Report) -> Severity {
    match report.event {
        Event::HungTask | Event::Lockup | Event::Dump(_) => Severity::Note,
        Event::UserSpace(Killer::Exit137) => Severity::Note,
        Event::AllocationFailure
        | Event::AllocationStall
        | Event::Cma
        | Event::Fork
        | Event::Vmalloc
        | Event::Slab => Severity::Warning,
        Event::OomKill | Event::Overcommit | Event::UserSpace(_) | Event::Container => {
            Severity::Critical
        }
    }
}

/// What to do now: what would have let it pass, else where to look.
fn next(name: &str, report: &Report, settings: &Settings) -> String {
    if let Some(would) = settings.would.first() {
        let would = would.trim_end_matches('.');
        return match &settings.command {
            Some(command) => format!("{command}  # {would}"),
            None => would.to_owned(),
        };
    }
    let command = match name {
        "kill-by-user-space" if report.head.contains("systemd-oomd") => "oomctl",
        "kill-by-user-space" => "journalctl -u earlyoom -u systemd-oomd -u kubelet | tail -50",
        "kill-of-container" => "kubectl describe node; dmesg -T | grep -A2 oom-kill: (on the node)",
        "signal-unexplained" => {
            "dmesg -T | grep -i 'killed process'; cat memory.events (of the group)"
        }
        "task-stuck" => "read its call trace; cat /proc/pressure/io /proc/pressure/memory",
        "oom-sysrq" => "ask who pressed it: journalctl -k --since '-10 min'",
        "slab-failed" | "vmalloc-failed" => "dmesg -T | plimsoll inspect - --all",
        _ => "plimsoll inspect --section kernel-log",
    };
    command.to_owned()
}

/// What to send where the report does not tell what refused.
fn collect(name: &str, report: &Report, cause: &Cause) -> Option<&'static str> {
    const GROUPS: &str = "cd /sys/fs/cgroup && grep -rs . --include=memory.events \
                          --include=memory.failcnt --include=memory.kmem.failcnt . | grep -v ' 0$'";
    const WHOLE: &str = "dmesg -T | sed -n '/invoked oom-killer/,/Killed process/p'";
    const FAILED: &str = "dmesg -T | sed -n '/page allocation failure/,/pages reserved/p'";
    let is_untold = |zone: &ZoneCheck| zone.answer == Answer::NoReserve;
    let zones_shown = report.zones.iter().any(mm::kernel_log::Zone::is_whole);
    match name {
        "oom-page-fault" | "oom-unexplained" | "group-kernel-limit" => Some(GROUPS),
        "evidence-cut" => Some(WHOLE),
        "oom-machine" if report.mixed || cause.zones.iter().any(is_untold) => Some(WHOLE),
        "oom-policy" | "oom-cpuset" if !has_refused(report) => Some(WHOLE),
        "group-limit" if report.group.memory.is_none() => Some(WHOLE),
        _ if report.is_of_2_4() => Some("cat /proc/meminfo /proc/slabinfo; ps aux"),
        "allocation-failed" | "allocation-failed-atomic" | "allocation-failed-order"
            if !zones_shown =>
        {
            Some(FAILED)
        }
        "memory-dump" => Some("cat /proc/{zoneinfo,meminfo,vmstat}; sleep 10; cat /proc/vmstat"),
        _ => None,
    }
}

/// Whether a zone of the report shows that it refused.
fn has_refused(report: &Report) -> bool {
    let cause = Cause::of(report);
    cause
        .zones
        .iter()
        .any(|zone| zone.answer == Answer::Refused)
}
