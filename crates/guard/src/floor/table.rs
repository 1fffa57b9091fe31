//! The files that are known, and how often they are used.

use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use super::LOCK_SCORE;
use crate::sample::{File, LOOKED_AT, Touch, Use};
use crate::shares::{Shares, User, goes_for};
use crate::uses::Uses;

/// Files that are known at most; of more, the least used is forgotten.
const MOST_FILES: usize = 1024;
/// Files that are locked at most: there is always one that can be forgotten.
pub(super) const MOST_LOCKS: usize = MOST_FILES / 4 * 3;
/// A file that is used less than this has no user any more who has a claim on it: three minutes
/// after a use.
const FADED: f64 = 0.125;
/// What a disk reads in the time that one request takes.
const REQUEST: Bytes = Bytes(128 << 10);

/// The files that are known. It never grows after it was made.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// In order of their numbers.
    entries: Vec<Entry>,
}

/// A file that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) file: File,
    /// On whose share it counts.
    pub(super) user: User,
    pub(super) lock: Lock,
    /// The configuration names it: it goes before all others.
    pub(super) is_named: bool,
    /// How often the system uses it, and how often one other user does.
    system: Uses,
    other: (User, Uses),
    /// What would be locked of it, as it was when it was looked at last.
    pub(super) size: Option<Bytes>,
}

/// What a file wants that is to be locked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants<'a> {
    pub(super) entry: &'a Entry,
    pub(super) length: Bytes,
    /// The most that is locked.
    pub(super) budget: Bytes,
    /// What is worth less by this may go for it.
    pub(super) much: f64,
    /// Whether anything may go that its user has no claim to.
    pub(super) takes: bool,
    pub(super) now: Nanos,
}

/// How a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    None,
    /// It is to be looked at.
    Asked,
    /// So much is locked, from its beginning.
    Held(Bytes),
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::with_capacity(MOST_FILES),
        }
    }

    pub(super) fn get(&self, file: File) -> Option<&Entry> {
        self.place(file).ok().map(|index| &self.entries[index])
    }

    pub(super) fn find(&mut self, file: File) -> Option<&mut Entry> {
        self.place(file).ok().map(|index| &mut self.entries[index])
    }

    /// Where a file is, or where it belongs.
    fn place(&self, file: File) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&file, |entry| entry.file)
    }

    /// Counts a use. A file that is new takes the place of the least used one that is not locked;
    /// `None` where there is none for this user.
    pub(super) fn touch(&mut self, touch: Touch, now: Nanos) -> Option<&mut Entry> {
        let index = match self.place(touch.file) {
            Ok(index) => index,
            Err(_) => self.add(touch.file, touch.user)?,
        };
        let entry = &mut self.entries[index];
        match touch.how {
            Use::Named => (entry.is_named, entry.user) = (true, User::System),
            Use::Closed | Use::Executed => entry.count(touch.user, now),
            Use::Opened | Use::Written => {}
        }
        Some(entry)
    }

    fn add(&mut self, file: File, user: User) -> Option<usize> {
        let new = Entry {
            file,
            user,
            lock: Lock::None,
            is_named: false,
            system: Uses::NONE,
            other: (user, Uses::NONE),
            size: None,
        };
        if self.entries.len() == MOST_FILES {
            let of = |entry: &Entry| (entry.user, !entry.is_locked());
            let least = |one: &Entry, other: &Entry| one.rank().total_cmp(&other.rank());
            self.entries
                .remove(goes_for(user, self.entries.iter(), of, least)?);
        }
        let index = self.place(file).unwrap_or_else(|index| index);
        self.entries.insert(index, new);
        Some(index)
    }

    /// Forgets a file; it is returned.
    pub(super) fn forget(&mut self, file: File) -> Option<Entry> {
        let index = self.place(file).ok()?;
        Some(self.entries.remove(index))
    }

    /// What is locked, or to be.
    pub(super) fn locked(&self) -> Bytes {
        self.entries.iter().map(Entry::locked).sum()
    }

    /// Whether there are as many locks as there may be.
    pub(super) fn is_full(&self) -> bool {
        self.locks().count() >= MOST_LOCKS
    }

    /// The least used lock of a user that has more than its share of a budget, or of all.
    pub(super) fn least_used_lock(&mut self, budget: Bytes) -> Option<&mut Entry> {
        let shares = self.shares(|entry| entry.locked().0);
        let has_more = |entry: &Entry| !shares.may_claim(entry.user, 0, budget.0);
        let locked = self.entries.iter_mut().filter(|entry| entry.is_locked());
        locked.min_by(|one, other| {
            let rank = one.rank().total_cmp(&other.rank());
            has_more(other).cmp(&has_more(one)).then(rank)
        })
    }

    /// The locks that go so that one of `length` fits into a budget: `over` of it does not. First
    /// what its user may claim of others, then what is worth less by `much`, if anything of that
    /// may go. `None` where that is not enough.
    pub(super) fn used_less(&self, wants: &Wants<'_>, over: Bytes) -> Option<Vec<File>> {
        let (entry, total) = (wants.entry, wants.budget.0);
        let mut shares = self.shares(|entry| entry.locked().0);
        let may = shares.may_claim(entry.user, wants.length.0, total);
        let gives = |shares: &Shares, lock: &Entry| {
            may && shares.gives(lock.user, lock.locked().0, entry.user, total)
        };
        let is_claimed = |shares: &Shares, lock: &Entry| lock.gives() && gives(shares, lock);
        let is_less = |shares: &Shares, lock: &Entry| {
            let is_less = lock.rank() <= entry.rank() - wants.much;
            is_less && (wants.competes(lock) || wants.takes && gives(shares, lock))
        };
        let may_go = |lock: &&Entry| is_less(&shares, lock) || is_claimed(&shares, lock);
        let mut locks: Vec<&Entry> = self.locks().filter(may_go).collect();
        // Mostly there is not enough.
        if locks.iter().map(|lock| lock.locked()).sum::<Bytes>() < over {
            return None;
        }
        locks.sort_by(|one, other| one.rank().total_cmp(&other.rank()));
        let (mut goes, mut left) = (Vec::new(), over);
        for is_claim in [true, false] {
            for lock in &locks {
                let is_next = match is_claim {
                    true => is_claimed(&shares, lock),
                    false => is_less(&shares, lock),
                };
                if left > Bytes::ZERO && is_next && !goes.contains(&lock.file) {
                    goes.push(lock.file);
                    shares.take(lock.user, lock.locked().0);
                    left = left.saturating_sub(lock.locked());
                }
            }
        }
        (left == Bytes::ZERO).then_some(goes)
    }

    /// The lock that goes where the number of locks is what is short: the one that saves least.
    pub(super) fn saves_less(&self, wants: &Wants<'_>) -> Option<File> {
        let (entry, total) = (wants.entry, MOST_LOCKS as u64);
        let shares = self.shares(|entry| u64::from(entry.is_locked()));
        let may = shares.may_claim(entry.user, 1, total);
        let gives = |lock: &Entry| may && shares.gives(lock.user, 1, entry.user, total);
        let least = |one: &&Entry, other: &&Entry| one.worth().total_cmp(&other.worth());
        let claimed = self.locks().filter(|lock| lock.gives() && gives(lock));
        let competes = |lock: &&Entry| wants.competes(lock) || wants.takes && gives(lock);
        let own = || self.locks().filter(competes).min_by(least);
        let is_worth_less = |lock: &&Entry| lock.worth() <= entry.worth() - wants.much;
        let goes = claimed
            .min_by(least)
            .or_else(|| own().filter(is_worth_less));
        goes.map(|lock| lock.file)
    }

    fn shares(&self, part: impl Fn(&Entry) -> u64) -> Shares {
        Shares::of(self.entries.iter().map(|entry| (entry.user, part(entry))))
    }

    fn locks(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_locked())
    }
}

