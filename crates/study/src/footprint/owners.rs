//! Whose the streams of a recording are, by the study in front of it.

use std::collections::BTreeMap;

use scenario::workload::{Action, Process};

use crate::observed::CACHED;

/// Whose the streams are.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// By stream: its program.
    pub(super) programs: BTreeMap<u32, usize>,
    /// Group and name of each program.
    pub(super) names: Vec<(usize, String)>,
    pub(super) groups: Vec<String>,
    /// What was cached: group, and runs of a stream.
    pub(super) cached: Vec<(usize, u32, u64, u64)>,
}

impl Owners {
    pub(super) fn of(processes: &[Process]) -> Self {
        let mut owners = Self::default();
        for process in processes {
            for step in &process.steps {
                let Action::Replay(replay) = &step.action else {
                    continue;
                };
                let group = owners.group(process.cgroup.as_deref().unwrap_or_default());
                if process.name.starts_with(CACHED) {
                    let runs = replay.runs.unwrap_or(u64::MAX);
                    let range = (group, replay.stream, replay.skip, runs);
                    owners.cached.push(range);
                } else {
                    let program = owners.program(group, program_of(&process.name));
                    owners.programs.insert(replay.stream, program);
                }
            }
        }
        owners
    }

    fn group(&mut self, path: &str) -> usize {
        let known = self.groups.iter().position(|it| it == path);
        known.unwrap_or_else(|| {
            self.groups.push(path.to_owned());
            self.groups.len() - 1
        })
    }

    fn program(&mut self, group: usize, name: &str) -> usize {
        let is_it = |it: &(usize, String)| it.0 == group && it.1 == name;
        let known = self.names.iter().position(is_it);
        known.unwrap_or_else(|| {
            self.names.push((group, name.to_owned()));
            self.names.len() - 1
        })
    }
}

/// "postgres" of "12 postgres".
fn program_of(process: &str) -> &str {
    match process.split_once(' ') {
        Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => process,
    }
}
