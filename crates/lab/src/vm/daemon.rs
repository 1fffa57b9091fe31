//! The guard's daemon, for the arms that run it: as it is packaged, from beside the command.

use std::path::Path;

use scenario::Scenario;
use scenario::workload::Action;

use super::elf;
use answer::bench::BenchError;

/// Where the guest finds it.
pub(super) const PATH: &str = "plimsoll/plimsoll-guard";
/// The program's name.
const NAME: &str = "plimsoll-guard";

/// The daemon beside `binary`, or beside the running program; `None` where no process of the
/// scenario is the guard.
pub(super) fn wanted_by(
    scenario: &Scenario,
    binary: Option<&Path>,
) -> Result<Option<Vec<u8>>, BenchError> {
    let is_guard = |action: &Action| matches!(action, Action::Guard(_));
    if !scenario.workload.any_action(is_guard) {
        return Ok(None);
    }
    let running = std::env::current_exe();
    let command = binary.map(Path::to_path_buf).or(running.ok());
    let path = command.map(|command| command.with_file_name(NAME));
    let path = path.filter(|path| path.is_file()).ok_or_else(|| {
        let text = format!(
            "the arm runs {NAME} and there is none beside plimsoll; build it with \
             `cargo build --release -p {NAME}`"
        );
        BenchError::Unavailable(text)
    })?;
    elf::read_static(Some(&path)).map(Some)
}
