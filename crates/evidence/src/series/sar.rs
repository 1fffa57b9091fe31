//! The text of `sar -r -B -W -S -q -u`, from a file or live, of sysstat 9 to 12.
//!
//! One table after the other, each with its heading; rows of the same time are one row of the
//! series. Clocks of 12 and of 24 hours, decimal commas and `--human` suffixes are read;
//! averages are left out, a restart is kept as a note. Pages a second become KiB a second by the
//! page size that the amounts force: they are whole pages.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::columns::{Series, Source, Span};
use super::word::{number, unquoted};
use super::{Builder, Item, Unit};

/// Most columns of a table.
const MOST_COLUMNS: usize = 64;

/// The meaning of a column, by its name in a heading.
fn named(word: &str) -> Option<(Item, &'static str)> {
    Some(match word {
        "kbmemfree" => (Item::Free, "kbmemfree"),
        "kbavail" => (Item::Available, "kbavail"),
        "kbbuffers" => (Item::Buffers, "kbbuffers"),
        "kbcached" => (Item::Cached, "kbcached"),
        "kbactive" => (Item::Active, "kbactive"),
        "kbinact" => (Item::Inactive, "kbinact"),
        "kbdirty" => (Item::Dirty, "kbdirty"),
        "kbanonpg" => (Item::Anonymous, "kbanonpg"),
        "kbslab" => (Item::Slab, "kbslab"),
        "kbswpused" => (Item::SwapUsed, "kbswpused"),
        "pswpin/s" => (Item::SwapIn, "pswpin/s"),
        "pswpout/s" => (Item::SwapOut, "pswpout/s"),
        "pgpgin/s" => (Item::PageIn, "pgpgin/s"),
        "pgpgout/s" => (Item::PageOut, "pgpgout/s"),
        "fault/s" => (Item::Faults, "fault/s"),
        "majflt/s" => (Item::MajorFaults, "majflt/s"),
        "pgfree/s" => (Item::Freed, "pgfree/s"),
        "pgscank/s" => (Item::ScanKswapd, "pgscank/s"),
        "pgscand/s" => (Item::ScanDirect, "pgscand/s"),
        "pgsteal/s" => (Item::Steal, "pgsteal/s"),
        "%vmeff" => (Item::Efficiency, "%vmeff"),
        "runq-sz" => (Item::Running, "runq-sz"),
        "blocked" => (Item::Blocked, "blocked"),
        "%user" | "%usr" => (Item::User, "%user"),
        "%system" | "%sys" => (Item::System, "%system"),
        "%iowait" => (Item::IoWait, "%iowait"),
        "%steal" => (Item::Stolen, "%steal"),
        "%idle" => (Item::Idle, "%idle"),
        "%smem" => (Item::MemorySome, "%smem"),
        "%fmem" => (Item::MemoryFull, "%fmem"),
        "%sio" => (Item::IoSome, "%sio"),
        _ => return None,
    })
}

/// A table's columns, without the time. A table with a column that names a CPU has its rows for
/// all of them; one that names another thing (a device, an interface) has nothing of memory.
#[derive(Debug)]
struct Heading {
    columns: Vec<Column>,
    of_cpus: bool,
    /// How often the time went back in this table: a day passed.
    day: usize,
    last: u32,
    /// Rows of it whose time was cut off.
    untimed: u32,
}

/// What a column shows; `None` where that is nothing of memory.
type Column = Option<(Item, &'static str)>;

/// The day of rows whose time was cut off.
const UNTIMED: usize = usize::MAX;

/// A time of day at a line's beginning.
struct Stamp<'a> {
    text: &'a str,
    seconds: u32,
    rest: &'a str,
}

impl<'a> Stamp<'a> {
    /// "16:38:12", "04:38:12 PM", "16.38.12", "16:38:12 IST".
    fn of(line: &'a str) -> Option<Self> {
        let end = line.find([' ', '\t'])?;
        let seconds = clock(&line[..end])?;
        let rest = line[end..].trim_ascii_start();
        let word = rest.split([' ', '\t']).next().unwrap_or_default();
        let half = match () {
            () if word.eq_ignore_ascii_case("am") => Some(0),
            () if word.eq_ignore_ascii_case("pm") => Some(12 * 3600),
            () => None,
        };
        let Some(half) = half else {
            let zone = word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_uppercase());
            let zone = zone && !["CPU", "DEV", "IFACE", "TTY", "INTR", "LINUX"].contains(&word);
            let behind = rest.get(word.len()..).filter(|_| zone);
            return Some(Self {
                text: &line[..end],
                seconds,
                rest: behind.unwrap_or(rest).trim_ascii_start(),
            });
        };
        let end = line.len() - rest.len() + word.len();
        Some(Self {
            text: &line[..end],
            seconds: seconds % (12 * 3600) + half,
            rest: line[end..].trim_ascii_start(),
        })
    }
}

