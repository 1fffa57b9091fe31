//! The events of a log: messages that belong together, in the log's order.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::joined::{behind_stamp, joined};
use super::line::{Line, Origin, Source};
use super::linux_2_4;
use super::message::{
    Kind, container_limit, goes_on, is_bare_node, is_piece, is_row, kind, tells_oom,
};
use super::prefix::{common, strip};
use super::slab;
use super::user_space::Killer;
use crate::mail;
use crate::units::Nanos;

/// Messages in a row that do not belong to a report, after which it is over: a call trace is
/// shorter.
const FOREIGN: usize = 150;
/// Messages behind the kill that still count as the report's.
const AFTER_KILL: usize = 30;
/// The longest message that broken lines are put together to.
const LONGEST_MESSAGE: usize = 16 << 10;
/// The longest report: 40 000 rows of processes.
const LONGEST_REPORT: usize = 4 << 20;
/// Reports in one log; further ones are counted.
const MOST_EVENTS: usize = 20_000;
/// Text of all reports; beyond it the rows of processes are left out.
const MOST_TEXT: usize = 48 << 20;
/// Reports that may be open at once: of several hosts, or of tasks that print at the same time.
const MOST_OPEN: usize = 16;
/// Messages that stand in one line.
const MOST_JOINED: usize = 64;
/// Messages of one kind that stand together in one event.
const TOGETHER: usize = 200;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// What begins its label.
    pub(super) label: &'static str,
    /// When.
    pub(super) at: Nanos,
    /// Its messages, a line each.
    pub(super) text: String,
}

/// The events of a text, and how many more there were than are kept.
pub(super) fn events(text: &str) -> (Vec<Event>, usize) {
    let mut log = Log::default();
    let before = common(text);
    for (_, line) in mail::lines(text) {
        let mut line = strip(line.strip_prefix(before).unwrap_or(&line));
        if let Some(origin) = log.only_other(&line.origin) {
            line.origin = origin;
        }
        for part in line.text.split('\n').flat_map(|part| part.split("#012")) {
            log.messages(&line, part.trim_ascii());
        }
    }
    log.finish()
}

/// A report whose end was not seen yet.
#[derive(Debug, Default)]
struct Open {
    label: &'static str,
    at: Nanos,
    text: String,
    /// Where the last message begins.
    last: usize,
    foreign: usize,
    chosen: bool,
    killed: bool,
    /// Whether a message says that the OOM killer ran.
    oom: bool,
    group_kill: bool,
    messages: usize,
    /// Its place among the events.
    number: usize,
}

/// A log with several hosts has a report open for each, and for each task or CPU that prints one.
#[derive(Debug, Default)]
struct Log {
    open: BTreeMap<Origin, Open>,
    done: Vec<(usize, Event)>,
    begun: usize,
    text: usize,
    left_out: usize,
}

impl Log {
    /// The origin of the only open report, where either it or the line names none: the first line
    /// of a paste and broken lines often lack what stands before the others.
    fn only_other(&self, origin: &Origin) -> Option<Origin> {
        let only = self.open.keys().next().filter(|_| self.open.len() == 1)?;
        let unnamed = origin.is_unknown() || only.is_unknown();
        (unnamed && only != origin).then(|| only.clone())
    }

    /// The messages of a line: where a CPU ended its own without a newline, another stands behind.
    fn messages(&mut self, line: &Line<'_>, text: &str) {
        let mut line = line.without_text();
        let mut text = text;
        for _ in 0..MOST_JOINED {
            let Some((first, rest)) = joined(text) else {
                break;
            };
            self.message(&line, first);
            let (origin, message) = behind_stamp(rest);
            if !origin.is_unknown() {
                line.origin = origin;
            }
            text = message;
        }
        self.message(&line, text);
    }

    fn message(&mut self, line: &Line<'_>, text: &str) {
        if text.is_empty() {
            return;
        }
        let program = match &line.source {
            Source::Program(name) => name.as_str(),
            _ => "",
        };
        if program.is_empty() && is_row(text) {
            return self.body(line, text); // most lines of a long log
        }
        let text = choice_within(text);
        if kind(text) == Kind::Container {
            return self.gather("container", line, text);
        }
        if self.goes_on_with_container(text) {
            return self.gather("container", line, text);
        }
        if let Some(killer) = Killer::of(program, text) {
            return self.by_a_program(line, killer, text);
        }
        if !program.is_empty() {
            return;
        }
        match kind(text) {
            Kind::OomHead => self.begin("oom", line, text),
            Kind::FailureHead if linux_2_4::order(text).is_some() => {
                self.gather("allocation-failure", line, text);
            }
            Kind::FailureHead => self.begin("allocation-failure", line, text),
            Kind::Killed if linux_2_4::victim(text).is_some() => self.kill_of_2_4(line, text),
            Kind::StallHead => self.begin("allocation-stall", line, text),
            Kind::VmallocHead => self.begin("vmalloc-failure", line, text),
            Kind::DumpHead => self.begin("memory-dump", line, text),
            Kind::SlabHead if !self.open.contains_key(&line.origin) => {
                self.gather("slab-failure", line, text);
            }
            kind @ (Kind::Chosen | Kind::Killed) => self.kill(kind, line, text),
            Kind::Overcommit => self.gather("overcommit", line, text),
            Kind::Hung => self.gather("hung-task", line, text),
            Kind::Lockup => self.gather("lockup", line, text),
            Kind::Cma => self.gather("cma-failure", line, text),
            Kind::Fork => self.single("fork-refusal", line, text),
            Kind::Container => self.gather("container", line, text),
            Kind::Trace => self.trace(line, text),
            Kind::Body if self.goes_on_with_slab(line, text) => {
                self.gather("slab-failure", line, text);
            }
            Kind::SlabHead | Kind::Body => self.body(line, text),
            Kind::Other => self.other(line, text),
        }
    }

