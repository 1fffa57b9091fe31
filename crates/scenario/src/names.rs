//! The names of a scenario, which mean something to its author alone.
//!
//! A bench runs the scenario without them: every process, file, region, disk and label has a name
//! made of its number, always of one length. So no name changes an outcome: neither the memory of
//! the VM's guest, nor the directories of its disks, nor the random accesses, whose streams are
//! named after them. What comes back has the author's names again.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Scenario;
use crate::machine::{Machine, SwapBacking};
use crate::workload::{Action, Process, Step, Target};
use mm::capture::{Capture, Frame};
use mm::settings::Setting;

/// The author's names by those that stand for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, String>);

/// Things of one kind that have got names: their own names, in the order of their numbers.
#[derive(Debug)]
struct Kind {
    word: String,
    given: Vec<(usize, String)>,
}

/// All kinds. Regions belong to a process.
struct Kinds {
    processes: Kind,
    files: Kind,
    disks: Kind,
    labels: Kind,
    regions: Kind,
    names: Names,
}

impl Scenario {
    /// The same scenario without its author's names, and these.
    #[must_use]
    pub fn nameless(&self) -> (Self, Names) {
        let mut nameless = self.clone();
        let mut kinds = Kinds::of(self);
        "study".clone_into(&mut nameless.study);
        "arm".clone_into(&mut nameless.arm);
        kinds.rename_machine(&mut nameless.machine);
        let settings = [&mut nameless.base, &mut nameless.arm_settings];
        for setting in settings.into_iter().flat_map(|list| &mut list.0) {
            kinds.rename_setting(setting);
        }
        for process in &mut nameless.workload.processes {
            kinds.rename_process(process);
        }
        (nameless, kinds.names())
    }
}

impl Kind {
    fn new(word: &str) -> Self {
        Self {
            word: word.to_owned(),
            given: Vec::new(),
        }
    }

    fn numbered(word: &str, given: impl Iterator<Item = (usize, String)>) -> Self {
        let given = given.collect();
        Self {
            given,
            ..Self::new(word)
        }
    }

    fn rename(&mut self, name: &mut String) {
        let known = self.given.iter().find(|(_, given)| given == name);
        let number = known.map_or(self.given.len(), |(number, _)| *number);
        if known.is_none() {
            self.given.push((number, name.clone()));
        }
        *name = self.name(number);
    }

    fn name(&self, number: usize) -> String {
        format!("{}-{:04}", self.word, number + 1)
    }

    fn end(self, names: &mut Names) {
        for (number, given) in &self.given {
            names.0.insert(self.name(*number), given.clone());
        }
    }
}

impl Kinds {
    fn of(scenario: &Scenario) -> Self {
        let numbers = &scenario.process_numbers;
        let number = |index: usize| numbers.get(index).map_or(index, |&number| number as usize);
        let processes = scenario.workload.processes.iter().enumerate();
        let processes = processes.map(|(index, process)| (number(index), process.name.clone()));
        let files = scenario.machine.files.iter().map(|file| file.name.clone());
        let disks = scenario.machine.disks.iter().map(|disk| disk.name.clone());
        Self {
            processes: Kind::numbered("process", processes),
            files: Kind::numbered("file", files.enumerate()),
            disks: Kind::numbered("disk", disks.enumerate()),
            labels: Kind::new("label"),
            regions: Kind::new("region"),
            names: Names::default(),
        }
    }

    fn names(self) -> Names {
        let mut names = self.names;
        for kind in [
            self.processes,
            self.files,
            self.disks,
            self.labels,
            self.regions,
        ] {
            kind.end(&mut names);
        }
        names
    }

    fn rename_machine(&mut self, machine: &mut Machine) {
        for disk in &mut machine.disks {
            self.disks.rename(&mut disk.name);
        }
        for swap in &mut machine.swaps {
            if let SwapBacking::Disk(disk) = &mut swap.backing {
                self.disks.rename(disk);
            }
        }
        if let Some(disk) = &mut machine.recorded_on {
            self.disks.rename(disk);
        }
        for file in &mut machine.files {
            self.files.rename(&mut file.name);
            self.disks.rename(&mut file.disk);
        }
    }

    fn rename_setting(&mut self, setting: &mut Setting) {
        let disks = &mut self.disks;
        let renamed = setting.renamed(|disk| {
            let mut disk = disk.to_owned();
            disks.rename(&mut disk);
            Some(disk)
        });
        if let Some(renamed) = renamed {
            *setting = renamed;
        }
    }