/// The second of the day.
fn clock(word: &str) -> Option<u32> {
    let mut parts = word.split([':', '.']);
    let mut part = |most: u32| {
        let part = parts.next().filter(|part| part.len() <= 2)?;
        part.parse::<u32>().ok().filter(|&value| value <= most)
    };
    let (hours, minutes, seconds) = (part(24)?, part(59)?, part(60)?);
    (parts.next().is_none() && word.len() >= 6).then_some(hours * 3600 + minutes * 60 + seconds)
}

impl Heading {
    fn of(names: &str) -> Option<Self> {
        let words: Vec<&str> = names.split_ascii_whitespace().take(MOST_COLUMNS).collect();
        let of_cpus = words.first() == Some(&"CPU");
        let columns: Vec<_> = words.iter().map(|word| named(word)).collect();
        let known = columns.iter().any(Option::is_some);
        known.then_some(Self {
            columns,
            of_cpus,
            day: 0,
            last: 0,
            untimed: 0,
        })
    }

    fn values(&self, row: &str) -> Option<Vec<Option<f64>>> {
        let words: Vec<&str> = row.split_ascii_whitespace().take(MOST_COLUMNS).collect();
        let all = !self.of_cpus || words.first() == Some(&"all");
        (all && words.len() == self.columns.len())
            .then(|| words.iter().map(|word| amount(word)).collect())
    }

    fn same(&self, other: &Self) -> bool {
        self.columns == other.columns
    }
}

