//! Every labelled step that a process came to has its figure.

use crate::draw::{Process, small};
use crate::run::{kernel, outcome};

/// Each action of the table of steps in `docs/studies.md` that needs nothing of the study but a
/// file, a region and another process.
const ACTIONS: [&str; 16] = [
    "map = { region = \"r\", size = \"4 MiB\" }",
    "touch = { region = \"r\", write-percent = 100 }",
    "access = { region = \"r\", write-percent = 50 }",
    "advise = { region = \"r\", advice = \"cold\" }",
    "advise = { file = \"extra\", advice = \"willneed\" }",
    "lock = { region = \"r\" }",
    "lock = { file = \"extra\" }",
    "read = { file = \"extra\" }",
    "write = { file = \"extra\", via = \"direct\", block = \"4 KiB\", amount = \"64 KiB\" }",
    "fsync = \"extra\"",
    "drop-caches = true",
    "sleep = \"30 ms\"",
    "set = { \"vm.swappiness\" = 60 }",
    "start = \"other\"",
    "wait = \"other\"",
    "unmap = \"r\"",
];

/// A process that does all of these, labelled, beside a drawn study.
pub(crate) fn each_action(seed: u64) -> Result<(), String> {
    let mut sketch = small(seed);
    sketch.deadline = 100;
    sketch.files.push(crate::draw::File {
        name: "extra".to_owned(),
        disk: sketch.disks[0].name.clone(),
        size: 4,
    });
    let numbered = ACTIONS.iter().enumerate();
    let steps =
        numbered.map(|(number, action)| format!("{{ label = \"step {number}\", {action} }}"));
    sketch.processes.push(Process {
        name: "all".to_owned(),
        keys: "oom-score-adj = -1000\n".to_owned(),
        steps: steps.collect(),
    });
    sketch.processes.push(Process {
        name: "other".to_owned(),
        keys: "start = \"on demand\"\n".to_owned(),
        steps: vec!["{ label = \"other\", sleep = \"10 ms\" }".to_owned()],
    });
    let outcome = outcome(&sketch.text(), kernel(seed), 1)?;
    for (number, action) in ACTIONS.iter().enumerate() {
        let label = format!("step {number}");
        let step = outcome.labelled(&label).next();
        let step = step.ok_or_else(|| format!("no figure for {action}"))?;
        if step.status != scenario::outcome::Status::Done {
            return Err(format!("{action}: {:?}", step.status));
        }
    }
    Ok(())
}
