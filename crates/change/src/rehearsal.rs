//! A machine on which everything is tried and nothing happens: what would be written is kept, and
//! read back as if it had been.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use mm::catalogue::{self, Cell};
use mm::units::Nanos;

use crate::machine::{Failure, Machine, Place, Value};

/// A machine that is only read.
#[derive(Debug)]
pub struct Rehearsal<M> {
    machine: M,
    tunables: BTreeMap<String, String>,
    journals: [Option<String>; 2],
    files: BTreeMap<String, Option<String>>,
    /// What would be written into tunables, in this order.
    pub writes: Vec<Value>,
}

impl<M: Machine> Rehearsal<M> {
    /// On this machine.
    pub fn new(machine: M) -> Self {
        Self {
            machine,
            tunables: BTreeMap::new(),
            journals: [None, None],
            files: BTreeMap::new(),
            writes: Vec::new(),
        }
    }

    /// The native files that would be changed or removed.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl<M: Machine> Machine for Rehearsal<M> {
    fn boot(&mut self) -> Result<String, Failure> {
        self.machine.boot()
    }

    fn since_boot(&mut self) -> Nanos {
        self.machine.since_boot()
    }

    fn unix_time(&mut self) -> u64 {
        self.machine.unix_time()
    }

    fn read(&mut self, path: &str) -> Result<String, Failure> {
        match self.tunables.get(path) {
            Some(text) => Ok(text.clone()),
            None => self.machine.read(path),
        }
    }

    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        let Value { path, text } = value;
        let named = catalogue::resolve(path).map(|named| named.cell());
        if let Ok(Cell::Exclusive([_, partner])) = named {
            self.tunables.insert(partner.path(), "0".to_owned());
        }
        self.tunables.insert(path.clone(), text.clone());
        self.writes.push(value.clone());
        Ok(())
    }

    fn journal(&mut self, place: Place) -> Result<String, Failure> {
        match &self.journals[place as usize] {
            Some(text) => Ok(text.clone()),
            None => self.machine.journal(place),
        }
    }

    fn append(&mut self, place: Place, keep: usize, line: &str) -> Result<(), Failure> {
        let mut text = self.journal(place)?;
        text.truncate(keep);
        self.journals[place as usize] = Some(text + line);
        Ok(())
    }

    fn arm(&mut self, _: u32, _: Nanos) -> Result<(), Failure> {
        Ok(())
    }

    fn disarm(&mut self, _: u32) {}

    fn native(&mut self, path: &str) -> Result<Option<String>, Failure> {
        match self.files.get(path) {
            Some(text) => Ok(text.clone()),
            None => self.machine.native(path),
        }
    }

    fn install(&mut self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        self.files.insert(path.to_owned(), text.map(str::to_owned));
        Ok(())
    }
}
