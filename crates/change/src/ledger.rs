//! What the journals say: every change, and where it stands.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use mm::units::Nanos;

use crate::event::{Event, Planned, Watch};
use crate::journal::{Journal, Unusable};
use crate::machine::{Failure, Machine, Place, Value};
use crate::native;
use crate::step::Step;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number, from 1.
    pub id: u32,
    /// When it was planned, in seconds since 1970.
    pub at: u64,
    /// When it is taken back unless it is confirmed, since boot.
    pub deadline: Nanos,
    /// Why it was made; may be empty.
    pub why: String,
    /// Whether it is to outlive a reboot once it is confirmed.
    pub lasts: bool,
    /// How what it does is watched.
    pub watch: Option<Watch>,
    /// What it does.
    pub steps: Vec<Step>,
    /// Which steps are known to be written.
    pub written: Vec<bool>,
    /// Where it stands.
    pub phase: Phase,
    /// The native files that keep it over a reboot; none where it does not outlive one.
    pub files: Vec<String>,
    /// Whether it was planned in this boot.
    pub is_of_this_boot: bool,
}

/// Where a change stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Planned, and perhaps written, in part or whole.
    Pending,
    /// Kept until somebody undoes it.
    Confirmed,
    /// Taken back.
    Undone {
        /// Why, in words.
        why: String,
    },
}

/// Why the journals could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// A journal is damaged.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The system refused.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// Every change that the journals know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    boot: String,
    run: Journal,
    lib: Journal,
    changes: BTreeMap<u32, Change>,
}

impl Ledger {
    /// Reads both journals, and the native files of changes whose confirmation they do not settle.
    ///
    /// # Errors
    /// A [`LedgerError`].
    pub fn open(machine: &mut impl Machine) -> Result<Self, LedgerError> {
        let mut read =
            |place| Ok::<_, LedgerError>(Journal::read(place, &machine.journal(place)?)?);
        let (lib, run) = (read(Place::Lib)?, read(Place::Run)?);
        let mut ledger = Self {
            boot: machine.boot(),
            run,
            lib,
            changes: BTreeMap::new(),
        };
        for event in ledger.lib.events.clone() {
            ledger.fold(&event);
        }
        // A run journal may outlive its boot where /run is no tmpfs: what it says of another boot's
        // changes is void, for their values went with that boot.
        let void = ledger.void();
        for event in ledger.run.events.clone() {
            if !void.contains(&event.id()) {
                ledger.fold(&event);
            }
        }
        ledger.settle_by_files(machine)?;
        Ok(ledger)
    }

