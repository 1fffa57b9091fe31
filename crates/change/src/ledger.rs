//! What the journals say: every change, and where it stands.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::change::{Change, Phase, Written};
use crate::event::{Event, Planned};
use crate::journal::{Journal, Unusable};
use crate::machine::{Failure, Machine, Place, Value};
use crate::native;
use crate::recover;
use crate::step::Step;

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
    /// Reads both journals, the native files of changes whose confirmation they do not settle, and
    /// the values of a change whose writing was cut short.
    ///
    /// # Errors
    /// A [`LedgerError`].
    pub fn open(machine: &mut impl Machine) -> Result<Self, LedgerError> {
        let mut ledger = Self::read(machine)?;
        for change in recover::doubtful(&ledger) {
            // Whoever may not read a tunable sees that it is in doubt.
            if let Ok(event) = recover::stopped(machine, &change) {
                ledger.fold(&event);
            }
        }
        Ok(ledger)
    }

    fn read(machine: &mut impl Machine) -> Result<Self, LedgerError> {
        let mut read =
            |place| Ok::<_, LedgerError>(Journal::read(place, &machine.journal(place)?)?);
        let (lib, run) = (read(Place::Lib)?, read(Place::Run)?);
        let mut ledger = Self {
            boot: machine.boot()?,
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

    /// The same for whoever is about to write: how far each change came whose writing was cut short
    /// is put into the journal first, for what follows may hide it.
    ///
    /// # Errors
    /// A [`LedgerError`].
    pub fn open_to_write(machine: &mut impl Machine) -> Result<Self, LedgerError> {
        let mut ledger = Self::read(machine)?;
        for change in recover::doubtful(&ledger) {
            let event = recover::stopped(machine, &change)?;
            ledger.add(machine, Place::Run, event)?;
        }
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

    /// The standing change that covers a cell of this one, which holds `live` now: written later,
    /// and not put back already.
    #[must_use]
    pub fn above(&self, id: u32, cell: &str, live: &Value) -> Option<u32> {
        let later = self.changes.range(id.saturating_add(1)..);
        let later = later.map(|(_, change)| change).filter(|it| it.stands());
        let mut covers = later.filter_map(|it| Some((it.id, it.wrote(cell)?)));
        let (next, step) = covers.next()?;
        let is_covered = !step.is_back(live) || covers.any(|(_, step)| !step.is_back(live));
        is_covered.then_some(next)
    }

    /// The steps on a cell, the latest first, that are put back already: an undo of theirs was cut
    /// short, or somebody wrote the old value.
    fn back(&self, cell: &str, live: &Value) -> Vec<Event> {
        let standing = self.changes().rev().filter(|change| change.stands());
        let steps = standing.filter_map(|change| {
            let at = change.steps.iter().position(|step| step.cell == cell)?;
            (change.written[at] != Written::No).then_some((change, at))
        });
        let back = steps.take_while(|(change, at)| change.steps[*at].is_back(live));
        let back = back.map(|(change, step)| Event::Back {
            id: change.id,
            step,
        });
        back.collect()
    }

    /// Notes which steps are put back already, before a change is laid on them and hides that.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn note_back(
        &mut self,
        machine: &mut impl Machine,
        steps: &[Step],
    ) -> Result<(), Failure> {
        for step in steps {
            for event in self.back(&step.cell, &step.old) {
                self.add(machine, Place::Run, event)?;
            }
        }
        Ok(())
    }

    /// What a reboot would bring for a step, once this change is gone: the old value, seen through
    /// the changes below that do not outlive a reboot themselves.
    #[must_use]
    pub fn lasting_old(&self, id: u32, step: &Step) -> Value {
        let mut old = step.old.clone();
        for change in self.changes.range(..id).rev().map(|(_, change)| change) {
            let below = change.wrote(&step.cell).filter(|_| change.stands());
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
        matches!(self.last_word(id), Some(Event::Undone { .. }))
    }

    /// The latest that the lasting journal says of a change.
    fn last_word(&self, id: u32) -> Option<&Event> {
        let mut said = self.lib.events.iter().filter(|event| event.id() == id);
        said.next_back()
    }

    /// Notes that a change is about to be taken back, before its native lines go: a power cut
    /// behind them is then known for what it is.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn note_undoing(
        &mut self,
        machine: &mut impl Machine,
        id: u32,
        why: &str,
    ) -> Result<(), Failure> {
        let (boot, why) = (self.boot.clone(), why.to_owned());
        let event = Event::Undoing { id, boot, why };
        match self.last_word(id) == Some(&event) {
            true => Ok(()),
            false => self.add(machine, Place::Lib, event),
        }
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
            Event::Stopped { id, why, found } => self.stop(*id, why, found),
            Event::Back { id, step } => {
                let change = self.changes.get_mut(id);
                let written = change.and_then(|change| change.written.get_mut(*step));
                written.into_iter().for_each(|it| *it = Written::No);
            }
            Event::Lasting { planned, files } => self.last(planned, files),
            Event::Confirmed { id, .. } => self.enter(*id, Phase::Confirmed),
            // What became of it, its native files say.
            Event::Undoing { .. } => {}
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
            change.written.fill(Written::Yes);
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
            *written = Written::Yes;
        }
    }

    /// What was found written is, and nothing else that was in doubt.
    fn stop(&mut self, id: u32, why: &str, found: &[(usize, Value)]) {
        for (step, value) in found {
            self.wrote(id, *step, value);
        }
        if let Some(change) = self.changes.get_mut(&id) {
            let in_doubt = change.written.iter_mut();
            let in_doubt = in_doubt.filter(|written| **written == Written::InDoubt);
            in_doubt.for_each(|written| *written = Written::No);
            change.stopped = Some(why.to_owned());
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
        for below in gone.written().cloned().collect::<Vec<_>>() {
            let later = self.changes.range_mut(id.saturating_add(1)..);
            let mut later = later.map(|(_, change)| change).filter(|it| it.stands());
            let laid = later.find_map(|change| change.wrote_mut(&below.cell));
            if let Some(step) = laid.filter(|step| below.is_of_value(&step.old)) {
                step.old = below.old;
            }
        }
    }

    /// A change of which the last word is that it is to last, or that it is about to be taken back:
    /// its native files say whether it is so.
    fn settle_by_files(&mut self, machine: &mut impl Machine) -> Result<(), Failure> {
        let lasting = self.changes().filter(|change| !change.files.is_empty());
        let open = lasting.filter(|change| change.is_pending() || self.was_going(change).is_some());
        for id in open.map(|change| change.id).collect::<Vec<_>>() {
            let there = self.lines_there(machine, id)?;
            if let Some(phase) = self.by_files(&self.changes[&id], &there) {
                self.enter(id, phase);
            }
        }
        Ok(())
    }

    /// Why a change was about to be taken back when the machine went down.
    fn was_going(&self, change: &Change) -> Option<&String> {
        match self.last_word(change.id) {
            Some(Event::Undoing { boot, why, .. }) if *boot != self.boot => Some(why),
            _ => None,
        }
    }

    /// Whether each native file of a change has its lines.
    fn lines_there(&self, machine: &mut impl Machine, id: u32) -> Result<Vec<bool>, Failure> {
        let files = self.changes[&id].files.iter();
        let there = files.map(|file| {
            let text = machine.native(file)?.unwrap_or_default();
            Ok(native::has(&text, id))
        });
        there.collect()
    }

    /// The phase of a change by which of its native files have its lines; `None` where that says
    /// nothing.
    fn by_files(&self, change: &Change, there: &[bool]) -> Option<Phase> {
        let (all, none) = (!there.contains(&false), !there.contains(&true));
        if let Some(why) = self.was_going(change).filter(|_| none) {
            return Some(Phase::Undone { why: why.clone() });
        }
        let is_void = none && !change.is_of_this_boot;
        let why = "the machine went down before it was confirmed".to_owned();
        match change.is_pending() {
            true if all => Some(Phase::Confirmed),
            true if is_void => Some(Phase::Undone { why }),
            _ => None,
        }
    }
}