/// A number, in KiB where `--human` gave it a suffix.
fn amount(word: &str) -> Option<f64> {
    let kib = |suffix| match suffix {
        b'k' => Some(1.0),
        b'M' => Some(1024.0),
        b'G' => Some(1024.0 * 1024.0),
        b'T' => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    match word.as_bytes().last().copied().and_then(kib) {
        Some(factor) => number(&word[..word.len() - 1]).map(|value| value * factor),
        None => number(word),
    }
}

/// A text while it is read.
#[derive(Debug, Default)]
struct Reader {
    series: Builder,
    release: Option<String>,
    /// The tables seen, by position; the last heading's.
    tables: Vec<Heading>,
    current: Option<usize>,
    /// Which row has this boot, day and second.
    rows: BTreeMap<(usize, usize, u32), usize>,
    restarts: usize,
    cut: usize,
}

/// Most tables of a text whose headings are kept; a text repeats its own few.
const MOST_TABLES: usize = 64;

/// Reads the text of `sar`; `None` where there is no row of a table that is known.
pub(super) fn parse(text: &str) -> Option<Series> {
    let mut reader = Reader::default();
    text.split('\n')
        .for_each(|line| reader.line(unquoted(line)));
    reader.finish()
}

impl Reader {
    fn line(&mut self, line: &str) {
        let line = line.trim_ascii_end();
        if let Some(release) = release(line) {
            self.release.get_or_insert(release.into());
        }
        let Some(stamp) = Stamp::of(line) else {
            return self.without_time(line);
        };
        if line.contains("LINUX RESTART") {
            self.restarts += 1;
            self.current = None;
        } else if stamp.rest.starts_with(|c: char| c.is_ascii_digit()) || self.of_all(&stamp) {
            self.row(&stamp);
        } else if stamp.rest.split_ascii_whitespace().count() > 1 {
            self.current = Heading::of(stamp.rest).and_then(|heading| self.table(heading));
        }
    }

    /// A heading or a row whose time was cut off: rows of several tables belong together by their
    /// places.
    fn without_time(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let first = words.clone().next().unwrap_or_default();
        if named(first).is_some() {
            self.current = Heading::of(line).and_then(|heading| self.table(heading));
            return;
        }
        let numbers = words.all(|word| amount(word).is_some());
        let Some(table) = self.current.and_then(|at| self.tables.get_mut(at)) else {
            return;
        };
        let Some(values) = table.values(line).filter(|_| numbers && !first.is_empty()) else {
            return;
        };
        let key = (self.restarts, UNTIMED, table.untimed);
        table.untimed += 1;
        let columns = table.columns.clone();
        if let Some(row) = self.row_of(key, None) {
            self.set(row, columns, values);
        }
    }

    fn set(&mut self, row: usize, columns: Vec<Column>, values: Vec<Option<f64>>) {
        for (column, value) in columns.into_iter().zip(values) {
            if let (Some((item, name)), Some(value)) = (column, value) {
                self.series.set(row, item, name, value);
            }
        }
    }

    /// A row of a table of CPUs.
    fn of_all(&self, stamp: &Stamp<'_>) -> bool {
        let table = self.current.and_then(|at| self.tables.get(at));
        table.is_some_and(|table| table.of_cpus) && stamp.rest.starts_with("all")
    }

    /// The table of this heading: a repeated heading goes on with it.
    fn table(&mut self, heading: Heading) -> Option<usize> {
        if let Some(at) = self.tables.iter().position(|table| table.same(&heading)) {
            return Some(at);
        }
        (self.tables.len() < MOST_TABLES).then(|| {
            self.tables.push(heading);
            self.tables.len() - 1
        })
    }

    fn row(&mut self, stamp: &Stamp<'_>) {
        let Some(table) = self.current.and_then(|at| self.tables.get_mut(at)) else {
            return;
        };
        let Some(values) = table.values(stamp.rest) else {
            self.cut += usize::from(!table.of_cpus);
            return;
        };
        // A clock that is set back by less than half a day is no new day.
        if table.last > stamp.seconds + 12 * 3600 {
            table.day += 1;
        }
        table.last = stamp.seconds;
        let columns = table.columns.clone();
        let key = (self.restarts, table.day, stamp.seconds);
        if let Some(row) = self.row_of(key, Some(stamp.text)) {
            self.set(row, columns, values);
        }
    }

    fn row_of(&mut self, key: (usize, usize, u32), time: Option<&str>) -> Option<usize> {
        if let Some(row) = self.rows.get(&key) {
            return Some(*row);
        }
        let row = self.series.row(time.map(Into::into), Span::Interval)?;
        self.rows.insert(key, row);
        Some(row)
    }

    fn finish(mut self) -> Option<Series> {
        if self.restarts > 0 {
            let restarts = self.restarts;
            self.series.note(format!(
                "The machine restarted {restarts} times in it (LINUX RESTART)."
            ));
        }
        if self.cut > 0 {
            let cut = self.cut;
            self.series.note(format!(
                "Rows that are cut off or damaged: {cut}; they are left out."
            ));
        }
        pages_to_kib(&mut self.series);
        halve_steals(&mut self.series);
        self.series.finish(Source::Sar, self.release)
    }
}

/// Halves what was freed where it was counted twice. Kernels from 5.8 on, and RHEL 8, count a
/// freed page as `pgsteal_kswapd` or the like and as `pgsteal_anon` or `pgsteal_file`; sysstat
/// adds up all of them until its fix of May 2026 (its issue 415). Seen in a row that freed over
/// 1.2 times what it scanned, which one sum cannot.
pub fn halve_steals(series: &mut Builder) {
    let scanned = |row| {
        let value = |item| series.value(row, item).unwrap_or(0.0);
        value(Item::ScanKswapd) + value(Item::ScanDirect)
    };
    let twice = |row: usize| {
        let stolen = series.value(row, Item::Steal).unwrap_or(0.0);
        scanned(row) > 0.0 && stolen > 1.2 * scanned(row)
    };
    if !(0..series.len()).any(twice) {
        return;
    }
    series.halve_freed();
    series.note(String::from(
        "pgsteal/s is halved: it exceeds the scans, since this sysstat adds up pgsteal_anon and \
         pgsteal_file, which are the same pages again (its issue 415); %vmeff likewise.",
    ));
}

/// Makes KiB of swapped pages, and says by which page size.
pub fn pages_to_kib(series: &mut Builder) {
    let swapped = |item: Item| matches!(item, Item::SwapIn | Item::SwapOut);
    if series.values(swapped).next().is_none() {
        return;
    }
    let levels: Vec<u64> = series
        .values(|item| item.unit() == Unit::Kib)
        .map(|level| level as u64)
        .collect();
    let page = page_kib(&levels);
    series.scale(swapped, page as f64);
    series.note(format!(
        "Swapped pages are taken as {page} KiB{}.",
        match levels.is_empty() {
            true => ", which nothing here says",
            false => ": the amounts are whole pages",
        }
    ));
}

/// KiB in a page: the largest size of which all amounts are multiples, where enough differ to
/// tell.
fn page_kib(levels: &[u64]) -> u64 {
    const ENOUGH: usize = 8;
    let mut distinct: Vec<u64> = levels.iter().copied().filter(|&level| level > 0).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let fits = |&page: &u64| distinct.iter().all(|level| level % page == 0);
    let found = [64, 16].into_iter().find(fits);
    found.filter(|_| distinct.len() >= ENOUGH).unwrap_or(4)
}

/// The release of the line that `sar` begins with: "Linux 6.1.0-13 (host) 11/25/26 ...".
fn release(line: &str) -> Option<&str> {
    let (release, rest) = line.strip_prefix("Linux ")?.split_once(' ')?;
    rest.trim_ascii_start().starts_with('(').then_some(release)
}

#[cfg(test)]
mod tests;
