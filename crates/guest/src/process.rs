//! A process of the workload: it performs its steps with real system calls, and ends.

use std::collections::BTreeMap;

use mm::units::{Bytes, Nanos};
use rustix::fs::Advice as FileAdvice;
use rustix::io::Errno;
use rustix::mm::{Advice as MemoryAdvice, MapFlags};
use scenario::access::{Operations, Tables, blocks, favourites, stream};
use scenario::recording::Stream;
use scenario::workload::{Access, Action, Advice, Huge, Replay, Target, Until, Via};

use crate::access::{self, Reach};
use crate::clock;
use crate::compute::Compute;
use crate::error::Why;
use crate::files::Files;
use crate::guard;
use crate::mapping::Mapping;
use crate::meter::Meter;
use crate::place::{Place, noise};
use crate::plan::{Node, Plan, is_reported};
use crate::recorded::{self, RecordedFiles};
use crate::region::Regions;
use crate::settings::{self, Prepared};
use crate::write::write_cgroup;

/// A process at work.
#[derive(Debug)]
pub(crate) struct Process<'a> {
    plan: &'a Plan<'a>,
    instance: usize,
    place: &'a Place,
    prepared: &'a Prepared,
    meter: Meter<'a>,
    regions: Regions,
    files: Files<'a>,
    recorded: RecordedFiles<'a>,
    /// The loop for CPU time of its own, once it is wanted.
    compute: Option<Compute>,
    /// For `pread` and `pwrite`, as large as the largest block so far.
    buffer: Option<Mapping>,
    /// The access stream of each step, by the step's number.
    streams: BTreeMap<u32, Operations>,
    tables: Tables,
}

/// The step that failed, and why.
#[derive(Debug)]
pub(crate) struct Failure {
    step: u32,
    why: Why,
}

impl<'a> Process<'a> {
    /// The process instance with this number, before its first step.
    pub(crate) fn new(
        plan: &'a Plan<'a>,
        instance: usize,
        place: &'a Place,
        prepared: &'a Prepared,
        meter: Meter<'a>,
    ) -> Self {
        Self {
            plan,
            instance,
            place,
            prepared,
            meter,
            regions: Regions::default(),
            files: Files::new(
                place,
                &plan.scenario.machine,
                plan.instances[instance].process,
            ),
            recorded: RecordedFiles::new(
                &plan.scenario.recorded,
                (plan.scenario.machine.recorded_on.as_deref()).map(|disk| place.disk(disk)),
            ),
            compute: None,
            buffer: None,
            streams: BTreeMap::new(),
            tables: Tables::default(),
        }
    }

    /// Performs all steps. Whether they succeeded is left at the desk.
    pub(crate) fn run(mut self) -> Result<(), ()> {
        let program = self.plan.program(self.plan.instances[self.instance].index);
        self.perform(program).map_err(|failure| {
            self.meter.fail(Some(failure.step), &failure.why);
        })
    }

