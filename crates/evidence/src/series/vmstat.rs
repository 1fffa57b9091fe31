//! The text of `vmstat [-a] [-n] [-t] [-w] [-S UNIT] DELAY`, of procps.
//!
//! The first row of a run is an average since boot (vmstat(8)). `swpd` to `so` are KiB unless
//! `-S` was given, which the output does not say; it is taken from a command line before the
//! table, else from the numbers: the kernel counts in pages, so an amount in KiB is divisible
//! by 4. `bi` and `bo` are blocks of 1 KiB whatever `-S` says.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::columns::{Series, Source, Span};
use super::word::{number, unquoted};
use super::{Builder, Item, Unit};

/// A heading after fewer rows than this begins another run: `vmstat` repeats its heading once a
/// screen, and no screen is this low.
const SCREEN: usize = 10;

/// Words that a heading must have.
const MUST: [&str; 4] = ["r", "b", "swpd", "so"];

/// Most columns of a table.
const MOST_COLUMNS: usize = 40;

/// The meaning of a column, by the heading's word.
fn named(word: &str) -> Option<(Item, &'static str)> {
    Some(match word {
        "r" => (Item::Running, "r"),
        "b" => (Item::Blocked, "b"),
        "swpd" => (Item::SwapUsed, "swpd"),
        "free" => (Item::Free, "free"),
        "buff" => (Item::Buffers, "buff"),
        "cache" => (Item::Cached, "cache"),
        "inact" => (Item::Inactive, "inact"),
        "active" => (Item::Active, "active"),
        "si" => (Item::SwapIn, "si"),
        "so" => (Item::SwapOut, "so"),
        "bi" => (Item::PageIn, "bi"),
        "bo" => (Item::PageOut, "bo"),
        "us" => (Item::User, "us"),
        "sy" => (Item::System, "sy"),
        "id" => (Item::Idle, "id"),
        "wa" => (Item::IoWait, "wa"),
        "st" => (Item::Stolen, "st"),
        _ => return None,
    })
}

/// Words of a heading that are columns and are not kept.
const PASSED_OVER: [&str; 3] = ["in", "cs", "gu"];

/// A table's columns.
#[derive(Clone, Debug)]
struct Heading(Vec<Option<(Item, &'static str)>>);

impl Heading {
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().take(MOST_COLUMNS).collect();
        if !MUST.iter().all(|word| words.contains(word)) {
            return None;
        }
        let first = words.windows(2).position(|pair| pair == ["r", "b"])?;
        let column = |word: &&&str| named(word).is_some() || PASSED_OVER.contains(*word);
        let count = words[first..].iter().rposition(|word| column(&word))? + 1;
        let columns = words[first..first + count].iter().map(|word| named(word));
        Some(Self(columns.collect()))
    }

    /// The values of a row and the words beside them: its time.
    fn row<'a>(&self, line: &'a str) -> Option<(Vec<f64>, Option<&'a str>)> {
        let line = line.trim_ascii();
        let count = self.0.len();
        leading(line, count).or_else(|| trailing(line, count))
    }
}

/// `count` numbers, and what stands behind them.
fn leading(line: &str, count: usize) -> Option<(Vec<f64>, Option<&str>)> {
    let mut rest = line;
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let (word, after) = rest
            .split_once(|c: char| c.is_ascii_whitespace())
            .unwrap_or((rest, ""));
        values.push(number(word)?);
        rest = after.trim_ascii_start();
    }
    let time = Some(rest).filter(|rest| !rest.is_empty());
    // A further number is a column that the heading does not name; a date has more than digits.
    let known = time.is_none_or(|time| number(time).is_none());
    known.then_some((values, time))
}

/// `count` numbers, and what stands before them: another tool's time stamp.
fn trailing(line: &str, count: usize) -> Option<(Vec<f64>, Option<&str>)> {
    let mut rest = line;
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let at = rest.rfind(|c: char| c.is_ascii_whitespace())?;
        values.push(number(&rest[at + 1..])?);
        rest = rest[..at].trim_ascii_end();
    }
    values.reverse();
    let stamp = rest.contains(':') && rest.len() <= 60;
    stamp.then_some((values, Some(rest)))
}

/// What a command line before the table says.
#[derive(Clone, Copy, Debug, Default)]
struct Command {
    /// KiB in one unit of `swpd` to `so`.
    unit: Option<f64>,
    /// Seconds between two rows.
    delay: Option<u32>,
}

impl Command {
    fn of(line: &str) -> Option<Self> {
        let (_, arguments) = line.split_once("vmstat")?;
        let mut command = Self::default();
        let mut words = arguments.split_ascii_whitespace();
        while let Some(word) = words.next() {
            if let Some(unit) = word.strip_prefix("-S") {
                let unit = if unit.is_empty() { words.next()? } else { unit };
                command.unit = unit_of(unit);
            } else if let (None, Ok(delay)) = (command.delay, word.parse()) {
                command.delay = Some(delay);
            }
        }
        Some(command)
    }
}

/// The argument of `-S`: `k` 1000, `K` 1024, `m` 1000000, `M` 1048576 bytes.
fn unit_of(word: &str) -> Option<f64> {
    match word {
        "k" => Some(1000.0 / 1024.0),
        "K" => Some(1.0),
        "m" => Some(1_000_000.0 / 1024.0),
        "M" => Some(1024.0),
        _ => None,
    }
}

