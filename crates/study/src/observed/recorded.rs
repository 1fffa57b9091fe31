//! How a recording was made, as its study has it: `[recorded]`.

use std::collections::BTreeMap;

use mm::units::{Bytes, Nanos};

use crate::node::Node;
use crate::recording::is_scale;
use crate::source::StudyError;

const RECORDED: &[&str] = &[
    "kernel",
    "for",
    "by",
    "lost",
    "passed-over",
    "of-unknown-groups",
    "read-in",
    "reclaimed",
    "used",
    "ages",
    "harm",
    "scale",
    "seen",
    "writers",
];

const SEEN: &[&str] = &["reads", "read", "writes", "written"];

const WRITTEN: &[&str] = &["tunable", "program", "times"];

/// The longest text about a recording, and the longest title.
const LONGEST: usize = 300;

/// What is known of how a recording was made: `[recorded]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The release of the kernel.
    pub kernel: String,
    /// For how long.
    pub time: Nanos,
    /// By which functions or tracepoint of the kernel.
    pub by: String,
    /// Events that found no place in the buffer.
    pub lost: u64,
    /// Events of tasks or on files beyond the most.
    pub passed_over: u64,
    /// Tasks whose control group is not known, or that share a stream with another group's.
    pub of_unknown_groups: u64,
    /// What the whole machine read from disks meanwhile (`pgpgin`).
    pub read_in: Bytes,
    /// What was reclaimed of the page cache before: with more memory no more was cached besides.
    pub reclaimed: Option<Bytes>,
    /// What control groups had beside the page cache, by path.
    pub used: BTreeMap<String, Bytes>,
    /// How the ages of anonymous pages were read, or why they were not; `None` in older recordings.
    pub ages: Option<String>,
    /// What tasks of the machine waited for when the recording ended itself, where it did.
    pub harm: Option<String>,
    /// How many pages one that was recorded stands for, a power of two.
    pub scale: u64,
    /// What was counted, where only a part of it is in the recording.
    pub seen: Option<Seen>,
    /// Tunables that were written meanwhile.
    pub writers: Vec<Written>,
}

/// A tunable that a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name: "vm.swappiness".
    pub tunable: String,
    /// The name of the task.
    pub program: String,
    /// How often.
    pub times: u64,
}

/// What all tasks did, as it was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Reads.
    pub reads: u64,
    /// What they asked for.
    pub read: Bytes,
    /// Writes.
    pub writes: u64,
    /// What was written.
    pub written: Bytes,
}

/// Reads `[recorded]`.
pub(crate) fn observed(node: &Node<'_>) -> Result<Observed, StudyError> {
    let table = node.table(RECORDED)?;
    Ok(Observed {
        kernel: plain(short(&table.need("kernel")?)?),
        time: table.need("for")?.some_duration()?,
        by: plain(short(&table.need("by")?)?),
        lost: table.or("lost", 0, |n| n.count(0, i64::MAX))?,
        passed_over: table.or("passed-over", 0, |n| n.count(0, i64::MAX))?,
        of_unknown_groups: table.or("of-unknown-groups", 0, |n| n.count(0, i64::MAX))?,
        read_in: table.need("read-in")?.size()?,
        reclaimed: table.maybe("reclaimed", |n| n.size())?,
        used: table.or("used", BTreeMap::new(), used)?,
        ages: table.maybe("ages", |n| short(n).map(plain))?,
        harm: table.maybe("harm", |n| short(n).map(plain))?,
        scale: table.or("scale", 1, |n| scale(n))?,
        seen: table.maybe("seen", seen)?,
        writers: table.or("writers", Vec::new(), writers)?,
    })
}

fn writers(node: &Node<'_>) -> Result<Vec<Written>, StudyError> {
    let of_one = |node: &Node<'_>| {
        let table = node.table(WRITTEN)?;
        Ok(Written {
            tunable: table.need("tunable").and_then(|it| short(&it).map(plain))?,
            program: table.need("program").and_then(|it| short(&it).map(plain))?,
            times: table.need("times")?.count(1, i64::MAX)?,
        })
    };
    node.list()?.iter().map(of_one).collect()
}

fn used(node: &Node<'_>) -> Result<BTreeMap<String, Bytes>, StudyError> {
    let entries = node.entries()?.into_iter();
    entries
        .map(|(group, size)| Ok((group, size.size()?)))
        .collect()
}

fn seen(node: &Node<'_>) -> Result<Seen, StudyError> {
    let table = node.table(SEEN)?;
    Ok(Seen {
        reads: table.need("reads")?.count(0, i64::MAX)?,
        read: table.need("read")?.size()?,
        writes: table.need("writes")?.count(0, i64::MAX)?,
        written: table.need("written")?.size()?,
    })
}

fn scale(node: &Node<'_>) -> Result<u64, StudyError> {
    let scale = node.count(1, i64::MAX)?;
    match is_scale(scale) {
        true => Ok(scale),
        false => Err(node.expected("a power of two up to 65536")),
    }
}

/// A text that is shown in a line.
pub(crate) fn short<'a>(node: &Node<'a>) -> Result<&'a str, StudyError> {
    let text = node.text()?;
    match text.len() <= LONGEST {
        true => Ok(text),
        false => {
            let what = format!("{} is longer than {LONGEST} bytes", node.place());
            Err(node.error(what, "shorten it"))
        }
    }
}

/// Without what TOML would have to escape.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .collect()
}
