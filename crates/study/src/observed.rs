//! The study of a recording: the machine that was seen, and a process for each stream.

mod memory;
mod recorded;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mm::hierarchy::ancestors;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};
use toml::de::DeTable;

use super::edits::{amount, applied};
use super::fitted::{AtHand, DiskKind};
use super::{ArmError, Study};

use recorded::plain;

pub use memory::LoadMemory;
pub use recorded::{Observed, Seen, Written};
pub(super) use recorded::{observed, short};

/// How long the name of a stream may be.
const NAME: usize = 40;

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

impl Study {
    /// The same with more memory, where what is available stays as it was.
    ///
    /// # Errors
    /// Its text has no memory.
    pub fn with_memory(&self, memory: Bytes) -> Result<Self, ArmError> {
        let failed = |what: &str| ArmError {
            what: format!("study {} with {memory}: {what}", self.name),
            way_out: "give it memory in its machine".to_owned(),
        };
        let document = DeTable::parse(&self.text).map(toml::Spanned::into_inner);
        let machine = document.as_ref().ok().and_then(|it| it.get("machine"));
        let had = machine.and_then(|it| it.get_ref().as_table()?.get("memory"));
        let had = had.ok_or_else(|| failed("its machine has none"))?;
        let text = applied(&self.text, vec![(had.span(), amount(memory))]);
        let study = Self::parse_with(&text, &self.file, self.recorded.clone());
        let study = study.map_err(|error| failed(&error.what))?;
        Ok(Self {
            text: study.text,
            arms: study.arms,
            ..self.clone()
        })
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

#[cfg(test)]
mod tests;
