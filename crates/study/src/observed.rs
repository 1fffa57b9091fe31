//! The study of a recording: the machine that was seen, and a process for each stream.

mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mm::hierarchy::ancestors;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

use super::Study;
use super::fitted::{AtHand, DiskKind};
use super::node::Node;
use super::recording::is_scale;
use super::source::StudyError;

pub use memory::LoadMemory;

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

/// How long the name of a stream may be.
const NAME: usize = 40;

/// The longest text about a recording, and the longest title.
const LONGEST: usize = 300;

/// How processes are called that read what was cached.
pub const CACHED: &str = "0 cached before";

/// Below a group that has groups below it: its own tasks, as version 2 wants them. Version 1 has a
/// file of this name in each group.
const OWN: &str = "tasks";

/// The process that begins and ends a run.
const ALL: &str = "all";

/// The longest streams, whose times are measures.
const MEASURED: usize = 3;

/// Room on the disk for files that grow.
const ROOM: u64 = 1 << 30;

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

/// A load that was seen.
#[derive(Clone, Debug)]
pub struct Load<'a> {
    /// The name of its study: lower-case letters, digits and hyphens.
    pub name: &'a str,
    /// The machine.
    pub at_hand: &'a AtHand,
    /// What the machine had available when the recording began, and what `memory` was then.
    pub available: Bytes,
    /// How long a read request took on average, and its bytes; `None` where there were too few.
    pub request: Option<(Nanos, Bytes)>,
    /// How it was recorded.
    pub observed: &'a Observed,
    /// The runs of stream 0, which are what was cached when it began: which group read them, and
    /// how many.
    pub cached_by: &'a [(String, u64)],
    /// The streams from 1 on.
    pub streams: &'a [LoadStream],
    /// Anonymous memory whose ages are known.
    pub memory: &'a [LoadMemory],
    /// For how long the model uses it before the run begins, so that it is old or young then.
    pub settles: Nanos,
    /// The size of all files.
    pub files: Bytes,
    /// What was written.
    pub written: Bytes,
}

/// What a task did in a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStream {
    /// Its program.
    pub program: String,
    /// The path of its control group, empty for the root.
    pub group: String,
    /// How many runs it has.
    pub runs: u64,
}

/// Reads `[recorded]`.
pub(super) fn observed(node: &Node<'_>) -> Result<Observed, StudyError> {
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
pub(super) fn short<'a>(node: &Node<'a>) -> Result<&'a str, StudyError> {
    let text = node.text()?;
    match text.len() <= LONGEST {
        true => Ok(text),
        false => {
            let what = format!("{} is longer than {LONGEST} bytes", node.place());
            Err(node.error(what, "shorten it"))
        }
    }
}

