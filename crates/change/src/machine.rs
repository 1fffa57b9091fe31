//! What a change does to the world, behind a trait.

use alloc::string::String;

use mm::units::Nanos;

/// Where a journal lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where a reboot takes it away: `/run`.
    Run,
    /// Where it survives: `/var/lib`.
    Lib,
}

/// A file, without the leading slash, and the text that it holds or is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The file.
    pub path: String,
    /// The text, as it is written.
    pub text: String,
}

/// This machine, with the lock of the journals held.
///
/// Each function either has happened when it returns, or it says why not. What `append` and
/// `install` did is on the disk when they return (fsync of the file, then of the directory), and
/// `install` replaces the whole file or nothing of it.
pub trait Machine {
    /// Which boot this is: the kernel's `boot_id`.
    ///
    /// # Errors
    /// What the system says: without it no journal can be understood.
    fn boot(&mut self) -> Result<String, Failure>;
    /// The time since boot, with suspended time.
    fn since_boot(&mut self) -> Nanos;
    /// Seconds since 1970, for those who read the history.
    fn unix_time(&mut self) -> u64;
    /// The text of a tunable's file.
    ///
    /// # Errors
    /// What the system says.
    fn read(&mut self, path: &str) -> Result<String, Failure>;
    /// Writes a tunable's file.
    ///
    /// # Errors
    /// What the system says; nothing was written then.
    fn write(&mut self, value: &Value) -> Result<(), Failure>;
    /// The text of a journal; empty where there is none.
    ///
    /// # Errors
    /// What the system says.
    fn journal(&mut self, place: Place) -> Result<String, Failure>;
    /// Cuts a journal to its first `keep` bytes and appends a line.
    ///
    /// # Errors
    /// What the system says; a part of the line may be there.
    fn append(&mut self, place: Place, keep: usize, line: &str) -> Result<(), Failure>;
    /// Starts what takes the change back at the deadline, and returns when that is known to run.
    ///
    /// # Errors
    /// Why it does not run.
    fn arm(&mut self, id: u32, deadline: Nanos) -> Result<(), Failure>;
    /// Stops it; one that is no longer there is no error.
    fn disarm(&mut self, id: u32);
    /// The text of a native configuration file; `None` where there is none.
    ///
    /// # Errors
    /// What the system says.
    fn native(&mut self, path: &str) -> Result<Option<String>, Failure>;
    /// Puts a native file in its place, or removes it.
    ///
    /// # Errors
    /// What the system says; the file is as it was then.
    fn install(&mut self, path: &str, text: Option<&str>) -> Result<(), Failure>;
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("/{path}: {reason}")]
pub struct Failure {
    /// The file, or what else was to be used, without the leading slash.
    pub path: String,
    /// What the system says, and the way out.
    pub reason: String,
    /// Which kind of failure.
    pub kind: Kind,
}

/// Which kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel has no such file: a device that is gone, or a tunable that it never had.
    Missing,
    /// The kernel refuses the value.
    Refused,
    /// Anything else.
    Other,
}
