//! What stands before a kernel message: mail quoting, priorities, time stamps, host and program.
//!
//! Each way of keeping a kernel log puts its own words first: `dmesg` in its formats, `/dev/kmsg`
//! and netconsole, `journalctl`, syslog in both forms. They are taken off one after the other, so
//! that two of them (syslog over `[12345.678901]`) are no special case.

use alloc::borrow::Cow;
use alloc::string::String;

use super::date::{self, since_boot};
use super::journal;
use super::line::{Line, Origin, Source};
use crate::units::Nanos;

/// Prefixes of one line at most: a bound for the loop.
const PREFIXES: usize = 8;

/// The longest header that is looked through for "kernel:".
const HEADER: usize = 200;

/// The facilities of syslog as `dmesg -x` writes them.
const FACILITIES: [&str; 12] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp",
];

/// Takes off what stands before the message.
pub(super) fn strip(line: &str) -> Line<'_> {
    let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}');
    match line.contains('\x1b') {
        true => owned(&uncoloured(line)),
        false => read(line),
    }
}

fn owned(line: &str) -> Line<'static> {
    let read = read(line);
    Line {
        text: Cow::Owned(read.text.into_owned()),
        at: read.at,
        origin: read.origin,
        source: read.source,
        prefixed: read.prefixed,
    }
}

fn read(line: &str) -> Line<'_> {
    let line = unquoted(line);
    if let Some(entry) = journal::entry(line) {
        return of_journal(entry);
    }
    let mut reader = Reader {
        rest: line,
        line: Line::default(),
        dated: false,
    };
    reader.steps();
    if reader.fall_back() {
        reader.steps();
    }
    reader.line.text = Cow::Borrowed(reader.rest);
    reader.line
}

/// An entry of `journalctl -o json`; its message may bring prefixes of its own.
fn of_journal(entry: journal::Entry) -> Line<'static> {
    let source = match entry.identifier.as_str() {
        "" => Source::Unknown,
        "kernel" => Source::Kernel,
        name => Source::Program(name.into()),
    };
    let inner = owned(&entry.message);
    Line {
        at: if entry.at > Nanos::ZERO {
            entry.at
        } else {
            inner.at
        },
        origin: Origin {
            host: entry.host,
            caller: inner.origin.caller,
        },
        source,
        prefixed: true,
        text: inner.text,
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: Line<'a>,
    /// Whether the last prefix was a time, after which a host and a program may stand.
    dated: bool,
}

impl<'a> Reader<'a> {
    /// Takes off one prefix after the other.
    fn steps(&mut self) {
        for _ in 0..PREFIXES {
            let before = self.rest.len();
            self.step();
            if self.rest.len() == before {
                break;
            }
            self.line.prefixed = true;
        }
    }

    /// Takes off one prefix, if there is one.
    fn step(&mut self) {
        let rest = self.rest;
        let dated = core::mem::take(&mut self.dated);
        if self.header(dated) {
            return;
        }
        if let Some((caller, rest)) = caller(rest) {
            self.line.origin.caller = caller.into();
            return self.stamp(Nanos::ZERO, rest);
        }
        let found = match rest.as_bytes().first() {
            Some(b'<') => priority(rest).map(|rest| (Nanos::ZERO, rest)),
            Some(b'[') => bracket(rest),
            Some(b'0'..=b'9') => self.raw(rest),
            _ => facility(rest).map(|rest| (Nanos::ZERO, rest)),
        };
        if let Some((at, rest)) = found {
            // Talos puts ": " behind its bracket.
            let behind = rest.strip_prefix(": ").filter(|_| at > Nanos::ZERO);
            self.stamp(at, behind.unwrap_or(rest));
        } else if let Some((at, after)) = date::leading(rest) {
            // A comma before the fraction is dmesg's way, which has no host behind it.
            let date = &rest[..rest.len() - after.len()];
            self.dated = !date.contains(',');
            self.stamp(at, after);
        }
    }

