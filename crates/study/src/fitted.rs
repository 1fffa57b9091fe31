//! A study on another machine: its text with the memory, CPUs, disks, swap and settings of the
//! machine at hand, and the sizes of its workload in proportion.
//!
//! The text is what changes, as a VM's guest reads it and a record keeps it. What the study's
//! author says about his own machine is left out: it would contradict the numbers.

mod disk;
mod swap;

use std::collections::BTreeMap;
use std::ops::Range;

use mm::catalogue::{self, DefaultRule};
use mm::settings::Settings;
use mm::units::{Bytes, Nanos};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::edits::{self, Edit, amount, quoted, tables};
use super::{ArmError, Study, observed};
use mm::quantity;

pub use disk::DiskKind;
pub use swap::SwapAtHand;
use swap::ZRAM_RATIO;

/// What of a machine a study takes over; what is not known stays as the study has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtHand {
    /// RAM as the firmware reports it.
    pub memory: Option<Bytes>,
    /// CPUs.
    pub cpus: Option<u32>,
    /// What the first disk is, and every one that holds swap.
    pub disk: Option<DiskKind>,
    /// Its swap.
    pub swap: Option<SwapAtHand>,
    /// Settings that hold on every arm: those that differ from the kernel's defaults.
    pub settings: Settings,
    /// Every tunable that is known, by name: the study's first arm is the machine as it is.
    pub tunables: BTreeMap<String, String>,
}

/// Before the time at which a process starts.
const AFTER: &str = "after ";
/// Keys whose sizes are of requests: they do not grow with a machine.
const OF_REQUESTS: [&str; 2] = ["block", "chunk"];
/// Keys that name arms.
const OF_ARMS: [&str; 4] = ["name", "arm", "arms", "except"];
/// Where a workload's sizes stand.
const OF_THE_WORKLOAD: [&str; 5] = ["parameters", "sweep", "arm", "cgroup", "process"];

impl Study {
    /// The study on the machine at hand. The author's answer, reasons and publication are of
    /// another machine and left out, and so is a title or question that names a size.
    ///
    /// # Errors
    /// The machine is not one that the study can be put on, such as one too small for it.
    pub fn on(&self, at_hand: &AtHand) -> Result<Self, ArmError> {
        let failed = |what: String| ArmError {
            what: format!("study {} on another machine: {what}", self.name),
            way_out: "give it a larger machine, or none".to_owned(),
        };
        if let Some(used) = self.used_beyond(at_hand) {
            return Err(failed(format!(
                "{used} of memory were used when it was recorded"
            )));
        }
        let text = fitted(self, at_hand).ok_or_else(|| failed("its text has no machine".into()))?;
        let mut study = Self::parse_with(&text, &self.file, self.recorded.clone())
            .map_err(|error| failed(error.what))?;
        (study.answer, study.publication) = (None, None);
        if speaks_of_a_size(&study.title) {
            study.title.clone_from(&study.name);
        }
        if speaks_of_a_size(&study.question) {
            study.question.clear();
        }
        for measure in &mut study.measures {
            measure.why = None;
            measure.published.clear();
        }
        let shown = &mut study.shown;
        shown.charts.iter_mut().for_each(|it| it.published = None);
        shown
            .distributions
            .iter_mut()
            .for_each(|it| it.published = None);
        Ok(study)
    }
}

/// Whether a text names an amount of memory: "a machine with 3.75 GiB".
fn speaks_of_a_size(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let unit = pair[1].trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_unit = quantity::size(&format!("1 {unit}")).is_ok();
        is_unit && pair[0].ends_with(|c: char| c.is_ascii_digit())
    })
}

fn fitted(study: &Study, at_hand: &AtHand) -> Option<String> {
    let document = DeTable::parse(&study.text).ok()?.into_inner();
    let first = study.arms.first()?;
    let memory = at_hand.memory.unwrap_or(first.machine.memory);
    let swap: u64 = first.machine.swaps.iter().map(|swap| swap.size.0).sum();
    let is_recorded = study.recorded.sha256.is_some();
    let mut edits = Edits {
        at_hand,
        is_recorded,
        // What was recorded keeps its size.
        scale: match is_recorded {
            true => (1, 1),
            false => (memory.0, first.machine.memory.0.max(1)),
        },
        swap,
        end: study.text.len(),
        made: Vec::new(),
    };
    edits.machine(document.get("machine")?.get_ref().as_table()?);
    for key in OF_THE_WORKLOAD {
        if let Some(value) = document.get(key) {
            edits.sizes(value);
        }
    }
    if let Some(arms) = document
        .get("arm")
        .and_then(|arms| arms.get_ref().as_array())
    {
        edits.first_arm(arms.first()?.get_ref().as_table()?);
    }
    edits.times(&document);
    for (key, value) in &document {
        edits.names(key.get_ref(), value);
    }
    // More work takes longer on the same disks.
    if let Some(deadline) = document.get("deadline") {
        edits.time(deadline);
    }
    let base = document
        .get("base")
        .and_then(|base| base.get_ref().as_table());
    edits.base(base);
    let base_lines = edits.base_lines();
    let text = edits::applied(&study.text, edits.made);
    Some(match base {
        Some(_) => text,
        None => format!("{}\n[base]\n{}", text.trim_end(), base_lines),
    })
}

