//! What `top`, `ps`, `slabtop` and the like listed: the largest, and their sum.
//!
//! Columns are found by their headings. RES and RSS are KiB where no unit stands behind the number
//! (procps); VSZ and VIRT are address space and are not read.

use crate::share::Share;
use mm::capture::Frame;
use mm::units::{Bytes, Kib};
use schemars::JsonSchema;
use serde::Serialize;

use super::findings::Looked;
use super::page::Page;

/// Rows that are shown of a list.
const SHOWN: usize = 10;

/// Rows that are read of a list.
const MOST: usize = 100_000;

/// A list of a tool.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Listed {
    tool: &'static str,
    /// Rows of the list; in text of several rounds those of the last.
    count: usize,
    total_bytes: u64,
    largest: Vec<Listing>,
    /// Whether the list has sizes of address space alone.
    address_space_alone: bool,
}

/// A process or a slab cache.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Listing {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u64>,
    bytes: u64,
    /// Of a slab cache the objects in use, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    used_percent: Option<u64>,
}

/// A slab cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slab {
    /// Its name.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) bytes: Bytes,
    /// Objects in use, in percent.
    pub(crate) used: Option<u64>,
}

/// What the head of `top` and its rows say of the CPUs.
#[derive(Debug)]
pub(crate) struct Top {
    /// Percent of the time in which CPUs waited for a disk.
    pub(crate) io_wait: Option<f64>,
    /// Name and percent of a CPU, of the last round.
    cpu: Vec<(String, f64)>,
}

impl Top {
    /// Reads it; `None` where it has no column of CPU.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mut top = Self {
            io_wait: None,
            cpu: Vec::new(),
        };
        let mut columns: Option<(usize, usize)> = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let at = |names: &[&str]| words.iter().position(|word| names.contains(word));
            let head = at(&["%CPU"]).zip(at(&["COMMAND", "CMD"]));
            if head.is_some() {
                (columns, top.cpu) = (head, Vec::new());
            } else if line.contains("Cpu(s)") {
                top.io_wait = waits(line).or(top.io_wait);
            } else if let Some((cpu, name)) = columns {
                let percent = words.get(cpu).and_then(|word| word.parse().ok());
                let row = words
                    .get(name)
                    .zip(percent)
                    .filter(|_| top.cpu.len() < MOST);
                top.cpu
                    .extend(row.map(|(name, cpu)| ((*name).to_owned(), cpu)));
            }
        }
        columns.map(|_| top)
    }

    /// What the processes of this name take together.
    pub(crate) fn cpu_of(&self, name: &str) -> Option<f64> {
        let mut rows = self.cpu.iter().filter(|(other, _)| other.contains(name));
        let first = rows.next()?.1;
        Some(rows.fold(first, |most, (_, cpu)| most.max(*cpu)))
    }
}

/// "75.2 wa" of the head, or "75.2%wa" of an older `top`.
fn waits(line: &str) -> Option<f64> {
    let (before, _) = line.split_once("wa")?;
    let number = before
        .trim_end_matches(['%', ' '])
        .rsplit([' ', ',', ':'])
        .next()?;
    number.parse().ok()
}

/// The slab caches that slabtop or slabinfo lists, and what all caches hold together; `None` where
/// either is not told.
pub(crate) fn slab_caches(looked: &Looked<'_>) -> Option<(Vec<Slab>, Bytes)> {
    let by_tool = looked.tool("slabtop").and_then(|text| {
        let all = text.lines().find_map(slabtop_total)?;
        Some((slab_rows(text), all))
    });
    by_tool.or_else(|| slabinfo(looked.file("proc/slabinfo")?, looked))
}

/// "Active / Total Size (% used)       : 47121380.33K / 47376581.93K (99.5%)".
fn slabtop_total(line: &str) -> Option<Bytes> {
    let rest = line.trim().strip_prefix("Active / Total Size")?;
    let (_, total) = rest.rsplit_once(" / ")?;
    let kib: f64 = total.split('K').next()?.trim().parse().ok()?;
    (0.0..1e15).contains(&kib).then(|| Kib(kib as u64).bytes())
}

/// "dentry 2369308 2369325 192 21 1 : tunables 0 0 0 : slabdata 112825 112825 0". Part of a file is
/// not the sum of all.
fn slabinfo(text: &str, looked: &Looked<'_>) -> Option<(Vec<Slab>, Bytes)> {
    let whole = text.starts_with("slabinfo - version");
    let row = |line: &str| {
        let (counts, rest) = line.split_once(" : tunables ")?;
        let mut words = counts.split_ascii_whitespace();
        let name = words.next()?;
        let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let [active, objects, _, _, pages] = numbers[..] else {
            return None;
        };
        let (_, slabs) = rest.split_once("slabdata")?;
        let slabs: u64 = slabs.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(Slab {
            name: name.to_owned(),
            bytes: looked.bytes(slabs.saturating_mul(pages)),
            used: Share::of(active, objects).map(Share::percent),
        })
    };
    let rows: Vec<Slab> = text.lines().filter_map(row).take(MOST).collect();
    let sum = rows
        .iter()
        .fold(0, |sum: u64, row| sum.saturating_add(row.bytes.0));
    (whole && !rows.is_empty()).then_some((rows, Bytes(sum)))
}

