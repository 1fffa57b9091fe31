//! The steps of a process: each a table with exactly one action, and a label where it is reported.

use std::collections::{BTreeMap, BTreeSet};

use scenario::workload::{Action, Advice, Daemon, Step, Until};

use super::access;
use super::cgroup_file::cgroup_file;
use super::guard;
use super::map;
use super::names::{Kind, Names};
use super::node::Node;
use super::replay;
use super::settings::settings;
use super::source::StudyError;
use super::table::Table;

const STEP: &[&str] = &[
    "label",
    "arms",
    "except",
    "snapshot",
    "apply",
    "set",
    "set-cgroup",
    "policy",
    "guard",
    "read",
    "write",
    "touch",
    "access",
    "map",
    "unmap",
    "advise",
    "lock",
    "fsync",
    "close",
    "drop-caches",
    "reclaim",
    "run-on-node",
    "sleep",
    "start",
    "wait",
    "kill",
    "repeat",
];
/// Where the actions begin in [`STEP`].
const ACTIONS: usize = 3;
const REPEAT: &[&str] = &["times", "for", "forever", "steps"];
const SET_CGROUP: &[&str] = &["cgroup", "file", "value"];
const RECLAIM: &[&str] = &["cgroup", "amount", "swappiness"];
const ADVISE: &[&str] = &["file", "region", "advice"];
const LOCK: &[&str] = &["file", "region"];

const DAEMONS: &[(&str, Daemon)] = &[
    ("ksmtuned", Daemon::Ksmtuned),
    ("adaptivemmd", Daemon::Adaptivemmd),
    ("katalyst", Daemon::Katalyst),
];

const ADVICE: &[(&str, Advice)] = &[
    ("dontneed", Advice::DontNeed),
    ("noreuse", Advice::NoReuse),
    ("sequential", Advice::Sequential),
    ("random", Advice::Random),
    ("willneed", Advice::WillNeed),
    ("cold", Advice::Cold),
    ("pageout", Advice::PageOut),
    ("hugepage", Advice::HugePage),
    ("nohugepage", Advice::NoHugePage),
    ("mergeable", Advice::Mergeable),
    ("unmergeable", Advice::Unmergeable),
];

/// How the processes of a workload hang together.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Processes that wait for demand.
    pub(super) on_demand: BTreeSet<String>,
    /// Processes that a step starts.
    pub(super) started: BTreeSet<String>,
    killed: BTreeSet<String>,
    waits: BTreeMap<String, BTreeSet<String>>,
    /// Endless repetitions, as errors in waiting: the process, and what to say.
    endless: Vec<(String, StudyError)>,
}

impl Links {
    /// Refuses a workload that can never end.
    pub(super) fn check_ends(&self, deadline: bool) -> Result<(), StudyError> {
        let never = |process: &str| !deadline && !self.killed.contains(process);
        match self.endless.iter().find(|(process, _)| never(process)) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Whether `from` waits for `to`, or for a process that does.
    fn waits_for(&self, from: &str, to: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(process) = open.pop() {
            if process == to {
                return true;
            }
            if seen.insert(process) {
                open.extend(
                    self.waits
                        .get(process)
                        .into_iter()
                        .flatten()
                        .map(String::as_str),
                );
            }
        }
        false
    }
}

/// The steps of the process called `process`.
pub(super) fn steps_of(
    process: &str,
    node: &Node<'_>,
    names: &mut Names,
    links: &mut Links,
) -> Result<Vec<Step>, StudyError> {
    let mut reader = Reader {
        process,
        names,
        links,
    };
    let steps = reader.steps(node);
    let regions: Vec<String> = names.all(Kind::Region).map(str::to_owned).collect();
    for region in regions {
        names.remove(Kind::Region, &region);
    }
    steps
}

struct Reader<'a> {
    process: &'a str,
    /// The study's names; regions are those that this process has mapped so far.
    names: &'a mut Names,
    links: &'a mut Links,
}

