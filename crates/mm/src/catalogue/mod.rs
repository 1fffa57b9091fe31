//! The catalogue of tunables: one ordered table from which validation, help, documentation and the
//! search space come.
//!
//! Tests test the table. What every block device, every size of huge page or every control group
//! has for itself stands in tables of its own, by a pattern: `bdi.DEVICE.max_ratio`. [`named`]
//! finds what a setting names; [`resolve`] takes whatever spelling people use.

mod address_space;
mod bdi;
mod cell;
mod cgroup;
mod check;
pub mod folder;
mod kernels;
mod ksm;
mod lru_gen;
mod migration;
mod names;
mod removed;
mod spelling;
mod table;
mod taken;
#[cfg(test)]
mod tests;
mod thp;
mod tunable;
mod typed;
mod values;
mod vm;
mod zswap;

pub use cell::Cell;
pub use check::{SettingError, check, value_of};
pub use folder::path_of;
pub use kernels::{Kernels, Standing};
pub use names::{Named, Of, Scope, all, find, named, of_devices, of_groups, of_page_sizes};
pub use spelling::{KeyError, below_sys, nearest, resolve};
pub use taken::sysctl_number;
pub use tunable::{DefaultRule, Risk, Tunable};
pub use typed::{TypedError, typed, typed_of};
pub use values::{Unit, Values};
