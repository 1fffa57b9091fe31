//! Values that a program holds while it runs, and writes back when it ends.
//!
//! Nobody confirms them. Each is in the program's file before it is written; so whoever finds the
//! file after the program was killed (its next start, or what its service runs when it stops)
//! writes the old values back. The file lies where a power cut takes it away with the values.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use mm::catalogue;
use mm::settings::Setting;

use crate::apply::{self, ApplyError, NotSet};
use crate::cell::Cell;
use crate::event::{self, Damaged};
use crate::machine::{Failure, Kind, Machine, Value};
use crate::step::Step;
use crate::undo::{self, Left};

/// The first line, with the version of the format.
const HEAD: &str = "plimsoll-hold 1\n";

/// What a program holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its file, without the leading slash.
    path: String,
    /// A cell occurs twice while it is set again.
    held: Vec<Held>,
}

/// A value that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    step: Step,
    /// Whether its new value is what the kernel showed afterwards.
    is_written: bool,
}

/// What became of a value at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// Its old value is back.
    Old(Value),
    /// Somebody else set it since, and it stays.
    Theirs(Value),
    /// Its file is gone, as that of a removed device.
    Gone(String),
}

/// Why a value is not held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The file, or the tunable.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// It could not be read before.
    #[error(transparent)]
    Unread(#[from] ApplyError),
    /// It was not taken, and is as it was.
    #[error("{0}")]
    Refused(String),
    /// No program may hold it.
    #[error("{0}: no tunable that can be held: it cannot be taken back alone")]
    Unknown(Setting),
    /// The file says something else than what this writes.
    #[error(
        "/{path}: line {line} is damaged: read it, put right by hand what it set, and move it away"
    )]
    Damaged {
        /// The file.
        path: String,
        /// The line's number, from 1.
        line: usize,
    },
}

impl Hold {
    /// What a program that ended left in its file; nothing where there is no file.
    ///
    /// # Errors
    /// A [`HoldError`]: the file cannot be read, or is damaged.
    pub fn open(machine: &mut impl Machine, path: &str) -> Result<Self, HoldError> {
        let text = machine.native(path)?.unwrap_or_default();
        let damaged = |line| HoldError::Damaged {
            path: path.to_owned(),
            line,
        };
        let mut lines = text.lines().enumerate();
        if lines.next().is_some_and(|(_, head)| head != HEAD.trim()) {
            return Err(damaged(1));
        }
        let held = lines.map(|(at, line)| Held::parse(line).map_err(|_| damaged(at + 1)));
        Ok(Self {
            path: path.to_owned(),
            held: held.collect::<Result<_, _>>()?,
        })
    }

