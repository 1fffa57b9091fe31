//! Ways in which the kernel manages memory that some releases have: what the model asks.

use crate::release::{Span, Version};

use super::Row;
use super::table::TABLE;

/// One of them. Its releases and source are in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// kswapd stops at its goal, trims the scan in proportion and never scans whole lists at once.
    /// Before, it scanned its whole share of every list, and more of it with every pass, up to all
    /// of it, until the passes had got a batch; then it began again with the smallest share.
    KswapdStopsAtGoal,
    /// A swappiness of 0 spares anonymous memory while there is page cache; before, it weighed it
    /// as 1.
    SparesAnonAtZero,
    /// Where most of the page cache is inactive, only page cache is scanned; before, anonymous
    /// memory had its share of every scan.
    SparesAnonBesideCache,
    /// Dirty pages of files, and those that are being written, go to the active list when reclaim
    /// meets them; before, to the other end of the inactive one.
    ActivatesDirtyFiles,
    /// What reclaim of either kind cost decides how much of it is scanned; before, how many of the
    /// pages that were looked at were in use.
    WeighsByCost,
    /// New anonymous pages, and those that come back from swap, begin on the inactive list and have
    /// to be used twice there; before, they began on the active one, and one use was enough.
    AnonBeginsInactive,
    /// The lists of a CPU hold as many pages as the low mark, and blocks of several pages; before,
    /// six batches of single pages, of which one goes back when they are full.
    LargePcp,
    /// The time in which a CPU reclaims is a full stall for memory; before, what a tick finds of
    /// it.
    StallsWhileReclaiming,
    /// A CPU adds to the statistics of a control group's lists once it has more than 32 of a kind,
    /// and reclaim decides by what was added.
    StatsInBatches,
    /// To send the read of any page from swap is a stall for memory; else, of one of the working
    /// set.
    StallsAtColdSwapIns,
    /// Reclaim that cannot go on before pages are written sleeps until they are: kswapd, and tasks
    /// between their passes. Before, kswapd sleeps for a tenth of a second whatever is written, and
    /// so does a task that got nothing (`congestion_wait`: disks of blk-mq never say that they are
    /// congested).
    WaitsUntilWritten,
    /// Pages scanned in vain weigh on their kind, and pages written 32 times as much.
    CountsRotations,
    /// A device has `bdi/strict_limit` and `max_ratio_fine`.
    StrictDeviceLimits,
    /// The multi-generation LRU as 6.1 has it: kswapd ages in a step of its own, and every group is
    /// visited.
    EarlyLruGen,
    /// A fault that waited for a page of a file counts once more when it is tried again.
    CountsRetriedFaults,
    /// Unmerging replaces the zero page too, where merging had put it.
    UnmergesZeroPages,
    /// Proactive reclaim goes for a quarter of what is left at a time.
    ProactiveInQuarters,
    /// Reclaim decides by statistics of the control groups that are brought up to date every two
    /// seconds only.
    StatsLag,
    /// Reclaim frees the pages of a batch from the last one to the first.
    FreesLastFirst,
    /// Pages that came back do not speak for reading around a fault.
    DoubtsRefaults,
    /// A run of kswapd that got nothing, and at some priority went for the page cache alone, begins
    /// again without doing so.
    KswapdRetries,
    /// The allocator takes all free pages of a foreign block with one of them, even where the block
    /// stays what it is; counts a batch at once; and gives a page back to the free ones of its
    /// list's type, not of its block's.
    TakesPagesWithTheBlock,
    /// Pages come to their lists, and are read, 31 at a time instead of 15.
    LargeFolioBatch,
    /// A dirty file that is not old enough for the flusher's present work is left alone once its
    /// slice is used up.
    LeavesYoungFiles,
    /// `memory.reclaim` knows `swappiness=`.
    ReclaimTakesSwappiness,
    /// A direct reclaim that got nothing begins again, with a walk through all groups; before, each
    /// walk goes through all.
    WalksTwice,
    /// A miss at the mark of a reader's last window or just behind it goes on with the next one,
    /// and so does the mark of another just behind it; since, misses look for what a sequential
    /// reader left, and marks for the first page that is missing.
    MissesFollowWindows,
    /// A `read()` notes how far it came when it ends, and not with each page.
    NotesReadsAtTheirEnd,
    /// ksmd takes a page's checksum before it looks for an equal one that is merged already, and
    /// leaves one that has changed alone.
    KsmChecksFirst,
    /// The throttling of writeback lets whatever is written to swap have as much under way as
    /// kswapd; before, kswapd alone.
    HurriesSwap,
    /// Where no page is missing among those looked at behind a mark, the last of them passes for
    /// missing. 6.12 has the correction of 6.17; those between are taken for 6.12.
    NextMissIsTheLast,
    /// A rotational disk that names no best size of a request reads ahead by two of its largest
    /// ones, 2560 KiB; before, by 128 KiB as all.
    RotationalReadsFar,
    /// Splitting a huge page leaves the zero page in place of its empty pages.
    SplitDropsEmptyPages,
    /// A new generation wakes the flushers; since, batches of nothing but dirty pages do.
    AgingWakesFlushers,
    /// MGLRU's first walk through page tables neither looks at the accessed bits above them nor
    /// clears these, so that the second goes through them again.
    FirstWalkLeavesBits,
    /// A page that joins the youngest generation as it is faulted in is not protected from eviction
    /// for having come back: its uses are forgotten.
    ActivationForgetsUses,
    /// The lists of a CPU are tuned between `high_min` and `high_max`.
    TunedPcp,
    /// The scheduler takes the earliest eligible virtual deadline; before, the least run time.
    EarliestDeadline,
    /// A sleeper that had more than its share stays queued until that is made good.
    DelayedDequeue,
}