    /// After "6,1234,5678901,-;", the form of `/dev/kmsg` and of netconsole's extended messages.
    /// The third number is in microseconds; the caller may stand behind it.
    fn raw(&mut self, text: &'a str) -> Option<(Nanos, &'a str)> {
        let end = super::text::head(text, HEADER).find(';')?;
        let mut fields = text[..end].split(',');
        let mut number = || fields.next().filter(|field| digits(field));
        let (_, _, micros) = (number()?, number()?, number()?);
        let at = micros.parse::<u64>().unwrap_or(0).saturating_mul(1000);
        if let Some(caller) = fields.find_map(|field| field.strip_prefix("caller=")) {
            self.line.origin.caller = caller.into();
        }
        Some((Nanos(at), &text[end + 1..]))
    }

    /// A stamp since boot is worth more than a date without its year.
    fn stamp(&mut self, at: Nanos, rest: &'a str) {
        if at > Nanos::ZERO {
            self.line.at = at;
        }
        self.rest = rest.trim_ascii_start();
    }

    /// "HOST PROGRAM[PID]: ", after a date; the kernel's header and a process id's are taken after
    /// any prefix.
    fn header(&mut self, dated: bool) -> bool {
        let rest = self.rest;
        if let Some(message) = rest.strip_prefix("kernel: ") {
            return self.program("", "kernel", message);
        }
        if !dated && !self.line.prefixed {
            return false;
        }
        if let Some((program, message)) = bare_program(rest) {
            return self.program("", program, message);
        }
        let Some((host, after)) = rest.split_once(' ') else {
            return false;
        };
        let after = after.trim_ascii_start();
        let Some((program, message)) = program(after) else {
            return false;
        };
        let known = program == "kernel" || after.starts_with(&*program_with_pid(program));
        match !host.contains([':', '=', '[']) && (dated || (self.line.prefixed && known)) {
            true => self.program(host, program, message),
            false => false,
        }
    }

    fn program(&mut self, host: &str, program: &str, message: &'a str) -> bool {
        self.line.source = match program {
            "kernel" => Source::Kernel,
            name => Source::Program(name.into()),
        };
        if !host.is_empty() {
            self.line.origin.host = host.into();
        }
        self.rest = message.trim_ascii_start();
        true
    }

    /// A header of a kind that nobody told us about still says "kernel:", or has the kernel's own
    /// time behind it. Whether more prefixes may follow.
    fn fall_back(&mut self) -> bool {
        if self.line.source != Source::Unknown || super::text::is_of_report(self.rest) {
            return false;
        }
        let head = super::text::head(self.rest, HEADER);
        let named = || {
            let at = head.find(" kernel: ")? + " kernel: ".len();
            let numbered = head[..at].bytes().any(|byte| byte.is_ascii_digit());
            numbered.then(|| self.rest[at..].trim_ascii_start())
        };
        let found = behind_priority(self.rest, head)
            .or_else(named)
            .or_else(|| behind_anything(self.rest, head).filter(|_| !self.line.prefixed));
        let Some(rest) = found else {
            return false;
        };
        if head.contains(" kernel: ") {
            self.line.source = Source::Kernel;
        }
        self.rest = rest;
        self.line.prefixed = true;
        true
    }
}

/// What stands before every line alike, with the blank behind it: a program that copies a console
/// writes a number or a name of its own. Empty where there is nothing of the kind.
pub(super) fn common(text: &str) -> &str {
    const ENOUGH: usize = 8;
    let lines = || {
        text.split('\n')
            .filter(|line| !line.trim_ascii().is_empty())
    };
    let Some((first, word)) = lines()
        .next()
        .and_then(|line| Some((line, line.find(' ')?)))
    else {
        return "";
    };
    let before = &first[..=word];
    let all = lines().take(100).count();
    let same = lines()
        .take(100)
        .filter(|line| line.starts_with(before))
        .count();
    match same >= ENOUGH && same * 10 >= all * 9 && !strip(first).prefixed {
        true => before,
        false => "",
    }
}

