//! About how much a run is for the model, before it is begun: what a study asks for is a line, and
//! may take a machine's lifetime.
//!
//! Counted is what a run does at least once for each page, operation, step, block, process and
//! sample. What ends after a time is counted as if each page took [`FASTEST`]. So the figure is
//! about right for work that is done, and too large for work that waits for a disk.

use std::collections::BTreeMap;
use std::time::Duration;

use mm::units::{Bytes, Nanos, PageSize};
use scenario::Scenario;
use scenario::recording::Stream;
use scenario::workload::{
    Access, Action, Map, Pattern, Process, Replay, Size, Step, Target, Until, Via,
};

/// The least time that a kernel takes for a page in a mapping or the page cache, for any step, and
/// for a process that another one starts or waits for, in seconds.
const FASTEST: f64 = 50e-9;
const FASTEST_STEP: f64 = 500e-9;
const FASTEST_PROCESS: f64 = 1e-3;

/// Bytes of the model's state of a page, and of a block of a Zipf table with its guide.
const PAGE_STATE: f64 = 14.0;
const BLOCK_STATE: f64 = 16.0;
/// Bytes of a sample, of a process, and of the figures of a labelled step.
const SAMPLE_STATE: f64 = 8192.0;
const PROCESS_STATE: f64 = 8192.0;
const FIGURES_STATE: f64 = 128.0;

/// Bytes that a process of the bench takes on its machine beside its regions and its buffer: 59
/// pages, of which 15 are the kernel's (`sim::own`).
const OWN: f64 = 59.0 * 4096.0;

/// Counts stay below this, so that sums and products of them are numbers.
const MOST: f64 = 1e30;

/// What is counted, the word for it, and the CPU time of one on a machine of 2020, in seconds: for
/// page accesses what studies with many of them take (25 to 50 ns), for the others the slower
/// figures of `docs/benchmarks.md`.
const KINDS: [(&str, f64); 6] = [
    ("page accesses", 35e-9),
    ("operations", 200e-9),
    ("steps", 400e-9),
    ("blocks that a Zipf pattern weighs", 400e-9),
    ("processes", 150e-6),
    ("samples", 100e-6),
];
const PAGES: usize = 0;
const OPERATIONS: usize = 1;
const STEPS: usize = 2;
const BLOCKS: usize = 3;
const PROCESSES: usize = 4;
const SAMPLES: usize = 5;

/// About how much work a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    counts: [f64; KINDS.len()],
    /// Bytes that grow with what is done, and those that are held however often it is done.
    grown: f64,
    held: f64,
    /// Bytes on the machine that all processes at once take for themselves.
    own: f64,
}

impl Work {
    /// That of a scenario of which one page in `scale` is simulated.
    #[must_use]
    pub fn of(scenario: &Scenario, scale: u64) -> Self {
        let reader = Reader {
            scenario,
            scale: scale.max(1) as f64,
        };
        let processes = &scenario.workload.processes;
        let spans: Vec<Span> = processes.iter().map(|one| reader.process(one)).collect();
        let ends = spans.iter().map(|span| span.seconds);
        let ends = ends.filter(|seconds| seconds.is_finite()).sum::<f64>();
        let deadline = scenario.workload.deadline.map(|it| it.seconds());
        let end = deadline.map_or(ends, |deadline| deadline.min(MOST));
        let mut work = Self::default();
        for (process, span) in processes.iter().zip(spans) {
            let times = started(processes, &process.name) * f64::from(process.count);
            let one = span.within(end);
            work.add(one, times);
            work.counts[PROCESSES] += times;
            // Instances that end give back what they held before the next ones start.
            work.held += (one.held + PROCESS_STATE) * f64::from(process.count);
            work.own += (OWN + buffer(&process.steps)) * f64::from(process.count);
        }
        let samples = end / scenario.sample_every.seconds().max(1e-9);
        work.counts[SAMPLES] += samples.min(MOST);
        work.grown += samples.min(MOST) * SAMPLE_STATE;
        work
    }

