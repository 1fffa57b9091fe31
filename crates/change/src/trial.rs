//! A trial: what is there and a setting in turn, block by block.
//!
//! A block with the setting is a change that is applied when it begins and taken back when it
//! ends; a block as it is writes nothing. So whatever stops a trial, its change is taken back as
//! any other is: by the timer, by a reboot, by the watch. Nothing else writes a tunable.
//!
//! Blocks come in pairs, one of each kind, and a fair coin says which is first. This is what the
//! verdict rests on.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::prng::Prng;

use crate::apply::{self, ApplyError, Request};
use crate::change::Phase;
use crate::ledger::{Ledger, LedgerError};
use crate::machine::{Machine, Value};
use crate::step::{Role, Step};
use crate::undo::{self, Left, UndoError};
use crate::watch::Band;

/// What a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// What was there before.
    AsIs,
    /// The setting.
    Setting,
}

/// A trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    request: Request,
    seed: u64,
    arms: Vec<Arm>,
    /// How many blocks are over.
    over: usize,
    /// The change of the block that runs, where it has one.
    standing: Option<u32>,
    /// The number of the latest change, ours or from before.
    latest: u32,
    /// What is written, and what is there without it.
    steps: Vec<Step>,
}

/// Why a trial does not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// The journals.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The setting was not written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The setting was not taken back.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// All of it is set already.
    #[error("nothing to try: every value is as it was asked for already")]
    SoAlready,
    /// A change waits, and would be taken back during the trial.
    #[error("change {id} waits for a confirmation: confirm or undo it first (plimsoll status)")]
    Waits {
        /// The change.
        id: u32,
    },
    /// Somebody else changes settings.
    #[error("change {id} was made during the trial: the blocks cannot be compared any more")]
    Meanwhile {
        /// The change.
        id: u32,
    },
    /// Somebody keeps the setting.
    #[error("change {id} was confirmed during the trial, and stays")]
    Kept {
        /// The change.
        id: u32,
    },
    /// Somebody else set what is tried.
    #[error("/{}: somebody set it to {} during the trial, and it stays", .live.path, .live.text)]
    Changed {
        /// What it is now.
        live: Value,
    },
    /// Not all of it is as it was.
    #[error("{}", told(.0))]
    Left(Vec<Left>),
}

fn told(left: &[Left]) -> String {
    let lines: Vec<String> = left.iter().map(|left| format!("{left}")).collect();
    lines.join("; ")
}

/// The blocks of this seed: pairs of one of each kind, each in an order that a fair coin draws.
#[must_use]
pub fn arms(seed: u64, pairs: usize) -> Vec<Arm> {
    let mut prng = Prng::for_part(seed, "trial");
    let pair = |_| match prng.below(2) {
        0 => [Arm::AsIs, Arm::Setting],
        _ => [Arm::Setting, Arm::AsIs],
    };
    (0..pairs).flat_map(pair).collect()
}

impl Trial {
    /// Plans a trial; nothing is written yet. `request` is the change of each block, and how long
    /// it may stand.
    ///
    /// # Errors
    /// A [`TrialError`].
    pub fn plan(
        machine: &mut impl Machine,
        request: Request,
        seed: u64,
        pairs: usize,
    ) -> Result<Self, TrialError> {
        let ledger = Ledger::open(machine)?;
        if let Some(change) = ledger.changes().find(|change| change.is_pending()) {
            return Err(TrialError::Waits { id: change.id });
        }
        let mut steps = apply::steps(machine, &request)?;
        steps.retain(|step| step.role != Role::Aside);
        if steps.is_empty() {
            return Err(TrialError::SoAlready);
        }
        Ok(Self {
            request,
            seed,
            arms: arms(seed, pairs),
            over: 0,
            standing: None,
            latest: ledger.next_id() - 1,
            steps,
        })
    }

    /// How many blocks are over.
    #[must_use]
    pub fn over(&self) -> usize {
        self.over
    }

    /// What the next block has; `None` after the last.
    #[must_use]
    pub fn next(&self) -> Option<Arm> {
        self.arms.get(self.over).copied()
    }

