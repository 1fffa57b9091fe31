//! Recordings done again on a machine of which one page in many is simulated.

use super::*;

/// What was read from the disk, in pages, and how long it took in seconds: of every page, and of
/// one page in 2, 4 and 8.
fn at_scales(runs: &[Run]) -> [(f64, f64); 4] {
    let mut scenario = replayed(&[768 * MIB], runs, REPLAY);
    scenario.machine.memory = Bytes(512 * MIB);
    let disk = &mut scenario.machine.disks[0];
    (disk.rotational, disk.seek) = (false, Nanos(20_000));
    [1, 2, 4, 8].map(|scale| {
        let capture = plimsoll_sim::run_sampled(&scenario, &calibration(), scale);
        let outcome = Outcome::from_capture(capture.expect("it runs")).expect("an outcome");
        let step = outcome.labelled("replay").next().expect("it ran");
        let read = counter(&outcome, "end", "pgpgin") as f64 / 4.0;
        println!(
            "1/{scale}: {read} pages in {:.3} s",
            step.duration().seconds()
        );
        (read, step.duration().seconds())
    })
}

fn computing(runs: Vec<Run>) -> Vec<Run> {
    let run = |run| Run {
        compute: Nanos(8_000),
        ..run
    };
    runs.into_iter().map(run).collect()
}

#[test]
fn a_recording_is_performed_by_one_page_of_many() {
    let zipf = Access {
        pattern: Pattern::Zipf {
            exponent_milli: 900,
        },
        block: Bytes(4096),
        write_percent: 10,
        ..read(0)
    };
    let size = Bytes(768 * MIB);
    let random = computing(seen(&zipf, size, 400_000, [Kind::Read, Kind::Write]));
    let in_order = computing(seen(&read(0), size, 3 * 768 * 8, [Kind::Read; 2]));
    // Every second read is of the first page.
    let hot = random
        .iter()
        .flat_map(|&run| [Run { offset: 0, ..run }, run]);
    let hot: Vec<Run> = hot.take(400_000).collect();
    for runs in [random, in_order, hot] {
        let [exact, sampled @ ..] = at_scales(&runs);
        for (pages, time) in sampled {
            let (pages, time) = (pages / exact.0 - 1.0, time / exact.1 - 1.0);
            println!(
                "  pages {:+.1} %, time {:+.1} %",
                pages * 100.0,
                time * 100.0
            );
            assert!(pages.abs() < 0.05 && time.abs() < 0.03);
        }
    }
}
