//! This machine as the guard's state sees it: its tunables, and the state file in its folder.

use std::fs;

use change::machine::{Failure, Kind};
use change::{Place as Journal, Value};
use files::{Attributes, Lasts};
use host::changes::Changes;
use host::{Root, reason};
use mm::units::Nanos;

use crate::place::Place;

/// The machine.
#[derive(Debug)]
pub(super) struct Machine {
    tunables: Changes,
    place: Place,
    /// The text of the state file, until it is asked for.
    found: Option<String>,
}

impl Machine {
    /// The lock is held as long as this lives.
    pub(super) fn new(lock: fs::File, place: &Place, found: Option<String>) -> Self {
        Self {
            tunables: Changes::locked_by(&Root::default(), lock),
            place: place.clone(),
            found,
        }
    }
}

impl change::Machine for Machine {
    fn boot(&mut self) -> Result<String, Failure> {
        self.tunables.boot()
    }

    fn since_boot(&mut self) -> Nanos {
        self.tunables.since_boot()
    }

    fn unix_time(&mut self) -> u64 {
        self.tunables.unix_time()
    }

    fn read(&mut self, path: &str) -> Result<String, Failure> {
        self.tunables.read(path)
    }

    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        self.tunables.write(value)
    }

    fn journal(&mut self, place: Journal) -> Result<String, Failure> {
        self.tunables.journal(place)
    }

    fn append(&mut self, place: Journal, keep: usize, line: &str) -> Result<(), Failure> {
        self.tunables.append(place, keep, line)
    }

    fn arm(&mut self, id: u32, deadline: Nanos) -> Result<(), Failure> {
        self.tunables.arm(id, deadline)
    }

    fn disarm(&mut self, id: u32) {
        self.tunables.disarm(id);
    }

    fn native(&mut self, _: &str) -> Result<Option<String>, Failure> {
        Ok(self.found.take())
    }

    /// It need not survive a power cut: neither do the values.
    fn install(&mut self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        let (folder, name) = (&self.place.folder, self.place.state());
        let attributes = Attributes::mode(0o644);
        let done = match text {
            Some(text) => folder.replace(name, text.as_bytes(), attributes, Lasts::Process),
            None => folder.remove(name).map(drop),
        };
        done.map_err(|error| Failure {
            path: path.to_owned(),
            reason: format!("{}: without it nothing is set", reason(&error)),
            kind: Kind::Other,
        })
    }
}