    fn perform(&mut self, nodes: &[Node<'a>]) -> Result<(), Failure> {
        nodes.iter().try_for_each(|node| self.step(node))
    }

    fn step(&mut self, node: &Node<'a>) -> Result<(), Failure> {
        if !is_reported(node.step) {
            return self.act(node);
        }
        self.prepare(node);
        self.meter.begin(node.number);
        let result = self.act(node);
        let errno = result
            .as_ref()
            .err()
            .map_or(0, |failure| failure.why.errno.raw_os_error());
        self.meter.end(errno);
        result
    }

    fn act(&mut self, node: &Node<'a>) -> Result<(), Failure> {
        match &node.step.action {
            Action::Repeat { until, steps: _ } => self.repeat(*until, &node.children),
            action => self.once(node.number, action).map_err(|why| Failure {
                step: node.number,
                why,
            }),
        }
    }

    fn once(&mut self, number: u32, action: &Action) -> Result<(), Why> {
        match action {
            Action::Snapshot
            | Action::Daemon(_)
            | Action::Start { .. }
            | Action::Wait { .. }
            | Action::Kill { .. } => {
                self.meter.ask(number + 1)?;
            }
            Action::ApplyArm => settings::apply_arm(self.place, self.plan.scenario)?,
            Action::ApplyDefaults => settings::apply_defaults(self.place, self.prepared)?,
            Action::Set(list) => settings::apply(self.place, list)?,
            Action::SetCgroup { cgroup, file } => {
                write_cgroup(self.place, cgroup, &file.0, &file.1)?;
            }
            Action::Reclaim {
                cgroup,
                amount,
                swappiness,
            } => {
                settings::reclaim(self.place, cgroup, *amount, *swappiness)?;
            }
            Action::DropCaches => settings::drop_caches(self.place)?,
            Action::Access(access) => self.access(number, access)?,
            Action::Replay(replay) => self.replay(replay)?,
            Action::Map(map) => {
                let instance = &self.plan.instances[self.instance].name;
                let size = map.size.at(self.plan.available);
                let noise = noise(self.plan.scenario);
                let limit = self.plan.instances[self.instance].process.address_space;
                let mapped = self.regions.map(map, size, instance, noise);
                mapped.map_err(|errno| unmapped(map.huge, size, limit, errno))?;
            }
            Action::Unmap { region } => self.regions.unmap(region)?,
            Action::Advise { target, advice } => self.advise(target, *advice)?,
            Action::Lock { target } => match target {
                Target::Region(name) => self.regions.get(name)?.mapping().lock()?,
                Target::File(name) => self.files.mapping(name)?.lock()?,
            },
            Action::Guard(config) => guard::become_it(self.place, config)?,
            Action::Close { file } => self.files.close(file)?,
            Action::Sync { file } => rustix::fs::fsync(self.files.cached(file)?)?,
            Action::RunOnNode { node } => settings::run_on_node(self.place, *node)?,
            Action::Sleep(span) => clock::sleep(*span),
            Action::Repeat { .. } => unreachable!("a repetition is performed by `repeat`"),
        }
        Ok(())
    }

    fn repeat(&mut self, until: Until, children: &[Node<'a>]) -> Result<(), Failure> {
        let start = self.meter.now();
        let mut rounds = 0;
        loop {
            let over = match until {
                Until::Times(times) => rounds >= times,
                Until::Elapsed(span) => self.meter.now() >= start + span,
                Until::Forever => false,
            };
            if over {
                return Ok(());
            }
            self.perform(children)?;
            rounds += 1;
        }
    }

    /// Gets ready what is no part of a labelled step's own time: the order of its accesses, and the
    /// loop for its CPU time.
    fn prepare(&mut self, node: &Node<'a>) {
        let computes = match &node.step.action {
            Action::Access(access) => access.compute > Nanos::ZERO,
            action => matches!(action, Action::Replay(_)),
        };
        if computes {
            self.compute();
        }
        if let Action::Access(access) = &node.step.action
            && !self.streams.contains_key(&node.number)
            && let Ok(size) = self.size(&access.target)
        {
            let operations = self.operations(node.number, access, size);
            self.streams.insert(node.number, operations);
        }
    }

    fn access(&mut self, number: u32, access: &Access) -> Result<(), Errno> {
        let size = self.size(&access.target)?;
        let amount = access
            .amount
            .map_or(size, |amount| amount.at(self.plan.available));
        let mut operations = match self.streams.remove(&number) {
            Some(operations) => operations,
            None => self.operations(number, access, size),
        };
        let compute = (access.compute > Nanos::ZERO).then(|| self.compute());
        let todo = (&mut operations, compute);
        let result = self.reach(access).and_then(|mut reach| {
            access::perform(access, amount, size, &mut reach.0, todo, reach.1)
        });
        self.streams.insert(number, operations);
        result
    }

    fn compute(&mut self) -> Compute {
        let stopwatch = self.meter.stopwatch();
        *self
            .compute
            .get_or_insert_with(|| Compute::measure(stopwatch))
    }

    fn replay(&mut self, replay: &Replay) -> Result<(), Errno> {
        let (meter, compute) = (self.meter, self.compute());
        let streams = &self.plan.scenario.recorded;
        let longest = streams
            .stream(replay.stream)
            .map_or(Bytes::ZERO, Stream::longest);
        let buffer = buffer(&mut self.buffer, longest)?;
        recorded::perform(replay, &mut self.recorded, buffer, compute, meter)
    }

    fn operations(&mut self, number: u32, access: &Access, size: Bytes) -> Operations {
        let instance = &self.plan.instances[self.instance].name;
        let seed = self.plan.scenario.seed;
        let prng = stream(seed, instance, self.plan.path(number));
        let favourites = favourites(seed, instance, &access.target);
        let blocks = blocks(size, access.block);
        Operations::new(access, blocks, prng, favourites, &mut self.tables)
    }

    fn size(&self, target: &Target) -> Result<Bytes, Errno> {
        match target {
            Target::File(name) => self.files.size(name),
            Target::Region(name) => self.regions.get(name).map(crate::region::Region::size),
        }
    }

    fn reach(&mut self, access: &Access) -> Result<(Reach<'_>, Meter<'a>), Errno> {
        let meter = self.meter;
        let name = match &access.target {
            Target::Region(name) => return Ok((Reach::Region(self.regions.get(name)?), meter)),
            Target::File(name) => name,
        };
        let reach = match access.via {
            Via::Mmap => Reach::Mapped(self.files.mapping(name)?),
            Via::Syscall => {
                let buffer = buffer(&mut self.buffer, access.block)?;
                Reach::Calls(self.files.cached(name)?, buffer)
            }
            Via::Direct => {
                let buffer = buffer(&mut self.buffer, access.block)?;
                Reach::Direct(self.files.direct(name)?, buffer)
            }
        };
        Ok((reach, meter))
    }

    fn advise(&mut self, target: &Target, advice: Advice) -> Result<(), Errno> {
        let name = match target {
            Target::Region(name) => {
                let mapping = self.regions.get(name)?.mapping();
                return mapping.advise(memory_advice(advice).ok_or(Errno::INVAL)?);
            }
            Target::File(name) => name,
        };
        match file_advice(advice) {
            Some(advice) => rustix::fs::fadvise(self.files.cached(name)?, 0, None, advice)?,
            None => self.files.mapping(name).map(drop)?,
        }
        match memory_advice(advice) {
            Some(advice) => self.files.advise_mapping(name, advice),
            None => Ok(()),
        }
    }
}

/// Why a region cannot be mapped, with the way out.
fn unmapped(huge: Huge, size: Bytes, limit: Option<Bytes>, errno: Errno) -> Why {
    let why = Why::from(errno);
    if errno != Errno::NOMEM {
        return why;
    }
    let text = match (huge, limit) {
        (Huge::Hugetlb, _) => format!(
            "the hugetlb pool has no {size} to reserve; set vm.nr_hugepages for it, or map less"
        ),
        (_, Some(limit)) => format!(
            "{size} more are over the process's address-space of {limit}; raise it, or map less"
        ),
        (_, None) => format!("no address space for {size}; map less"),
    };
    Why { text, ..why }
}

/// A buffer of one block, faulted in; kept for the next access.
fn buffer(kept: &mut Option<Mapping>, block: Bytes) -> Result<&mut [u8], Errno> {
    let page = rustix::param::page_size();
    let length = usize::try_from(block.0)
        .map_err(|_| Errno::NOMEM)?
        .max(1)
        .next_multiple_of(page);
    if kept.as_ref().is_none_or(|buffer| buffer.length() < length) {
        *kept = None;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        *kept = Some(Mapping::anonymous(length, flags)?);
    }
    kept.as_mut().map(Mapping::bytes).ok_or(Errno::NOMEM)
}

fn file_advice(advice: Advice) -> Option<FileAdvice> {
    Some(match advice {
        Advice::DontNeed => FileAdvice::DontNeed,
        Advice::NoReuse => FileAdvice::NoReuse,
        Advice::Sequential => FileAdvice::Sequential,
        Advice::Random => FileAdvice::Random,
        Advice::WillNeed => FileAdvice::WillNeed,
        _ => return None,
    })
}

/// `None` for advice that only files know.
fn memory_advice(advice: Advice) -> Option<MemoryAdvice> {
    Some(match advice {
        Advice::DontNeed => MemoryAdvice::LinuxDontNeed,
        Advice::NoReuse => return None,
        Advice::Sequential => MemoryAdvice::Sequential,
        Advice::Random => MemoryAdvice::Random,
        Advice::WillNeed => MemoryAdvice::WillNeed,
        Advice::Cold => MemoryAdvice::LinuxCold,
        Advice::PageOut => MemoryAdvice::LinuxPageOut,
        Advice::HugePage => MemoryAdvice::LinuxHugepage,
        Advice::NoHugePage => MemoryAdvice::LinuxNoHugepage,
        Advice::Mergeable => MemoryAdvice::LinuxMergeable,
        Advice::Unmergeable => MemoryAdvice::LinuxUnmergeable,
    })
}

/// What a process does before its first step: it takes its place in the machine.
pub(crate) fn settle(
    place: &Place,
    process: &scenario::workload::Process,
    name: &str,
) -> Result<(), Why> {
    use rustix::process::{Resource, Rlimit, set_parent_process_death_signal, setrlimit};
    set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let name: Vec<u8> = name.bytes().filter(|&byte| byte != 0).take(15).collect();
    let name = std::ffi::CString::new(name).map_err(|_| Errno::INVAL)?;
    rustix::thread::set_name(&name)?;
    if let Some(cgroup) = &process.cgroup {
        write_cgroup(place, cgroup, "cgroup.procs", "0")?;
    }
    settings::oom_score_adj(place, process.oom_score_adj)?;
    if let Some(limit) = process.address_space {
        let limit = Rlimit {
            current: Some(limit.0),
            maximum: Some(limit.0),
        };
        setrlimit(Resource::As, limit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_that_does_not_fit_says_which_bound_it_hit() {
        let why = |huge, limit| unmapped(huge, Bytes(2 << 20), limit, Errno::NOMEM).text;
        let pool = "the hugetlb pool has no 2 MiB to reserve; set vm.nr_hugepages for it, or map \
                    less";
        assert_eq!(why(Huge::Hugetlb, Some(Bytes::GIB)), pool);
        let limit = "2 MiB more are over the process's address-space of 1 GiB; raise it, or map \
                     less";
        assert_eq!(why(Huge::Never, Some(Bytes::GIB)), limit);
        assert_eq!(
            why(Huge::System, None),
            "no address space for 2 MiB; map less"
        );
        let other = unmapped(Huge::System, Bytes(1), None, Errno::INVAL);
        assert_eq!(other.text, Why::from(Errno::INVAL).text);
    }
}
