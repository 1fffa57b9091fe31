//! Carries out what the policies decide, and says it in a line each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guard::request::Place;
use guard::sample::LOOKED_AT;
use guard::{Action, Decision, Dropped, Event, File, Looked, Policy, Scope, Search};
use host::reason;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

use crate::drops;
use crate::locks::{Locked, Locks};
use crate::log::{self, Name};
use crate::mounts::Mounts;
use crate::reclaim::Reclaim;
use crate::sampling::Sampling;
use crate::spared::Spared;
use crate::state::State;
use crate::watch::{Opened, Watch};

/// Reclaim comes a hundred times a second: it is said once in this time.
const SAY_EVERY: Nanos = Nanos(Nanos::SECOND.0);
/// A file of which nothing more could be read in is left alone for this time.
const FILL_AGAIN: Nanos = Nanos(30 * Nanos::SECOND.0);

/// Files that are kept open from a look to the lock that follows, at most.
const OPENED_MAX: usize = 64;

/// Tunables that are not set but would be.
pub(crate) type Pretended = BTreeMap<String, u64>;

/// What acts on the machine.
#[derive(Debug)]
pub(crate) struct Hands {
    pub(crate) locks: Locks,
    /// With `--dry-run`, what would be set.
    pub(crate) pretended: Pretended,
    /// The groups of the configuration, by path, as they are told of.
    pub(crate) groups: Vec<String>,
    pub(crate) spared: Spared,
    pub(crate) reclaim: Reclaim,
    /// Answers for the next sample.
    pub(crate) dropped: Vec<Dropped>,
    /// Files that were looked at, until their locks follow.
    pub(crate) opened: Vec<(File, Opened)>,
    /// Policies of which a tunable could not be set since the last sample.
    pub(crate) unset: BTreeSet<Policy>,
    /// `None` with `--dry-run`.
    state: Option<State>,
    /// Files that were locked since the last sample, with `--dry-run` since the beginning.
    locked: Vec<File>,
    /// What was reclaimed since it was last said.
    reclaimed: BTreeMap<Scope, Reclaimed>,
    /// What was reclaimed since it began.
    pub(crate) reclaimed_total: BTreeMap<Scope, Bytes>,
    said_at: Nanos,
    /// Failures that were said, by what failed.
    failed: BTreeMap<String, String>,
    /// When a file gave nothing.
    empty: BTreeMap<File, Nanos>,
}

/// Writes, or files that were dropped, that are said in one line.
#[derive(Clone, Copy, Debug)]
struct Reclaimed {
    amount: Bytes,
    times: u64,
    is_dropped: bool,
    last: guard::Why,
}

impl Hands {
    /// Without a state it only says what it would do.
    pub(crate) fn new(state: Option<State>) -> Self {
        Self {
            locks: Locks::new(),
            pretended: Pretended::new(),
            groups: Vec::new(),
            spared: Spared::new(&[]),
            reclaim: Reclaim::default(),
            dropped: Vec::new(),
            opened: Vec::new(),
            unset: BTreeSet::new(),
            state,
            locked: Vec::new(),
            reclaimed: BTreeMap::new(),
            reclaimed_total: BTreeMap::new(),
            said_at: Nanos::ZERO,
            failed: BTreeMap::new(),
            empty: BTreeMap::new(),
        }
    }

    /// Does it. The answer is one to a look.
    pub(crate) fn act(
        &mut self,
        decision: &Decision,
        watch: &Watch,
        sampling: &Sampling,
    ) -> Option<Looked> {
        match &decision.action {
            Action::Look(file) => return Some(self.look(*file, watch)),
            Action::Lock { file, length } => self.lock(decision, *file, *length, watch),
            Action::Fill { file, most, .. } => self.fill(decision, *file, *most, watch),
            Action::Unlock(file) => self.unlock(decision, *file, watch),
            Action::Reclaim { scope, amount } => {
                let folder = match scope {
                    Scope::Machine => None,
                    Scope::Group(index) => sampling.folder(*index, watch.mounts.cgroup2()),
                };
                self.reclaim(decision, *scope, *amount, folder.as_deref(), watch);
            }
            Action::Drop { files, most } => self.drop_files(decision, files, *most, watch),
            Action::Set(setting) => self.set(decision, setting),
            Action::GiveBack(tunable) => self.give_back(decision, tunable),
        }
        None
    }

