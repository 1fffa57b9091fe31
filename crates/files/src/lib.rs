//! The one opener that stays beneath a folder, and the one writer that replaces files.
//!
//! Whoever reads or writes as root where others may write goes through here. A [`Folder`] is held
//! open, and a path below it stays below it, whatever its links say and whoever swaps them
//! meanwhile ([`Folder::find`]). Files are replaced by descriptor, whole or not at all
//! ([`Folder::replace`]). A file that is believed lies where only root could have written it
//! ([`Folder::trusted`]). What a user names is read up to a bound, and is neither a device nor a
//! pipe that nobody writes into ([`named`]); what a user names to be written is nobody else's
//! ([`output`]).
#![forbid(unsafe_code)]

mod folder;
pub mod named;
pub mod output;
mod refused;
mod replace;
mod trust;
mod walk;

pub use folder::{Folder, Found, Kind};
pub use refused::Refused;
pub use replace::{Attributes, Lasts};
