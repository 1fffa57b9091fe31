//! The control group's part of a report: limits, usage and what the group holds.

use alloc::borrow::ToOwned as _;
use alloc::string::String;

use super::message::is_stat;
use super::text::{number_after, pairs, value_of};
use crate::items::Items;
use crate::units::{Bytes, Kib};

/// From this many kB on a limit is none: counters end at 2^63 bytes.
const NO_LIMIT: u64 = 1 << 52;

/// The group whose limit was reached, and the group of the task that was killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The group that has the limit.
    pub name: String,
    /// The group of the killed task.
    pub task_group: String,
    /// Memory.
    pub memory: Option<Counter>,
    /// Memory and swap together, v1.
    pub memory_and_swap: Option<Counter>,
    /// Swap alone, v2.
    pub swap: Option<Counter>,
    /// Kernel memory, v1.
    pub kernel: Option<Counter>,
    /// What it holds, in bytes, by the names of `memory.stat`.
    pub stat: Items,
    /// Whether the lines are cgroup v1's.
    pub v1: bool,
    reading: Reading,
}

/// Whose statistics the next lines are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Nothing,
    Stat,
    Done,
}

/// A counter with its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// What is charged.
    pub usage: Kib,
    /// The limit; `None` where there is none.
    pub limit: Option<Kib>,
    /// How often the limit was hit.
    pub failures: u64,
}

impl Counter {
    /// Whether it stands at its limit: within 64 pages of 4 KiB, as much as one CPU's charge is
    /// taken ahead.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.usage.0.saturating_add(256) >= limit.0)
    }

    fn parse(text: &str) -> Option<Self> {
        let limit = number_after(text, "limit ")?;
        Some(Self {
            usage: Kib(number_after(text, "usage ")?),
            limit: (limit < NO_LIMIT).then_some(Kib(limit)),
            failures: number_after(text, "failcnt ").unwrap_or(0),
        })
    }
}

impl Group {
    /// Reads a line; false where it is none of the group's.
    pub(super) fn line(&mut self, text: &str) -> bool {
        if let Some(rest) = text.strip_prefix("Task in ") {
            self.v1 = true;
            self.killed_for(rest);
            return true;
        }
        for (key, counter) in [
            ("memory: usage ", &mut self.memory),
            ("memory+swap: usage ", &mut self.memory_and_swap),
            ("swap: usage ", &mut self.swap),
            ("kmem: usage ", &mut self.kernel),
        ] {
            if text.starts_with(key) {
                *counter = Counter::parse(text);
                self.v1 |= key.starts_with("memory+swap") || key.starts_with("kmem");
                return true;
            }
        }
        if let Some(name) = text.strip_prefix("Memory limit reached of cgroup ") {
            self.name = name.trim_ascii().to_owned();
            return true;
        }
        if let Some(rest) = text.strip_prefix("Memory cgroup stats for ") {
            self.stats(rest);
            return true;
        }
        self.stat_line(text)
    }

    /// "/a/b killed as a result of limit of /a".
    fn killed_for(&mut self, text: &str) {
        let (task, rest) = text
            .split_once(" killed as a result of limit of ")
            .unwrap_or((text, ""));
        self.task_group = task.to_owned();
        self.name = rest.trim_ascii().to_owned();
    }

    /// "/a: cache:0KB rss:…" or, since 5.3, "/a:" with lines behind. Of several groups the first is
    /// the one with the limit.
    fn stats(&mut self, text: &str) {
        if self.reading != Reading::Nothing {
            self.reading = Reading::Done;
            return;
        }
        let (name, rest) = text
            .split_once(": ")
            .unwrap_or((text.trim_end_matches(':'), ""));
        if self.name.is_empty() {
            self.name = name.to_owned();
        }
        for (key, kib) in pairs(rest).take(64) {
            self.stat.push(key, Kib(kib).bytes().0);
        }
        self.reading = if rest.is_empty() {
            Reading::Stat
        } else {
            Reading::Done
        };
    }

    fn stat_line(&mut self, text: &str) -> bool {
        if self.reading != Reading::Stat || !is_stat(text) || self.stat.len() > 128 {
            return false;
        }
        if let Some((name, value)) = text.split_once(' ') {
            self.stat.push(name, value.parse().unwrap_or(0));
        }
        true
    }