impl Load<'_> {
    /// The text of the study.
    #[must_use]
    pub fn text(&self) -> String {
        let names: Vec<String> = (1..).zip(self.streams).map(name).collect();
        let groups = self.groups();
        let parts = [
            self.head(),
            self.machine(),
            self.settings(),
            "[[arm]]\nname = \"as recorded\"\n".to_owned(),
            groups
                .iter()
                .map(|path| format!("[[cgroup]]\npath = {}\n\n", quoted(path)))
                .collect(),
            memory::processes(self.memory, (self.observed.time, ALL), &|it| {
                placed(it, &groups)
            }),
            self.all(&names),
            self.cached(&groups),
            self.processes(&names, &groups),
            self.measures(&names),
        ];
        parts.join("\n")
    }

    fn head(&self) -> String {
        let observed = self.observed;
        let said = [("ages", &observed.ages), ("harm", &observed.harm)];
        let said = said
            .iter()
            .filter_map(|(key, it)| Some((key, it.as_ref()?)));
        let mut more: String = said
            .map(|(key, it)| format!("{key} = {:?}\n", plain(it)))
            .collect();
        if let Some(reclaimed) = observed.reclaimed {
            let _ = writeln!(more, "reclaimed = \"{} KiB\"", reclaimed.0 >> 10);
        }
        if observed.scale > 1 {
            let _ = writeln!(more, "scale = {}", observed.scale);
        }
        if let Some(seen) = &observed.seen {
            let _ = writeln!(
                more,
                "seen = {{ reads = {}, read = \"{} KiB\", writes = {}, written = \"{} KiB\" }}",
                seen.reads,
                seen.read.0 >> 10,
                seen.writes,
                seen.written.0 >> 10
            );
        }
        for it in &observed.writers {
            let _ = writeln!(
                more,
                "[[recorded.writers]]\ntunable = {:?}\nprogram = {:?}\ntimes = {}",
                plain(&it.tunable),
                plain(&it.program),
                it.times
            );
        }
        format!(
            "name = \"{}\"\n\
             title = \"A load that was recorded\"\n\
             question = \"What does this load do on another machine, or with other settings?\"\n\
             \n\
             [recorded]\n\
             kernel = {:?}\n\
             for = \"{} ms\"\n\
             by = {:?}\n\
             lost = {}\n\
             passed-over = {}\n\
             of-unknown-groups = {}\n\
             read-in = \"{} KiB\"\n\
             {more}{}",
            self.name,
            plain(&observed.kernel),
            (observed.time.0 / 1_000_000).max(1),
            plain(&observed.by),
            observed.lost,
            observed.passed_over,
            observed.of_unknown_groups,
            observed.read_in.0 >> 10,
            self.used(),
        )
    }

    /// The names of groups are keys, which a table writes as TOML wants them.
    fn used(&self) -> String {
        let used = self.observed.used.iter();
        let size = |size: &Bytes| toml::Value::String(format!("{} KiB", size.0 >> 10));
        let used: toml::Table = used.map(|(group, it)| (group.clone(), size(it))).collect();
        match used.is_empty() {
            true => String::new(),
            false => format!("\n[recorded.used]\n{used}"),
        }
    }

    /// The groups of all tasks and those above them, parents first.
    fn groups(&self) -> BTreeSet<String> {
        let of_streams = self.streams.iter().map(|stream| &stream.group);
        let named: BTreeSet<&String> = of_streams
            .chain(self.cached_by.iter().map(|(group, _)| group))
            .chain(self.memory.iter().map(|memory| &memory.group))
            .collect();
        let above = named.iter().flat_map(|path| ancestors(path));
        let parents: BTreeSet<&str> = above.filter(|path| !path.is_empty()).collect();
        let own = named.iter().filter(|path| parents.contains(path.as_str()));
        let own: Vec<String> = own.map(|path| format!("{path}/{OWN}")).collect();
        let named = named.iter().map(|path| path.as_str());
        let named = named.filter(|path| !path.is_empty());
        named
            .chain(parents.iter().copied())
            .map(str::to_owned)
            .chain(own)
            .collect()
    }

    fn machine(&self) -> String {
        let mut text = "[machine]\n".to_owned();
        let memory = self.at_hand.memory.unwrap_or(self.available);
        let _ = writeln!(text, "memory = \"{} MiB\"", memory.0 >> 20);
        if let Some(cpus) = self.at_hand.cpus {
            let _ = writeln!(text, "cpus = {cpus}");
        }
        let _ = writeln!(text, "available = \"{} KiB\"", self.available.0 >> 10);
        text += "recorded-files = \"disk\"\n\n[[machine.disk]]\nname = \"disk\"\n";
        // A file may be written to more than once, so this is the most that it can grow.
        let size = self.files.0.saturating_add(self.files.0 / 8);
        let size = size.saturating_add(self.written.0).saturating_add(ROOM);
        let swap = self.at_hand.swap.filter(|_| !self.memory.is_empty());
        let size = size.saturating_add(swap.map_or(0, |it| it.on_disk().0));
        let _ = writeln!(text, "size = \"{} MiB\"", size >> 20);
        let kind = self.at_hand.disk.unwrap_or(DiskKind::Ssd);
        let latency = self.request.and_then(|request| kind.latency(request));
        for (key, value) in kind.keys() {
            let value = match (key, latency) {
                ("latency", Some(latency)) => format!("\"{} ns\"", latency.0),
                ("channels" | "rotational", _) => value.to_owned(),
                _ => format!("\"{value}\""),
            };
            let _ = writeln!(text, "{key} = {value}");
        }
        text + &memory::swap(swap, "disk")
    }

    fn settings(&self) -> String {
        let settings = &self.at_hand.settings.0;
        let line = |it: &Setting| format!("{:?} = {:?}\n", it.tunable, plain(&it.value));
        match settings.is_empty() {
            true => String::new(),
            false => format!("[base]\n{}", settings.iter().map(line).collect::<String>()),
        }
    }

    /// The process that begins and ends the run. What was cached is read before.
    fn all(&self, names: &[String]) -> String {
        let of = |verb: &str| -> String {
            let lines = names.iter();
            lines
                .map(|name| format!("  {{ {verb} = \"{name}\" }},\n"))
                .collect()
        };
        let cached = (1..=self.cached_by.len()).map(cached_name);
        let cached: String = cached
            .map(|name| format!("  {{ start = \"{name}\" }},\n  {{ wait = \"{name}\" }},\n"))
            .collect();
        let (before, during, after) = self.around_memory();
        format!(
            "[[process]]\nname = \"{ALL}\"\n{before}{cached}{}  {{ snapshot = \"begin\" }},\n\
             {}{}{}  {{ snapshot = \"end\" }},\n{after}]\n",
            during[0],
            of("start"),
            during[1],
            of("wait")
        )
    }

    /// How the process begins where there is memory, which is there first; what it waits for
    /// before and in the run, so that it lasts as long as the recording; and how it ends.
    fn around_memory(&self) -> (&str, [String; 2], String) {
        if self.memory.is_empty() {
            return (
                "steps = [\n  { apply = \"arm\" },\n",
                Default::default(),
                String::new(),
            );
        }
        let sleep = |time: Nanos| format!("  {{ sleep = \"{} ms\" }},\n", time.0 / 1_000_000);
        let ends = (1..=self.memory.len()).map(memory::name);
        (
            "start = \"on demand\"\nsteps = [\n",
            [sleep(self.settles), sleep(self.observed.time)],
            ends.map(|it| format!("  {{ kill = \"{it}\" }},\n"))
                .collect(),
        )
    }

    /// What was cached is read by the group that used it, to which it is charged then.
    fn cached(&self, groups: &BTreeSet<String>) -> String {
        let mut skip = 0;
        let process = |(number, (group, runs)): (usize, &(String, u64))| {
            let access = format!("{{ recorded = 0, skip = {skip}, runs = {runs} }}");
            skip += runs;
            process(&cached_name(number), &placed(group, groups), &access)
        };
        (1..).zip(self.cached_by).map(process).collect()
    }

    fn processes(&self, names: &[String], groups: &BTreeSet<String>) -> String {
        let all = (1..).zip(names).zip(self.streams);
        all.map(|((number, name), stream)| {
            let access = format!("{{ recorded = {number} }}");
            process(name, &placed(&stream.group, groups), &access)
        })
        .collect()
    }

    fn measures(&self, names: &[String]) -> String {
        let mut longest: Vec<usize> = (0..names.len()).collect();
        longest.sort_by_key(|&at| std::cmp::Reverse(self.streams[at].runs));
        let times = longest.iter().take(MEASURED).map(|&at| {
            format!(
                "[[measure]]\nname = \"time of {0}\"\nstep = \"{0}\"\ntake = \"duration\"\n\
                 better = \"lower\"\n\n",
                names[at]
            )
        });
        format!(
            "[[measure]]\nname = \"{READ_IN}\"\nbetween = [\"begin\", \"end\"]\n\
             vmstat = \"pgpgin\"\nunit = \"kB\"\nbetter = \"lower\"\n\n{}",
            times.collect::<String>()
        ) + match self.memory.is_empty() {
            true => "",
            false => memory::MEASURES,
        }
    }
}

