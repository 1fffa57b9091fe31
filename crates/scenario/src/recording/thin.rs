//! A recording of every second block: what a machine performs that is simulated as a miniature.
//!
//! Of two neighbouring blocks of a file a hash keeps one. The kept ones are a file of half the
//! size, in which neighbours stay neighbours and what is read in order stays in order. Done again,
//! that is one block in four, and so on. What a task does with the others takes CPU time, which is
//! added to what it computes before the next run that is kept. Waits for other tasks become sleep.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use super::{Kind, Part, Recorded, Recording, Run, Writer};

/// The bytes of a block: few runs reach beyond one, and readahead of its usual size lies in two.
const BLOCK: u64 = 64 << 10;

/// CPU time that a run takes where it meets the cache and nothing is waited for.
pub type OwnTime<'t> = &'t dyn Fn(&Run) -> Nanos;

/// A stream that is being thinned.
#[derive(Clone, Debug)]
pub struct Thinner {
    level: u32,
    /// Of the runs since the last that was kept.
    compute: Nanos,
    sleep: Nanos,
    took: Nanos,
    /// CPU time that kept runs stand for beyond what there was.
    beyond: Nanos,
    /// By file: whether one of the writes since its last `fsync` was kept.
    written: BTreeMap<u32, bool>,
    syncs: u64,
}

impl Recorded {
    /// Every second block of what is in it.
    #[must_use]
    pub fn thinned(&self, own_time: OwnTime<'_>) -> Self {
        let level = self.level;
        let plain = <[u8]>::to_vec;
        let mut writer = Writer::new("", &plain);
        for (number, file) in (0..).zip(&self.files) {
            writer.file(Bytes(place(number, level, file.size.0)));
        }
        for (number, stream) in (0..).zip(&self.streams) {
            let mut thinner = Thinner::new(level);
            let kept = stream.iter().filter_map(|run| thinner.take(&run, own_time));
            kept.for_each(|run| writer.run(number, &run));
        }
        let read = Recording::read(&writer.take(Part::All), &|_, _| None::<Vec<u8>>);
        let mut thinned = read.map(|it| it.recorded).unwrap_or_default();
        thinned
            .streams
            .resize_with(self.streams.len(), Default::default);
        thinned.level = level + 1;
        thinned
    }
}

impl Thinner {
    /// For a stream in which one page stands for `1 << level`.
    #[must_use]
    pub fn new(level: u32) -> Self {
        Self {
            level,
            compute: Nanos::ZERO,
            sleep: Nanos::ZERO,
            took: Nanos::ZERO,
            beyond: Nanos::ZERO,
            written: BTreeMap::new(),
            syncs: 0,
        }
    }

    /// What is left of the next run of the stream, if anything is.
    pub fn take(&mut self, run: &Run, own_time: OwnTime<'_>) -> Option<Run> {
        let real_time = |run, level: u32| Nanos(own_time(run).0.saturating_mul(1 << level));
        self.compute += run.compute + real_time(run, self.level);
        self.sleep += run.sleep;
        self.took += run.took;
        let kept = self.kept(run)?;
        self.beyond += real_time(&kept, self.level + 1);
        let paid = self.beyond.min(self.compute);
        self.beyond = self.beyond.saturating_sub(paid);
        let take = core::mem::take::<Nanos>;
        Some(Run {
            compute: take(&mut self.compute).saturating_sub(paid),
            sleep: take(&mut self.sleep),
            took: take(&mut self.took),
            ..kept
        })
    }

    /// What is left of a run.
    fn kept(&mut self, run: &Run) -> Option<Run> {
        // Of a sample nobody waits for another: what it waited for, it sleeps.
        if !run.kind.is_of_file() {
            return None;
        }
        let place = |byte| place(run.file, self.level, byte);
        let offset = place(run.offset);
        let length = place(run.offset + run.length) - offset;
        let is_there = match run.kind {
            Kind::Sync => self.syncs(run.file),
            Kind::Open | Kind::Truncate => true,
            // Without a length it goes to the end.
            Kind::DontNeed => length > 0 || run.length == 0,
            _ => length > 0,
        };
        if run.kind == Kind::Write {
            *self.written.entry(run.file).or_default() |= is_there;
        }
        is_there.then_some(Run {
            offset,
            length,
            ..*run
        })
    }

    /// An `fsync` follows the writes of its stream; of those that only others wrote for, every
    /// second is kept.
    fn syncs(&mut self, file: u32) -> bool {
        self.written.remove(&file).unwrap_or_else(|| {
            self.syncs += 1;
            self.syncs.is_multiple_of(2)
        })
    }
}