    /// CPU time of this machine.
    #[must_use]
    pub fn time(&self) -> Duration {
        let seconds: f64 = self.costs().iter().sum();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Memory of this machine for regions, tables, samples and figures; that of files, swap and RAM
    /// is [`sim::sampling::state_size`].
    #[must_use]
    pub fn state(&self) -> Bytes {
        Bytes((self.grown + self.held) as u64)
    }

    /// Memory of the study's machine that its processes take for themselves, all at once: buffers
    /// and what a process has anyway, without regions.
    #[must_use]
    pub fn own(&self) -> Bytes {
        Bytes(self.own as u64)
    }

    /// The time that no CPU of today stays below on a kernel; the model may be faster.
    #[must_use]
    pub fn least_time(&self) -> Duration {
        let (pages, steps) = (self.counts[PAGES], self.counts[STEPS]);
        let processes = self.counts[PROCESSES] * FASTEST_PROCESS;
        let seconds = pages * FASTEST + steps * FASTEST_STEP + processes;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// What most of the time goes to, as in "1.0e12 page accesses".
    #[must_use]
    pub fn mostly(&self) -> String {
        let costs = self.costs();
        let most = (0..costs.len()).max_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        let most = most.unwrap_or_default();
        format!("{:.1e} {}", self.counts[most], KINDS[most].0)
    }

    fn costs(&self) -> [f64; KINDS.len()] {
        std::array::from_fn(|kind| self.counts[kind] * KINDS[kind].1)
    }

    /// Adds what `other` does, `times` times; not what it holds.
    fn add(&mut self, other: Self, times: f64) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = (*count + more * times).min(MOST);
        }
        self.grown = (self.grown + other.grown * times).min(MOST);
    }

    /// The same, done `times` times. The weights of a Zipf pattern are made once.
    fn repeated(self, times: f64) -> Self {
        let mut work = Self {
            held: self.held,
            ..Self::default()
        };
        work.add(self, times);
        work.counts[BLOCKS] = self.counts[BLOCKS];
        work
    }
}

/// How often a process is started: once, or as often as steps do it.
fn started(processes: &[Process], name: &str) -> f64 {
    let by = |process: &Process| starts(&process.steps, name) * f64::from(process.count);
    processes.iter().map(by).sum::<f64>().clamp(1.0, MOST)
}

fn starts(steps: &[Step], name: &str) -> f64 {
    let of = |step: &Step| match &step.action {
        Action::Start { process } if process == name => 1.0,
        Action::Repeat {
            until: Until::Times(times),
            steps,
        } => (starts(steps, name) * *times as f64).min(MOST),
        Action::Repeat { steps, .. } => starts(steps, name),
        _ => 0.0,
    };
    steps.iter().map(of).sum()
}

/// The buffer that a process reads to and writes from: as large as its largest block.
fn buffer(steps: &[Step]) -> f64 {
    let of = |step: &Step| match &step.action {
        Action::Access(access) if access.via != Via::Mmap => access.block.0 as f64,
        Action::Repeat { steps, .. } => buffer(steps),
        _ => 0.0,
    };
    steps.iter().map(of).fold(0.0, f64::max)
}

/// What steps do and how long they take at least, in seconds; infinite where they never end.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    work: Work,
    seconds: f64,
}

impl Span {
    /// As much of it as is done in `seconds`; the work of one without an end is that of a second.
    fn within(self, seconds: f64) -> Work {
        self.work.repeated(match self.seconds.is_finite() {
            true => (seconds / self.seconds.max(1e-9)).min(1.0),
            false => seconds,
        })
    }

    fn repeated(self, times: f64) -> Self {
        Self {
            work: self.work.repeated(times),
            seconds: (self.seconds * times).min(MOST),
        }
    }
}

struct Reader<'a> {
    scenario: &'a Scenario,
    scale: f64,
}

/// The sizes of a process's regions by name.
type Regions<'a> = BTreeMap<&'a str, Bytes>;

impl<'a> Reader<'a> {
    fn process(&self, process: &'a Process) -> Span {
        self.steps(&process.steps, &mut Regions::new())
    }

    fn steps(&self, steps: &'a [Step], regions: &mut Regions<'a>) -> Span {
        let mut all = Span::default();
        for step in steps {
            let mut one = self.step(&step.action, regions);
            one.work.counts[STEPS] += 1.0;
            one.seconds += FASTEST_STEP;
            if step.label.is_some() {
                one.work.grown += FIGURES_STATE;
            }
            // What stands behind a step that never ends is not reached.
            match one.seconds.is_finite() {
                true => {
                    all.work.add(one.work, 1.0);
                    all.work.held += one.work.held;
                    all.seconds = (all.seconds + one.seconds).min(MOST);
                }
                false => return one,
            }
        }
        all
    }

    fn step(&self, action: &'a Action, regions: &mut Regions<'a>) -> Span {
        match action {
            Action::Access(access) => self.access(access, regions),
            Action::Replay(replay) => self.replay(replay),
            Action::Map(map) => self.map(map, regions),
            Action::Lock { target } | Action::Advise { target, .. } => {
                self.pass(self.size_of(target, regions))
            }
            Action::Sleep(time) => Span {
                seconds: time.seconds(),
                ..Span::default()
            },
            Action::Start { .. } | Action::Wait { .. } => Span {
                seconds: FASTEST_PROCESS,
                ..Span::default()
            },
            Action::Repeat { until, steps } => self.repeat(*until, steps, regions),
            _ => Span::default(),
        }
    }