/// What begins with the kernel's time in brackets, within the first words of a line.
fn behind_anything<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let mut opened = head.match_indices('[').take(4);
    opened.find_map(|(at, _)| {
        let (stamp, _) = bracket(&text[at..])?;
        (at > 0 && at <= 48 && stamp > Nanos::ZERO).then(|| &text[at..])
    })
}

/// What stands behind "<6>" where a time of the kernel follows: a hypervisor writes its own header
/// before the guest's messages.
fn behind_priority<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let mut marks = head.match_indices('<');
    marks.find_map(|(at, _)| priority(&text[at..]).filter(|rest| bracket(rest).is_some()))
}

/// The name in "NAME[PID]: message", which needs no host before it.
fn bare_program(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(' ')?;
    let (name, pid) = word.strip_suffix("]:")?.split_once('[')?;
    (!name.is_empty() && digits(pid)).then_some((name, rest))
}

fn program_with_pid(program: &str) -> String {
    let mut text = String::from(program);
    text.push('[');
    text
}

/// The name of "NAME: message", "NAME[PID]: message" or RFC 5424's "NAME PID MSGID - message".
fn program(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(' ')?;
    if let Some(word) = word.strip_suffix(':') {
        let name = word.split('[').next().unwrap_or(word);
        let fits = !name.is_empty() && !name.contains([':', '=', ']', '(']);
        return fits.then_some((name, rest));
    }
    let mut rest = rest;
    for _ in 0..2 {
        let (word, after) = rest.split_once(' ')?;
        let fits = word == "-" || word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        rest = fits.then_some(after)?;
    }
    Some((word, rest.strip_prefix("- ")?))
}

/// Without "> " of a mail, repeated, and without "| ".
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..PREFIXES {
        match rest.strip_prefix(['>', '|']) {
            Some(quoted) => rest = quoted.trim_ascii_start(),
            None => break,
        }
    }
    rest
}

/// After "<4>", and RFC 5424's version behind it.
fn priority(text: &str) -> Option<&str> {
    let (number, rest) = text.strip_prefix('<')?.split_once('>')?;
    let fits = (1..=3).contains(&number.len()) && digits(number);
    let rest = fits.then_some(rest)?;
    let versioned = rest
        .strip_prefix("1 ")
        .filter(|rest| date::leading(rest).is_some());
    Some(versioned.unwrap_or(rest))
}

/// After `dmesg -x`'s "kern  :warn  : ".
fn facility(text: &str) -> Option<&str> {
    let (facility, rest) = text.split_once(':')?;
    let facility = facility.trim_ascii_end();
    let known = FACILITIES.contains(&facility) || facility.starts_with("local");
    let (level, rest) = known.then(|| rest.split_once(':')).flatten()?;
    let level = level.trim_ascii();
    let fits = level.len() <= 7 && level.bytes().all(|byte| byte.is_ascii_lowercase());
    fits.then(|| rest.trim_ascii_start())
}

/// The caller of "[ T123] " or "[    C0] ", and what stands behind it.
pub(super) fn caller(text: &str) -> Option<(&str, &str)> {
    let end = super::text::head(text, 64).find(']')?;
    let caller = text[..end].strip_prefix('[')?.trim_ascii();
    let is_caller = caller.strip_prefix(['T', 'C']).is_some_and(digits);
    is_caller.then(|| (caller, &text[end + 1..]))
}

