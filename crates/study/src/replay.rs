//! `access = { recorded = N }`: what a task of a recording did, done again.

use mm::units::Bytes;
use scenario::machine::{File, Machine};
use scenario::recording::{FILE_NAME, RecordedFile};
use scenario::workload::{Pace, Replay};

use super::node::Node;
use super::source::StudyError;

/// The memory of a machine over that of the recording which its processes read from: a VM has it
/// twice while it boots.
const MEMORY_OF_RECORDING: u64 = 8;

const REPLAY: &[&str] = &["recorded", "skip", "runs", "pace", "compute", "for"];

const PACES: &[(&str, Pace)] = &[("closed", Pace::Closed), ("clock", Pace::Clock)];

/// Whether an access is of a recording.
pub(super) fn is_of_recording(node: &Node<'_>) -> Result<bool, StudyError> {
    Ok(node.raw_table()?.contains_key("recorded"))
}

/// Reads the table behind `access`.
pub(super) fn replay(node: &Node<'_>) -> Result<Replay, StudyError> {
    let table = node.table(REPLAY)?;
    let recorded = table.need("recorded")?;
    let stream: u32 = recorded.count(0, i64::from(u32::MAX))?;
    recorded.scope().source.check_stream(&recorded, stream)?;
    Ok(Replay {
        stream,
        skip: table.or("skip", 0, |n| n.count(0, i64::MAX))?,
        runs: table.maybe("runs", |n| n.count(1, i64::MAX))?,
        pace: table.or("pace", Pace::Closed, |n| n.choice(PACES))?,
        compute: table.maybe("compute", |n| n.duration())?,
        time_limit: table.maybe("for", |n| n.some_duration())?,
    })
}

/// Refuses what no bench can do again.
pub(super) fn check(node: &Node<'_>, machine: &Machine) -> Result<(), StudyError> {
    let Some(recorded) = node.scope().source.recorded else {
        return Ok(());
    };
    let names_one = |file: &File| file.name.starts_with(FILE_NAME);
    if let Some(file) = machine.files.iter().find(|file| names_one(file)) {
        let what = format!(
            "file \"{}\" is called as a file of the recording",
            file.name
        );
        return Err(node.error(what, "give it another name"));
    }
    let resized = |file: &RecordedFile| file.is_mapped && file.is_resized;
    if let Some(number) = recorded.files.iter().position(resized) {
        return Err(node.error(
            format!("file {number} of the recording is mapped, and changes its size"),
            "leave its loads and stores out of the recording",
        ));
    }
    let (size, most) = (
        recorded.size(),
        Bytes(machine.memory.0 / MEMORY_OF_RECORDING),
    );
    if size > most {
        let what = format!("the recording takes {size} when it is unpacked");
        return Err(node.error(
            what,
            format!("give the machine {MEMORY_OF_RECORDING} times that"),
        ));
    }
    Ok(())
}
