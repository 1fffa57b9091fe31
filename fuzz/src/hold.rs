//! The file of what a program holds set.

use change::Hold;
use change::machine::{Failure, Kind, Machine, Place, Value};
use mm::units::Nanos;

use crate::take::take;

/// A machine that has this file and nothing else.
struct File(String);

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    match Hold::open(&mut File(text.to_owned()), "run/state") {
        Ok(hold) => assert!(hold.steps().count() <= text.lines().count()),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fn none<T>(path: &str) -> Result<T, Failure> {
    Err(Failure {
        path: path.to_owned(),
        reason: "there is none".to_owned(),
        kind: Kind::Other,
    })
}

impl Machine for File {
    fn boot(&mut self) -> Result<String, Failure> {
        none("proc/sys/kernel/random/boot_id")
    }

    fn since_boot(&mut self) -> Nanos {
        Nanos::ZERO
    }

    fn unix_time(&mut self) -> u64 {
        0
    }

    fn read(&mut self, path: &str) -> Result<String, Failure> {
        none(path)
    }

    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        none(&value.path)
    }

    fn journal(&mut self, place: Place) -> Result<String, Failure> {
        none(place.path())
    }

    fn append(&mut self, place: Place, _: usize, _: &str) -> Result<(), Failure> {
        none(place.path())
    }

    fn arm(&mut self, _: u32, _: Nanos) -> Result<(), Failure> {
        none("")
    }

    fn disarm(&mut self, _: u32) {}

    fn native(&mut self, _: &str) -> Result<Option<String>, Failure> {
        Ok(Some(self.0.clone()))
    }

    fn install(&mut self, path: &str, _: Option<&str>) -> Result<(), Failure> {
        none(path)
    }
}
