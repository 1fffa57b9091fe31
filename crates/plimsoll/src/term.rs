//! The terminal: how wide it is, whether it shows Unicode, and the styles we use.
//!
//! Data goes to [`out`], talk to stderr. Both are anstream streams: colour is dropped for pipes,
//! files, `NO_COLOR` and `TERM=dumb`, so nothing may be told by colour alone.

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal as _;

/// Which characters a picture is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Charset {
    /// Box-drawing characters and arrows.
    Unicode,
    /// Seven bits.
    Ascii,
}

/// What the output has to fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canvas {
    /// Columns.
    pub(crate) width: usize,
    /// Characters.
    pub(crate) charset: Charset,
}

/// Standard output, for data.
pub(crate) fn out() -> anstream::AutoStream<std::io::StdoutLock<'static>> {
    anstream::stdout().lock()
}

/// Rows of the terminal that we write to; `None` where there is none.
pub(crate) fn rows() -> Option<usize> {
    let out = std::io::stdout();
    let size = rustix::termios::tcgetwinsize(&out)
        .ok()
        .filter(|_| out.is_terminal())?;
    Some(usize::from(size.ws_row)).filter(|&rows| rows > 0)
}

/// Moves to the top of the terminal and clears what is below; lines that scrolled away stay.
pub(crate) fn home(out: &mut impl std::io::Write) -> std::io::Result<()> {
    out.write_all(b"\x1b[H\x1b[J")
}

/// Columns of the terminal that we write to, from 40 to 160; 80 where there is none.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0);
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    columns.or_else(told).unwrap_or(80).clamp(40, 160)
}

impl Canvas {
    /// The terminal that we write to; 80 columns where there is none.
    pub(crate) fn detect() -> Self {
        Self {
            width: columns().max(60),
            charset: Charset::detect(),
        }
    }
}

impl Charset {
    /// Unicode where the locale says so, as the first that is set of `LC_ALL`, `LC_CTYPE`, `LANG`.
    fn detect() -> Self {
        let variables = ["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var_os);
        let locale = variables
            .into_iter()
            .flatten()
            .find(|value| !value.is_empty());
        locale.as_deref().map_or(Self::Ascii, Self::of_locale)
    }

    fn of_locale(locale: &OsStr) -> Self {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") {
            Self::Unicode
        } else {
            Self::Ascii
        }
    }
}

/// What follows the escape character in the house's styles.
pub(crate) const STYLES: [&str; 5] = ["[0m", "[1m", "[2m", "[31m", "[32m"];

/// A text in one of the house's styles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Styled<T>(&'static str, T);

/// A heading, or what the eye should find first.
pub(crate) fn bold<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("\x1b[1m", text)
}

/// What may be passed over.
pub(crate) fn dim<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("\x1b[2m", text)
}

/// What is as it should be.
pub(crate) fn good<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("\x1b[32m", text)
}

/// What needs attention.
pub(crate) fn bad<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("\x1b[31m", text)
}

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        self.1.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides_the_charset() {
        assert_eq!(
            Charset::of_locale(OsStr::new("de_DE.UTF-8")),
            Charset::Unicode
        );
        assert_eq!(Charset::of_locale(OsStr::new("C.utf8")), Charset::Unicode);
        assert_eq!(Charset::of_locale(OsStr::new("POSIX")), Charset::Ascii);
    }
}