    fn repeat(&self, until: Until, steps: &'a [Step], regions: &mut Regions<'a>) -> Span {
        let round = self.steps(steps, regions);
        let a_second = 1.0 / round.seconds.max(FASTEST);
        match until {
            _ if round.seconds.is_infinite() => round,
            Until::Times(times) => round.repeated(times as f64),
            Until::Elapsed(time) => Span {
                seconds: time.seconds().max(round.seconds),
                ..round.repeated((time.seconds() * a_second).max(1.0))
            },
            Until::Forever => Span {
                seconds: f64::INFINITY,
                ..round.repeated(a_second)
            },
        }
    }

    fn map(&self, map: &'a Map, regions: &mut Regions<'a>) -> Span {
        let size = self.at(map.size);
        regions.insert(&map.region, size);
        let mut span = Span::default();
        span.work.held = self.pages(size) * PAGE_STATE;
        span
    }

    fn access(&self, access: &Access, regions: &Regions<'a>) -> Span {
        let size = self.size_of(&access.target, regions);
        let amount = access.amount.map_or(size, |amount| self.at(amount)).0 as f64;
        let block = access.block.0.max(1) as f64;
        let pages = (block / PageSize::FOUR_KIB.bytes() as f64).ceil();
        let blocks = f64::from(access.blocks);
        let busy = blocks * (pages * FASTEST + self.read_from_disk(access, size));
        let least = busy + access.think.mean().seconds();
        let each = self.scale * least;
        let each = match access.rate {
            0 => each,
            rate => each.max(1.0 / f64::from(rate)),
        };
        let all = (amount / block / blocks / self.scale).ceil();
        let limit = access.time_limit.map(Nanos::seconds);
        let operations = limit.map_or(all, |limit| all.min((limit / each).ceil()));
        let mut work = Work::default();
        work.counts[OPERATIONS] = operations * blocks;
        work.counts[PAGES] = operations * blocks * pages;
        if matches!(access.pattern, Pattern::Zipf { .. }) {
            let blocks = (size.0 as f64 / block / self.scale).ceil();
            work.counts[BLOCKS] = blocks;
            work.held = blocks * BLOCK_STATE;
        }
        Span {
            work,
            seconds: operations * each,
        }
    }

    /// As many runs as the stream has, unless its time ends before them.
    fn replay(&self, replay: &Replay) -> Span {
        let limit = replay.time_limit.map_or(f64::INFINITY, Nanos::seconds);
        let stream = self.scenario.recorded.stream(replay.stream);
        let runs = stream.into_iter().flat_map(Stream::iter);
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let runs = runs.skip(count(replay.skip));
        let mut span = Span::default();
        for run in runs.take(replay.runs.map_or(usize::MAX, count)) {
            if span.seconds >= limit {
                break;
            }
            span.seconds += run.sleep.seconds();
            span.work.counts[OPERATIONS] += 1.0;
            span.work.counts[PAGES] += self.pages(Bytes(run.length));
            span.seconds += replay.compute.unwrap_or(run.compute).seconds();
        }
        span
    }

    /// The time in which the disk gives what a block has of a file that memory cannot hold, in
    /// seconds.
    fn read_from_disk(&self, access: &Access, size: Bytes) -> f64 {
        let machine = &self.scenario.machine;
        let Target::File(name) = &access.target else {
            return 0.0;
        };
        let file = machine.files.iter().find(|file| file.name == *name);
        let disk = file.and_then(|file| machine.disks.iter().find(|disk| disk.name == file.disk));
        let misses = match access.via {
            Via::Direct => 1.0,
            _ => 1.0 - (machine.memory.0 as f64 / size.0.max(1) as f64).min(1.0),
        };
        disk.map_or(0.0, |disk| {
            misses * access.block.0 as f64 / disk.read_bandwidth.0.max(1) as f64
        })
    }

    /// Each page once.
    fn pass(&self, size: Bytes) -> Span {
        let mut span = Span::default();
        span.work.counts[PAGES] = self.pages(size);
        span
    }

    fn size_of(&self, target: &Target, regions: &Regions<'a>) -> Bytes {
        let mut files = self.scenario.machine.files.iter();
        match target {
            Target::Region(name) => regions.get(name.as_str()).copied(),
            Target::File(name) => files.find(|file| file.name == *name).map(|file| file.size),
        }
        .unwrap_or_default()
    }

    /// At most as much is available as there is.
    fn at(&self, size: Size) -> Bytes {
        size.at(self.scenario.machine.memory)
    }

