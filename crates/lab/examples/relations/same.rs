//! The same thing said in another way.

use crate::draw::small;
use crate::run::{alike, both, identical, thrice};

/// A sleep in two.
pub(crate) fn halves_of_a_sleep(seed: u64) -> Result<(), String> {
    let mut whole = small(seed);
    let mut halves = whole.clone();
    for process in &mut whole.processes {
        process
            .steps
            .insert(0, "{ sleep = \"1400 ms\" }".to_owned());
    }
    for process in &mut halves.processes {
        let half = || "{ sleep = \"700 ms\" }".to_owned();
        process.steps.splice(0..0, [half(), half()]);
    }
    alike(&thrice(&whole, seed)?, &thrice(&halves, seed)?)
}

/// An access in two rounds of half of it: its blocks are one stream.
pub(crate) fn halves_of_an_access(seed: u64) -> Result<(), String> {
    let (mut whole, mut halves) = (small(seed), small(seed));
    for (sketch, times, amount) in [(&mut whole, 1, 8), (&mut halves, 2, 4)] {
        let step = format!(
            "{{ repeat = {{ times = {times}, steps = [{{ touch = {{ region = \"twice\", pattern = \
             \"random\", amount = \"{amount} MiB\", write-percent = 100 }} }}] }} }}"
        );
        let process = &mut sketch.processes[0];
        let map = "{ map = { region = \"twice\", size = \"16 MiB\" } }";
        process.steps.splice(0..0, [map.to_owned(), step]);
    }
    alike(&thrice(&whole, seed)?, &thrice(&halves, seed)?)
}

/// A share of 100 % written and left out; `at once`, a count of one and the root's group written.
pub(crate) fn written_keys(seed: u64) -> Result<(), String> {
    let sketch = small(seed);
    let mut written = sketch.clone();
    for process in &mut written.processes {
        process.keys += "start = \"at once\"\ncount = 1\noom-score-adj = 0\n";
        if !process.keys.contains("cgroup") {
            process.keys += "cgroup = \"/\"\n";
        }
    }
    let (plain, other) = both(&sketch, &written, seed)?;
    identical(&plain, &other)
}
