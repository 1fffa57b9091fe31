//! A traced run of the model is the same run, and what its tasks met adds up to the counters.

use answer::bench::{Bench as _, Run};
use answer::model_bench::ModelBench;
use mm::snapshot::Snapshot;
use scenario::outcome::Outcome;
use scenario::traced::{Figure, Traced};
use study::Study;

/// What all tasks met of a figure.
fn all(traced: &Traced, figure: Figure) -> u64 {
    let of_it = traced.counts.iter().filter(|it| it.figure == figure);
    of_it.map(|it| it.amount).sum()
}

#[test]
fn tracing_changes_no_byte_of_a_run_and_the_tasks_add_up_to_the_counters() {
    let study = Study::built_in("memory-hogs-writing").expect("it is built in");
    let scenario = study.scenario("limit, mlock", 1).expect("its arm");
    let bench = ModelBench::of_kernel("6.12").expect("a calibration");
    let run = Run {
        scenario: &scenario,
    };
    let plain = bench.run(run, &mut |_| ()).expect("it runs");
    let (capture, traced) = bench.trace(&scenario).expect("it runs");
    assert!(plain == capture);
    let outcome = Outcome::from_capture(capture).expect("its notes");
    let frames = &outcome.capture.frames;
    let [first, last] =
        [frames.first(), frames.last()].map(|frame| Snapshot::parse(frame.expect("it has frames")));
    for (figure, counters) in [
        (Figure::DirectReclaims, &["allocstall_movable"][..]),
        (Figure::ReclaimedDirectly, &["pgsteal_direct"]),
        (Figure::Scanned, &["pgscan_direct", "pgscan_kswapd"]),
        (Figure::SwappedOut, &["pswpout"]),
        (Figure::KswapdRuns, &["pageoutrun"]),
    ] {
        let moved = |item: &&str| Some(last.vmstat(item)? - first.vmstat(item)?);
        let counted: Option<u64> = counters.iter().map(moved).sum();
        let counted = counted.expect("the counters");
        assert!(counted > 0, "{figure:?}");
        assert_eq!(all(&traced, figure), counted, "{figure:?}");
    }
    let met = |task: &str, figure| {
        let mut counts = traced.counts.iter();
        counts.any(|it| traced.tasks[it.task as usize] == task && it.figure == figure)
    };
    assert!(met("server", Figure::ReclaimTime) && met("backup", Figure::Pauses));
    assert!(met("kworker", Figure::Written) && !met("kworker", Figure::Pauses));
}
