//! What of a scenario the model can run: everything else is refused with its place, never ignored.

use alloc::format;
use alloc::string::{String, ToString};

use mm::units::Bytes;
use scenario::Scenario;
use scenario::workload::{Access, Action, Advice, Huge, Map, Process, Step, Target, Workload};

use crate::error::Error;

/// Refuses a scenario that needs a mechanism the model lacks.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Error> {
    let machine = &scenario.machine;
    refuse_if(machine.nodes > 2, "more than two NUMA nodes", "machine")?;
    scenario
        .workload
        .processes
        .iter()
        .try_for_each(check_process)
}

/// Whether the workload writes the arm's settings by itself.
pub(crate) fn applies_arm(workload: &Workload) -> bool {
    workload.any_action(|action| *action == Action::ApplyArm)
}

/// Whether the workload writes to files.
pub(crate) fn writes_files(scenario: &Scenario) -> bool {
    let streams = &scenario.recorded.streams;
    scenario.workload.any_action(|action| match action {
        Action::Replay(replay) => streams
            .get(replay.stream as usize)
            .is_some_and(|stream| stream.iter().any(|run| run.kind.writes())),
        Action::Access(access) => {
            access.write_percent > 0 && matches!(access.target, Target::File(_))
        }
        _ => false,
    })
}

fn check_process(process: &Process) -> Result<(), Error> {
    let place = format!("process {}", process.name);
    check_steps(&process.steps, &place)
}

fn check_steps(steps: &[Step], place: &str) -> Result<(), Error> {
    for (index, step) in steps.iter().enumerate() {
        let place = format!("{place}, step {}", index + 1);
        match &step.action {
            Action::Access(access) => check_access(access, &place)?,
            Action::Map(map) => check_map(map, &place)?,
            Action::Repeat { steps, .. } => check_steps(steps, &place)?,
            Action::Advise {
                target: Target::Region(_),
                advice: Advice::WillNeed,
            } => return Err(unsupported("willneed of a region", &place)),
            _ => {}
        }
    }
    Ok(())
}

fn check_access(access: &Access, place: &str) -> Result<(), Error> {
    refuse_if(access.blocks == 0, "operations of 0 blocks", place)?;
    refuse_if(access.block == Bytes::ZERO, "blocks of 0 bytes", place)
}

fn check_map(map: &Map, place: &str) -> Result<(), Error> {
    let merged = map.mergeable && map.huge == Huge::Hugetlb;
    refuse_if(merged, "samepage merging of hugetlb pages", place)
}

fn refuse_if(lacking: bool, what: &str, place: &str) -> Result<(), Error> {
    if lacking {
        Err(unsupported(what, place))
    } else {
        Ok(())
    }
}

fn unsupported(what: &str, place: &str) -> Error {
    Error::Unsupported {
        what: what.to_string(),
        place: String::from(place),
    }
}