impl Wants<'_> {
    /// Whether a lock competes with it: it is the same user's, or nobody's any more.
    fn competes(&self, lock: &Entry) -> bool {
        let is_faded = lock.uses().score(self.now) < FADED && !lock.is_named;
        self.takes && (lock.user == self.entry.user || self.entry.is_named || is_faded)
    }
}

impl Entry {
    /// A use by a user, which counts for that one alone: others could make a file go before all
    /// else of a user's. It comes onto the share of the system where that alone would lock it, and
    /// onto another's where its own user has left it.
    fn count(&mut self, user: User, now: Nanos) {
        if user == User::System {
            self.system.add(now);
            let is_wanted = self.lock == Lock::None || self.system.score(now) >= LOCK_SCORE;
            self.user = if is_wanted { user } else { self.user };
            return;
        }
        if self.other.0 != user {
            if self.other.1.score(now) >= FADED {
                return;
            }
            self.other = (user, Uses::NONE);
        }
        let is_left = self.uses().score(now) < FADED && !self.is_named;
        self.other.1.add(now);
        self.user = if is_left { user } else { self.user };
    }

    /// The uses by the user on whose share it is.
    pub(super) fn uses(&self) -> Uses {
        self.uses_by(self.user)
    }

    pub(super) fn uses_by(&self, user: User) -> Uses {
        match user {
            User::System => self.system,
            user if user == self.other.0 => self.other.1,
            User::Other(_) => Uses::NONE,
        }
    }

    /// What it is compared with others by.
    pub(super) fn rank(&self) -> f64 {
        match self.is_named {
            true => f64::INFINITY,
            false => self.uses().rank(),
        }
    }

    /// What its lock saves, where the number of locks is what is short: the binary logarithm of the
    /// uses times the time that it takes to read it, up to a constant. What was not looked at yet
    /// may be large.
    pub(super) fn worth(&self) -> f64 {
        let bytes = REQUEST.saturating_add(self.size.unwrap_or(LOOKED_AT));
        self.rank() + libm::log2(bytes.0 as f64)
    }

    /// Whether its lock goes for a mere claim. What the system has above its share is used less,
    /// too: its processes and others use the same files, and would take them from each other.
    fn gives(&self) -> bool {
        self.user != User::System
    }

    fn is_locked(&self) -> bool {
        matches!(self.lock, Lock::Held(_))
    }

    fn locked(&self) -> Bytes {
        match self.lock {
            Lock::Held(length) => length,
            Lock::None | Lock::Asked => Bytes::ZERO,
        }
    }
}
