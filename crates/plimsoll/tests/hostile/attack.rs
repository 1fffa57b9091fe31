//! A row of the table.

use crate::place::Place;

/// Held, or what was seen when it gave way.
pub(crate) type Outcome = Result<(), String>;

/// An attack.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What must not happen.
    pub(crate) must_not: &'static str,
    pub(crate) run: fn(&Place) -> Outcome,
}

/// Held, if it is so.
pub(crate) fn held_if(is_so: bool, seen: impl FnOnce() -> String) -> Outcome {
    match is_so {
        true => Ok(()),
        false => Err(seen()),
    }
}
