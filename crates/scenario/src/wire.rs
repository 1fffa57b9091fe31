//! A scenario as bytes: what a VM is told of a study, so that its guest need not read the text.
//!
//! Writer and reader are of one build, so the form has no version. Each type is written by its
//! parts in the order of the tables below; a choice is written as the number of its variant.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Scenario;
use crate::machine::{Cost, Disk, File, FileSystem, Machine, Swap, SwapBacking};
use crate::recording::Recorded;
use crate::workload::{
    Access, Action, Advice, Cgroup, Class, Content, ContentShare, Daemon, Huge, Map, Pace, Pattern,
    Process, Replay, Size, Start, Step, Target, Think, Until, Via, Workload,
};
use mm::settings::{Setting, Settings};
use mm::units::{Bytes, Nanos};

/// What can be told a VM.
trait Wire: Sized {
    /// Appends it.
    fn put(&self, to: &mut Vec<u8>);

    /// Takes it from the front; `None` where it is not there.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

impl Scenario {
    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put(&mut bytes);
        bytes
    }

    /// The scenario of these bytes; `None` where they are not all of one and nothing else.
    #[must_use]
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let scenario = Self::take(&mut bytes)?;
        bytes.is_empty().then_some(scenario)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

macro_rules! parts {
    ($($type:ident { $($part:ident),* })*) => {$(
        impl Wire for $type {
            fn put(&self, to: &mut Vec<u8>) {
                let Self { $($part),* } = self;
                $($part.put(to);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($part: Wire::take(from)?),* })
            }
        }
    )*};
}

macro_rules! choices {
    ($($type:ident {
        $($number:literal $variant:ident $(($inner:ident))? $({ $($part:ident),* })?),*
    })*) => {$(
        impl Wire for $type {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($inner))? $({ $($part),* })? => {
                        u8::put(&$number, to);
                        $($inner.put(to);)?
                        $($($part.put(to);)*)?
                    })*
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(match u8::take(from)? {
                    $($number => Self::$variant
                        $(({ let $inner = Wire::take(from)?; $inner }))?
                        $({ $($part: Wire::take(from)?),* })?,)*
                    _ => return None,
                })
            }
        }
    )*};
}

numbers! { u8, u32, u64, i16 }

parts! {
    Scenario {
        study, arm, machine, workload, process_numbers, base, arm_settings, seed, sample_every,
        recorded
    }
    Machine {
        memory, cpus, nodes, disks, swaps, files, costs, file_system, recorded_on, available
    }
    Disk {
        name, size, read_bandwidth, write_bandwidth, latency, seek, channels, queue_depth,
        rotational
    }
    Swap { backing, size }
    File { name, disk, size }
    Cost { name, picoseconds }
    Setting { tunable, value }
    Workload { cgroups, processes, deadline }
    Cgroup { path, files }
    Process { name, start, count, cgroup, oom_score_adj, address_space, steps }
    Step { label, action }
    Access {
        target, via, pattern, amount, time_limit, block, blocks, write_percent, compute, think,
        rate, classes
    }
    Map { region, size, huge, mergeable, populate, contents }
    Replay { stream, skip, runs, pace, compute, time_limit }
    Class { rate_micro, pages }
    ContentShare { content, percent }
}

choices! {
    FileSystem { 0 Ext4, 1 Xfs }
    SwapBacking { 0 Disk(name), 1 Zram { ratio_milli } }
    Size { 0 Bytes(bytes), 1 OfAvailable { thousandths } }
    Start { 0 After(delay), 1 OnDemand }
    Daemon { 0 Ksmtuned, 1 Adaptivemmd, 2 Katalyst }
    Action {
        0 Snapshot,
        1 ApplyArm,
        2 ApplyDefaults,
        3 Set(settings),
        4 SetCgroup { cgroup, file },
        5 Daemon(daemon),
        6 Access(access),
        7 Map(map),
        8 Unmap { region },
        9 Advise { target, advice },
        10 Lock { target },
        11 Sync { file },
        12 DropCaches,
        13 Reclaim { cgroup, amount, swappiness },
        14 RunOnNode { node },
        15 Sleep(span),
        16 Start { process },
        17 Wait { process },
        18 Kill { process },
        19 Repeat { until, steps },
        20 Guard(config),
        21 Close { file },
        22 Replay(replay)
    }
    Until { 0 Times(times), 1 Elapsed(span), 2 Forever }
    Target { 0 File(name), 1 Region(name) }
    Via { 0 Syscall, 1 Mmap, 2 Direct }
    Think { 0 Constant(time), 1 Uniform { from, to }, 2 Exponential { mean } }
    Pattern { 0 Sequential, 1 Random, 2 Zipf { exponent_milli }, 3 Classes }
    Pace { 0 Closed, 1 Clock }
    Huge { 0 System, 1 Advise, 2 Never, 3 Hugetlb }
    Content {
        0 Identical { class },
        1 Repeated { copies },
        2 Unique,
        3 Zero,
        4 Volatile { every }
    }
    Advice {
        0 DontNeed,
        1 NoReuse,
        2 Sequential,
        3 Random,
        4 WillNeed,
        5 Cold,
        6 PageOut,
        7 HugePage,
        8 NoHugePage,
        9 Mergeable,
        10 Unmergeable
    }
}

impl Wire for bool {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(*self).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(u8::take(from)? != 0)
    }
}

impl Wire for Bytes {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from).map(Self)
    }
}

impl Wire for Nanos {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from).map(Self)
    }
}

/// A recording has a file of its own.
impl Wire for Arc<Recorded> {
    fn put(&self, _to: &mut Vec<u8>) {}

    fn take(_from: &mut &[u8]) -> Option<Self> {
        Some(Self::default())
    }
}

impl Wire for Settings {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Wire::take(from).map(Self)
    }
}

impl Wire for String {
    fn put(&self, to: &mut Vec<u8>) {
        put_length(self.len(), to);
        to.extend(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = u32::take(from)? as usize;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        Self::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        put_length(self.len(), to);
        self.iter().for_each(|item| item.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = u32::take(from)?;
        (0..length).map(|_| T::take(from)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match bool::take(from)? {
            true => T::take(from).map(Some),
            false => Some(None),
        }
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

/// A length beyond 32 bits would be of a text that no memory holds twice.
fn put_length(length: usize, to: &mut Vec<u8>) {
    u32::try_from(length).unwrap_or(u32::MAX).put(to);
}
