//! Samepage merging that costs more than it brings, or brings nothing.

use crate::fact::{Fact, Missing};
use mm::catalogue::folder;
use mm::formula::ksm::{general_profit, rmap_items};
use mm::ksm::Ksm;
use mm::units::Bytes;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity};

const NEEDS: Missing = Missing("KSM's counters");

fn ksm<'a>(looked: &Looked<'a>) -> Fact<&'a Ksm> {
    let ksm = looked.snapshot().ksm.as_ref();
    ksm.ok_or(NEEDS)
}

/// Whether ksmd runs.
fn runs(ksm: &Ksm) -> Fact<bool> {
    let run = ksm.numbers.run.ok_or(NEEDS)?;
    Ok(run == 1)
}

/// What merging saves less its metadata: as the kernel prints it since 6.4, before by its counts.
fn profit(looked: &Looked<'_>, ksm: &Ksm) -> Option<i64> {
    let counted = || {
        let items = rmap_items(&ksm.numbers)?;
        let saved = ksm.numbers.pages_sharing?;
        Some(general_profit(saved, 0, items, looked.page()))
    };
    ksm.general_profit.or_else(counted)
}

/// ksmd runs and costs more memory than it saves.
pub(super) fn at_a_loss(looked: &Looked<'_>) -> Answer {
    let ksm = ksm(looked)?;
    let profit = profit(looked, ksm).ok_or(Missing("KSM's general_profit"))?;
    let sharing = ksm.numbers.pages_sharing.ok_or(NEEDS)?;
    Ok((profit < 0 && runs(ksm)?).then(|| {
        Said::new(
            Severity::Note,
            format!(
                "Samepage merging costs more memory than it saves: {} saved, {} in all.",
                looked.bytes(sharing),
                Bytes::signed(profit)
            ),
            "general_profit: what merging saves less 64 bytes for each candidate",
            "plimsoll ksm estimate",
        )
        .not("a higher pages_to_scan: the same pages are looked at sooner")
    }))
}

/// What merging must save to be worth a daemon: a MiB.
const WORTH: Bytes = Bytes::MIB;

/// ksmd runs and has nothing to merge, or merges next to nothing.
pub(super) fn idle(looked: &Looked<'_>) -> Answer {
    let ksm = ksm(looked)?;
    let sharing = ksm.numbers.pages_sharing.ok_or(NEEDS)?;
    let zeros = ksm.numbers.ksm_zero_pages.into_iter().chain([sharing]);
    let saved = looked.bytes(zeros.fold(0, u64::saturating_add));
    if saved >= WORTH || !runs(ksm)? {
        return Ok(None);
    }
    let unshared = ksm.numbers.pages_unshared.ok_or(NEEDS)?;
    // Pages that change too fast, and those that smart_scan leaves out, are looked at as well.
    let volatile = ksm.numbers.pages_volatile.ok_or(NEEDS)?;
    let unshared = unshared.saturating_add(volatile);
    let scans = ksm
        .numbers
        .full_scans
        .map(|scans| format!(" after {scans} scans"));
    let scans = scans.as_deref().unwrap_or("");
    let (what, why, next) = match unshared {
        0 if sharing == 0 => (
            format!("ksmd runs and has no page to look at{scans}: no process asked for merging."),
            "only memory with madvise(MADV_MERGEABLE), or of a process with PR_SET_MEMORY_MERGE \
             (6.4), is scanned; shared memory is not",
            "memory-backend with merge=on and share=off for QEMU; else echo 0 into ksm/run"
                .to_owned(),
        ),
        _ => (
            format!("ksmd runs and saves {saved}{scans}: {unshared} pages have no twin."),
            "pages_sharing is what is saved; each page that is looked at costs CPU time and 64 \
             bytes",
            format!("echo 0 | sudo tee /{}/run", folder::KSM),
        ),
    };
    Ok(Some(Said::new(Severity::Note, what, why, next).not(
        "a higher pages_to_scan: there is nothing more to find",
    )))
}