/// What changes in the text.
struct Edits<'a> {
    at_hand: &'a AtHand,
    is_recorded: bool,
    /// New memory over old.
    scale: (u64, u64),
    /// The swap of the study's first arm, in bytes.
    swap: u64,
    /// The length of the text.
    end: usize,
    /// Places and what stands there instead.
    made: Vec<Edit>,
}

impl Edits<'_> {
    fn replace(&mut self, place: Range<usize>, with: impl Into<String>) {
        self.made.push((place, with.into()));
    }

    /// Adds a line behind the value at `place`.
    fn add_behind(&mut self, place: &Range<usize>, line: &str) {
        self.replace(place.end..place.end, format!("\n{line}"));
    }

    fn machine(&mut self, machine: &DeTable<'_>) {
        let (memory, cpus) = (machine.get("memory"), machine.get("cpus"));
        if let (Some(memory), Some(new)) = (memory, self.at_hand.memory) {
            self.replace(memory.span(), amount(new));
            self.available(machine, memory, new);
        }
        match (self.at_hand.cpus, cpus, memory) {
            (Some(new), Some(cpus), _) => self.replace(cpus.span(), new.to_string()),
            (Some(new), None, Some(memory)) => {
                self.add_behind(&memory.span(), &format!("cpus = {new}"));
            }
            _ => {}
        }
        let swaps = tables(machine, "swap");
        let of_swap: Vec<&str> = swaps.iter().filter_map(|swap| text(swap, "disk")).collect();
        for (index, disk) in tables(machine, "disk").into_iter().enumerate() {
            self.size(disk.get("size"));
            let holds_swap = text(disk, "name").is_some_and(|name| of_swap.contains(&name));
            if index == 0 || holds_swap {
                self.disk(disk);
            }
        }
        self.swaps(machine);
        for file in tables(machine, "file") {
            self.size(file.get("size"));
        }
    }

    /// What another machine has available is its own; but what a recorded one used, it uses with
    /// more memory and with less.
    fn available(&mut self, machine: &DeTable<'_>, memory: &Spanned<DeValue<'_>>, new: Bytes) {
        let Some((key, value)) = machine.get_key_value("available") else {
            return;
        };
        let size = |value: &Spanned<DeValue<'_>>| quantity::size(value.get_ref().as_str()?).ok();
        match (self.is_recorded, size(value), size(memory)) {
            (true, Some(available), Some(old)) => {
                let available = observed::available(available, old, new);
                self.replace(value.span(), amount(available));
            }
            _ => self.replace(key.span().start..value.span().end, ""),
        }
    }

    /// The disk as its kind has it. IOPS and separate bandwidths give way to what replaces them.
    fn disk(&mut self, disk: &DeTable<'_>) {
        let (Some(kind), Some(size)) = (self.at_hand.disk, disk.get("size")) else {
            return;
        };
        for (key, value) in kind.keys() {
            let quoted = match key {
                "channels" | "rotational" => value.to_owned(),
                _ => format!("\"{value}\""),
            };
            let rivals: &[&str] = match key {
                "bandwidth" => &["bandwidth", "read-bandwidth", "write-bandwidth"],
                "seek" => &["seek", "iops"],
                _ => &[key],
            };
            let there = rivals.iter().filter_map(|rival| disk.get_key_value(*rival));
            let there: Vec<Range<usize>> = there
                .map(|(key, value)| key.span().start..value.span().end)
                .collect();
            match there.split_first() {
                Some((first, others)) => {
                    self.replace(first.clone(), format!("{key} = {quoted}"));
                    others.iter().for_each(|it| self.replace(it.clone(), ""));
                }
                None => self.add_behind(&size.span(), &format!("{key} = {quoted}")),
            }
        }
    }

    fn swaps(&mut self, machine: &DeTable<'_>) {
        match self.at_hand.swap {
            Some(new) if self.is_recorded => self.other_swap(machine, new),
            _ => tables(machine, "swap")
                .into_iter()
                .for_each(|it| self.swap(it)),
        }
    }

    /// A recorded machine may have had none, and may get another kind: its tables give way to one
    /// at the end, and the disk with its files grows by what lies on it.
    fn other_swap(&mut self, machine: &DeTable<'_>, new: SwapAtHand) {
        for swap in tables(machine, "swap") {
            self.no_swap(swap);
        }
        let disks = tables(machine, "disk");
        let Some(disk) = disks.first() else { return };
        let (Some(name), Some(size)) = (text(disk, "name"), disk.get("size")) else {
            return;
        };
        if let Some(old) = size
            .get_ref()
            .as_str()
            .and_then(|it| quantity::size(it).ok())
        {
            let new = old.0.saturating_add(new.on_disk().0);
            self.replace(size.span(), amount(Bytes(new)));
        }
        self.replace(self.end..self.end, new.table(name));
    }

    /// No arm has it.
    fn no_swap(&mut self, swap: &DeTable<'_>) {
        match (swap.get("arms"), swap.get("size")) {
            (Some(arms), _) => self.replace(arms.span(), "[]"),
            (None, Some(size)) => self.add_behind(&size.span(), "arms = []"),
            (None, None) => {}
        }
    }

    fn swap(&mut self, swap: &DeTable<'_>) {
        let Some(size) = swap.get("size") else { return };
        let at_hand = match self.at_hand.swap {
            None => return self.size(Some(size)),
            Some(at_hand) => at_hand,
        };
        let old = size
            .get_ref()
            .as_str()
            .and_then(|text| quantity::size(text).ok());
        let whole = self.swap.max(1);
        let part = |all: Bytes| Bytes(old.map_or(all.0, |old| times(old.0, (all.0, whole))));
        match at_hand {
            SwapAtHand::None => self.no_swap(swap),
            SwapAtHand::Disk(all) => self.replace(size.span(), amount(part(all))),
            SwapAtHand::Zram(all) => {
                self.replace(size.span(), amount(part(all)));
                if let Some((key, disk)) = swap.get_key_value("disk") {
                    let place = key.span().start..disk.span().end;
                    self.replace(place, format!("zram-ratio = {ZRAM_RATIO}"));
                }
            }
        }
    }

    /// Every size below a value.
    fn sizes(&mut self, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::String(_) => self.size(Some(value)),
            DeValue::Array(list) => list.iter().for_each(|value| self.sizes(value)),
            DeValue::Table(table) => {
                for (key, value) in table {
                    let key = key.get_ref().as_ref();
                    let other = [&["settings"][..], &OF_REQUESTS, &OF_ARMS].concat();
                    if !other.contains(&key) {
                        self.sizes(value);
                    }
                }
            }
            _ => {}
        }
    }

    /// The names of arms that are sizes, wherever they stand, and the author's words, which name
    /// arms too.
    fn names(&mut self, key: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::String(_) if ["answer", "publication", "why"].contains(&key) => {
                self.replace(value.span(), "\"\"");
            }
            DeValue::String(text) if OF_ARMS.contains(&key) => {
                if let Some(new) = self.renamed(text) {
                    self.replace(value.span(), quoted(&new));
                }
            }
            DeValue::Array(list) => list.iter().for_each(|value| self.names(key, value)),
            DeValue::Table(table) => {
                for (inner, value) in table {
                    let new = (key == "published").then(|| self.renamed(inner.get_ref()));
                    if let Some(new) = new.flatten() {
                        self.replace(inner.span(), quoted(&new));
                    }
                    self.names(inner.get_ref(), value);
                }
            }
            _ => {}
        }
    }

    /// An arm that is called after its size has another size here.
    fn renamed(&self, name: &str) -> Option<String> {
        let old = quantity::size(name).ok()?;
        let changes = old.0 > 0 && self.scale.0 != self.scale.1;
        changes.then(|| amount(Bytes(times(old.0, self.scale))).replace('"', ""))
    }

    /// A size in proportion to the memory; what is none stays.
    fn size(&mut self, value: Option<&Spanned<DeValue<'_>>>) {
        let Some(value) = value else { return };
        let old = value
            .get_ref()
            .as_str()
            .and_then(|text| quantity::size(text).ok());
        if let Some(old) = old.filter(|old| old.0 > 0 && self.scale.0 != self.scale.1) {
            self.replace(value.span(), amount(Bytes(times(old.0, self.scale))));
        }
    }

    /// The parameters that `grows` names, wherever they get a value: what they wait for takes
    /// longer on a larger machine. On a smaller one they stay, for it is there the sooner.
    fn times(&mut self, document: &DeTable<'_>) {
        let grows = document.get("grows").and_then(|it| it.get_ref().as_array());
        let names: Vec<&str> = grows
            .into_iter()
            .flatten()
            .filter_map(|it| it.get_ref().as_str())
            .collect();
        let own = document.get("parameters").into_iter();
        let arms = tables(document, "arm")
            .into_iter()
            .filter_map(|arm| arm.get("parameters"));
        for parameters in own.chain(arms).filter_map(|it| it.get_ref().as_table()) {
            for name in &names {
                if let Some(value) = parameters.get(*name) {
                    self.time(value);
                }
            }
        }
    }

    /// A time in proportion to the memory, where that is more.
    fn time(&mut self, value: &Spanned<DeValue<'_>>) {
        let old = value
            .get_ref()
            .as_str()
            .and_then(|text| Some((text, time_in(text)?)));
        if let Some((text, old)) = old.filter(|_| self.scale.0 > self.scale.1) {
            let new = times(old.0, self.scale).min(quantity::LONGEST_TIME);
            let after = if text.starts_with(AFTER) { AFTER } else { "" };
            self.replace(value.span(), format!("\"{after}{new} ns\""));
        }
    }

    /// The first arm is the machine as it is: a tunable that it sets has the value that the machine
    /// has. Where that is not known and the kernel's default follows the memory, the kernel's own
    /// holds.
    fn first_arm(&mut self, arm: &DeTable<'_>) {
        let Some(settings) = arm.get("settings") else {
            return;
        };
        let Some(table) = settings.get_ref().as_table() else {
            return;
        };
        let mut kept = Vec::new();
        for (name, value) in table {
            let name = name.get_ref().as_ref();
            let known = self.at_hand.tunables.get(name).cloned();
            let by_memory = catalogue::find(name)
                .is_some_and(|tunable| matches!(tunable.default, DefaultRule::Rule(_)));
            let own = || match value.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                DeValue::Integer(number) => Some(number.as_str().to_owned()),
                _ => None,
            };
            let own = || own().filter(|_| !by_memory || self.at_hand.memory.is_none());
            if let Some(value) = known.or_else(own) {
                kept.push(format!("{} = {}", quoted(name), quoted(&value)));
            }
        }
        self.replace(settings.span(), format!("{{ {} }}", kept.join(", ")));
    }

    /// The settings of every arm; those that the study has give way to the machine's.
    fn base(&mut self, base: Option<&DeTable<'_>>) {
        let Some(base) = base else { return };
        let mut last = None;
        for (name, value) in base {
            let place = value.span();
            if let Some(new) = self.at_hand.settings.get(name.get_ref()) {
                self.replace(place.clone(), quoted(new));
            }
            last = last.max(Some(place.end));
        }
        let there = |name: &str| base.get(name).is_some();
        let more = self
            .at_hand
            .settings
            .0
            .iter()
            .filter(|it| !there(&it.tunable));
        let more: Vec<String> = more
            .map(|it| format!("{} = {}", quoted(&it.tunable), quoted(&it.value)))
            .collect();
        if let Some(end) = last {
            more.iter()
                .for_each(|line| self.add_behind(&(end..end), line));
        }
    }

    fn base_lines(&self) -> String {
        let lines = self.at_hand.settings.0.iter();
        lines
            .map(|it| format!("{} = {}\n", quoted(&it.tunable), quoted(&it.value)))
            .collect()
    }
}

/// The time in a parameter: "20 s", or "after 20 s", when a process starts.
pub(super) fn time_in(text: &str) -> Option<Nanos> {
    quantity::duration(text.strip_prefix(AFTER).unwrap_or(text)).ok()
}

fn text<'a>(table: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    table.get(key)?.get_ref().as_str()
}

fn times(number: u64, (new, old): (u64, u64)) -> u64 {
    let product = u128::from(number) * u128::from(new) / u128::from(old.max(1));
    u64::try_from(product)
        .unwrap_or(u64::MAX)
        .min(quantity::LARGEST_SIZE)
}

#[cfg(test)]
mod tests;