/// Where a byte of a file lies among the kept blocks: behind as many bytes as are kept before it.
/// One page stands for `1 << level` before.
#[must_use]
pub fn place(file: u32, level: u32, byte: u64) -> u64 {
    let pair = byte / (2 * BLOCK);
    let kept = (2 * pair + picked(file, level, pair)) * BLOCK;
    pair * BLOCK + byte.saturating_sub(kept).min(BLOCK)
}

/// Which block of a pair is kept, 0 or 1 (the finalizer of SplitMix64).
fn picked(file: u32, level: u32, pair: u64) -> u64 {
    let seed = pair ^ u64::from(file) << 32 ^ u64::from(level) << 58;
    let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Run = Run {
        compute: Nanos(1_000),
        sleep: Nanos::ZERO,
        took: Nanos::ZERO,
        kind: Kind::Read,
        file: 0,
        offset: 0,
        length: BLOCK,
    };

    /// 256 blocks of one file, one run each.
    fn recorded(run: impl Fn(u64) -> Run) -> Recorded {
        let plain = <[u8]>::to_vec;
        let mut writer = Writer::new("", &plain);
        writer.file(Bytes(256 * BLOCK));
        (0..256).for_each(|block| writer.run(0, &run(block)));
        let read = Recording::read(&writer.take(Part::All), &|_, _| None);
        read.expect("a recording").recorded
    }

    fn runs(recorded: &Recorded) -> Vec<Run> {
        recorded.streams[0].iter().collect()
    }

    #[test]
    fn what_is_read_in_order_is_read_in_order_of_half_a_file() {
        let in_order = recorded(|block| Run {
            offset: block * BLOCK,
            ..RUN
        });
        let twice = in_order.thinned(&|_| Nanos(400)).thinned(&|_| Nanos(400));
        assert_eq!((twice.files[0].size, twice.level), (Bytes(64 * BLOCK), 2));
        let kept = runs(&twice);
        let offsets: Vec<u64> = kept.iter().map(|run| run.offset).collect();
        let wanted: Vec<u64> = (0..64).map(|block| block * BLOCK).collect();
        assert_eq!(offsets, wanted);
        // A kept run takes four times its own 400 ns, and what is left of the time of four; what
        // was done after the last is left out.
        let compute: u64 = kept.iter().map(|run| run.compute.0).sum();
        assert!((62 * 4_000..=64 * 4_000).contains(&compute), "{compute}");
    }

    #[test]
    fn a_hot_block_takes_no_more_time_than_it_took() {
        let hot = recorded(|block| Run {
            offset: block % 2 * block * BLOCK,
            length: 4096,
            ..RUN
        });
        let thinned = hot.thinned(&|_| Nanos(400));
        let kept = runs(&thinned);
        let all: u64 = kept.iter().map(|run| run.compute.0 + 2 * 400).sum();
        assert!(
            (350_000..=359_000).contains(&all),
            "256 times 1400 ns: {all}"
        );
    }

    #[test]
    fn an_fsync_follows_the_writes_before_it() {
        let write = |block: u64| Run {
            kind: if block.is_multiple_of(2) {
                Kind::Write
            } else {
                Kind::Sync
            },
            offset: if block.is_multiple_of(2) {
                block * BLOCK
            } else {
                0
            },
            length: if block.is_multiple_of(2) { BLOCK } else { 0 },
            ..RUN
        };
        let kept = runs(&recorded(write).thinned(&|_| Nanos::ZERO));
        assert!((40..=88).contains(&(kept.len() / 2)), "about half");
        for pair in kept.chunks(2) {
            assert_eq!([pair[0].kind, pair[1].kind], [Kind::Write, Kind::Sync]);
        }
    }

    #[test]
    fn of_a_sample_nobody_waits_for_another() {
        let mut thinner = Thinner::new(0);
        let wait = Run {
            kind: Kind::Wait,
            sleep: Nanos(5_000),
            ..RUN
        };
        let runs = [RUN, wait, RUN, RUN, RUN];
        let mut all = runs.iter().zip(0..);
        let kept = all.find_map(|(run, block)| {
            let at = Run {
                offset: block * BLOCK,
                ..*run
            };
            thinner
                .take(&at, &|_| Nanos::ZERO)
                .filter(|it| it.sleep > Nanos::ZERO)
        });
        let kept = kept.expect("one of two blocks is kept");
        assert_eq!((kept.kind, kept.sleep), (Kind::Read, Nanos(5_000)));
    }

    #[test]
    fn bytes_keep_their_order_and_half_of_them_are_kept() {
        let places: Vec<u64> = (0..4096).map(|page| place(3, 1, page * 4096)).collect();
        assert!(places.is_sorted());
        assert_eq!(places[4064], 4064 * 4096 / 2, "at the end of each pair");
        assert!(places.windows(2).all(|two| two[1] - two[0] <= 4096));
    }
}
