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
use crate::shares::User;
use anon::Anon;
use table::{Entry, Lock, Table, Wants};

/// No more than this share of the memory is ever locked, in percent.
const MOST_LOCKED_PERCENT: u64 = 25;
/// Uses from which a file is locked, and one that is executed.
const LOCK_SCORE: f64 = 1.4;
const EXECUTED_SCORE: f64 = 0.9;
/// A file takes another's place where it is used that many times as often.
const DISPLACE_FACTOR: f64 = 1.5;
/// A locked file is filled up as long as it is used that often.
const FILL_SCORE: f64 = 1.2;
/// Files of one user beside the system that are weighed in a sample, at most: to weigh one takes a
/// look at all locks, and maybe up to a millisecond at the file.
const MOST_WEIGHED: u32 = 8;
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
    /// How many files of each user were weighed in this sample.
    weighed: Vec<(User, u32)>,
}

impl Floor {
    pub(crate) fn new(config: &config::Floor) -> Self {
        Self {
            clean_min: config.clean_min,
            anon: Anon::new(config.anon_min),
            files: Table::new(),
            weighed: Vec::new(),
        }
    }

    pub(crate) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) -> Nanos {
        self.anon.decide(sample, to);
        sample.held.iter().for_each(|held| self.see(held, to));
        self.shrink_to(self.budget(sample), sample.at, to);
        self.weighed.clear();
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

    /// Forgets that it set `vm.swappiness`, and leaves it alone for a while.
    pub(crate) fn rest(&mut self, until: Nanos) {
        self.anon.rest(until);
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
            let Some(entry) = self.files.least_used_lock(budget) else {
                return;
            };
            unlock(entry, now, to);
        }
    }

    /// A file was used; whether it is to be looked at.
    fn touched(&mut self, touch: Touch, sample: &Sample<'_>, to: &mut Vec<Decision>) -> bool {
        let now = sample.at;
        let Some(entry) = self.files.touch(touch, now) else {
            return false;
        };
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
        let is_used = entry.uses_by(touch.user).score(now) >= least;
        if !(entry.is_named || is_used) || entry.lock == Lock::Asked {
            return false;
        }
        if !entry.is_named {
            // On whose share it would be locked.
            entry.user = touch.user;
        }
        let entry = *entry;
        // Of a file whose size is known it is known whether it would be locked.
        let size = entry.size.unwrap_or(Bytes(1));
        if !self.may_weigh(entry.user) || self.goes_for(&entry, size, sample).is_none() {
            return false;
        }
        to.push(decision(Action::Look(entry.file), why(&entry, now)));
        let known = self.files.find(entry.file);
        known.is_some_and(|entry| {
            entry.lock = Lock::Asked;
            true
        })
    }

    fn may_weigh(&mut self, user: User) -> bool {
        if user == User::System {
            return true;
        }
        let known = self.weighed.iter_mut().find(|(one, _)| *one == user);
        let Some((_, weighed)) = known else {
            self.weighed.push((user, 1));
            return true;
        };
        *weighed += 1;
        *weighed <= MOST_WEIGHED
    }

    /// The locks that go so that there is room for one of this length; `None` where it is not worth
    /// them. Where memory is idle, only what is named takes more than its user has a claim to.
    fn goes_for(&self, entry: &Entry, length: Bytes, sample: &Sample<'_>) -> Option<Vec<File>> {
        let budget = self.budget(sample);
        let wants = Wants {
            entry,
            length,
            budget,
            much: libm::log2(DISPLACE_FACTOR),
            takes: entry.is_named || !sample.memory.is_idle(),
            now: sample.at,
        };
        let over = self.files.locked().saturating_add(length);
        match over.saturating_sub(budget) {
            Bytes::ZERO if !self.files.is_full() => Some(Vec::new()),
            Bytes::ZERO => self.files.saves_less(&wants).map(|file| Vec::from([file])),
            over => self.files.used_less(&wants, over),
        }
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
        let Some(goes) = self.goes_for(&entry, length, sample) else {
            return;
        };
        let now = sample.at;
        for file in goes {
            if let Some(entry) = self.files.find(file) {
                unlock(entry, now, to);
            }
        }
        let file = entry.file;
        if let Some(entry) = self.files.find(file) {
            entry.lock = Lock::Held(length);
        }
        to.push(decision(Action::Lock { file, length }, why(&entry, now)));
    }

    /// Reads in a part of what is missing of one locked file: the system's first, and of those the
    /// one that is used most. Where memory is idle nothing was reclaimed: what is missing was never
    /// read.
    fn fill(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let is_idle = sample.memory.is_idle();
        let gaps = sample.held.iter().filter_map(|held| {
            let entry = self.files.get(held.file)?;
            let Lock::Held(length) = entry.lock else {
                return None;
            };
            let missing = length.saturating_sub(held.locked);
            let is_used = !is_idle && entry.uses().score(sample.at) > FILL_SCORE;
            let is_used = entry.is_named || is_used;
            (is_used && missing > Bytes::ZERO).then_some((entry, length, missing))
        });
        let most_used = gaps.max_by(|(one, ..), (other, ..)| {
            let rank = one.rank().total_cmp(&other.rank());
            other.user.cmp(&one.user).then(rank)
        });
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
    let why = Why::UsedLess(entry.uses().score(now));
    to.push(decision(Action::Unlock(entry.file), why));
}

fn why(entry: &Entry, now: Nanos) -> Why {
    match entry.is_named {
        true => Why::Named,
        false => Why::Used(entry.uses().score(now)),
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