    /// What is held, and what it goes back to.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.held.iter().map(|held| &held.step)
    }

    /// Writes a tunable. A value that it had before is written back, and held no longer.
    ///
    /// # Errors
    /// A [`HoldError`]; the tunable is as it was, unless the way back failed too.
    pub fn set(&mut self, machine: &mut impl Machine, setting: &Setting) -> Result<(), HoldError> {
        let unknown = || HoldError::Unknown(setting.clone());
        let cell = Cell::of(&setting.tunable).ok_or_else(unknown)?;
        let named = catalogue::named(&setting.tunable).ok_or_else(unknown)?;
        if named.touched().next().is_some() {
            return Err(unknown());
        }
        let (path, text) = (named.path(), setting.value.clone());
        let Some(mut step) = apply::step(machine, &cell, Some(Value { path, text }))? else {
            return Ok(());
        };
        let live = step.old.clone();
        let is_ours = |held: &&Step| held.cell == step.cell && held.is_of_value(&live);
        if let Some(ours) = self.steps().find(is_ours) {
            step.old = ours.old.clone();
        }
        if step.same(&step.old, &step.new) {
            return self.let_go(machine, &step.cell).map(drop);
        }
        self.write(machine, step, live)
    }

    /// Writes a step over a value that may be an earlier one of ours.
    fn write(
        &mut self,
        machine: &mut impl Machine,
        step: Step,
        live: Value,
    ) -> Result<(), HoldError> {
        let (cell, old) = (step.cell.clone(), step.old.clone());
        let over = Step {
            old: live,
            ..step.clone()
        };
        self.note(machine, step, false)?;
        match apply::set(machine, &over) {
            Ok(new) => {
                self.held.retain(|held| held.step.cell != cell);
                self.note(machine, Step { old, new, ..over }, true)
            }
            Err(NotSet { why, left }) => {
                if let Some(new) = left {
                    // It is ours to take back, even if this is killed now.
                    self.held.pop();
                    let step = Step { new, ..over };
                    self.note(
                        machine,
                        Step {
                            old,
                            ..step.clone()
                        },
                        true,
                    )?;
                    undo::restore(machine, &step, true)?;
                }
                self.held.pop();
                self.save(machine)?;
                Err(HoldError::Refused(why))
            }
        }
    }

    fn note(
        &mut self,
        machine: &mut impl Machine,
        step: Step,
        is_written: bool,
    ) -> Result<(), HoldError> {
        self.held.push(Held { step, is_written });
        Ok(self.save(machine)?)
    }

    /// Writes every old value back, the latest first, and removes the file. What cannot be written
    /// back stays in it.
    ///
    /// # Errors
    /// The first failure; every other value was tried.
    pub fn restore(&mut self, machine: &mut impl Machine) -> Result<Vec<Restored>, HoldError> {
        let (mut restored, mut failed) = (Vec::new(), None);
        let mut cells: Vec<String> = Vec::new();
        for step in self.held.iter().rev().map(|held| &held.step) {
            if !cells.contains(&step.cell) {
                cells.push(step.cell.clone());
            }
        }
        for cell in cells {
            match self.let_go(machine, &cell) {
                Ok(what) => restored.extend(what),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.save(machine)?;
        failed.map_or(Ok(restored), Err)
    }

    /// Writes the old value of one cell back, if the value is still ours.
    ///
    /// # Errors
    /// A failure of the machine; it is held as before then.
    pub fn let_go(
        &mut self,
        machine: &mut impl Machine,
        cell: &str,
    ) -> Result<Option<Restored>, HoldError> {
        let mut restored = None;
        let ours = self.held.iter().rev();
        for held in ours.filter(|held| held.step.cell == cell) {
            let step = &held.step;
            restored = match undo::restore(machine, step, held.is_written) {
                Ok(None) => Some(Restored::Old(step.old.clone())),
                Ok(Some(Left::Changed { live, .. })) => Some(Restored::Theirs(live)),
                Ok(Some(_)) => None,
                Err(failure) if failure.kind == Kind::Missing => Some(Restored::Gone(failure.path)),
                Err(failure) => return Err(failure.into()),
            };
            // An older value of ours may be there, where the newer one was never written.
            if !matches!(restored, Some(Restored::Theirs(_))) {
                break;
            }
        }
        self.held.retain(|held| held.step.cell != cell);
        self.save(machine)?;
        Ok(restored)
    }

    fn save(&self, machine: &mut impl Machine) -> Result<(), Failure> {
        let lines = self.held.iter().map(Held::to_line);
        let text = HEAD.to_string() + &lines.collect::<String>();
        machine.install(&self.path, (!self.held.is_empty()).then_some(&text))
    }
}

impl Held {
    fn to_line(&self) -> String {
        let kind = if self.is_written { "wrote" } else { "asked" };
        event::sealed(&alloc::format!("{kind} {}", self.step.words()))
    }

    fn parse(line: &str) -> Result<Self, Damaged> {
        let (kind, words) = event::unsealed(line)?.split_once(' ').ok_or(Damaged)?;
        let is_written = match kind {
            "wrote" => true,
            "asked" => false,
            _ => return Err(Damaged),
        };
        let step = Step::of(words)?;
        Ok(Self { step, is_written })
    }
}