impl Listing {
    /// A process by number and name, and what it holds.
    pub(crate) fn process(&self) -> Option<(u64, &str, Bytes)> {
        Some((self.pid?, &self.name, Bytes(self.bytes)))
    }
}

/// The largest processes by what is resident; `None` where no list of them tells that.
pub(crate) fn largest_processes(frame: &Frame) -> Option<Vec<Listing>> {
    let lists = lists(frame).into_iter();
    let mut lists = lists.filter(|list| ["top", "ps"].contains(&list.tool));
    let list = lists.find(|list| !list.address_space_alone)?;
    Some(list.largest)
}

/// The lists in a frame.
pub(crate) fn lists(frame: &Frame) -> Vec<Listed> {
    let text = |tool: &str| frame.file(&format!("{}{tool}", evidence::TOOLS));
    let processes = ["top", "ps"]
        .into_iter()
        .filter_map(|tool| processes(tool, text(tool)?));
    let slabs = text("slabtop").and_then(slabs);
    let tables = TABLES
        .iter()
        .filter_map(|table| Some(table.list(text(table.tool)?)));
    processes.chain(slabs).chain(tables).collect()
}

/// A table of another tool.
struct Table {
    tool: &'static str,
    /// The columns of the name and the size, and the bytes of a size without a unit.
    columns: [&'static str; 2],
    unit: u64,
    /// What the sizes are, or what the table cannot say.
    says: &'static str,
}

/// What is shown of other tools.
const TABLES: &[Table] = &[
    Table {
        tool: "systemd-cgtop",
        columns: ["CGroup", "Memory"],
        unit: 1,
        says: "Each group counts its page cache and the groups below it, so the rows do not add \
               up; / is MemTotal less MemAvailable. No limit is told: send memory.max and \
               memory.stat of the group.",
    },
    Table {
        tool: "pmap",
        columns: ["Mapping", "RSS"],
        unit: 1024,
        says: "Resident in these mappings of one process. What the machine or a control group has \
               left is not told: send /proc/meminfo.",
    },
    Table {
        tool: "ipcs",
        columns: ["shmid", "bytes"],
        unit: 1,
        says: "Sizes of System V segments; what of them is resident is in Shmem of /proc/meminfo. \
               A segment with nattch 0 has no process and stays until ipcrm -m.",
    },
    Table {
        tool: "iostat",
        columns: [""; 2],
        unit: 0,
        says: "%iowait is idle time of CPUs while a task waits for a disk, and not why it reads or \
               writes. Send vmstat 5 and /proc/pressure/{memory,io}: they would show memory \
               behind it.",
    },
];

impl Table {
    fn list(&self, text: &str) -> Listed {
        let (mut columns, mut rows) = (None, Vec::new());
        for line in text.lines() {
            let line = line.replace("Control Group", "CGroup");
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let at = |name| words.iter().position(|word| *word == name);
            if let Some(both) = at(self.columns[0]).zip(at(self.columns[1])) {
                (columns, rows) = (Some(both), Vec::new());
            } else if let Some((name, size)) = columns
                && let Some(bytes) = words.get(size).and_then(|word| self.sized(word))
                && let Some(name) = words.get(name).filter(|_| rows.len() < MOST)
                && !["total", "/"].contains(&words[0])
            {
                rows.push(Listing {
                    name: name.chars().take(60).collect(),
                    pid: None,
                    bytes,
                    used_percent: None,
                });
            }
        }
        Listed::of(self.tool, rows, false)
    }

    /// A size in bytes.
    fn sized(&self, word: &str) -> Option<u64> {
        let plain = word.parse::<u64>().ok();
        let with_unit = || amount(word).map(|bytes| bytes.0);
        plain.map_or_else(with_unit, |number| number.checked_mul(self.unit))
    }
}

/// Whether a frame holds tables of tools and nothing of the state.
pub(crate) fn are_alone(frame: &Frame) -> bool {
    let state = ["proc/meminfo", "proc/zoneinfo", "proc/vmstat"];
    let table = |path: &String| path.starts_with(evidence::TOOLS);
    frame.files.keys().any(table) && !state.iter().any(|path| frame.file(path).is_some())
}

/// Writes the section.
pub(crate) fn write(lists: &[Listed], page: &mut Page) {
    lists.iter().for_each(|list| list.write(page));
}

/// The rows of `top` or `ps`, of the last round.
fn processes(tool: &'static str, text: &str) -> Option<Listed> {
    let mut columns = None;
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(heading) = Columns::of(line) {
            columns = Some(heading);
            rows.clear();
        } else if let Some(row) = columns.as_ref().and_then(|columns| columns.row(line))
            && rows.len() < MOST
        {
            rows.push(row);
        }
    }
    let address_space_alone = columns?.resident.is_none();
    Some(Listed::of(tool, rows, address_space_alone))
}

