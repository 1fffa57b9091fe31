//! Random small scenarios: they end, keep every page (asserted inside at each sample), give the
//! same bytes twice, and parse; and one whose bytes are pinned.

mod common;

use common::*;
use mm::capture::Capture;
use mm::meminfo::Meminfo;
use mm::settings::Settings;
use mm::units::{Bytes, Nanos};
use mm::vmstat::Vmstat;
use mm::zoneinfo::Zoneinfo;
use plimsoll_sim::Cpus;
use proptest::prelude::*;
use scenario::Scenario;
use scenario::machine::{Swap, SwapBacking};
use scenario::outcome::Outcome;
use scenario::workload::{
    Access, Action, Advice, Huge, Pattern, Process, Start, Step, Target, Think, Until, Via,
};

const FILES: usize = 3;

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Random),
        (0..1500_u32).prop_map(|exponent_milli| Pattern::Zipf { exponent_milli }),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        (0..FILES).prop_map(|file| Target::File(format!("file {file}"))),
        Just(Target::Region("heap".to_owned())),
    ]
}

fn think() -> impl Strategy<Value = Think> {
    let pause = || (0..100_000_u64).prop_map(Nanos);
    prop_oneof![
        8 => Just(Think::NONE),
        1 => pause().prop_map(Think::Constant),
        1 => pause().prop_map(|mean| Think::Exponential { mean }),
        1 => (pause(), pause()).prop_map(|(from, more)| Think::Uniform { from, to: from + more }),
    ]
}

prop_compose! {
    fn access()(
        target in target(),
        pattern in pattern(),
        amount in prop::option::of(0..8 * MIB),
        time_limit in prop::option::of(0..200_000_000_u64),
        block in 1..300_000_u64,
        blocks in prop_oneof![4 => Just(1), 1 => 2..10_u32],
        think in think(),
        rate in prop_oneof![4 => Just(0), 1 => 1000..100_000_u32],
        via in prop_oneof![Just(Via::Syscall), Just(Via::Mmap), Just(Via::Direct)],
        writes in prop_oneof![Just(0), Just(30), Just(100_u8)],
    ) -> Action {
        // A tiny block over many bytes takes long, and shows nothing that a larger one does not.
        let block = Bytes(block.max(amount.unwrap_or(32 * MIB) / 2000));
        Action::Access(Access {
            via, write_percent: writes, target, pattern, block, blocks, rate,
            amount: amount.map(|bytes| Bytes(bytes).into()),
            time_limit: time_limit.map(Nanos),
            think,
            compute: Nanos::ZERO,
            classes: Vec::new(),
        })
    }
}

fn action() -> impl Strategy<Value = Action> {
    let map = (0..40_u64, any::<bool>()).prop_map(|(mib, huge)| {
        let huge = if huge { Huge::System } else { Huge::Never };
        map("heap", mib, huge).action
    });
    let process = || (0..3_usize).prop_map(|index| format!("process {index}"));
    let min_free = (0..60_000_u64)
        .prop_map(|kib| Action::Set(vec![setting("vm.min_free_kbytes", &kib.to_string())]));
    let lru_gen = prop_oneof![Just("0"), Just("1"), Just("7")]
        .prop_map(|bits| Action::Set(vec![setting("lru_gen.enabled", bits)]));
    prop_oneof![
        8 => access(),
        3 => map,
        2 => (target(), advice()).prop_map(|(target, advice)| Action::Advise { target, advice }),
        1 => target().prop_map(|target| Action::Lock { target }),
        1 => Just(Action::DropCaches),
        1 => (0..FILES).prop_map(|file| Action::Sync { file: format!("file {file}") }),
        1 => dirty_limits(),
        1 => Just(Action::ApplyDefaults),
        1 => Just(Action::Snapshot),
        1 => min_free,
        2 => lru_gen,
        2 => (0..100_000_000_u64).prop_map(|span| Action::Sleep(Nanos(span))),
        1 => process().prop_map(|process| Action::Start { process }),
        1 => process().prop_map(|process| Action::Wait { process }),
        1 => process().prop_map(|process| Action::Kill { process }),
    ]
}

