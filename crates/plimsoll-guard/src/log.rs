//! What the daemon says: a line each on standard error, from where the journal takes it.

use std::fmt;
use std::io::{self, Write as _};

/// Says one line. That nobody reads it is no reason to stop.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Answers on standard output.
pub(crate) fn answer(text: &str) {
    writeln!(io::stdout().lock(), "{}", text.trim_end()).ok();
}