    fn rename_process(&mut self, process: &mut Process) {
        self.processes.rename(&mut process.name);
        let number = process.name.trim_start_matches("process-");
        let regions = Kind::new(&format!("region-{number}"));
        core::mem::replace(&mut self.regions, regions).end(&mut self.names);
        self.rename_steps(&mut process.steps);
    }

    fn rename_steps(&mut self, steps: &mut [Step]) {
        for step in steps {
            if let Some(label) = &mut step.label {
                self.labels.rename(label);
            }
            self.rename_action(&mut step.action);
        }
    }

    fn rename_action(&mut self, action: &mut Action) {
        match action {
            Action::Set(settings) => settings.iter_mut().for_each(|it| self.rename_setting(it)),
            Action::Access(access) => self.rename_target(&mut access.target),
            Action::Map(map) => self.regions.rename(&mut map.region),
            Action::Unmap { region } => self.regions.rename(region),
            Action::Advise { target, .. } | Action::Lock { target } => self.rename_target(target),
            Action::Sync { file } | Action::Close { file } => self.files.rename(file),
            Action::Start { process } | Action::Wait { process } | Action::Kill { process } => {
                self.processes.rename(process);
            }
            Action::Repeat { steps, .. } => self.rename_steps(steps),
            Action::Snapshot
            | Action::ApplyArm
            | Action::ApplyDefaults
            | Action::SetCgroup { .. }
            | Action::Daemon(_)
            | Action::Replay(_)
            | Action::Guard(_)
            | Action::DropCaches
            | Action::Reclaim { .. }
            | Action::RunOnNode { .. }
            | Action::Sleep(_) => {}
        }
    }

    fn rename_target(&mut self, target: &mut Target) {
        match target {
            Target::File(file) => self.files.rename(file),
            Target::Region(region) => self.regions.rename(region),
        }
    }
}

impl Names {
    /// Gives what a bench hands back the author's names.
    pub fn give_back(&self, capture: &mut Capture) {
        for frame in &mut capture.frames {
            self.give_back_frame(frame);
        }
    }

    /// A text with the author's names.
    #[must_use]
    pub fn in_text(&self, text: &str) -> String {
        let mut named = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            match self.0.get(word) {
                Some(own) => named += own,
                None => self.before_a_number(word, &mut named),
            }
            let end = behind.find(is_of_a_name).unwrap_or(behind.len());
            named += &behind[..end];
            rest = &behind[end..];
        }
        named
    }

    /// A word that is no name, unless one stands before a number in it, as in `process-0001-124`: a
    /// task of a trace.
    fn before_a_number(&self, word: &str, named: &mut String) {
        let parts = word.rsplit_once('-');
        let own = parts.and_then(|(name, number)| Some((self.0.get(name)?, number)));
        match own {
            Some((own, number)) => {
                *named += own;
                named.push('-');
                *named += number;
            }
            None => *named += word,
        }
    }

    fn give_back_frame(&self, frame: &mut Frame) {
        if let Some(label) = &mut frame.label {
            *label = self.in_text(label);
        }
        // The kernel's files of a process lie under the process's name; the bench's notes name all
        // things.
        let named = |path: &String| path.starts_with("plimsoll/") || path.contains("process-");
        let paths: Vec<String> = frame
            .files
            .keys()
            .filter(|path| named(path))
            .cloned()
            .collect();
        for path in paths {
            let Some(text) = frame.files.remove(&path) else {
                continue;
            };
            let text = match path.starts_with("plimsoll/") {
                true => self.in_text(&text),
                false => text,
            };
            frame.files.insert(self.in_text(&path), text);
        }
    }
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_task_of_a_trace_gets_its_name_back_and_other_words_stay() {
        let names = [("process-0001", "my server"), ("region-0001-0002", "heap")];
        let named = names.map(|(stands, own)| (stands.to_string(), own.to_string()));
        let names = Names(named.into_iter().collect());
        let line = "process-0001-124 [000] 1.0: x: process-0001 process-0001.2-9 process-0002-7";
        assert_eq!(
            names.in_text(line),
            "my server-124 [000] 1.0: x: my server my server.2-9 process-0002-7"
        );
        assert_eq!(names.in_text("region-0001-0002 a-1-2 7"), "heap a-1-2 7");
    }
}