/// A text while it is read.
#[derive(Debug, Default)]
struct Reader {
    series: Builder,
    heading: Option<Heading>,
    command: Command,
    /// Rows since the heading.
    since: usize,
    /// Whether the next row is the first of a run.
    starts: bool,
    /// Lines in a table that are no rows.
    cut: usize,
    runs: usize,
}

/// Reads the text of `vmstat`; `None` where there is no row of such a table.
pub(super) fn parse(text: &str) -> Option<Series> {
    let mut reader = Reader::default();
    text.split('\n')
        .for_each(|line| reader.line(unquoted(line)));
    reader.finish()
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(heading) = Heading::of(line) {
            self.starts |= self.heading.is_none() || self.since < SCREEN;
            self.since = 0;
            self.heading = Some(heading);
        } else if line.trim_ascii().is_empty() || line.contains("---") {
            // Blank, or the upper line of a heading.
        } else if let Some((values, time)) = self.heading.as_ref().and_then(|h| h.row(line)) {
            self.row(&values, time);
        } else {
            self.other(line);
        }
    }

    fn row(&mut self, values: &[f64], time: Option<&str>) {
        self.since += 1;
        let span = match core::mem::take(&mut self.starts) {
            true => Span::SinceBoot,
            false => Span::Interval,
        };
        self.runs += usize::from(span == Span::SinceBoot);
        let Some(row) = self.series.row(time.map(String::from), span) else {
            return;
        };
        let Some(heading) = &self.heading else { return };
        for (column, &value) in heading.0.iter().zip(values) {
            if let Some((item, name)) = *column {
                self.series.set(row, item, name, value);
            }
        }
    }

    /// A line that is neither heading nor row: a command, the end of a table, a row that is cut.
    fn other(&mut self, line: &str) {
        if let Some(command) = Command::of(line) {
            self.command = command;
            self.starts = true;
            return;
        }
        let numbers = line
            .split_ascii_whitespace()
            .take_while(|w| number(w).is_some());
        match self.heading.is_some() && numbers.count() >= 2 {
            true => self.cut += 1,
            false => self.starts = true,
        }
    }

    fn finish(mut self) -> Option<Series> {
        if self.runs > 0 {
            self.series.note(since_boot(self.runs));
        }
        if self.cut > 0 {
            let cut = self.cut;
            self.series.note(format!(
                "Rows that are cut off or damaged: {cut}; they are left out."
            ));
        }
        self.unit();
        self.standstill();
        if let Some(delay) = self.command.delay {
            self.series
                .note(format!("The command line says a row every {delay} s."));
        }
        self.series.finish(Source::Vmstat, None)
    }

    /// Brings the columns that `-S` scales to KiB.
    fn unit(&mut self) {
        let scaled =
            |item: Item| item.unit() == Unit::Kib || matches!(item, Item::SwapIn | Item::SwapOut);
        let levels: Vec<f64> = self
            .series
            .values(|item| item.unit() == Unit::Kib)
            .collect();
        let (unit, note) = match self.command.unit {
            Some(unit) => (
                unit,
                Some("Amounts are in the unit of the command line's -S."),
            ),
            None => inferred(&levels),
        };
        self.series.scale(scaled, unit);
        if let Some(note) = note {
            self.series.note(note.into());
        }
    }
}

impl Reader {
    /// procps 4.0.2 (Debian 12) reads the amounts once: they stand still while pages move. Of such
    /// a table only the first row's amounts are kept.
    fn standstill(&mut self) {
        const ENOUGH: usize = 4;
        let amount = |item: Item| item.unit() == Unit::Kib;
        let moves = |item: Item| matches!(item, Item::SwapIn | Item::SwapOut | Item::PageIn);
        let still = |item| {
            let mut values = self.series.values(|other| other == item);
            let first = values.next();
            values.all(|value| Some(value) == first)
        };
        let all = Item::ALL
            .into_iter()
            .filter(|item| amount(*item))
            .all(still);
        let moved = self.series.values(moves).sum::<f64>() >= 1024.0;
        if !all || !moved || self.series.len() < ENOUGH {
            return;
        }
        self.series.keep_first(amount);
        self.series.note(
            "swpd, free and the rest of memory are the same in all rows while pages move: procps \
             4.0.2 reads them once. They are left out after the first row; take /proc/meminfo."
                .into(),
        );
    }
}

fn since_boot(runs: usize) -> String {
    match runs {
        1 => "The first row is an average since boot: it is left out of the rates.".into(),
        _ => format!(
            "The first row of each of the {runs} runs is an average since boot: left out of the \
             rates."
        ),
    }
}

/// The unit that amounts force: where one is not divisible by 4 it is no KiB, and the largest
/// tells MiB from 1000 bytes. A machine with less than 8 MiB runs no such kernel.
fn inferred(levels: &[f64]) -> (f64, Option<&'static str>) {
    const EIGHT_MIB: f64 = 8192.0;
    const MOST_MIB: f64 = 100_000.0;
    let whole_pages = levels.iter().all(|&level| level % 4.0 == 0.0);
    let largest = levels.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 || (whole_pages && largest >= EIGHT_MIB) {
        return (1.0, None);
    }
    match largest < MOST_MIB {
        true => (
            1024.0,
            Some(
                "The amounts are no whole pages of KiB: they are taken as MiB (-S M; with -S m \
                 they are 5 % less), and si and so hide what is below 1 MiB/s.",
            ),
        ),
        false => (
            1000.0 / 1024.0,
            Some(
                "The amounts are no whole pages of KiB: they are taken as 1000 bytes (-S k). If \
                 it was -S m or -S M, they are a thousand times as much: say so with a line \
                 \"vmstat -S M\" before the table.",
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