    /// The change of the block that runs.
    #[must_use]
    pub fn standing(&self) -> Option<u32> {
        self.standing
    }

    /// Begins the next block: writes the setting where it has it, watched by these limits.
    ///
    /// # Errors
    /// A [`TrialError`]; nothing of the trial stands then.
    pub fn begin(&mut self, machine: &mut impl Machine, band: Band) -> Result<(), TrialError> {
        self.check(machine)?;
        if self.next() != Some(Arm::Setting) {
            return Ok(());
        }
        let (block, blocks) = (self.over + 1, self.arms.len());
        let why = format!("trial, seed {}: block {block} of {blocks}", self.seed);
        let request = Request {
            why,
            watch: Some((self.request.confirm, band)),
            ..self.request.clone()
        };
        let change = apply::apply(machine, &request)?;
        let id = change.ok_or(TrialError::SoAlready)?.id;
        (self.standing, self.latest) = (Some(id), id);
        Ok(())
    }

    /// Nobody else may have changed what is compared.
    fn check(&self, machine: &mut impl Machine) -> Result<(), TrialError> {
        let ledger = Ledger::open(machine)?;
        let id = ledger.next_id() - 1;
        if id != self.latest {
            return Err(TrialError::Meanwhile { id });
        }
        for step in &self.steps {
            let live = step.live(machine).map_err(ApplyError::Read)?;
            if !step.same(&live, &step.old) {
                return Err(TrialError::Changed { live });
            }
        }
        Ok(())
    }

    /// Why the setting of this block was taken back before its end, where it was.
    ///
    /// # Errors
    /// A [`LedgerError`].
    pub fn stopped(&self, machine: &mut impl Machine) -> Result<Option<String>, LedgerError> {
        let Some(id) = self.standing else {
            return Ok(None);
        };
        let ledger = Ledger::open(machine)?;
        Ok(ledger.get(id).and_then(|change| match &change.phase {
            Phase::Undone { why } => Some(why.clone()),
            Phase::Pending | Phase::Confirmed => None,
        }))
    }

    /// Ends the block, in its time or before: everything is as it was then. Why the setting was
    /// taken back before, where it was.
    ///
    /// # Errors
    /// A [`TrialError`]: what is not as it was, and why.
    pub fn end(
        &mut self,
        machine: &mut impl Machine,
        why: &str,
    ) -> Result<Option<String>, TrialError> {
        let mut stopped = None;
        if let Some(id) = self.standing {
            stopped = take_back(machine, id, why)?;
            self.standing = None;
        }
        self.over += 1;
        Ok(stopped)
    }

    /// The seed of the order of the blocks.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// Takes the change of a block back, unless somebody did or keeps it.
fn take_back(machine: &mut impl Machine, id: u32, why: &str) -> Result<Option<String>, TrialError> {
    let ledger = Ledger::open(machine)?;
    if ledger
        .get(id)
        .is_some_and(|it| it.phase == Phase::Confirmed)
    {
        return Err(TrialError::Kept { id });
    }
    match undo::undo(machine, id, why) {
        Ok(undone) if undone.left.is_empty() => Ok(None),
        Ok(undone) => Err(TrialError::Left(undone.left)),
        Err(UndoError::Already { why, .. }) => Ok(Some(why)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_seed_always_draws_the_same_blocks_and_another_others() {
        assert_eq!(arms(7, 40), arms(7, 40));
        assert_ne!(arms(7, 40), arms(8, 40));
        let first = |seed| arms(seed, 1)[0] == Arm::Setting;
        let heads = (0..1000).filter(|seed| first(*seed)).count();
        assert!((400..600).contains(&heads), "{heads}");
    }

    proptest! {
        #[test]
        fn every_pair_has_one_of_each(seed: u64, pairs in 0_usize..100) {
            let arms = arms(seed, pairs);
            prop_assert_eq!(arms.len(), 2 * pairs);
            prop_assert!(arms.chunks(2).all(|pair| pair[0] != pair[1]));
        }
    }
}