fn dirty_limits() -> impl Strategy<Value = Action> {
    let limits = (0..100_u8, 0..100_u8, 0..3000_u32, 0..3000_u32);
    limits.prop_map(|(dirty, background, expire, interval)| {
        Action::Set(vec![
            setting("vm.dirty_ratio", &dirty.to_string()),
            setting("vm.dirty_background_ratio", &background.to_string()),
            setting("vm.dirty_expire_centisecs", &expire.to_string()),
            setting("vm.dirty_writeback_centisecs", &interval.to_string()),
        ])
    })
}

fn advice() -> impl Strategy<Value = Advice> {
    prop_oneof![
        3 => Just(Advice::DontNeed),
        1 => Just(Advice::Random),
        1 => Just(Advice::Sequential),
        1 => Just(Advice::Cold),
        2 => Just(Advice::PageOut),
        1 => Just(Advice::NoHugePage),
    ]
}

fn swap() -> impl Strategy<Value = Swap> {
    let backing = prop_oneof![
        2 => Just(SwapBacking::Disk("disk".to_owned())),
        1 => (1000..5000_u32).prop_map(|ratio_milli| SwapBacking::Zram { ratio_milli }),
    ];
    (backing, 0..60 * MIB).prop_map(|(backing, size)| Swap {
        backing,
        size: Bytes(size),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let plain = |most| prop::collection::vec(action().prop_map(|a| labelled("step", a)), 1..most);
    // A study has no empty rounds, and one without a pause makes a long run of nothing.
    let round = plain(5).prop_map(|mut steps| {
        steps.push(sleep(5));
        steps
    });
    let until = prop_oneof![
        (0..4_u64).prop_map(Until::Times),
        (0..200_000_000_u64).prop_map(|span| Until::Elapsed(Nanos(span))),
        Just(Until::Forever),
    ];
    (plain(6), prop::option::of((until, round))).prop_map(|(mut steps, inner)| {
        // A region to touch, whatever comes.
        steps.insert(0, map("heap", 3, Huge::System));
        if let Some((until, inner)) = inner {
            steps.push(labelled("repeat", repeat(until, inner)));
        }
        steps
    })
}

prop_compose! {
    fn processes()(
        parts in prop::collection::vec((steps(), 1..3_u32, -1..3_i64, any::<bool>()), 3),
    ) -> Vec<Process> {
        let process = |(index, part): (usize, (Vec<Step>, u32, i64, bool))| {
            let (steps, count, delay, limited) = part;
            Process {
                count,
                start: match u64::try_from(delay) {
                    Ok(delay) => Start::After(Nanos(delay * 70_000_000)),
                    Err(_) => Start::OnDemand,
                },
                address_space: limited.then_some(Bytes(30 * MIB)),
                ..process(&format!("process {index}"), steps)
            }
        };
        parts.into_iter().enumerate().map(process).collect()
    }
}

prop_compose! {
    fn any_scenario()(
        processes in processes(),
        files in prop::collection::vec(0..80_u64, FILES),
        memory in prop_oneof![Just(MEMORY.0), 40 * MIB..160 * MIB],
        cpus in 1..=4_u32,
        swaps in prop::collection::vec(swap(), 0..3),
        swappiness in 0..=200_u32,
        rotational in any::<bool>(),
        seed in any::<u64>(),
        min_free in prop::option::of(0..60_000_u64),
        deadline in 1..400_000_000_u64,
    ) -> Scenario {
        let mut scenario = scenario(&files, processes);
        scenario.machine.memory = Bytes(memory);
        scenario.machine.cpus = cpus;
        scenario.machine.swaps = swaps;
        scenario.machine.disks[0].rotational = rotational;
        let swappiness = setting("vm.swappiness", &swappiness.to_string());
        scenario.base.0.push(swappiness);
        scenario.seed = seed;
        scenario.sample_every = Nanos(20_000_000);
        scenario.workload.deadline = Some(Nanos(deadline));
        let min_free = min_free.map(|kib| setting("vm.min_free_kbytes", &kib.to_string()));
        scenario.arm_settings = Settings(min_free.into_iter().collect());
        scenario
    }
}

fn check_frames(capture: &Capture) {
    for frame in &capture.frames {
        Meminfo::parse(frame.file("proc/meminfo").expect("meminfo")).expect("meminfo parses");
        Vmstat::parse(frame.file("proc/vmstat").expect("vmstat")).expect("vmstat parses");
        if let Some(text) = frame.file("proc/zoneinfo") {
            let zones = Zoneinfo::parse(text).expect("zoneinfo parses").zones;
            assert!(zones.iter().all(|zone| zone.free <= zone.managed));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_random_scenario_ends_and_repeats_to_the_byte(scenario in any_scenario()) {
        let run = || plimsoll_sim::run(&scenario, &calibration());
        let capture = run().expect("the model runs it");
        let text = capture.to_text();
        prop_assert_eq!(&run().expect("again").to_text(), &text);
        prop_assert_eq!(&Capture::parse(&text).expect("a capture"), &capture);
        check_frames(&capture);
        let outcome = Outcome::from_capture(capture).expect("an outcome");
        let mut ends = outcome.steps.iter().map(|step| step.end.0);
        prop_assert!(ends.all(|end| end < 1_000_000_000), "near the deadline at the latest");
    }
}

/// Steps that a scenario here may take. Of 800 the most took 42,000; one in 5000, on one CPU, took
/// two million in 0.16 s.
const MOST_STEPS: u64 = 20_000_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Counted, not timed: whoever goes on by steps of a nanosecond takes millions.
    #[test]
    fn several_cpus_take_a_bounded_number_of_steps(scenario in any_scenario()) {
        for cpus in [Cpus::Whole, Cpus::ByTurns] {
            let steps = plimsoll_sim::steps(cpus, &scenario, &calibration()).expect("it ends");
            prop_assert!(steps < MOST_STEPS, "{steps} steps on {} CPUs, {cpus:?}", scenario.machine.cpus);
        }
    }

    #[test]
    fn cpus_that_take_turns_repeat_to_the_byte(scenario in any_scenario()) {
        let run = || plimsoll_sim::run_on(Cpus::ByTurns, &scenario, &calibration(), 1);
        let capture = run().expect("the model runs it");
        prop_assert_eq!(run().expect("again").to_text(), capture.to_text());
        check_frames(&capture);
        if scenario.machine.cpus == 1 {
            let whole = plimsoll_sim::run(&scenario, &calibration()).expect("the model runs it");
            prop_assert_eq!(whole.to_text(), capture.to_text(), "one CPU has every turn");
        }
    }
}

/// FNV-1a, as it is fixed for ever.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Reclaim, refaults, huge pages and an OOM kill in one run. Its bytes are pinned: a change of the
/// model changes them, and whoever makes one says so in the commit and puts the new hash here.
#[test]
fn the_bytes_of_one_run_are_pinned() {
    let random = Access {
        pattern: Pattern::Random,
        block: Bytes(16 << 10),
        ..read(1)
    };
    let reader = vec![
        step(Action::Access(read(0))),
        labelled("random", Action::Access(random)),
        snapshot("read"),
        start("hog"),
        wait("hog"),
    ];
    let hog = vec![
        map("heap", 60, Huge::System),
        labelled("hold", Action::Access(touch("heap"))),
    ];
    let processes = vec![process("reader", reader), on_demand("hog", hog)];
    let capture = plimsoll_sim::run(&scenario(&[60, 30], processes), &calibration());
    let text = capture.expect("the model runs it").to_text();
    assert_eq!(hash(&text), 2_042_359_974_241_108_393);
}
