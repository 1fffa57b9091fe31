//! A directory that stands for the disk, another for the kernel's files, and short words for what
//! a workload is made of.

use std::fs;

use host::Root;
use mm::capture::Capture;
use mm::settings::Settings;
use mm::units::{Bytes, Nanos};
use plimsoll_guest as guest;
use plimsoll_guest::{Place, Recorder};
use scenario::Scenario;
use scenario::machine::{File, Machine};
use scenario::outcome::{Outcome, StepOutcome};
use scenario::workload::{
    Access, Action, Huge, Map, Pattern, Process, Start, Step, Target, Think, Via, Workload,
};

pub(crate) const FILE: u64 = 300_000;

pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) place: Place,
}

impl Bench {
    /// A disk "disk" with the files "data" (300 000 bytes) and "short" (a page of them).
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let disk = directory.path().join("disk");
        let put = |path: &str, text: &[u8]| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        };
        fs::create_dir(&disk).expect("a directory");
        put("disk/data", &vec![7; FILE as usize]);
        put("disk/short", &[7; 4096]);
        put("root/proc/self/oom_score_adj", b"0\n");
        put("root/proc/meminfo", b"MemTotal: 9 kB\nMemAvailable: 8 kB\n");
        put("root/proc/sys/vm/swappiness", b"60\n");
        put("root/sys/devices/system/node/node0/cpu0", b"");
        put("root/proc/12/comm", b"kswapd0\n");
        put("root/proc/12/schedstat", b"5 6 7\n");
        let place = Place {
            root: Root::new(directory.path().join("root")),
            disks: directory.path().to_owned(),
            devices: std::collections::BTreeMap::new(),
        };
        Self { directory, place }
    }

    pub(crate) fn run(&self, scenario: &Scenario) -> Outcome {
        let mut recorder = Recorder::new(&self.place);
        recorder.watch(&scenario.workload);
        let prepared = guest::prepare(scenario, &self.place, &mut recorder).expect("settings");
        guest::perform(scenario, &self.place, &prepared, &mut recorder).expect("a run");
        let mut text = Vec::new();
        recorder.write_to(&mut text).expect("a vector");
        assert_eq!(text.len() as u64, recorder.length());
        let text = String::from_utf8(text).expect("text");
        Outcome::from_capture(Capture::parse(&text).expect("a capture")).expect("steps")
    }

    pub(crate) fn swappiness(&self) -> String {
        let path = self.directory.path().join("root/proc/sys/vm/swappiness");
        fs::read_to_string(path).expect("a file").trim().to_owned()
    }
}

pub(crate) fn scenario(processes: Vec<Process>) -> Scenario {
    let file = |name: &str| File {
        name: name.into(),
        disk: "disk".into(),
        size: Bytes(FILE),
    };
    Scenario {
        study: "test".into(),
        arm: "only".into(),
        process_numbers: vec![],
        machine: Machine {
            memory: Bytes::GIB,
            cpus: 1,
            nodes: 1,
            disks: vec![],
            swaps: vec![],
            files: vec![file("data"), file("short"), file("missing")],
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        },
        workload: Workload {
            cgroups: vec![],
            processes,
            deadline: Some(Nanos(20 * SECOND)),
        },
        base: Settings::default(),
        arm_settings: Settings::default(),
        seed: 42,
        sample_every: Nanos(20 * MILLI),
        recorded: Default::default(),
    }
}

pub(crate) const SECOND: u64 = Nanos::SECOND.0;
pub(crate) const MILLI: u64 = Nanos::MILLI.0;

pub(crate) fn process(name: &str, start: Start, steps: Vec<Step>) -> Process {
    Process {
        name: name.into(),
        start,
        count: 1,
        cgroup: None,
        oom_score_adj: 0,
        address_space: None,
        steps,
    }
}

pub(crate) fn at_once(name: &str, steps: Vec<Step>) -> Process {
    process(name, Start::After(Nanos::ZERO), steps)
}

pub(crate) fn step(action: Action) -> Step {
    Step {
        label: None,
        action,
    }
}

pub(crate) fn labelled(label: &str, action: Action) -> Step {
    Step {
        label: Some(label.into()),
        action,
    }
}

pub(crate) fn access(target: Target) -> Access {
    Access {
        target,
        via: Via::Syscall,
        pattern: Pattern::Sequential,
        amount: None,
        time_limit: None,
        block: Bytes(4096),
        blocks: 1,
        write_percent: 0,
        think: Think::NONE,
        rate: 0,
        compute: Nanos::ZERO,
        classes: Vec::new(),
    }
}

pub(crate) fn file(name: &str) -> Access {
    access(Target::File(name.into()))
}

pub(crate) fn region(name: &str) -> Access {
    access(Target::Region(name.into()))
}

pub(crate) fn map(name: &str, size: Bytes) -> Map {
    Map {
        region: name.into(),
        size: size.into(),
        huge: Huge::System,
        mergeable: false,
        populate: false,
        contents: vec![],
    }
}

pub(crate) fn only<'a>(outcome: &'a Outcome, label: &'a str) -> &'a StepOutcome {
    let mut steps = outcome.labelled(label);
    let step = steps
        .next()
        .unwrap_or_else(|| panic!("no step \"{label}\": {:?}", outcome.steps));
    assert_eq!(steps.next(), None, "one step \"{label}\"");
    step
}
