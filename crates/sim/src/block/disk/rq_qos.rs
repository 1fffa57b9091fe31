//! Writers wait until there is room for another write (`block/blk-rq-qos.c`, `block/blk-wbt.c`):
//! as few are under way as keep reads quick. Room goes to those that wait, in the order in which
//! they came.

use alloc::vec::Vec;

use mm::units::Nanos;

use crate::block::disk::state::Throttled;
use crate::block::disk::{Disk, Writer};

impl Throttled {
    /// Whether a task has been given room, which it uses now.
    pub(super) fn take_room(&mut self, entity: usize) -> bool {
        let at = self.given.iter().position(|(of, _)| *of == entity);
        at.map(|at| self.given.remove(at)).is_some()
    }

    fn holds(&self, entity: usize) -> bool {
        self.lines.iter().flatten().any(|(of, _)| *of == entity)
    }

    /// Whether anybody waits.
    pub(super) fn is_waited_for(&self) -> bool {
        self.lines.iter().any(|line| !line.is_empty())
    }

    /// Forgets a task: the room that it was given.
    pub(super) fn forget(&mut self, entity: usize) -> Vec<bool> {
        for line in &mut self.lines {
            line.retain(|(of, _)| *of != entity);
        }
        let of_task = self.given.extract_if(.., |(of, _)| *of == entity);
        of_task.map(|(_, is_swap)| is_swap).collect()
    }
}

impl Disk {
    /// Whether a task waits for room, or has been given some.
    pub(crate) fn has_asked_for_room(&self, entity: usize) -> bool {
        let given = &self.throttled.given;
        given.iter().any(|(of, _)| *of == entity) || self.throttled.holds(entity)
    }

    /// Whether a task waits for room or for a tag.
    pub(crate) fn is_in_line(&self, entity: usize) -> bool {
        self.throttled.holds(entity) || self.holds_up(entity)
    }

    /// Whether a task may begin a write; otherwise it waits in line until it has room
    /// (`rq_qos_wait`).
    pub(crate) fn may_write(&mut self, now: Nanos, entity: usize, writer: Writer) -> bool {
        if self.throttled.given.iter().any(|(of, _)| *of == entity) {
            return true;
        }
        if self.throttled.holds(entity) {
            return false;
        }
        let class = usize::from(writer.is_swap());
        if self.throttled.lines[class].is_empty() && self.is_room(now, writer) {
            self.give_room(entity, writer);
            return true;
        }
        self.throttled.lines[class].push_back((entity, writer));
        false
    }

    fn is_room(&self, now: Nanos, writer: Writer) -> bool {
        let limits = self.wbt.limits(self.requests());
        let under_way = self.writing[usize::from(writer.is_swap())];
        under_way < writer.most_requests(limits, self.was_read(now))
    }

    fn give_room(&mut self, entity: usize, writer: Writer) {
        self.writing[usize::from(writer.is_swap())] += 1;
        self.throttled.given.push((entity, writer.is_swap()));
    }

    /// A write is over: those that wait are looked at only when fewer are under way than tasks may
    /// have, by half of what the background may (`wbt_rqw_done`).
    pub(super) fn end_write(&mut self, now: Nanos, is_swap: bool) {
        let class = usize::from(is_swap);
        self.writing[class] -= 1;
        let limits = self.wbt.limits(self.requests());
        let room = limits.normal.saturating_sub(self.writing[class]);
        if self.writing[class] == 0 || room > 0 && room >= limits.background / 2 {
            self.wake_writers(now, class);
        }
    }

    /// The first in line get the room that there is (`rq_qos_wake_function`).
    fn wake_writers(&mut self, now: Nanos, class: usize) {
        while let Some(&(entity, writer)) = self.throttled.lines[class].front()
            && self.is_room(now, writer)
        {
            self.throttled.lines[class].pop_front();
            self.give_room(entity, writer);
            self.woken.push(entity);
        }
    }

    /// A window may have ended, and more may be written (`rwb_wake_all`).
    pub(crate) fn end_window(&mut self, now: Nanos) {
        self.judge_windows(now);
        if self.wbt.take_growth() {
            (0..2).for_each(|class| self.wake_writers(now, class));
        }
    }
}
