//! The anonymous memory of a load that was seen: a process for each control group.

use mm::units::{Nanos, Pages};
use scenario::workload::Class;

use crate::fitted::SwapAtHand;

const PAGE_KIB: u64 = 4;

/// How many bursts a process has in a second, which hold all its uses.
const BURSTS: u64 = 100;
/// The most uses of a burst.
const MOST: u64 = 10_000;

/// How much longer than the recording a run may take until its memory is no longer used.
const LONGER: u64 = 2;

/// Anonymous memory of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadMemory {
    /// The path of the group, empty for the root.
    pub group: String,
    /// All of it.
    pub pages: Pages,
    /// How often its pages are used.
    pub classes: Vec<Class>,
}

/// The name of the process that has the memory of a group, from 1 on.
pub(super) fn name(number: usize) -> String {
    format!("0 memory {number}")
}

/// The processes: each makes its memory, starts the next, and uses it. The last starts `then`.
/// `placed` puts one into its group. Memory is written page by page, as the model kills a process
/// that populates more at once than there is, even where the rest could be swapped out.
pub(super) fn processes(
    all: &[LoadMemory],
    (time, then): (Nanos, &str),
    placed: &dyn Fn(&str) -> String,
) -> String {
    let process = |(number, memory): (usize, &LoadMemory)| {
        let next = match number == all.len() {
            true => then.to_owned(),
            false => name(number + 1),
        };
        let (begin, first) = match number {
            1 => ("at once", "  { apply = \"arm\" },\n"),
            _ => ("on demand", ""),
        };
        let own = name(number);
        format!(
            "[[process]]\nname = \"{own}\"\nstart = \"{begin}\"\n{}steps = [\n{first}  \
             {{ map = {{ region = \"{own}\", size = \"{} KiB\", huge = \"never\" }} }},\n  \
             {{ touch = {{ region = \"{own}\", write-percent = 100 }} }},\n  \
             {{ start = \"{next}\" }},\n  {},\n]\n\n",
            placed(&memory.group),
            memory.pages.0 * PAGE_KIB,
            memory.used(&own, time)
        )
    };
    (1..).zip(all).map(process).collect()
}

impl LoadMemory {
    /// The step that uses it. What writes is not seen: each use does, so that what is swapped out
    /// is written.
    fn used(&self, own: &str, time: Nanos) -> String {
        let lasts = time.0 / 1_000_000 * LONGER;
        let each = |class: &Class| u128::from(class.rate_micro) * u128::from(class.pages);
        let uses: u128 = self.classes.iter().map(each).sum();
        let uses = u64::try_from(uses / 1_000_000).unwrap_or(u64::MAX);
        if uses == 0 {
            return format!("{{ sleep = \"{lasts} ms\" }}");
        }
        let pair = |class: &Class| {
            let (whole, part) = (class.rate_micro / 1_000_000, class.rate_micro % 1_000_000);
            format!("[{whole}.{part:06}, {}]", class.pages)
        };
        let classes: Vec<String> = self.classes.iter().map(pair).collect();
        format!(
            "{{ label = \"{own}\", touch = {{ region = \"{own}\", classes = [{}], blocks = {}, \
             write-percent = 100, for = \"{lasts} ms\" }} }}",
            classes.join(", "),
            uses.div_ceil(BURSTS).clamp(1, MOST)
        )
    }
}

/// `[[machine.swap]]`, as the machine has it; nothing where there is none.
pub(super) fn swap(swap: Option<SwapAtHand>, disk: &str) -> String {
    swap.map_or(String::new(), |it| it.table(disk))
}

/// What is measured of it.
pub(super) const MEASURES: &str = "\
[[measure]]\nname = \"swapped in\"\nbetween = [\"begin\", \"end\"]\nvmstat = \"pswpin\"\n\
unit = \"pages\"\nbetter = \"lower\"\n\n\
[[measure]]\nname = \"swapped out\"\nbetween = [\"begin\", \"end\"]\nvmstat = \"pswpout\"\n\
unit = \"pages\"\nbetter = \"lower\"\n\n";
