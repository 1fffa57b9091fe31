//! A recording as text for people.

use look::share::percent;
use mm::text::{counted, lasting};
use mm::units::{Bytes, Nanos};

use super::data::{Document, Figures, Group, Memory, SAVED, Size};
use crate::columns::{Column, Columns, Line};
use crate::results::wrapped;
use crate::table::Table;
use crate::term::{bold, dim};

/// Groups, and programs of each, on the first screen.
const GROUPS: usize = 6;
const PROGRAMS: usize = 3;

/// Characters of a name.
const NAME: usize = 17;

/// The page.
pub(super) fn text(document: &Document, all: bool, width: usize) -> String {
    let limits = match all {
        true => (usize::MAX, usize::MAX),
        false => (GROUPS, PROGRAMS),
    };
    [
        head(document, width),
        who(document, limits, width),
        memory(document, width),
        over_time(document, width),
        written_tunables(document, width),
        missing(document, width),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect::<Vec<_>>()
    .join("\n")
}

fn head(document: &Document, width: usize) -> String {
    let time = lasting(Nanos((document.seconds * 1e9) as u64));
    let Document {
        recording,
        kernel,
        by,
        ..
    } = document;
    let first = wrapped(&format!("{recording}: {time} on Linux {kernel}"), width);
    let machine = format!(
        "recorded at {by}; {} of memory, {} available when it began, {}; {} read from disks",
        Bytes(document.memory_bytes),
        Bytes(document.available_bytes),
        counted(document.cpus, "CPU"),
        Bytes(document.read_from_disks_bytes),
    );
    format!(
        "{}\n{}",
        bold(first.trim_end()),
        dim(wrapped(&machine, width))
    )
}

/// A line for each group, and one for each of its programs where it has several.
fn who(document: &Document, (groups, programs): (usize, usize), width: usize) -> String {
    if document.groups.is_empty() {
        return "no task read or wrote a file through the page cache\n".to_owned();
    }
    let mut lines = Vec::new();
    for group in document.groups.iter().take(groups) {
        lines.push((last_of(&group.path), &group.all, about(group, programs)));
        let several = group.programs.iter().take(programs);
        for program in several.filter(|_| group.programs.len() > 1) {
            lines.push((format!("  {}", program.name), &program.all, String::new()));
        }
    }
    let left = document.groups.len().saturating_sub(groups);
    let rest = match left {
        0 => String::new(),
        _ => format!(
            "and {}: --all lists them\n",
            counted(left as u64, "more group")
        ),
    };
    columns(lines).to_text(width) + &rest
}

fn columns(lines: Vec<(String, &Figures, String)>) -> Columns {
    let column = |head: &str, number: &dyn Fn(&Figures) -> String| Column {
        head: head.to_owned(),
        parts: &[],
        numbers: lines.iter().map(|it| vec![number(it.1)]).collect(),
    };
    let has_writes = lines.iter().any(|it| it.1.writes > 0);
    let mut columns = vec![
        column("reads", &|it| short(it.reads)),
        column("read", &|it| Bytes(it.read_bytes).to_string()),
    ];
    if has_writes {
        columns.push(column("writes", &|it| short(it.writes)));
        columns.push(column("written", &|it| Bytes(it.written_bytes).to_string()));
    }
    columns.push(column("distinct", &|it| {
        Bytes(it.distinct_bytes).to_string()
    }));
    columns.push(column("cached", &|it| {
        let cached = it.cached_before_bytes.filter(|_| it.distinct_bytes > 0);
        cached.map_or_else(String::new, |cached| percent(cached, it.distinct_bytes))
    }));
    columns.push(column("in order", &|it| match it.read_bytes {
        0 => String::new(),
        read => percent(it.in_order_bytes, read),
    }));
    let lines = lines.iter().map(|(name, _, words)| Line {
        name: name.chars().take(NAME).collect(),
        words: words.clone(),
    });
    Columns {
        corner: "group, program".to_owned(),
        lines: lines.collect(),
        columns,
    }
}

/// The group's own name.
fn last_of(path: &str) -> String {
    match path.rsplit('/').next() {
        None | Some("") => "/".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// What a group is, and how much page cache it needs.
fn about(group: &Group, programs: usize) -> String {
    let path = match group.path.as_str() {
        "" => "in no group, or in one that is not known",
        path => path,
    };
    let running = match &group.programs[..] {
        [one] => format!(": {}", one.name),
        more if more.len() > programs => format!(": {} programs", more.len()),
        _ => String::new(),
    };
    match group.memory.enough_bytes {
        Some(bytes) => format!("{path}{running}; {SAVED} % saved with {}", Bytes(bytes)),
        None => format!("{path}{running}; reads nothing twice"),
    }
}

fn memory(document: &Document, width: usize) -> String {
    let Memory {
        sizes,
        enough_bytes,
    } = &document.memory;
    let head = ["page cache", "read from disk", "misses"];
    let mut table = Table::new(head.map(Into::into).into());
    for size in sizes {
        let Size {
            of_available,
            page_cache_bytes,
            read_from_disk_bytes,
            miss_ratio,
        } = size;
        table.row(vec![
            format!("{} ({of_available} of available)", Bytes(*page_cache_bytes)).into(),
            Bytes(*read_from_disk_bytes).into(),
            format!("{:.1} %", miss_ratio * 100.0).into(),
        ]);
    }
    let sampled = match document.one_in {
        1 => String::new(),
        many => format!(" One page in {many} was looked at."),
    };
    let knee = match enough_bytes {
        Some(bytes) => format!(
            "With {} of page cache {SAVED} % of what more could save is saved (by LRU).{sampled}",
            Bytes(*bytes)
        ),
        None => format!("Nothing is read twice, so more memory saves nothing.{sampled}"),
    };
    table.to_text(width) + &wrapped(&knee, width)
}

/// What was read and written in each tenth of the time.
fn over_time(document: &Document, width: usize) -> String {
    let Figures { tenths, writes, .. } = &document.all;
    let amounts = tenths
        .iter()
        .flat_map(|it| [it.read_bytes, it.written_bytes]);
    let (shift, unit) = match amounts.max().unwrap_or(0) {
        0..0xa0_0000 => (10, "KiB"),
        0xa0_0000..0x2_8000_0000 => (20, "MiB"),
        _ => (30, "GiB"),
    };
    let amount = |bytes: u64| (bytes >> shift).to_string();
    let column = tenths.iter().map(|it| Column {
        head: match document.seconds < 20.0 {
            true => format!("{:.1} s", it.from_seconds),
            false => format!("{:.0} s", it.from_seconds),
        },
        parts: &[],
        numbers: [it.read_bytes, it.written_bytes, it.distinct_bytes]
            .into_iter()
            .enumerate()
            .filter(|(place, _)| *writes > 0 || *place != 1)
            .map(|(_, bytes)| vec![amount(bytes)])
            .collect(),
    });
    let names = ["read", "written", "distinct"].into_iter();
    let names = names.filter(|name| *writes > 0 || *name != "written");
    let columns = Columns {
        corner: format!("{unit}, from"),
        lines: names
            .map(|name| Line {
                name: name.to_owned(),
                words: String::new(),
            })
            .collect(),
        columns: column.collect(),
    };
    columns.to_text(width)
}

/// Settings that did not stay as they were when it began.
fn written_tunables(document: &Document, width: usize) -> String {
    let written = document.written_tunables.iter();
    let lines: Vec<String> = written
        .map(|it| {
            let times = counted(it.times, "time");
            format!("{} by {}, {times}", it.tunable, it.program)
        })
        .collect();
    match lines.is_empty() {
        true => String::new(),
        false => below("Tunables that were written meanwhile", &lines, width),
    }
}

fn missing(document: &Document, width: usize) -> String {
    below("Not in it", &document.missing, width)
}

/// Lines below a title.
fn below(title: &str, lines: &[String], width: usize) -> String {
    let lines = lines.iter().map(|line| {
        let line = wrapped(line, width.saturating_sub(2));
        line.lines()
            .map(|line| format!("  {line}\n"))
            .collect::<String>()
    });
    format!("{}\n{}", bold(title), lines.collect::<String>())
}

/// "9999", "12k", "34M".
fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}
