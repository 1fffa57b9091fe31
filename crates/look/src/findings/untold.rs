//! Memory that is in no line, named by what fits it.

use crate::fact::{Fact, Missing};
use crate::share::Share;
use mm::units::Kib;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};
use crate::memory::Memory;

/// Percent of memory from which a rest is worth a word. Drivers of healthy machines have less.
const WORTH: u64 = 15;

/// Programs and hardware by which a virtual machine is known, and its balloon.
const HYPERVISORS: [(&str, &str, &str); 8] = [
    ("vmtoolsd", "VMware", "vmware-toolbox-cmd stat balloon"),
    ("VMware", "VMware", "vmware-toolbox-cmd stat balloon"),
    ("qemu-ga", "KVM", "virsh dommemstat GUEST on the host"),
    ("QEMU", "KVM", "virsh dommemstat GUEST on the host"),
    ("KVM", "KVM", "virsh dommemstat GUEST on the host"),
    ("Xen HVM", "Xen", "xl list on the host"),
    (
        "hv_kvp_daemon",
        "Hyper-V",
        "the guest's dynamic memory on the host",
    ),
    (
        "Microsoft Corporation Virtual",
        "Hyper-V",
        "the guest's dynamic memory on the host",
    ),
];

/// Much is in no line.
pub(super) fn in_no_line(looked: &Looked<'_>) -> Answer {
    let (rest, total) = rest(looked)?;
    let Some(share) = Share::of(rest.0, total.0).filter(|share| share.percent() >= WORTH) else {
        return Ok(None);
    };
    let severity = match share.percent() {
        25.. => Severity::Warning,
        _ => Severity::Note,
    };
    let (suspects, next) = suspects(looked);
    Ok(Some(
        Said::new(
            severity,
            format!(
                "{} ({share}) of memory is in no line: {suspects}.",
                rest.bytes()
            ),
            why(looked),
            next,
        )
        .not("killing processes, drop_caches: no process and no cache has it")
        .unsure(
            Sure::Likely,
            "sudo sh -c 'cat /proc/meminfo /proc/vmstat /proc/vmallocinfo; lsmod; \
             cat /sys/kernel/debug/vmmemctl' > memory.txt",
        ),
    ))
}

/// The rest after every line, and all memory.
fn rest(looked: &Looked<'_>) -> Fact<(Kib, Kib)> {
    let total = looked.total()?;
    if looked.meminfo().is_ok() {
        is_whole(looked)?;
        let memory = Memory::of(looked.snapshot()).ok_or(Missing("MemFree"))?;
        let other = memory
            .untold()
            .ok_or(Missing("all lines of /proc/meminfo"))?;
        return Ok((Kib(other.0 / 1024), total));
    }
    let other = looked.holders()?.other.ok_or(Missing("a whole Mem-Info"))?;
    Ok((Kib(other.0 / 1024), total))
}

/// Whether meminfo has its last lines: vmalloc and the pools of huge pages are among them.
fn is_whole(looked: &Looked<'_>) -> Fact<()> {
    const LAST: Missing = Missing("the last lines of /proc/meminfo");
    let last = ["Hugepagesize", "DirectMap4k", "CmaTotal"];
    let any = last.iter().any(|item| looked.amount(item).is_ok());
    any.then_some(()).ok_or(LAST)
}

/// What may have it, the likeliest first, and where to look for that.
fn suspects(looked: &Looked<'_>) -> (String, String) {
    let mut suspects: Vec<String> = Vec::new();
    let mut next = "sudo sort -k2 -nr /proc/vmallocinfo | head; lsmod".to_owned();
    if let Some((hypervisor, command)) = hypervisor(looked).filter(|_| !tells_balloon(looked)) {
        suspects.push(format!(
            "first the balloon of this virtual machine ({hypervisor}), which no line counts"
        ));
        next = command.to_owned();
    }
    if has_unread_zram(looked) {
        suspects.push("what zram stores (send /sys/block/zram0/mm_stat)".to_owned());
    }
    if !tells_vmalloc(looked) {
        suspects.push("vmalloc, of which this evidence does not tell the pages".to_owned());
    }
    suspects.push("pages that a driver allocated".to_owned());
    (suspects.join("; else "), next)
}

/// The hypervisor below, by the hardware's name in a report or a program of its tools.
fn hypervisor(looked: &Looked<'_>) -> Option<(&'static str, &'static str)> {
    let hardware = looked
        .report()
        .ok()
        .and_then(|report| report.hardware.as_deref());
    let tools = ["top", "ps"]
        .into_iter()
        .filter_map(|tool| looked.tool(tool));
    let rows = looked.report().ok().into_iter();
    let rows = rows.flat_map(|report| report.processes.largest.iter());
    let names: Vec<&str> = rows.map(|process| process.name.as_str()).collect();
    let texts: Vec<&str> = hardware.into_iter().chain(tools).chain(names).collect();
    let is_told = looked
        .file(mm::notes::FACTS)
        .is_some_and(|text| text.contains("vm"));
    let found = HYPERVISORS
        .iter()
        .find(|(name, ..)| texts.iter().any(|text| text.contains(name)));
    found
        .map(|&(_, hypervisor, command)| (hypervisor, command))
        .or_else(|| is_told.then_some(("its facts say so", "the guest's balloon on the host")))
}

/// Whether a line would show the balloon's pages.
fn tells_balloon(looked: &Looked<'_>) -> bool {
    looked.amount("Balloon").is_ok() || looked.counter("nr_balloon_pages").is_ok()
}

/// Whether swap is on a zram device whose memory was not read.
fn has_unread_zram(looked: &Looked<'_>) -> bool {
    let swaps = looked
        .snapshot()
        .swaps
        .iter()
        .flat_map(|swaps| &swaps.areas);
    let mut zram = swaps.filter(|area| area.path.contains("/zram") && area.used > Kib::ZERO);
    let read = looked
        .snapshot()
        .zram
        .values()
        .any(|zram| zram.memory.is_some());
    zram.next().is_some() && !read && looked.counter("nr_zspages").is_err()
}

/// Whether `VmallocUsed` counts pages: before 4.4 it is address space, and to 5.2 always 0.
fn tells_vmalloc(looked: &Looked<'_>) -> bool {
    let used = looked
        .amount("VmallocUsed")
        .is_ok_and(|used| used > Kib::ZERO);
    used && !looked.snapshot().span().is_before(4, 4)
}

/// The rule, and what else in the evidence agrees.
fn why(looked: &Looked<'_>) -> String {
    const RULE: &str = "MemTotal less free, anonymous, page cache, slab, page tables, stacks, \
                        per-CPU and pools: pages from alloc_pages have no line";
    match unmovable(looked) {
        Some(agrees) => format!("{RULE}; {agrees}"),
        None => RULE.to_owned(),
    }
}

/// That most pageblocks of a zone hold pages of the kernel.
fn unmovable(looked: &Looked<'_>) -> Option<String> {
    let types = looked.snapshot().pagetypeinfo.as_ref()?;
    let zone = types.blocks.iter().max_by_key(|zone| zone.all())?;
    let held = zone.of("Unmovable")?;
    let share = Share::of(held, zone.all()).filter(|share| share.percent() >= 50)?;
    Some(format!(
        "pagetypeinfo agrees: {held} of {} pageblocks of {} ({share}) are the kernel's",
        zone.all(),
        zone.kind
    ))
}
