//! `memory.events`: what happened in a group and below it.

use alloc::string::String;
use core::fmt::Write as _;

use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memcontrol::state::Event;
use crate::mm::memcontrol::state::Groups;

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