/// Of more memory the kernel takes a part for itself: `struct page` is 1/64, and watermarks and
/// reserves are about as much.
const OF_KERNEL: u64 = 32;

/// What is available with other memory, where what processes used stays used.
pub(super) fn available(available: Bytes, old: Bytes, new: Bytes) -> Bytes {
    let part = |bytes: u64| bytes - bytes / OF_KERNEL;
    Bytes(match new.0.checked_sub(old.0) {
        Some(more) => available.0.saturating_add(part(more)),
        None => available.0.saturating_sub(part(old.0 - new.0)),
    })
}

impl Study {
    /// What was used when it was recorded, where that is all that the machine has.
    pub(super) fn used_beyond(&self, at_hand: &AtHand) -> Option<Bytes> {
        let machine = &self.arms.first()?.machine;
        let (had, new) = (machine.available?, at_hand.memory?);
        let used = Bytes(machine.memory.0.saturating_sub(had.0));
        let left = available(had, machine.memory, new);
        (self.recorded.sha256.is_some() && left.0 == 0).then_some(used)
    }
}

/// The measure that a recording knows of itself.
pub const READ_IN: &str = "read from disk";

fn process(name: &str, group: &str, access: &str) -> String {
    format!(
        "[[process]]\nname = \"{name}\"\nstart = \"on demand\"\n{group}\
         steps = [{{ label = \"{name}\", access = {access} }}]\n\n"
    )
}

/// The key that places a process in its group; none for the root.
fn placed(group: &str, groups: &BTreeSet<String>) -> String {
    let own = format!("{group}/{OWN}");
    match group {
        "" => String::new(),
        _ if groups.contains(&own) => format!("cgroup = {}\n", quoted(&own)),
        _ => format!("cgroup = {}\n", quoted(group)),
    }
}

fn cached_name(number: usize) -> String {
    match number {
        1 => CACHED.to_owned(),
        _ => format!("{CACHED} {number}"),
    }
}

/// "2 sqlite3": other streams may be called alike.
fn name((number, stream): (usize, &LoadStream)) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.:+".contains(*c);
    let kept: String = stream.program.chars().filter(is_plain).take(NAME).collect();
    format!("{number} {kept}").trim().to_owned()
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Without what TOML would have to escape.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .collect()
}

#[cfg(test)]
mod tests;