    fn look(&mut self, file: File, watch: &Watch) -> Looked {
        let mut looked = Looked {
            file,
            size: None,
            resident: Bytes::ZERO,
        };
        if self.spared.knows(file, host::facts::since_boot()) {
            return looked;
        }
        let Ok(Some(opened)) = watch.open(file) else {
            return looked;
        };
        let charged = self.spared.charged.as_ref();
        let whose = |address| charged?.inode(address);
        let length = opened.size.min(LOOKED_AT);
        let seen = self.locks.look(&opened.file, length, whose);
        let size = match seen.first {
            Some(0) => opened.used(),
            // Nothing is read in to find that out.
            _ => opened.size,
        };
        looked.resident = seen.resident.min(size);
        let mounts = &watch.mounts;
        if !self.spared.spares(file, (&opened.file, size), seen, mounts) {
            looked.size = Some(size);
            if self.opened.len() < OPENED_MAX {
                self.opened.push((file, opened));
            }
        }
        looked
    }

    /// After the actions of a sample.
    pub(crate) fn done(&mut self, now: Nanos) {
        if self.state.is_some() {
            self.locked.clear();
        }
        if now.saturating_sub(self.said_at) >= SAY_EVERY && !self.reclaimed.is_empty() {
            self.said_at = now;
            self.say_reclaimed();
        }
    }

    /// Finds out which locks are to go.
    pub(crate) fn find_stale(&mut self, mounts: &Mounts) {
        self.locks.find_stale(|fsid| mounts.has(fsid));
        self.spared.forget(&self.locks);
    }

    /// Lets go of every file, and writes back every tunable.
    ///
    /// # Errors
    /// One line: a tunable that could not be written back.
    pub(crate) fn let_go(&mut self) -> Result<(), String> {
        self.say_reclaimed();
        let (locked, files) = self.locks.total();
        if files > 0 {
            let what = format!("unlock {locked} of {files} files");
            log::say(floor("unlock", what, locked, "the end"), files as u64);
        }
        self.locks.clear();
        self.locked.clear();
        self.empty.clear();
        self.pretended.clear();
        self.dropped.clear();
        let state = self.state.as_mut();
        state.map_or(Ok(()), |state| state.restore("the end"))
    }

    /// Lets go of the files of a place: how much and how many.
    pub(crate) fn release(&mut self, place: Place) -> (Bytes, usize) {
        let (locked, files) = self.locks.release(place);
        let what = format!("release {place}: {locked} in {files} locks");
        log::say(floor("release", what, locked, "it was asked for"), 1);
        (locked, files)
    }