/// After "[12345.678901] ", "[  +0.001] ", "[Mon Jan  1 00:00:00 2024] " and the like, but not
/// after the "[ 1234] " of a table of processes.
pub(super) fn bracket(text: &str) -> Option<(Nanos, &str)> {
    let end = super::text::head(text, 64).find(']')?;
    let (inner, rest) = (text[..end].strip_prefix('[')?, &text[end + 1..]);
    let inner = inner
        .trim_ascii()
        .trim_start_matches('<')
        .trim_end_matches('>')
        .trim_ascii();
    if let Some((at, _)) = date::leading(inner) {
        return Some((at, rest));
    }
    if inner.starts_with('+') || date::has_clock(inner) {
        return Some((Nanos::ZERO, rest));
    }
    let stamp = inner.split([',', '@', ' ']).next().unwrap_or(inner);
    let (seconds, fraction) = stamp.split_once('.')?;
    // Some vendors put the CPU before it: "[2-3219.1870]".
    let by_cpu = seconds.split_once('-').filter(|(cpu, _)| digits(cpu));
    let seconds = by_cpu.map_or(seconds, |(_, seconds)| seconds);
    let fits = digits(seconds) && fraction.len() >= 3 && digits(fraction);
    fits.then(|| (since_boot(seconds, fraction), rest))
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Without the colours of a terminal.
fn uncoloured(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\x1b') {
        text.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "x invoked oom-killer: gfp_mask=0xd0, order=0";

    fn check(prefix: &str, at: u64, host: &str) {
        let text = alloc::format!("{prefix}{MESSAGE}\r");
        let line = strip(&text);
        assert_eq!(line.text, MESSAGE, "{prefix}");
        assert_eq!(
            (line.at.0, line.origin.host.as_str()),
            (at, host),
            "{prefix}"
        );
        assert!(!matches!(line.source, Source::Program(_)), "{prefix}");
    }

    #[test]
    fn every_prefix_of_a_kernel_log_is_taken_off() {
        let at = 12_345_678_901_000;
        let day = 1_704_067_200_000_000_000;
        check("", 0, "");
        check("> > ", 0, "");
        check("[12345.678901] ", at, "");
        check("[12345.678901,3] ", at, "");
        check("[12345.678901][ T123] ", at, "");
        check("[12345.678901] [    C0] ", at, "");
        check("[  +0.001234] ", 0, "");
        check("[<    0.000012>] ", 12_000, "");
        check("[Mon Jan  1 00:00:00 2024] ", day, "");
        check("<4>[12345.678901] ", at, "");
        check("kern  :warn  : [12345.678901] ", at, "");
        check("kern  :warn  : [Mon Jan  1 00:00:00 2024] ", day, "");
        check("2024-01-01T00:00:00,000000+00:00 ", day, "");
        check("Jan  1 00:00:00 a kernel: [12345.678901] ", at, "a");
        check("Jan 01 00:00:00.123456 a kernel: ", 0, "a");
        check("2024-01-01T00:00:00.000000+00:00 a kernel: ", day, "a");
        check("2024-01-01T00:00:00+0000 a kernel: ", day, "a");
        check("Mon 2024-01-01 00:00:00 UTC a kernel: ", day, "a");
        check(
            "<4>1 2024-01-01T00:00:00Z a kernel - - - [12345.678901] ",
            at,
            "a",
        );
        check("<4>Jan  1 00:00:00 a kernel: ", 0, "a");
        check("[12345.678901] a kernel: ", at, "a");
        check("6,1234,12345678901,-;", at, "");
        check("4,1234,12345678901,-,caller=T12;", at, "");
        check("\x1b[32m[12345.678901]\x1b[0m ", at, "");
        check(
            "/var/log/messages:Jan  1 00:00:00 a kernel: [12345.678901] ",
            at,
            "",
        );
    }

    #[test]
    fn a_row_of_a_table_of_processes_keeps_its_process_id() {
        let row = "[ 1234]     0  1234    12345      678    40960        0             0 sshd";
        for prefix in ["", "[12345.678901] ", "Jan  1 00:00:00 a kernel: "] {
            assert_eq!(strip(&alloc::format!("{prefix}{row}")).text, row);
        }
    }

    #[test]
    fn another_program_is_named() {
        let program = |text| match strip(text).source {
            Source::Program(name) => name,
            _ => String::new(),
        };
        assert_eq!(program("Jan  1 00:00:00 a sshd[12]: hello there"), "sshd");
        assert_eq!(
            program("2024-01-01T00:00:00Z a earlyoom[1]: sending SIGTERM"),
            "earlyoom"
        );
        assert_eq!(
            program("[12345.678901] a systemd-oomd[3]: Killed /x"),
            "systemd-oomd"
        );
        assert_eq!(program("[12345.678901] Call Trace: x"), "");
    }
}
