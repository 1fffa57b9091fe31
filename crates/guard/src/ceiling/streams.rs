//! The files that may be dropped where the kernel cannot reclaim file pages by themselves: those
//! that were opened or closed lately and are not used again and again. They take turns: the one
//! that was asked longest ago comes first, and of those never asked the least used.

use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use crate::action::MOST_DROPPED;
use crate::sample::{Dropped, File, SHORTEST, Sample, TICK, Touch, Use};
use crate::search::Search;
use crate::shares::{User, goes_for};
use crate::uses::Uses;

/// Files that are known at most; of more, the least used is forgotten.
const MOST_FILES: usize = 1024;
/// From this many uses on a file is used again and again. It stays, unless it is larger than the
/// ceiling: what is dropped would be read again at once.
const AGAIN: f64 = 1.4;
/// A closed file of which nothing went is asked again after this time: it may have been written of
/// late, or somebody may have it open after all.
const CLOSED: Nanos = Nanos(60 * Nanos::SECOND.0);

/// The files that are known, in order of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Streams(Vec<Stream>);

/// A file that is known.
#[derive(Clone, Copy, Debug)]
struct Stream {
    file: File,
    /// On whose share it counts: who used it first, or the system.
    user: User,
    uses: Uses,
    /// How many have it open, as far as was seen.
    opens: u32,
    /// Its size; 0 before anything was dropped.
    size: Bytes,
    /// Where the next search begins.
    from: Bytes,
    /// What was dropped since it was last opened.
    dropped: Bytes,
    /// When it was asked last.
    asked: Nanos,
    /// When it is asked again, and how long it was left alone before: there was nothing to drop.
    ready: Nanos,
    rest: Nanos,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes over what was dropped and which files were used.
    pub(super) fn see(&mut self, sample: &Sample<'_>) {
        for dropped in sample.dropped {
            if let Ok(index) = self.place(dropped.file) {
                self.0[index].see(dropped, sample.at);
            }
        }
        for touch in sample.touches {
            if matches!(touch.how, Use::Opened | Use::Closed | Use::Written) {
                self.touched(*touch, sample.at);
            }
        }
    }

    /// Which are to be dropped now, in order.
    pub(super) fn ready(
        &self,
        now: Nanos,
        ceiling: Bytes,
        keeps: impl Fn(File) -> bool,
    ) -> Vec<Search> {
        let may = |stream: &&Stream| {
            let is_stream = stream.uses.score(now) < AGAIN || stream.size > ceiling;
            stream.ready <= now && is_stream && !keeps(stream.file)
        };
        let mut ready: Vec<&Stream> = self.0.iter().filter(may).collect();
        // The one that has waited longest, so that all have their turn.
        ready.sort_unstable_by(|one, other| {
            let rank = one.uses.rank().total_cmp(&other.uses.rank());
            one.asked.cmp(&other.asked).then(rank)
        });
        let first = ready.into_iter().take(MOST_DROPPED);
        let search = |stream: &Stream| Search {
            file: stream.file,
            from: stream.from,
        };
        first.map(search).collect()
    }

    /// How long until one that was left alone is asked again.
    pub(super) fn wait(&self, now: Nanos) -> Nanos {
        let resting = self.0.iter().filter(|stream| stream.ready > now);
        let wait = resting.map(|stream| stream.ready.saturating_sub(now));
        wait.min().unwrap_or(TICK).clamp(SHORTEST, TICK)
    }

    fn place(&self, file: File) -> Result<usize, usize> {
        self.0.binary_search_by_key(&file, |stream| stream.file)
    }

    fn touched(&mut self, touch: Touch, now: Nanos) {
        let known = self.place(touch.file);
        if known.is_err() && touch.how == Use::Written {
            return;
        }
        let Some(index) = known.ok().or_else(|| self.add(touch)) else {
            return;
        };
        let stream = &mut self.0[index];
        if touch.user == User::System {
            stream.user = User::System;
        }
        (stream.ready, stream.rest) = (Nanos::ZERO, Nanos::ZERO);
        let was_open = stream.opens > 0;
        if matches!(touch.how, Use::Closed | Use::Written) {
            stream.opens = stream.opens.saturating_sub(1);
        }
        // Its open was the use.
        if touch.how == Use::Written || (touch.how == Use::Closed && was_open) {
            return;
        }
        stream.uses.add(now);
        if touch.how == Use::Opened {
            stream.opens = stream.opens.saturating_add(1);
            (stream.from, stream.dropped) = (Bytes::ZERO, Bytes::ZERO);
        }
    }

    fn add(&mut self, touch: Touch) -> Option<usize> {
        let Touch { file, user, .. } = touch;
        if self.0.len() == MOST_FILES {
            let of = |stream: &Stream| (stream.user, true);
            let rank = |stream: &Stream| stream.uses.rank();
            let least = |one: &Stream, other: &Stream| rank(one).total_cmp(&rank(other));
            self.0.remove(goes_for(user, self.0.iter(), of, least)?);
        }
        let index = self.place(file).unwrap_or_else(|index| index);
        let stream = Stream {
            file,
            user,
            uses: Uses::NONE,
            opens: 0,
            asked: Nanos::ZERO,
            size: Bytes::ZERO,
            from: Bytes::ZERO,
            dropped: Bytes::ZERO,
            ready: Nanos::ZERO,
            rest: Nanos::ZERO,
        };
        self.0.insert(index, stream);
        Some(index)
    }
}

impl Stream {
    fn see(&mut self, dropped: &Dropped, now: Nanos) {
        self.asked = now;
        let Some(size) = dropped.size else {
            self.ready = Nanos(u64::MAX);
            return;
        };
        self.size = size;
        if dropped.bytes == Bytes::ZERO {
            return self.rest(dropped.next, now);
        }
        (self.ready, self.rest) = (Nanos::ZERO, Nanos::ZERO);
        self.from = dropped.next;
        self.dropped = self.dropped.saturating_add(dropped.bytes);
        if self.dropped > size {
            // Some of it came back: it was read again.
            self.uses.add(now);
            self.dropped = Bytes::ZERO;
        }
    }

    /// There was nothing to drop: it is asked again when it was used, after a minute, and while it
    /// is open after twice the time each. The search goes on elsewhere only when that is long:
    /// whoever reads the file is likely to go on from here.
    fn rest(&mut self, next: Bytes, now: Nanos) {
        if self.opens == 0 {
            self.ready = now.saturating_add(CLOSED);
            return;
        }
        if self.rest == TICK {
            self.from = next;
        }
        self.rest = Nanos(self.rest.0.saturating_mul(2)).clamp(SHORTEST, TICK);
        self.ready = now.saturating_add(self.rest);
    }
}
