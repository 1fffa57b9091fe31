//! What stays resident: files that are used again and again are locked, up to a budget.
//!
//! A file counts by how often it is used, each use halved after a minute: its size cancels,
//! because a use of all of it saves as much reading as it costs memory. Where the number of locks
//! is what is short, its size counts. A file that does not fit the budget is locked from its
//! beginning, if a quarter of it fits; a stream of a huge one never is.

mod anon;
mod table;

use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use crate::action::{Action, Decision, MOST_FILLED, Policy, Why};
use crate::config::{self, Amount};
use crate::sample::{File, Held, LOOKED_AT, Looked, Sample, Touch, Use};
use anon::Anon;
use table::{Entry, Lock, Table};

/// No more than this share of the memory is ever locked, in percent.
const MOST_LOCKED_PERCENT: u64 = 25;
/// Uses from which a file is locked, and one that is executed.
const LOCK_SCORE: f64 = 1.4;
const EXECUTED_SCORE: f64 = 0.9;
/// A file takes another's place where it is used that many times as often.
const DISPLACE_FACTOR: f64 = 1.5;
/// A locked file is filled up as long as it is used that often.
const FILL_SCORE: f64 = 1.2;
/// The smallest share of a file that is worth locking, and of that the smallest that must have been
/// read, as its reciprocal.
const PREFIX: u64 = 4;

/// The most that is locked on a machine with `total` memory.
#[must_use]
pub fn budget(clean_min: Amount, total: Bytes) -> Bytes {
    let most = Bytes(total.0 / 100 * MOST_LOCKED_PERCENT);
    clean_min.of(total).min(most)
}

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Floor {
    clean_min: Amount,
    anon: Anon,
    files: Table,
}

impl Floor {
    pub(crate) fn new(config: &config::Floor) -> Self {
        Self {
            clean_min: config.clean_min,
            anon: Anon::new(config.anon_min),
            files: Table::new(),
        }
    }