    /// Whether a line tells more of the cache that could not grow.
    fn goes_on_with_slab(&self, line: &Line<'_>, text: &str) -> bool {
        let last = self.done.last().map(|(_, event)| event.label);
        let alone = !self.open.contains_key(&line.origin);
        alone && last == Some("slab-failure") && slab::is_line(text)
    }

    /// Writes a program's message as its own event, with the name before it.
    fn by_a_program(&mut self, line: &Line<'_>, killer: Killer, text: &str) {
        let label = match killer {
            Killer::Exit137 => "exit-137",
            _ => "user-space-kill",
        };
        let named = text.starts_with(killer.name()) || killer == Killer::Exit137;
        let text = match named {
            true => text.to_owned(),
            false => alloc::format!("{}: {text}", killer.name()),
        };
        self.single(label, line, &text);
    }

    /// Whether a line of a container's description belongs to the end that was told before it: its
    /// exit code once, and its limit.
    fn goes_on_with_container(&self, text: &str) -> bool {
        let event = self.done.last().filter(|_| self.open.is_empty());
        let Some((_, event)) = event.filter(|(_, event)| event.label == "container") else {
            return false;
        };
        let exit = Killer::of("", text) == Some(Killer::Exit137) && !event.text.contains("137");
        exit || container_limit(text).is_some()
    }

    fn trace(&mut self, line: &Line<'_>, text: &str) {
        if let Some(open) = self.open.get_mut(&line.origin) {
            open.push(text);
            open.foreign += 1;
        }
    }

    fn single(&mut self, label: &'static str, line: &Line<'_>, text: &str) {
        let number = self.number();
        self.keep(number, label, line.at, text.to_owned());
    }

    /// Adds to the event before, where that is of the same kind and no report is open.
    fn gather(&mut self, label: &'static str, line: &Line<'_>, text: &str) {
        let open = self.open.is_empty();
        let before = self
            .done
            .last_mut()
            .filter(|(_, event)| open && event.label == label);
        match before {
            Some((_, event)) if event.text.len() < TOGETHER * 100 => {
                event.text.push('\n');
                event.text.push_str(text);
            }
            Some(_) => self.left_out += 1,
            None => self.single(label, line, text),
        }
    }

    /// 2.4 kills the task whose page fault got no page, and says that behind the failure.
    fn kill_of_2_4(&mut self, line: &Line<'_>, text: &str) {
        let failed = self.done.last_mut().filter(|(_, event)| {
            let last = event.text.lines().next_back().and_then(linux_2_4::order);
            last.is_some() && event.label == "allocation-failure"
        });
        match failed.filter(|_| self.open.is_empty()) {
            Some((_, event)) => {
                event.label = "oom";
                event.text.push('\n');
                event.text.push_str(text);
            }
            None => self.single("oom", line, text),
        }
    }

    fn begin(&mut self, label: &'static str, line: &Line<'_>, text: &str) {
        self.close(&line.origin);
        let oldest = self.open.iter().min_by_key(|(_, open)| open.number);
        if self.open.len() >= MOST_OPEN
            && let Some(origin) = oldest.map(|(origin, _)| origin.clone())
        {
            self.close(&origin);
        }
        let number = self.number();
        let mut open = Open {
            label,
            at: line.at,
            number,
            ..Open::default()
        };
        open.push(text);
        self.open.insert(line.origin.clone(), open);
    }

    fn number(&mut self) -> usize {
        self.begun += 1;
        self.begun
    }

    /// The choice or the kill: part of the report that is open, or an event whose report is lost.
    fn kill(&mut self, kind: Kind, line: &Line<'_>, text: &str) {
        let belongs = self.open.get(&line.origin).is_some_and(|open| {
            let next = match kind {
                Kind::Chosen => open.chosen || open.killed,
                _ => open.killed,
            };
            open.label == "oom" && (!next || open.group_kill)
        });
        if !belongs {
            self.begin("oom", line, text);
        }
        if let Some(open) = self.open.get_mut(&line.origin) {
            if belongs {
                open.push(text);
            }
            open.chosen |= kind == Kind::Chosen;
            open.killed |= text.contains("Killed process");
            open.foreign = 0;
        }
    }