impl Reader<'_> {
    fn steps(&mut self, node: &Node<'_>) -> Result<Vec<Step>, StudyError> {
        let mut steps = Vec::new();
        for (index, node) in node.list()?.into_iter().enumerate() {
            let place = format!("step {} of process `{}`", index + 1, self.process);
            let table = node.placed(place).table(STEP)?;
            if table.is_for_this_arm()? {
                steps.push(self.step(&table)?);
            }
        }
        Ok(steps)
    }

    fn step(&mut self, table: &Table<'_>) -> Result<Step, StudyError> {
        let (key, node) = table.one_of(&STEP[ACTIONS..])?;
        let label = match (key, table.get("label")?) {
            ("snapshot", None) => Some(self.names.add(Kind::Snapshot, &node)?),
            ("snapshot", Some(label)) => {
                return Err(label.error("a snapshot is its own label", "drop `label`"));
            }
            (_, Some(label)) => Some(self.names.add(Kind::Label, &label)?),
            (_, None) => None,
        };
        let action = self.action(key, &node)?;
        Ok(Step { label, action })
    }

    fn action(&mut self, key: &str, node: &Node<'_>) -> Result<Action, StudyError> {
        match key {
            "snapshot" => Ok(Action::Snapshot),
            "apply" => node
                .choice(&[("arm", ApplyWhat::Arm), ("defaults", ApplyWhat::Defaults)])
                .map(ApplyWhat::action),
            "set" => Ok(Action::Set(settings(node, self.names)?.0)),
            "set-cgroup" => self.set_cgroup(&node.table(SET_CGROUP)?),
            "access" if replay::is_of_recording(node)? => replay::replay(node).map(Action::Replay),
            "read" | "write" | "touch" | "access" => {
                access::access(key, node, self.names).map(Action::Access)
            }
            "map" => map::map(node, self.names).map(Action::Map),
            "unmap" => self.unmap(node),
            "advise" => self.advise(&node.table(ADVISE)?),
            "lock" => {
                access::target(&node.table(LOCK)?, self.names).map(|target| Action::Lock { target })
            }
            "fsync" => self
                .names
                .known(Kind::File, node)
                .map(|file| Action::Sync { file }),
            "policy" => node.choice(DAEMONS).map(Action::Daemon),
            "close" => self
                .names
                .known(Kind::File, node)
                .map(|file| Action::Close { file }),
            "guard" => guard::guard(node).map(Action::Guard),
            "drop-caches" => only_true(node).map(|()| Action::DropCaches),
            "reclaim" => self.reclaim(&node.table(RECLAIM)?),
            "run-on-node" => self.run_on_node(node),
            "sleep" => node.duration().map(Action::Sleep),
            "repeat" => self.repeat(node),
            _ => self.about_process(key, node),
        }
    }

    fn set_cgroup(&self, table: &Table<'_>) -> Result<Action, StudyError> {
        Ok(Action::SetCgroup {
            cgroup: self.names.known(Kind::Cgroup, &table.need("cgroup")?)?,
            file: cgroup_file(table.need("file")?.text()?, &table.need("value")?)?,
        })
    }

    fn unmap(&mut self, node: &Node<'_>) -> Result<Action, StudyError> {
        let region = self.names.known(Kind::Region, node)?;
        self.names.remove(Kind::Region, &region);
        Ok(Action::Unmap { region })
    }

    fn advise(&self, table: &Table<'_>) -> Result<Action, StudyError> {
        Ok(Action::Advise {
            target: access::target(table, self.names)?,
            advice: table.need("advice")?.choice(ADVICE)?,
        })
    }

    fn reclaim(&self, table: &Table<'_>) -> Result<Action, StudyError> {
        Ok(Action::Reclaim {
            cgroup: self.names.known(Kind::Cgroup, &table.need("cgroup")?)?,
            amount: table.need("amount")?.some_size()?,
            swappiness: table.maybe("swappiness", |n| n.count(0, 200))?,
        })
    }

    fn run_on_node(&self, node: &Node<'_>) -> Result<Action, StudyError> {
        let number: u32 = node.count(0, 63)?;
        let known = self.names.known_text(Kind::Node, &number.to_string(), node);
        known.map(|()| Action::RunOnNode { node: number })
    }

    /// `start`, `wait` and `kill`.
    fn about_process(&mut self, key: &str, node: &Node<'_>) -> Result<Action, StudyError> {
        let process = self.names.known(Kind::Process, node)?;
        match key {
            "start" => self.start(process, node),
            "wait" => self.wait(process, node),
            _ => {
                self.links.killed.insert(process.clone());
                Ok(Action::Kill { process })
            }
        }
    }

    fn start(&mut self, process: String, node: &Node<'_>) -> Result<Action, StudyError> {
        if !self.links.on_demand.contains(&process) {
            let what = format!("process `{process}` is started here, but it starts by itself");
            return Err(node.error(what, "give it `start = \"on demand\"`, or drop this step"));
        }
        self.links.started.insert(process.clone());
        Ok(Action::Start { process })
    }

    fn wait(&mut self, process: String, node: &Node<'_>) -> Result<Action, StudyError> {
        if process == self.process {
            let what = format!("process `{process}` waits for itself");
            return Err(node.error(what, "wait for another one"));
        }
        if self.links.waits_for(&process, self.process) {
            let what = format!("`{}` and `{process}` wait for each other", self.process);
            return Err(node.error(what, "drop one of the waits"));
        }
        let waits = self.links.waits.entry(self.process.to_owned()).or_default();
        waits.insert(process.clone());
        Ok(Action::Wait { process })
    }

    fn repeat(&mut self, node: &Node<'_>) -> Result<Action, StudyError> {
        let table = node.table(REPEAT)?;
        let (key, value) = table.one_of(&["times", "for", "forever"])?;
        let until = match key {
            "times" => Until::Times(value.count(1, i64::MAX)?),
            "for" => Until::Elapsed(value.some_duration()?),
            _ => {
                only_true(&value)?;
                let what = format!("process `{}` repeats forever", self.process);
                let way_out = "give the study a `deadline`, or kill the process";
                let error = value.error(what, way_out);
                self.links.endless.push((self.process.to_owned(), error));
                Until::Forever
            }
        };
        let before: BTreeSet<String> = self.names.all(Kind::Region).map(str::to_owned).collect();
        let steps = self.steps(&table.need("steps")?)?;
        if steps.is_empty() {
            return Err(node.error("a repetition without steps", "give it one"));
        }
        self.check_regions(&before, node)?;
        Ok(Action::Repeat { until, steps })
    }

    /// A round must leave the regions as it found them, for the next one to find.
    fn check_regions(&self, before: &BTreeSet<String>, node: &Node<'_>) -> Result<(), StudyError> {
        if let Some(new) = self
            .names
            .all(Kind::Region)
            .find(|name| !before.contains(*name))
        {
            let what = format!("region `{new}` would be mapped again in every round");
            return Err(node.error(
                what,
                "map it before the repetition, or unmap it in the round",
            ));
        }
        match before
            .iter()
            .find(|name| !self.names.has(Kind::Region, name))
        {
            None => Ok(()),
            Some(gone) => {
                let what = format!("region `{gone}` is unmapped in the first round");
                Err(node.error(
                    what,
                    "unmap it after the repetition, or map it in the round",
                ))
            }
        }
    }
}

#[derive(Clone, Copy)]
enum ApplyWhat {
    Arm,
    Defaults,
}

impl ApplyWhat {
    fn action(self) -> Action {
        match self {
            Self::Arm => Action::ApplyArm,
            Self::Defaults => Action::ApplyDefaults,
        }
    }
}

fn only_true(node: &Node<'_>) -> Result<(), StudyError> {
    match node.flag()? {
        true => Ok(()),
        false => Err(node.expected("true, or drop the step")),
    }
}