    pub(crate) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) -> Nanos {
        self.anon.decide(sample, to);
        sample.held.iter().for_each(|held| self.see(held, to));
        self.shrink_to(self.budget(sample), sample.at, to);
        let mut looks = false;
        // It is the close that says that a file was used.
        let uses = sample.touches.iter();
        for touch in uses.filter(|touch| !matches!(touch.how, Use::Opened | Use::Written)) {
            looks |= self.touched(*touch, sample, to);
        }
        for looked in sample.looked {
            self.looked(*looked, sample, to);
        }
        self.fill(sample, to);
        match looks {
            true => Nanos::ZERO,
            false => sample.memory.tick(),
        }
    }

    /// Whether it leaves `vm.swappiness` alone because somebody else wrote it.
    pub(crate) fn stands_down(&self) -> bool {
        self.anon.stands_down()
    }

    /// Whether a file is locked, or named in the configuration.
    pub(crate) fn keeps(&self, file: File) -> bool {
        let entry = self.files.get(file);
        entry.is_some_and(|entry| entry.is_named || matches!(entry.lock, Lock::Held(_)))
    }

    fn budget(&self, sample: &Sample<'_>) -> Bytes {
        budget(self.clean_min, sample.memory.total)
    }

    /// What became of a locked file.
    fn see(&mut self, held: &Held, to: &mut Vec<Decision>) {
        if held.is_stale && self.files.forget(held.file).is_some() {
            to.push(decision(Action::Unlock(held.file), Why::Stale));
        }
    }

    /// Lets go of the least used files until the rest fits: memory may have been taken away.
    fn shrink_to(&mut self, budget: Bytes, now: Nanos, to: &mut Vec<Decision>) {
        while self.files.locked() > budget {
            let Some(entry) = self.files.least_used_lock() else {
                return;
            };
            unlock(entry, now, to);
        }
    }

    /// A file was used; whether it is to be looked at.
    fn touched(&mut self, touch: Touch, sample: &Sample<'_>, to: &mut Vec<Decision>) -> bool {
        let now = sample.at;
        let entry = self.files.touch(touch, now);
        let score = entry.uses.score(now);
        if let Lock::Held(length) = entry.lock {
            // What was read since is locked with the rest.
            let file = entry.file;
            to.push(decision(Action::Lock { file, length }, why(entry, now)));
            return false;
        }
        let least = match touch.how {
            Use::Executed => EXECUTED_SCORE,
            Use::Closed | Use::Named | Use::Opened | Use::Written => LOCK_SCORE,
        };
        let wanted = entry.is_named || score >= least;
        if !wanted || entry.lock == Lock::Asked {
            return false;
        }
        let entry = *entry;
        // Of a file whose size is known it is known whether it would be locked.
        let size = entry.size.unwrap_or(Bytes(1));
        if !self.has_room(&entry, size, sample) {
            return false;
        }
        to.push(decision(Action::Look(entry.file), why(&entry, now)));
        let known = self.files.find(entry.file);
        known.is_some_and(|entry| {
            entry.lock = Lock::Asked;
            true
        })
    }

    /// Whether there is room for a lock of this length, or may be made: where memory is idle only
    /// for what is named.
    fn has_room(&self, entry: &Entry, length: Bytes, sample: &Sample<'_>) -> bool {
        let budget = self.budget(sample);
        let fits = self.files.locked().saturating_add(length) <= budget && !self.files.is_full();
        let takes = entry.is_named || !sample.memory.is_idle();
        fits || (takes && self.displaces(entry, length, budget))
    }

    /// Whether locks that are worth much less leave room for one of this length.
    fn displaces(&self, entry: &Entry, length: Bytes, budget: Bytes) -> bool {
        let much = libm::log2(DISPLACE_FACTOR);
        let over = self.files.locked().saturating_add(length);
        let over = over.saturating_sub(budget);
        if over > Bytes::ZERO {
            return self.files.locked_below(entry.rank() - much) >= over;
        }
        let is_worth_less = |(_, worth)| worth <= entry.worth() - much;
        !self.files.is_full() || self.files.least_worth().is_some_and(is_worth_less)
    }

    /// A file was looked at: it is locked if there is room or room can be made.
    fn looked(&mut self, looked: Looked, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let budget = self.budget(sample);
        let Some(entry) = self.files.find(looked.file) else {
            return;
        };
        if entry.lock != Lock::Asked {
            return;
        }
        entry.lock = Lock::None;
        // A tenth is left to smaller ones.
        let largest = Bytes(budget.0 / 10 * 9);
        let size = looked.size.unwrap_or(Bytes::ZERO);
        let length = size.min(largest);
        entry.size = looked.size.map(|_| length);
        let entry = *entry;
        if length == Bytes::ZERO || length.0 < size.0 / PREFIX {
            return;
        }
        // Who opens a file need not read it.
        let read = length.min(LOOKED_AT).0 / PREFIX;
        if looked.resident.0 < read && !entry.is_named {
            return;
        }
        if !self.has_room(&entry, length, sample) {
            return;
        }
        let now = sample.at;
        self.make_room(length, budget, now, to);
        let file = entry.file;
        if let Some(entry) = self.files.find(file) {
            entry.lock = Lock::Held(length);
        }
        to.push(decision(Action::Lock { file, length }, why(&entry, now)));
    }

    /// Lets go of the least used files, or of the one that is worth least.
    fn make_room(&mut self, length: Bytes, budget: Bytes, now: Nanos, to: &mut Vec<Decision>) {
        let least = Bytes(budget.0.saturating_sub(length.0));
        self.shrink_to(least, now, to);
        if !self.files.is_full() {
            return;
        }
        let least = self.files.least_worth();
        if let Some(entry) = least.and_then(|(file, _)| self.files.find(file)) {
            unlock(entry, now, to);
        }
    }

    /// Reads in a part of what is missing of one locked file: the one that is used most. Where
    /// memory is idle nothing was reclaimed: what is missing was never read.
    fn fill(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let is_idle = sample.memory.is_idle();
        let gaps = sample.held.iter().filter_map(|held| {
            let entry = self.files.get(held.file)?;
            let Lock::Held(length) = entry.lock else {
                return None;
            };
            let missing = length.saturating_sub(held.locked);
            let is_used = !is_idle && entry.uses.score(sample.at) > FILL_SCORE;
            let is_used = entry.is_named || is_used;
            (is_used && missing > Bytes::ZERO).then_some((entry, length, missing))
        });
        let most_used = gaps.max_by(|(one, ..), (other, ..)| one.rank().total_cmp(&other.rank()));
        if let Some((entry, length, missing)) = most_used {
            let most = missing.min(MOST_FILLED);
            let file = entry.file;
            to.push(decision(
                Action::Fill { file, length, most },
                Why::Missing(missing),
            ));
        }
    }
}

fn unlock(entry: &mut Entry, now: Nanos, to: &mut Vec<Decision>) {
    entry.lock = Lock::None;
    let why = Why::UsedLess(entry.uses.score(now));
    to.push(decision(Action::Unlock(entry.file), why));
}

fn why(entry: &Entry, now: Nanos) -> Why {
    match entry.is_named {
        true => Why::Named,
        false => Why::Used(entry.uses.score(now)),
    }
}

fn decision(action: Action, why: Why) -> Decision {
    Decision {
        policy: Policy::Floor,
        action,
        why,
    }
}

#[cfg(test)]
mod tests;
