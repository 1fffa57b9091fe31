//! The terminal: how wide it is, whether it shows Unicode, and the styles we use. All that is
//! printed goes through here.
//!
//! Data goes to [`out`], talk to [`err`]. Both show what a name or a text of others could make a
//! terminal do, and do not do it ([`look::style::shown`]). Both are anstream streams: colour is
//! dropped for pipes, files, `NO_COLOR` and `TERM=dumb` unless `--color` says otherwise, so nothing
//! may be told by colour alone.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub(crate) use look::page::{Canvas, Charset};
use look::style::shown;
pub(crate) use look::style::{bad, bold, dim, good};

/// The characters that a picture may be drawn with, each with its name and what it is.
const CHARSETS: [(Charset, &str, &str); 2] = [
    (
        Charset::Unicode,
        "unicode",
        "Box-drawing characters and arrows",
    ),
    (Charset::Ascii, "ascii", "Seven bits"),
];

/// Reads the name of a set of characters.
pub(crate) fn charsets() -> impl TypedValueParser<Value = Charset> {
    one_of(CHARSETS)
}

/// Reads one of these names; help says what each is.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (T, &'static str, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.into_iter().collect();
    let names = all
        .iter()
        .map(|&(_, name, is)| PossibleValue::new(name).help(is));
    PossibleValuesParser::new(names).map(move |word| {
        let found = all.iter().find(|(_, name, _)| *name == word);
        found.expect("only these names are taken").0
    })
}

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// In pipes and files, too.
    Always,
    /// Nowhere.
    Never,
}

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Standard output, for data.
pub(crate) fn out() -> Stream<AutoStream<io::StdoutLock<'static>>> {
    Stream::new(anstream::stdout().lock())
}

/// Standard error, for talk.
pub(crate) fn err() -> Stream<AutoStream<io::StderrLock<'static>>> {
    Stream::new(anstream::stderr().lock())
}

/// Help, which has only texts and styles of the program itself.
pub(crate) fn help(text: &clap::builder::StyledStr) {
    write!(anstream::stdout(), "{}", text.ansi()).ok();
}

/// Takes what the command line says of colours, and whether talk is wanted.
pub(crate) fn set(color: Color, quiet: bool) {
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    choice.write_global();
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether nothing is to be said but the answer and what went wrong.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The terminal itself, for a screen of which each cell is drawn by us; `None` where standard
/// output is none.
pub(crate) fn terminal() -> Option<io::Stdout> {
    let out = io::stdout();
    out.is_terminal().then_some(out)
}

/// Whether standard output is to have colours.
pub(crate) fn is_coloured() -> bool {
    anstream::stdout().current_choice() != ColorChoice::Never
}

/// A line about what went wrong; that nobody can hear it is no reason to stop.
pub(crate) fn warn(text: impl fmt::Display) {
    writeln!(err(), "{text}").ok();
}

/// A line of talk, where it is wanted.
pub(crate) fn talk(text: impl fmt::Display) {
    if !is_quiet() {
        warn(text);
    }
}

/// Whether somebody watches the talk.
pub(crate) fn is_watched() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// A stream on which nothing acts but our own styles. It is written line by line, and the rest when
/// it is flushed or dropped.
#[derive(Debug)]
pub(crate) struct Stream<W: Write> {
    inner: W,
    /// What no line end came behind yet.
    rest: Vec<u8>,
}

impl<W: Write> Stream<W> {
    fn new(inner: W) -> Self {
        let rest = Vec::new();
        Self { inner, rest }
    }

    /// Moves to the top of the terminal and clears what is below; lines that scrolled away stay.
    pub(crate) fn home(&mut self) -> io::Result<()> {
        self.flush()?;
        self.inner.write_all(b"\x1b[H\x1b[J")
    }
}

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        if bytes.contains(&b'\n') {
            let end = self.rest.iter().rposition(|byte| *byte == b'\n');
            let behind = self.rest.split_off(end.map_or(0, |end| end + 1));
            let lines = std::mem::replace(&mut self.rest, behind);
            self.inner.write_all(shown(&lines).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        self.inner.write_all(shown(&rest).as_bytes())?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Stream<W> {
    fn drop(&mut self) {
        self.flush().ok();
    }
}

/// Rows of the terminal that we write to; `None` where there is none.
pub(crate) fn rows() -> Option<usize> {
    let out = std::io::stdout();
    let size = rustix::termios::tcgetwinsize(&out)
        .ok()
        .filter(|_| out.is_terminal())?;
    Some(usize::from(size.ws_row)).filter(|&rows| rows > 0)
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

/// The terminal that we write to; 80 columns where there is none.
pub(crate) fn canvas() -> Canvas {
    Canvas {
        width: columns().max(60),
        charset: charset(),
    }
}

/// Unicode where the locale says so, as the first that is set of `LC_ALL`, `LC_CTYPE`, `LANG`.
fn charset() -> Charset {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var_os);
    let locale = variables
        .into_iter()
        .flatten()
        .find(|value| !value.is_empty());
    locale.as_deref().map_or(Charset::Ascii, of_locale)
}

fn of_locale(locale: &OsStr) -> Charset {
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    match locale.contains("utf-8") || locale.contains("utf8") {
        true => Charset::Unicode,
        false => Charset::Ascii,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_styles_are_printed_and_nothing_else_acts() {
        let evil = "a\x1b[2J\x1b[1mb\u{9b}31m\u{202e}c\x07\r\n";
        let mut written = Vec::new();
        let mut stream = Stream::new(&mut written);
        write!(stream, "{} {evil}{}", bold(evil), bad("x")).expect("written");
        stream.write_all(b"\xff\xc3").expect("written");
        drop(stream);
        let plain = r"a\u001b[2J\u001b[1mb\u009b31m\u202ec\u0007\u000d";
        let expected = format!("\x1b[1m{plain}\n\x1b[0m {plain}\n\x1b[31mx\x1b[0m\\u00ff\\u00c3");
        assert_eq!(String::from_utf8(written).expect("text"), expected);
    }

    #[test]
    fn a_character_or_a_style_may_come_in_pieces() {
        let mut written = Vec::new();
        let mut stream = Stream::new(&mut written);
        for byte in format!("{}\u{4e2d}\n", good("x")).bytes() {
            stream.write_all(&[byte]).expect("written");
        }
        drop(stream);
        let text = String::from_utf8(written).expect("text");
        assert_eq!(text, "\x1b[32mx\x1b[0m\u{4e2d}\n");
    }

    #[test]
    fn a_document_of_json_means_the_same() {
        let name = "\x1b]0;t\x07\u{9b}\u{202e}\u{2028}\x7f\"\\";
        let document = serde_json::to_string(name).expect("a string");
        let printed = shown(document.as_bytes());
        assert_eq!(
            serde_json::from_str::<String>(&printed).expect("a string"),
            name
        );
        assert!(!printed.contains(|c: char| c.is_control() || c == '\u{202e}'));
    }

    #[test]
    fn the_locale_decides_the_charset() {
        assert_eq!(of_locale(OsStr::new("de_DE.UTF-8")), Charset::Unicode);
        assert_eq!(of_locale(OsStr::new("C.utf8")), Charset::Unicode);
        assert_eq!(of_locale(OsStr::new("POSIX")), Charset::Ascii);
    }
}