/// The mechanisms of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms(u64);

impl Mechanisms {
    /// Those of a release as `uname -r` says it; of the newest where it cannot be read.
    #[must_use]
    pub fn of(release: &str) -> Self {
        let version = Version::of(release).unwrap_or(Version::LAST);
        let span = Span {
            from: version,
            to: version,
        };
        let mut of = Self(0);
        let rows = TABLE.iter().filter(|row| row.is_of(span));
        rows.filter_map(Row::mechanism)
            .for_each(|mechanism| of.set(mechanism, true));
        of
    }

    /// Whether the kernel has this one.
    #[must_use]
    pub fn has(self, mechanism: Mechanism) -> bool {
        self.0 & bit(mechanism) != 0
    }

    /// Adds one, or takes it away.
    pub fn set(&mut self, mechanism: Mechanism, has: bool) {
        match has {
            true => self.0 |= bit(mechanism),
            false => self.0 &= !bit(mechanism),
        }
    }
}

const fn bit(mechanism: Mechanism) -> u64 {
    1 << mechanism as u64
}

/// Whether the kernel of a release has a mechanism.
#[must_use]
pub fn has(release: &str, mechanism: Mechanism) -> bool {
    Mechanisms::of(release).has(mechanism)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_the_mechanisms_of_its_release() {
        let debian_12 = Mechanisms::of("6.1.0-56-cloud-amd64");
        let debian_13 = Mechanisms::of("6.12.117+deb13-cloud-amd64");
        for mechanism in [Mechanism::StatsLag, Mechanism::SplitDropsEmptyPages] {
            assert!(!debian_12.has(mechanism) && debian_13.has(mechanism));
        }
        assert!(debian_12.has(Mechanism::EarlyLruGen) && !debian_13.has(Mechanism::EarlyLruGen));
        assert_eq!(Mechanisms::of("custom"), Mechanisms::of("7.2.0"));
    }

    #[test]
    fn each_mechanism_has_one_row() {
        let mut seen = 0;
        for mechanism in TABLE.iter().filter_map(Row::mechanism) {
            assert_eq!(seen & bit(mechanism), 0, "{mechanism:?} has two");
            seen |= bit(mechanism);
        }
        assert_eq!(seen, bit(LAST) | (bit(LAST) - 1), "some have none");
    }

    const LAST: Mechanism = Mechanism::DelayedDequeue;
}
