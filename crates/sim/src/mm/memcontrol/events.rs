//! `memory.events`: what happened in a group and below it.

use alloc::string::String;
use core::fmt::Write as _;

use super::{GroupId, Groups, ROOT};

/// What `memory.events` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was reclaimed although it was below its low limit.
    Low = 0,
    /// Its tasks were sent to reclaim because it was above its high limit.
    High = 1,
    /// A charge met its maximum.
    Max = 2,
    /// A charge failed after all retries.
    Oom = 3,
    /// A process of it was killed.
    OomKill = 4,
    /// All its processes were killed together.
    OomGroupKill = 5,
}

impl Event {
    pub(super) const ALL: [(Self, &'static str); 6] = [
        (Self::Low, "low"),
        (Self::High, "high"),
        (Self::Max, "max"),
        (Self::Oom, "oom"),
        (Self::OomKill, "oom_kill"),
        (Self::OomGroupKill, "oom_group_kill"),
    ];
}

impl Groups {
    /// Counts an event in the group and its ancestors.
    pub(crate) fn count(&mut self, group: GroupId, event: Event) {
        let mut at = Some(group);
        while let Some(id) = at.filter(|&id| id != ROOT) {
            let group = self.get_mut(id);
            group.events[event as usize] += 1;
            at = group.parent;
        }
    }

    /// How often it happened in the group and below it.
    pub(crate) fn happened(&self, group: GroupId, event: Event) -> u64 {
        self.get(group).events[event as usize]
    }

    /// The text of `memory.events`.
    pub(super) fn events_text(&self, group: GroupId) -> String {
        let mut text = String::new();
        for (event, name) in Event::ALL {
            let _ = writeln!(text, "{name} {}", self.happened(group, event));
        }
        text
    }
}