    /// The changes, oldest first.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.changes.values()
    }

    /// The change with this number.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&Change> {
        self.changes.get(&id)
    }

    /// The number of the next change.
    #[must_use]
    pub fn next_id(&self) -> u32 {
        let seen = self.run.events.iter().chain(&self.lib.events);
        seen.map(Event::id).max().unwrap_or(0).saturating_add(1)
    }

    /// The standing change that covers a cell of this one: made later, and not taken back.
    #[must_use]
    pub fn above(&self, id: u32, cell: &str) -> Option<u32> {
        let later = self.changes.range(id.saturating_add(1)..);
        let covers = |change: &&Change| change.stands() && change.step(cell).is_some();
        later.map(|(_, change)| change).find(covers).map(|it| it.id)
    }

    /// What a reboot would bring for a step, once this change is gone: the old value, seen through
    /// the changes below that do not outlive a reboot themselves.
    #[must_use]
    pub fn lasting_old(&self, id: u32, step: &Step) -> Value {
        let mut old = step.old.clone();
        for change in self.changes.range(..id).rev().map(|(_, change)| change) {
            let below = change.step(&step.cell).filter(|_| change.stands());
            match below.filter(|below| below.is_of_value(&old)) {
                Some(below) if change.files.is_empty() => old = below.old.clone(),
                Some(_) => break,
                None => {}
            }
        }
        old
    }

    /// Writes an event into a journal; it has happened when this returns.
    ///
    /// # Errors
    /// What the system says.
    pub fn add(
        &mut self,
        machine: &mut impl Machine,
        place: Place,
        event: Event,
    ) -> Result<(), Failure> {
        let journal = match place {
            Place::Run => &mut self.run,
            Place::Lib => &mut self.lib,
        };
        let line = journal.line(&event);
        machine.append(place, journal.whole, &line)?;
        journal.whole += line.len();
        journal.events.push(event.clone());
        self.fold(&event);
        Ok(())
    }

    /// Whether the lasting journal has the last word on a change: that it is taken back.
    #[must_use]
    pub(crate) fn is_undone_for_good(&self, id: u32) -> bool {
        let mut said = self.lib.events.iter().filter(|event| event.id() == id);
        matches!(said.next_back(), Some(Event::Undone { .. }))
    }

    /// The changes whose confirmation was cut after their native files were in place: they are
    /// confirmed, and the lasting journal does not say so yet.
    #[must_use]
    pub(crate) fn unsaid(&self) -> Vec<u32> {
        let said = |id| {
            let mut events = self.lib.events.iter();
            events.any(|event| matches!(event, Event::Confirmed { id: of, .. } if *of == id))
        };
        let lasting = self.changes().filter(|it| !it.files.is_empty());
        let confirmed = lasting.filter(|it| it.phase == Phase::Confirmed);
        confirmed.map(|it| it.id).filter(|id| !said(*id)).collect()
    }

    /// The changes in the run journal that were planned in another boot.
    fn void(&self) -> BTreeSet<u32> {
        let planned = self.run.events.iter().filter_map(|event| match event {
            Event::Planned(planned) => Some(planned),
            _ => None,
        });
        let void = planned.filter(|planned| planned.boot != self.boot);
        void.map(|planned| planned.id).collect()
    }

    fn fold(&mut self, event: &Event) {
        match event {
            Event::Planned(planned) => self.plan(planned),
            Event::Wrote { id, step, value } => self.wrote(*id, *step, value),
            Event::Lasting { planned, files } => self.last(planned, files),
            Event::Confirmed { id, .. } => self.enter(*id, Phase::Confirmed),
            Event::Undone { id, why, .. } => {
                let why = why.clone();
                self.enter(*id, Phase::Undone { why });
                self.put_through(*id);
            }
        }
    }

    fn plan(&mut self, planned: &Planned) {
        let mut change = Change::of(planned, planned.boot == self.boot);
        if let Some(known) = self.changes.get(&planned.id) {
            change.files = known.files.clone();
        }
        self.changes.insert(change.id, change);
    }

    /// A change that is to last. In the boot that planned it the run journal knows more of it.
    fn last(&mut self, planned: &Planned, files: &[String]) {
        let is_of_this_boot = planned.boot == self.boot;
        let fresh = || {
            let mut change = Change::of(planned, is_of_this_boot);
            change.written.fill(true);
            change
        };
        let change = self.changes.entry(planned.id).or_insert_with(fresh);
        change.files = files.to_vec();
    }

    fn wrote(&mut self, id: u32, step: usize, value: &Value) {
        let Some(change) = self.changes.get_mut(&id) else {
            return;
        };
        let steps = change.steps.get_mut(step).zip(change.written.get_mut(step));
        if let Some((step, written)) = steps {
            value.clone_into(&mut step.new);
            *written = true;
        }
    }

    fn enter(&mut self, id: u32, phase: Phase) {
        if let Some(change) = self.changes.get_mut(&id) {
            change.phase = phase;
        }
    }

    /// The changes that were laid on this one go back to what it would have gone back to.
    fn put_through(&mut self, id: u32) {
        let Some(gone) = self.changes.get(&id) else {
            return;
        };
        for below in gone.steps.clone() {
            let later = self.changes.range_mut(id.saturating_add(1)..);
            let mut later = later.map(|(_, change)| change).filter(|it| it.stands());
            let laid = later.find_map(|change| {
                let steps = &mut change.steps;
                steps.iter_mut().find(|step| step.cell == below.cell)
            });
            if let Some(step) = laid.filter(|step| below.is_of_value(&step.old)) {
                step.old = below.old;
            }
        }
    }

    /// A change of which the last word is that it is to last: its native files say whether it does.
    fn settle_by_files(&mut self, machine: &mut impl Machine) -> Result<(), Failure> {
        for change in self.changes.values_mut() {
            if change.phase != Phase::Pending || change.files.is_empty() {
                continue;
            }
            let mut there = vec![];
            for file in &change.files {
                let text = machine.native(file)?.unwrap_or_default();
                there.push(native::has(&text, change.id));
            }
            if there.iter().all(|there| *there) {
                change.phase = Phase::Confirmed;
            } else if !change.is_of_this_boot && there.iter().all(|there| !there) {
                let why = "the machine went down before it was confirmed".to_owned();
                change.phase = Phase::Undone { why };
            }
        }
        Ok(())
    }
}

impl Change {
    fn of(planned: &Planned, is_of_this_boot: bool) -> Self {
        Self {
            id: planned.id,
            at: planned.at,
            deadline: planned.deadline,
            why: planned.why.clone(),
            lasts: planned.lasts,
            watch: planned.watch,
            steps: planned.steps.clone(),
            written: vec![false; planned.steps.len()],
            phase: Phase::Pending,
            files: Vec::new(),
            is_of_this_boot,
        }
    }

    /// Whether it is not taken back.
    #[must_use]
    pub fn stands(&self) -> bool {
        !matches!(self.phase, Phase::Undone { .. })
    }

    /// Whether it waits for a confirmation.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.phase == Phase::Pending
    }

    /// Whether all of it is known to be written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.written.iter().all(|written| *written)
    }

    /// Whether its time is over: the deadline of this boot has passed, or the boot itself.
    #[must_use]
    pub fn is_overdue(&self, now: Nanos) -> bool {
        self.is_pending() && (!self.is_of_this_boot || self.deadline <= now)
    }

    /// Its steps, each with whether it is known to be written.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = (&Step, bool)> {
        self.steps.iter().zip(self.written.iter().copied())
    }

    /// What it does to a cell.
    #[must_use]
    pub fn step(&self, cell: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.cell == cell)
    }

    /// The event that plans it, with these steps.
    pub(crate) fn planned(&self, boot: &str, steps: Vec<Step>) -> Planned {
        Planned {
            id: self.id,
            boot: boot.to_owned(),
            at: self.at,
            deadline: self.deadline,
            why: self.why.clone(),
            lasts: self.lasts,
            watch: self.watch,
            steps,
        }
    }
}