    /// The group whose `pids.max` refused a fork.
    pub(super) fn pids_in(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|_| self.name.is_empty()) {
            self.name = name.to_owned();
        }
    }

    /// The groups of "oom-kill:constraint=…,oom_memcg=/a,task_memcg=/a/b,…".
    pub(super) fn of_summary(&mut self, text: &str) {
        let name = value_of(text, "oom_memcg=").unwrap_or_default();
        if !name.is_empty() {
            self.name = name.to_owned();
        }
        if let Some(task) = value_of(text, "task_memcg=") {
            self.task_group = task.to_owned();
        }
    }

    /// Whether anything says that a group's limit was reached.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.memory.is_some() || !self.name.is_empty()
    }

    /// Anonymous memory, without what is shared.
    #[must_use]
    pub fn anon(&self) -> Option<Bytes> {
        self.bytes(&["anon", "rss"])
    }

    /// Shared memory and tmpfs.
    #[must_use]
    pub fn shmem(&self) -> Option<Bytes> {
        self.bytes(&["shmem"])
    }

    /// Page cache, without what is shared: it can be dropped, or written and dropped.
    #[must_use]
    pub fn file(&self) -> Option<Bytes> {
        let cache = self.bytes(&["file", "cache"])?;
        Some(cache.saturating_sub(self.shmem().unwrap_or_default()))
    }

    /// The kernel's: slab, stacks, page tables, sockets.
    #[must_use]
    pub fn kernel_bytes(&self) -> Option<Bytes> {
        if let Some(kernel) = self.bytes(&["kernel"]) {
            return Some(kernel);
        }
        let parts = ["kernel_stack", "pagetables", "percpu", "vmalloc", "slab"];
        let parts = parts.iter().filter_map(|name| self.stat.get(name));
        let sum = parts.reduce(u64::saturating_add).map(Bytes);
        let counter = self.kernel.map(|kernel| kernel.usage.bytes());
        sum.or(counter)
    }

    fn bytes(&self, names: &[&str]) -> Option<Bytes> {
        names.iter().find_map(|name| self.stat.get(name)).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(lines: &[&str]) -> Group {
        let mut group = Group::default();
        for line in lines {
            assert!(group.line(line), "{line}");
        }
        group
    }

    #[test]
    fn version_1_prints_pairs_in_one_line() {
        let group = group(&[
            "Task in /a/b killed as a result of limit of /a",
            "memory: usage 1024kB, limit 1024kB, failcnt 12",
            "memory+swap: usage 1024kB, limit 9007199254740988kB, failcnt 0",
            "kmem: usage 8kB, limit 9007199254740988kB, failcnt 0",
            "Memory cgroup stats for /a: cache:4KB rss:1000KB shmem:3KB swap:0KB",
            "Memory cgroup stats for /a/b: cache:400KB rss:9KB",
        ]);
        assert_eq!(
            (group.name.as_str(), group.task_group.as_str()),
            ("/a", "/a/b")
        );
        assert!(group.v1 && group.memory.is_some_and(|memory| memory.is_full()));
        assert_eq!(group.memory_and_swap.and_then(|both| both.limit), None);
        assert_eq!(group.anon(), Some(Kib(1000).bytes()));
        assert_eq!(group.file(), Some(Kib(1).bytes()));
        assert_eq!(group.kernel_bytes(), Some(Kib(8).bytes()));
    }

    #[test]
    fn version_2_prints_a_line_for_each() {
        let mut group = group(&[
            "memory: usage 1024kB, limit 1024kB, failcnt 12",
            "swap: usage 0kB, limit 0kB, failcnt 3",
            "Memory cgroup stats for /a:",
            "anon 4096",
            "file 8192",
            "kernel 100",
            "shmem 8192",
        ]);
        group.of_summary("oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a/b,pid=1");
        assert_eq!(
            (group.name.as_str(), group.task_group.as_str()),
            ("/a", "/a/b")
        );
        assert!(!group.v1);
        assert_eq!(
            (group.anon(), group.file()),
            (Some(Bytes(4096)), Some(Bytes(0)))
        );
        assert_eq!(group.kernel_bytes(), Some(Bytes(100)));
        assert_eq!(group.swap.and_then(|swap| swap.limit), Some(Kib(0)));
    }
}