/// Where the columns of a list stand.
#[derive(Debug)]
struct Columns {
    pid: usize,
    resident: Option<usize>,
    name: usize,
}

impl Columns {
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = |names: &[&str]| words.iter().position(|word| names.contains(word));
        Some(Self {
            pid: at(&["PID"])?,
            resident: at(&["RES", "RSS"]),
            name: at(&["COMMAND", "CMD", "COMM"])?,
        })
    }

    fn row(&self, line: &str) -> Option<Listing> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let bytes = match self.resident {
            Some(at) => amount(words.get(at)?)?,
            None => Bytes::ZERO,
        };
        let name = words.get(self.name..)?.join(" ");
        Some(Listing {
            pid: Some(words.get(self.pid)?.parse().ok()?),
            name: name.chars().take(40).collect(),
            bytes: bytes.0,
            used_percent: None,
        })
    }
}

/// KiB, or with a unit: `12`, `1.5g`, `300m`, `60240K`.
fn amount(word: &str) -> Option<Bytes> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = word.split_at(end.unwrap_or(word.len()));
    let factor = match unit {
        "" | "k" | "K" | "kB" => 1.0,
        "m" | "M" => 1024.0,
        "g" | "G" => 1024.0 * 1024.0,
        "t" | "T" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let kib = number.parse::<f64>().ok()? * factor;
    Some(Kib(kib as u64).bytes())
}

/// The rows of `slabtop` as a list.
fn slabs(text: &str) -> Option<Listed> {
    let row = |slab: Slab| Listing {
        name: slab.name,
        pid: None,
        bytes: slab.bytes.0,
        used_percent: slab.used,
    };
    let rows: Vec<Listing> = slab_rows(text).into_iter().map(row).collect();
    (!rows.is_empty()).then(|| Listed::of("slabtop", rows, false))
}

/// The rows of `slabtop`: "OBJS ACTIVE USE OBJ-SIZE SLABS OBJ/SLAB CACHE-SIZE NAME".
fn slab_rows(text: &str) -> Vec<Slab> {
    let mut rows = Vec::new();
    for line in text.lines() {
        if line.contains("OBJS") && line.contains("CACHE SIZE") {
            rows.clear();
            continue;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [_, _, usage, _, _, _, size, name, ..] = words.as_slice()
            && let Some(used) = usage.strip_suffix('%')
            && let Some(bytes) = amount(size)
            && rows.len() < MOST
        {
            rows.push(Slab {
                name: (*name).to_owned(),
                bytes,
                used: used.parse().ok().filter(|&used: &u64| used <= 100),
            });
        }
    }
    rows
}

impl Listed {
    fn of(tool: &'static str, mut rows: Vec<Listing>, address_space_alone: bool) -> Self {
        let total = rows
            .iter()
            .fold(0, |sum: u64, row| sum.saturating_add(row.bytes));
        let count = rows.len();
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        rows.truncate(SHOWN);
        Self {
            tool,
            count,
            total_bytes: total,
            largest: rows,
            address_space_alone,
        }
    }

    fn write(&self, page: &mut Page) {
        let tool = self.tool;
        page.heading(&format!("What {tool} lists"));
        if self.address_space_alone {
            let text = format!(
                "{} processes with VSZ alone, which is address space and not memory: who holds \
                 how much is not in this list. Send ps aux.",
                self.count
            );
            return page.paragraph(2, &text);
        }
        for row in self.largest.iter().filter(|row| row.bytes > 0) {
            let pid = row.pid.map(|pid| format!(" (pid {pid})"));
            let pid = pid.as_deref().unwrap_or("");
            let used = row.used_percent.map(|used| format!(", {used} % in use"));
            page.line(format!(
                "  {:>10}  {}{pid}{}",
                Bytes(row.bytes).to_string(),
                row.name,
                used.as_deref().unwrap_or("")
            ));
        }
        let (count, total) = (self.count, Bytes(self.total_bytes));
        if let Some(table) = TABLES.iter().find(|table| table.tool == tool) {
            return page.paragraph(2, table.says);
        }
        page.paragraph(
            2,
            &match tool {
                "slabtop" => format!(
                    "{total} in the {count} caches listed, in use or not; slabtop may list the \
                     largest alone."
                ),
                _ => format!(
                    "{total} resident in the {count} processes listed; pages that several share \
                     count in each, and the list may be cut. VSZ and VIRT are address space, not \
                     memory."
                ),
            },
        );
    }
}

#[cfg(test)]
mod tests;
