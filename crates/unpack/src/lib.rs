//! Evidence as streams: what a file or a pipe holds, compressed and packed as it may be, made into
//! frames. The command hands it what it opened, the page in a browser what was dropped on it.
//!
//! Nothing is opened or written, and every amount is bounded: [`KEPT`] and [`EXPANDED`] say by how
//! much.
#![forbid(unsafe_code)]

mod among;
mod archive;
mod intake;
mod packed;

use std::io::Read;

pub use among::tree_of;
pub use intake::{Found, Intake, KEPT, UnpackError};
pub use packed::EXPANDED;

/// Reads a piece of evidence from a stream; its name says what its lines do not.
///
/// # Errors
/// It cannot be read, or nothing in it is known.
pub fn read(stream: impl Read, name: &str) -> Result<Found, UnpackError> {
    let mut intake = Intake::default();
    intake.stream(stream, name)?;
    intake.found(name.to_owned())
}