    fn pages(&self, size: Bytes) -> f64 {
        size.0 as f64 / PageSize::FOUR_KIB.bytes() as f64 / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BUILT_IN, Study};

    fn work(process: &str, head: &str) -> Work {
        let text = format!(
            "name = \"w\"\ntitle = \"w\"\nquestion = \"w\"\n{head}\n[machine]\nmemory = \"1 GiB\"\n\
             [[machine.disk]]\nname = \"d\"\nsize = \"2 GiB\"\nbandwidth = \"1 GB/s\"\n\
             [[machine.file]]\nname = \"f\"\ndisk = \"d\"\nsize = \"1 GiB\"\n\
             [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\n{process}\n"
        );
        let study = Study::parse(&text, "test").expect("a study");
        Work::of(&study.scenario("a", 1).expect("the arm"), 1)
    }

    fn counts(process: &str) -> [f64; KINDS.len()] {
        work(process, "").counts
    }

    #[test]
    fn accesses_are_counted_in_operations_and_pages() {
        let read = counts("steps = [{ read = { file = \"f\" } }]");
        assert_eq!((read[OPERATIONS], read[PAGES]), (1024.0, 262_144.0));
        let twice = counts("count = 2\nsteps = [{ read = { file = \"f\", block = \"1 B\" } }]");
        assert_eq!(twice[OPERATIONS], 2.0 * f64::from(1 << 30));
        let rated = "steps = [{ read = { file = \"f\", for = \"2 s\", rate = 50 } }]";
        assert_eq!(counts(rated)[OPERATIONS], 100.0);
    }

    #[test]
    fn repetitions_multiply_and_a_deadline_ends_them() {
        let repeat = |until: &str| {
            format!("steps = [{{ repeat = {{ {until}, steps = [{{ sleep = \"1 s\" }}] }} }}]")
        };
        assert_eq!(counts(&repeat("times = 1000000000"))[STEPS], 1e9 + 1.0);
        let bounded = work(&repeat("times = 1000000000"), "deadline = \"100 s\"");
        assert!(bounded.counts[STEPS] < 102.0, "{bounded:?}");
        let forever = work(&repeat("forever = true"), "deadline = \"100 s\"");
        assert!(
            (99.0..=201.0).contains(&forever.counts[STEPS]),
            "{forever:?}"
        );
        let nested = repeat(&format!("times = {}", i64::MAX)).replace(
            "sleep = \"1 s\"",
            &format!(
                "repeat = {{ times = {}, steps = [{{ sleep = \"1 h\" }}] }}",
                i64::MAX
            ),
        );
        assert!(work(&nested, "").time() > Duration::from_secs(1 << 40));
    }

    #[test]
    fn what_a_run_takes_of_memory_grows_with_maps_tables_and_samples() {
        let map = "steps = [{ map = { region = \"r\", size = \"8 TiB\" } }]";
        assert!(work(map, "").state() >= Bytes(28 << 30));
        let zipf = "steps = [{ read = { file = \"f\", block = \"1 B\", pattern = \"zipf 1\", \
                    amount = \"1 kB\" } }]";
        let table = work(zipf, "");
        assert!(table.state() >= Bytes(16 << 30), "{table:?}");
        assert_eq!(table.mostly(), "1.1e9 blocks that a Zipf pattern weighs");
        let samples = work("steps = [{ sleep = \"100 h\" }]", "sample = \"1 ms\"");
        assert_eq!(samples.counts[SAMPLES].round(), 3.6e8);
    }

    #[test]
    fn many_processes_need_memory_for_themselves_and_time_at_least() {
        let read = |count: u32| {
            let step = "steps = [{ read = { file = \"f\" } }]";
            work(&format!("count = {count}\n{step}"), "")
        };
        let own = read(1000).own();
        assert_eq!(own, Bytes(1000 * (59 * 4096 + (1 << 20))));
        assert_eq!(read(10).own(), Bytes(own.0 / 100));
        let least = read(1000).least_time();
        assert!(least >= Duration::from_secs(13), "{least:?}");
        assert!(least <= Duration::from_secs(20), "{least:?}");
    }

    #[test]
    fn no_built_in_study_is_near_what_is_refused() {
        for (name, _) in BUILT_IN {
            let study = Study::built_in(name).expect("built in");
            for arm in &study.arms {
                let scenario = study.scenario(&arm.name, 1).expect("the arm");
                let work = Work::of(&scenario, sim::sampling::automatic(&scenario));
                let seconds = work.time().as_secs_f64();
                assert!(
                    seconds < 30.0,
                    "{name}, {}: {seconds} s, {work:?}",
                    arm.name
                );
                assert!(work.state() < Bytes::GIB, "{name}, {}: {work:?}", arm.name);
            }
        }
    }
}
