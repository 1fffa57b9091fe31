//! What a change does to one cell.

use alloc::borrow::ToOwned as _;
use alloc::string::String;

use crate::cell::Cell;
use crate::machine::{Failure, Machine, Value};

/// What a change does to one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The cell's name.
    pub cell: String,
    /// What it goes back to: the value before, or that of a change below which is taken back
    /// itself.
    pub old: Value,
    /// What it was set to, as the file showed it afterwards.
    pub new: Value,
    /// Whether it was asked for.
    pub role: Role,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It was asked for.
    Asked,
    /// It was asked for, and the kernel changes it by itself too when another step is written: it
    /// is written last and put back last.
    Follows,
    /// The kernel changes it by itself when another step is written: it is put back last, and never
    /// written.
    Aside,
}

impl Step {
    /// Whether a value is the one that this step set.
    #[must_use]
    pub fn is_of_value(&self, value: &Value) -> bool {
        self.same(&self.new, value)
    }

    /// Whether its cell, which holds `live`, is back at the old value.
    #[must_use]
    pub(crate) fn is_back(&self, live: &Value) -> bool {
        self.same(live, &self.old) && !self.is_of_value(live)
    }

    /// Whether two values of its cell are the same.
    #[must_use]
    pub fn same(&self, a: &Value, b: &Value) -> bool {
        Cell::of(&self.cell).map_or(a == b, |cell| cell.same(a, b))
    }

    /// Whether its value is not known before it is read back: the kernel chooses or adjusts it, or
    /// shows it in another unit than it was asked for in.
    #[must_use]
    pub(crate) fn is_told_by_the_kernel(&self) -> bool {
        let is_adjusted = |cell: Cell| {
            let tunable = cell.tunable(&self.new.path);
            cell.has_views || tunable.is_some_and(|tunable| tunable.is_adjusted)
        };
        self.role != Role::Asked || Cell::of(&self.cell).is_some_and(is_adjusted)
    }

    /// Whether what was written is there: its file holds it. Bytes of a device's part are rounded
    /// to a share; that the share moved is all that can be asked.
    #[must_use]
    pub(crate) fn is_taken_as(&self, held: &Value, live: &Value) -> bool {
        let unit = |path: &str| Cell::of(&self.cell)?.tunable(path).map(|it| it.unit);
        let is_rounded = unit(&self.new.path) != unit(&live.path) && !self.same(live, &self.old);
        self.same(held, &self.new) || is_rounded
    }

    /// The value that its cell has now.
    ///
    /// # Errors
    /// What the system says.
    pub fn live(&self, machine: &mut impl Machine) -> Result<Value, Failure> {
        match Cell::of(&self.cell) {
            Some(cell) => cell.read(|path| machine.read(path)),
            None => {
                let path = self.new.path.clone();
                let text = machine.read(&path)?.trim().to_owned();
                Ok(Value { path, text })
            }
        }
    }
}
