//! Something more that nothing uses.

use crate::draw::{Disk, File, Process, Sketch, small};
use crate::run::{alike, thrice};

fn beside(seed: u64, add: impl FnOnce(&mut Sketch)) -> Result<(), String> {
    let sketch = small(seed);
    let mut more = sketch.clone();
    add(&mut more);
    alike(&thrice(&sketch, seed)?, &thrice(&more, seed)?)
}

/// A process that sleeps.
pub(crate) fn process(seed: u64) -> Result<(), String> {
    beside(seed, |sketch| {
        sketch.processes.push(Process {
            name: "sleeper".to_owned(),
            keys: String::new(),
            steps: vec!["{ sleep = \"20 ms\" }".to_owned()],
        });
    })
}

/// A file that nobody reads, behind all others.
pub(crate) fn file(seed: u64) -> Result<(), String> {
    beside(seed, |sketch| {
        sketch.files.push(File {
            name: "unread".to_owned(),
            disk: sketch.disks[0].name.clone(),
            size: 32,
        });
    })
}

/// A disk that nobody uses.
pub(crate) fn disk(seed: u64) -> Result<(), String> {
    beside(seed, |sketch| {
        sketch.disks.push(Disk {
            name: "unused".to_owned(),
            ..sketch.disks[0].clone()
        });
    })
}