    /// A part of a report; without an open one it is the rest of a report whose beginning is lost.
    fn body(&mut self, line: &Line<'_>, text: &str) {
        if !self.open.contains_key(&line.origin) {
            if !begins_a_rest(text) {
                return;
            }
            return self.begin("oom", line, text);
        }
        let full = self.text > MOST_TEXT;
        let Some(open) = self.open.get_mut(&line.origin) else {
            return;
        };
        if open.killed && begins_a_rest(text) {
            return self.begin("oom", line, text);
        }
        open.group_kill |= text.starts_with("Tasks in /");
        open.foreign = 0;
        if is_bare_node(open.last()) && !text.starts_with("Node ") {
            open.append(text);
        } else if !(full && is_row(text)) {
            open.push(text);
        }
    }

    /// The rest of a broken line, or another message.
    fn other(&mut self, line: &Line<'_>, text: &str) {
        let Some(open) = self.open.get_mut(&line.origin) else {
            return self.foreign(&line.origin.host);
        };
        let broken = !line.prefixed && goes_on(open.last(), text);
        if broken || is_piece(open.last(), text) {
            open.append(text);
            return;
        }
        if is_bare_node(text) {
            open.push(text);
            return;
        }
        if text.starts_with("CPU:") || text.contains("Comm:") || text.contains(" #") {
            open.push(text);
        }
        self.foreign(&line.origin.host);
    }

    /// Counts a message that belongs to no report; after many the reports of its host are over.
    fn foreign(&mut self, host: &str) {
        let mut over = Vec::new();
        for (origin, open) in self
            .open
            .iter_mut()
            .filter(|(origin, _)| origin.host == host)
        {
            open.foreign += 1;
            let most = if open.killed { AFTER_KILL } else { FOREIGN };
            if open.foreign > most {
                over.push(origin.clone());
            }
        }
        over.iter().for_each(|origin| self.close(origin));
    }

    fn close(&mut self, origin: &Origin) {
        if let Some(open) = self.open.remove(origin) {
            let label = match open.label {
                "oom" if !open.oom => "memory-dump",
                label => label,
            };
            self.keep(open.number, label, open.at, open.text);
        }
    }

    fn keep(&mut self, number: usize, label: &'static str, at: Nanos, text: String) {
        if self.done.len() >= MOST_EVENTS {
            self.left_out += 1;
            return;
        }
        self.text += text.len();
        self.done.push((number, Event { label, at, text }));
    }

    fn finish(mut self) -> (Vec<Event>, usize) {
        let origins: Vec<Origin> = self.open.keys().cloned().collect();
        origins.iter().for_each(|origin| self.close(origin));
        self.done.sort_by_key(|(number, _)| *number);
        let events = self.done.into_iter().map(|(_, event)| event).collect();
        (events, self.left_out)
    }
}

/// The kernel's words within what an orchestrator or a heading says before them, as in
/// "Warning OOMKilling Memory cgroup out of memory: Kill process 12 (x)".
fn choice_within(text: &str) -> &str {
    const CHOICES: [&str; 2] = ["Memory cgroup out of memory: Kill", "Out of memory: Kill"];
    let of_process = |at: &usize| {
        let pid = text[*at..].split_once("process ").map(|(_, pid)| pid);
        pid.is_some_and(|pid| pid.starts_with(|c: char| c.is_ascii_digit()))
    };
    let found = CHOICES.iter().find_map(|words| text.find(words));
    found.filter(of_process).map_or(text, |at| &text[at..])
}

/// Whether a message is proof enough of a report whose beginning is lost.
fn begins_a_rest(text: &str) -> bool {
    let zone = text.contains(" free:") && text.contains(" min:");
    let node = text.starts_with("Node ") && text.contains(" active_anon:");
    zone || node
        || text.starts_with("Mem-Info")
        || text.starts_with("oom-kill:")
        || text.starts_with("memory: usage ")
        || text.starts_with("Task in /")
        || text.starts_with("Memory cgroup stats for ")
        || text.starts_with("[ pid")
        || text.starts_with("active_anon:")
}

impl Open {
    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() > LONGEST_REPORT {
            return;
        }
        self.oom |= tells_oom(text);
        if self.messages > 0 {
            self.text.push('\n');
        }
        self.last = self.text.len();
        self.text.push_str(text);
        self.messages += 1;
    }

    fn last(&self) -> &str {
        &self.text[self.last..]
    }

    fn append(&mut self, text: &str) {
        if self.last().len() + text.len() < LONGEST_MESSAGE {
            self.text.push(' ');
            self.text.push_str(text);
        }
    }
}