    /// The tunables that it set, and what each was before.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&str, String)> {
        self.state.iter().flat_map(State::held)
    }

    fn lock(&mut self, decision: &Decision, file: File, length: Bytes, watch: &Watch) {
        // Several uses in one sample are one lock.
        if self.locked.contains(&file) {
            return;
        }
        self.locked.push(file);
        let fsid = watch.fsid(file);
        if self.state.is_none() {
            let what = format_args!("would lock {length} of file {fsid:016x}");
            return say(decision, what);
        }
        let at = self.opened.iter().position(|(one, _)| *one == file);
        let opened = at.map(|at| Ok(Some(self.opened.swap_remove(at).1)));
        let open = || {
            let opened = opened.unwrap_or_else(|| watch.open(file))?;
            let gone = std::io::ErrorKind::NotFound;
            opened.map(|opened| opened.file).ok_or(gone.into())
        };
        match self.locks.lock(file, length, fsid, open) {
            Ok(locked) if locked.is_new => {
                let name = Name(fsid, locked.inode);
                let what = format_args!("lock {length} of file {name}, {} resident", locked.now);
                log::did(decision, what, Some(name), locked.now, 1);
            }
            Ok(locked) if locked.now > locked.before => {
                self.empty.remove(&file);
                say_more(decision, fsid, &locked);
            }
            Ok(_) => {}
            Err(error) => {
                let what = format!("lock of file {fsid:016x}");
                self.fail(decision, what, reason(&error));
            }
        }
    }

    fn fill(&mut self, decision: &Decision, file: File, most: Bytes, watch: &Watch) {
        let now = host::facts::since_boot();
        let empty_at = self.empty.get(&file);
        if empty_at.is_some_and(|at| now.saturating_sub(*at) < FILL_AGAIN) {
            return;
        }
        let fsid = watch.fsid(file);
        match self.locks.fill(file, most) {
            Some(Ok(locked)) if locked.now > locked.before => say_more(decision, fsid, &locked),
            Some(Err(error)) => {
                self.empty.insert(file, now);
                let what = format!("fill of file {fsid:016x}");
                self.fail(decision, what, reason(&error));
            }
            Some(Ok(_)) => {
                self.empty.insert(file, now);
            }
            None => {}
        }
    }

    fn unlock(&mut self, decision: &Decision, file: File, watch: &Watch) {
        self.empty.remove(&file);
        self.locked.retain(|locked| *locked != file);
        let fsid = watch.fsid(file);
        match self.locks.unlock(file) {
            Some(inode) => {
                let name = Name(fsid, inode);
                let what = format_args!("unlock file {name}");
                log::did(decision, what, Some(name), Bytes::ZERO, 1);
            }
            None if self.state.is_none() => {
                say(decision, format_args!("would unlock file {fsid:016x}"));
            }
            None => {}
        }
    }

    fn reclaim(
        &mut self,
        decision: &Decision,
        scope: Scope,
        amount: Bytes,
        folder: Option<&std::path::Path>,
        watch: &Watch,
    ) {
        let done = match (self.state.is_some(), scope, folder) {
            (false, ..) => Ok(()),
            (true, Scope::Machine, _) => self.reclaim.machine(watch.mounts.cgroup2(), amount),
            (true, Scope::Group(_), Some(folder)) => self.reclaim.group(folder, amount),
            (true, Scope::Group(_), None) => Err(std::io::ErrorKind::NotFound.into()),
        };
        if let Err(error) = done {
            let why = match error.kind() {
                std::io::ErrorKind::Unsupported => {
                    "this kernel has no way to reclaim from the machine that leaves applications \
                     alone; name groups in ceiling.groups"
                        .to_owned()
                }
                std::io::ErrorKind::NotFound => {
                    "there is no memory.reclaim (cgroup v2, kernel 5.19)".to_owned()
                }
                _ => reason(&error),
            };
            let what = format!("reclaim of {}", self.whose(scope));
            return self.fail(decision, what, why);
        }
        self.note(scope, decision, amount, 1);
    }

    fn drop_files(&mut self, decision: &Decision, files: &[Search], most: Bytes, watch: &Watch) {
        let mut sum = Bytes::ZERO;
        let known = self.dropped.len();
        for search in files {
            if sum >= most {
                break;
            }
            let dropped = self.drop_file(decision, *search, most.saturating_sub(sum), watch);
            sum = sum.saturating_add(dropped.bytes);
            self.dropped.push(dropped);
        }
        let answers = self.dropped[known..].iter();
        let files = answers.filter(|answer| answer.bytes > Bytes::ZERO).count();
        if files > 0 {
            self.note(Scope::Machine, decision, sum, files as u64);
        }
    }

    fn drop_file(
        &mut self,
        decision: &Decision,
        search: Search,
        most: Bytes,
        watch: &Watch,
    ) -> Dropped {
        let file = search.file;
        let mut dropped = Dropped {
            file,
            size: None,
            bytes: Bytes::ZERO,
            next: search.from,
        };
        let Ok(Some(Opened { file: open, size })) = watch.open(file) else {
            return dropped;
        };
        let is_dry = self.state.is_none();
        let now = host::facts::since_1970();
        match drops::drop_pages(&open, size, search, most, is_dry, now) {
            Ok((bytes, next)) => {
                dropped.size = Some(size);
                (dropped.bytes, dropped.next) = (bytes, next);
            }
            Err(error) => {
                let what = format!("drop of file {:016x}", watch.fsid(file));
                self.fail(decision, what, reason(&error));
            }
        }
        dropped
    }

    /// Notes what is said later.
    fn note(&mut self, scope: Scope, decision: &Decision, amount: Bytes, times: u64) {
        let sum = self.reclaimed.entry(scope).or_insert(Reclaimed {
            amount: Bytes::ZERO,
            times: 0,
            is_dropped: matches!(decision.action, Action::Drop { .. }),
            last: decision.why,
        });
        sum.amount = sum.amount.saturating_add(amount);
        sum.times += times;
        sum.last = decision.why;
    }

    fn set(&mut self, decision: &Decision, setting: &Setting) {
        if self.unset.contains(&decision.policy) {
            return;
        }
        let Some(state) = &mut self.state else {
            let value = setting.value.parse().ok();
            let tunable = setting.tunable.clone();
            self.pretended.extend(value.map(|value| (tunable, value)));
            return say(decision, format_args!("would set {setting}"));
        };
        match state.set(setting) {
            Ok(()) => say(decision, format_args!("set {setting}")),
            Err(error) => {
                // What is half set helps nobody.
                let others = state.give_back_all(decision.policy);
                self.unset.insert(decision.policy);
                self.fail(decision, format!("set {setting}"), error);
                if let Err(error) = others {
                    self.fail(decision, "give back the rest".to_owned(), error);
                }
            }
        }
    }

    fn give_back(&mut self, decision: &Decision, tunable: &str) {
        let Some(state) = &mut self.state else {
            self.pretended.remove(tunable);
            return say(decision, format_args!("would give back {tunable}"));
        };
        match state.give_back(tunable) {
            Ok(true) => say(decision, format_args!("give back {tunable}")),
            Ok(false) => {}
            Err(error) => self.fail(decision, format!("give back {tunable}"), error),
        }
    }

    fn say_reclaimed(&mut self) {
        let would = if self.state.is_none() { "would " } else { "" };
        for (scope, sum) in std::mem::take(&mut self.reclaimed) {
            let (amount, times) = (sum.amount, sum.times);
            let whose = self.whose(scope);
            let (what, action) = match sum.is_dropped {
                true => {
                    let (files, most) = (Vec::new(), amount);
                    let what = format!("{would}drop {amount} of files, {times} times");
                    (what, Action::Drop { files, most })
                }
                false => {
                    let what = format!("{would}reclaim {amount} of {whose} in {times} writes");
                    (what, Action::Reclaim { scope, amount })
                }
            };
            let decision = Decision {
                policy: Policy::Ceiling,
                action,
                why: sum.last,
            };
            log::did(&decision, format_args!("{what}"), None, amount, times);
            let total = self.reclaimed_total.entry(scope).or_default();
            *total = total.saturating_add(amount);
        }
    }

    /// Whose memory, in words.
    fn whose(&self, scope: Scope) -> &str {
        match scope {
            Scope::Machine => "the machine",
            Scope::Group(index) => self.groups.get(index).map_or("a group", String::as_str),
        }
    }

    /// Says a failure, unless it was the last thing said of this.
    fn fail(&mut self, decision: &Decision, what: String, why: String) {
        log::count_failure(decision);
        if self.failed.get(&what) == Some(&why) {
            return;
        }
        log::failed(decision, &what, &why);
        if self.failed.len() >= 64 {
            self.failed.clear();
        }
        self.failed.insert(what, why);
    }
}

/// What the floor does without a decision of its policy.
fn floor(action: &str, what: String, bytes: Bytes, why: &str) -> Event {
    Event {
        policy: Policy::Floor.word().to_owned(),
        action: action.to_owned(),
        bytes,
        what,
        why: why.to_owned(),
        ..Event::default()
    }
}

fn say(decision: &Decision, what: fmt::Arguments<'_>) {
    log::did(decision, what, None, Bytes::ZERO, 1);
}

fn say_more(decision: &Decision, fsid: u64, locked: &Locked) {
    let more = locked.now.saturating_sub(locked.before);
    let name = Name(fsid, locked.inode);
    let what = format_args!("lock {more} more of file {name}");
    log::did(decision, what, Some(name), more, 1);
}
