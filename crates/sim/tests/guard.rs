//! The guard on the model: what it locks stays, what it does not is as on a stock kernel, and when it
//! ends nothing is locked.

mod common;

use common::*;
use mm::settings::Settings;
use mm::units::Bytes;
use scenario::outcome::Outcome;
use scenario::workload::{Action, Cgroup, Process, Start, Step};

/// A file of 8 MiB that is used three times and, after a stream of another of 96 MiB, once more.
fn beside_a_stream(mut others: Vec<Process>, lru_gen: &str) -> Outcome {
    let use_it = |label: &str| {
        let file = "file 0".to_owned();
        let reading = labelled(label, Action::Access(read(0)));
        [reading, step(Action::Close { file }), sleep(500)]
    };
    let mut steps: Vec<Step> = ["cold", "first", "second"]
        .iter()
        .flat_map(|label| use_it(label))
        .collect();
    steps.extend([
        snapshot("before"),
        step(Action::Access(read(1))),
        snapshot("streamed"),
    ]);
    steps.extend(use_it("again"));
    steps.extend(others.iter().map(|guard| kill(&guard.name)));
    steps.extend([sleep(100), snapshot("alone")]);
    others.push(process("reader", steps));
    let mut asked = scenario(&[8, 96], others);
    asked.base = Settings(vec![setting("lru_gen.enabled", lru_gen)]);
    // The counter of locked pages, which other tests have no use for.
    let mut calibration = calibration();
    let boot = &mut calibration.boots[0].capture.frames[0];
    let vmstat = boot.files.get_mut("proc/vmstat").expect("it was put there");
    vmstat.push_str("nr_mlock 0\n");
    run_with(&asked, &calibration)
}

fn guard(key: &str, text: &str) -> Process {
    process(
        "guard",
        vec![step(Action::Guard(vec![(key.into(), text.into())]))],
    )
}

#[test]
fn what_is_used_again_stays_through_a_stream_and_is_let_go_with_the_guard() {
    for lru_gen in ["0", "7"] {
        let floor = guard("floor.clean_min", "12 MiB");
        let outcome = beside_a_stream(vec![floor], lru_gen);
        let locked = |label| counter(&outcome, label, "nr_mlock");
        assert_eq!(locked("before"), 2048, "{lru_gen}");
        assert_eq!(locked("streamed"), 2048);
        assert_eq!(locked("alone"), 0);
        let again = one(&outcome, "again").duration();
        let cached = one(&outcome, "first").duration();
        assert!(again.0 <= cached.0 * 11 / 10, "{again:?}, {cached:?}");
    }
}

#[test]
fn a_file_beyond_the_floor_is_not_locked() {
    let floor = guard("floor.clean_min", "1 MiB");
    let outcome = beside_a_stream(vec![floor], "0");
    assert_eq!(counter(&outcome, "streamed", "nr_mlock"), 0);
}

/// The file pages on the lists at a snapshot.
fn page_cache(outcome: &Outcome, label: &str) -> Bytes {
    let lists = ["nr_inactive_file", "nr_active_file"];
    let pages = lists.iter().map(|list| counter(outcome, label, list));
    Bytes(pages.sum::<u64>() << 12)
}

#[test]
fn the_machine_s_page_cache_stays_at_its_ceiling_and_what_is_used_again_stays() {
    for lru_gen in ["0", "7"] {
        let total = guard("ceiling.total", "24 MiB");
        let outcome = beside_a_stream(vec![total], lru_gen);
        let cache = page_cache(&outcome, "streamed");
        assert!(cache.0 <= 24 * MIB / 20 * 21, "{lru_gen}: {cache}");
        let again = one(&outcome, "again").duration();
        let cached = one(&outcome, "first").duration();
        assert!(again.0 <= cached.0 * 11 / 10, "{again:?}, {cached:?}");
    }
    let outcome = beside_a_stream(Vec::new(), "0");
    let cache = page_cache(&outcome, "streamed");
    assert!(cache.0 > 40 * MIB, "{cache}");
}

#[test]
fn a_group_s_page_cache_stays_at_its_ceiling_and_grows_without_the_guard() {
    let cache = |guarded: bool| {
        let mut reader = process(
            "reader",
            vec![
                step(Action::Access(read(0))),
                snapshot("read"),
                kill("guard"),
            ],
        );
        reader.cgroup = Some("backup".to_owned());
        let mut ceiling = guard("ceiling.groups.backup", "8 MiB");
        if !guarded {
            ceiling.start = Start::OnDemand;
        }
        let mut asked = scenario(&[40], vec![ceiling, reader]);
        asked.workload.cgroups.push(Cgroup {
            path: "backup".to_owned(),
            files: Vec::new(),
        });
        page_cache(&run(&asked), "read")
    };
    let (with, without) = (cache(true), cache(false));
    assert!(with.0 <= 8 * MIB / 20 * 21, "{with}");
    assert!(without.0 > 30 * MIB, "{without}");
}
