//! What is dirty: writers that wait for it, and how long it takes to be written.

use crate::fact::{Missing, or_unsaid};
use mm::memcg::Memcg;
use mm::units::Pages;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};
use crate::flush::Flush;

const NEEDS: Missing = Missing("the dirty thresholds");

/// So much is dirty that writers are slowed: on the machine, or within a control group.
pub(super) fn writers_wait(looked: &Looked<'_>) -> Answer {
    let limits = looked.snapshot().thresholds().ok_or(NEEDS)?;
    let dirty = looked.snapshot().unwritten().ok_or(NEEDS)?;
    let slowed = limits.freerun();
    if dirty < slowed || dirty == Pages(0) {
        return group_waits(looked);
    }
    let flush = flush(looked);
    let fullest = flush.as_ref().and_then(Flush::fullest);
    let device = fullest.map(|(device, held)| format!("; {held} of it is for {device}"));
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "Writers are slowed: {} is dirty or being written, and above {} each write \
                 waits{}.",
                looked.bytes(dirty.0),
                looked.bytes(slowed.0),
                or_unsaid(device)
            ),
            "balance_dirty_pages throttles above the mean of both thresholds",
            "plimsoll inspect --section dirty",
        )
        .not(HIGHER),
    ))
}

const HIGHER: &str = "a higher vm.dirty_ratio: the same device then has more to write at once";

/// Dirty pages of a group from which on its own thresholds matter: a MiB of 4 KiB pages.
const FEW: Pages = Pages(256);

/// The same within a control group: its limit leaves little that may be dirty.
fn group_waits(looked: &Looked<'_>) -> Answer {
    let Ok(groups) = looked.groups() else {
        return Ok(None);
    };
    let slowed = |(name, _): (&str, &Memcg)| {
        let group = looked.snapshot().group_dirty(name)?;
        let ceiling = group.thresholds.freerun();
        // A writer that was stopped goes on at its ceiling, and stands a little below it.
        let near = group.unwritten.0 >= ceiling.0 - ceiling.0 / 8;
        (near && group.unwritten >= FEW).then(|| (name.to_owned(), group.unwritten, ceiling))
    };
    let most = groups.filter_map(slowed).max_by_key(|&(_, held, _)| held);
    Ok(most.map(|(name, held, ceiling)| {
        let said = Said::new(
            Severity::Warning,
            format!(
                "Writers in /{name} are slowed: {} of it is dirty or being written, and above {} \
                 each write waits.",
                looked.bytes(held.0),
                looked.bytes(ceiling.0)
            ),
            "balance_dirty_pages takes the dirty ratios of what a group may have, too: of its \
             page cache and what is left to its limit",
            "plimsoll inspect --section control-groups",
        )
        .not("vm.dirty_bytes: it counts as a ratio within a group");
        match held >= ceiling {
            true => said,
            false => said.unsure(
                Sure::Likely,
                "cd /sys/fs/cgroup/GROUP && grep . memory.stat io.pressure; sleep 1; !!",
            ),
        }
    }))
}

/// Seconds of writing from which on what is dirty is a backlog: the age at which it should be on
/// its disk.
const LONG: f64 = 30.0;

/// What is dirty takes a device long to write.
pub(super) fn backlog(looked: &Looked<'_>) -> Answer {
    looked.before()?;
    let now = looked.snapshot();
    if now.diskstats.is_none() && now.writeback.is_empty() {
        return Err(Missing("/proc/diskstats"));
    }
    // None has anything to write where there is none.
    let flush = flush(looked);
    let longest = flush.as_ref().and_then(Flush::longest);
    let longest = longest.filter(|&(.., seconds)| seconds >= LONG);
    Ok(longest.map(|(device, held, seconds)| {
        Said::new(
            Severity::Warning,
            format!("{held} wait to be written to {device}: {seconds:.0} s at its pace."),
            "a flush, an fsync or an unmount waits for all of it; above vm.dirty_ratio writers do",
            "plimsoll explain vm.dirty_bytes",
        )
        .not(HIGHER)
    }))
}

fn flush(looked: &Looked<'_>) -> Option<Flush> {
    let last = looked.snapshot();
    let first = looked.before().map_or(last, |(first, _)| first);
    Flush::of(first, last, "")
}
