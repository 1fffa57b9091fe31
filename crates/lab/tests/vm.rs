//! The VM bench on stock kernels. Each test boots real VMs, so it takes from seconds to a minute.

#[path = "vm/distribution.rs"]
mod distribution;
#[path = "vm/looking.rs"]
mod looking;
#[path = "vm/machine.rs"]
mod machine;
#[path = "vm/recorded.rs"]
mod recorded;
#[path = "vm/traced.rs"]
mod traced;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use answer::bench::{Bench as _, BenchError, Run};
use machine::show;
use mm::capture::Capture;
use mm::snapshot::Snapshot;
use mm::stock::ALL;
use mm::units::Pages;
use plimsoll_lab::vm::{Clock, VmBench, VmOptions};
use rustix::process::{Pid, Signal, kill_process};
use scenario::outcome::{Outcome, Status};
use study::Study;

const SMALL: &str = r#"
name = "small"
title = "A small machine reads a file"
question = "Does the VM bench do what it says?"
sample = "500 ms"
repetitions = 1

[machine]
memory = "512 MiB"
cpus = 1

[[machine.disk]]
name = "disk"
size = "256 MiB"
bandwidth = "100000 KiB/s"
latency = "100 us"
iops = 120
queue-depth = 2
rotational = true

[[machine.file]]
name = "big"
disk = "disk"
size = "64 MiB"

[[arm]]
name = "default"

[[process]]
name = "reader"
steps = [
  { snapshot = "idle" },
  { label = "first read", read = { file = "big", block = "1 MiB" } },
  { label = "re-read", read = { file = "big", block = "1 MiB" } },
  { snapshot = "end" },
]
"#;

/// What a test needs, or `None` once it has said why it cannot run.
fn bench(options: VmOptions) -> Option<VmBench> {
    machine::unless_skipped(|| {
        let binary = Some(machine::plimsoll().to_owned());
        VmBench::new(&VmOptions { binary, ..options }, &mut show)
    })
}

fn stock(name: &str) -> VmOptions {
    let Ok(kernel) = name.parse();
    VmOptions {
        kernel,
        deadline: Duration::from_secs(600),
        ..VmOptions::default()
    }
}

fn run(bench: &VmBench, study: &str) -> Result<Capture, BenchError> {
    let read = Study::parse(study, "small.toml").expect("the test's study is right");
    let scenario = read.scenario("default", 1).expect("it has this arm");
    let run = Run {
        scenario: &scenario,
    };
    bench.run(run, &mut show)
}

fn seconds(outcome: &Outcome, label: &str) -> f64 {
    let step = outcome.labelled(label).next().expect("the step ran");
    assert_eq!(step.status, Status::Done);
    step.duration().seconds()
}

/// The disk's model says what a sequential read of a contiguous file takes.
fn reads_at_the_disks_speed(bench: &VmBench) {
    let capture = run(bench, SMALL).unwrap();
    let outcome = Outcome::from_capture(capture).unwrap();
    let expected = 64.0 * 1024.0 / 100_000.0;
    let first = seconds(&outcome, "first read");
    // The guest's own work beside the reads differs from binary to binary: 1 % to 6.5 % was seen.
    assert!(
        (first / expected - 1.0).abs() < 0.1,
        "{first} s instead of {expected} s"
    );
    let again = seconds(&outcome, "re-read");
    assert!(again < expected / 10.0, "{again} s from memory");
    let idle = outcome.capture.labelled("idle").expect("it was asked for");
    assert!(
        idle.file("proc/vmstat")
            .is_some_and(|text| text.contains("pgfault "))
    );
}

/// Debian moves the newest on to the next line; the others keep theirs.
#[test]
fn every_stock_kernel_is_of_its_line_and_reads_at_the_disks_speed() {
    for row in ALL {
        let Some(bench) = bench(stock(row.name)) else {
            continue;
        };
        let release = bench.kernel();
        let keeps = row.name == row.line;
        assert!(!keeps || row.has(&release), "{}: {release}", row.name);
        reads_at_the_disks_speed(&bench);
    }
}

/// The same inputs give the same bytes, whatever else the host does.
#[test]
fn virtual_time_is_bit_exact_under_load() {
    let Some(bench) = bench(stock("6.1")) else {
        return;
    };
    let quiet = run(&bench, SMALL).unwrap().to_text();
    let busy = beside_busy_threads(|| run(&bench, SMALL).unwrap().to_text());
    let differs = quiet.lines().zip(busy.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert!(quiet == busy);
}

/// So it is with several CPUs, on the QEMU that runs them by even turns; all of them are used.
#[test]
fn two_cpus_in_virtual_time_are_bit_exact_under_load() {
    let options = VmOptions {
        cpus: 2,
        ..stock("6.12")
    };
    let Some(bench) = bench(options) else {
        return;
    };
    let quiet = run(&bench, &busy_study()).unwrap();
    let busy = beside_busy_threads(|| run(&bench, &busy_study()).unwrap());
    let frame = quiet.labelled("end").expect("it was asked for");
    let stat = frame.file("proc/stat").expect("times of the CPUs");
    assert!(
        stat.contains("\ncpu1 ") && !stat.contains("\ncpu2 "),
        "{stat}"
    );
    let (quiet, busy) = (quiet.to_text(), busy.to_text());
    let differs = quiet.lines().zip(busy.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert!(quiet == busy);
}

/// Two readers and one that allocates on a machine with two CPUs, where kswapd works.
fn busy_study() -> String {
    let more = "\n[[process]]\nname = \"heap\"\nsteps = [ { map = { region = \"a\", size = \"330 MiB\" } }, \
                { touch = { region = \"a\", write-percent = 100 } } ]\n\
                \n[[process]]\nname = \"second\"\nsteps = [ { read = { file = \"big\", block = \
                \"64 KiB\" } }, { read = { file = \"big\", block = \"64 KiB\" } } ]\n";
    let two = SMALL.replace("cpus = 1", "cpus = 2");
    assert_ne!(two, SMALL);
    two + more
}

/// What a study's author calls things, and what the text says besides, reaches no VM.
/// An arm's guard is the daemon as it is packaged, which trusts no folder that others may write.
#[test]
fn the_guard_runs_in_a_vm_until_it_is_killed() {
    let guarded = SMALL.replace(
        "{ snapshot = \"end\" },",
        "{ sleep = \"2 s\" }, { kill = \"guard\" }, { snapshot = \"end\" },",
    );
    let guarded = guarded
        + r#"
[[process]]
name = "guard"
steps = [{ guard = { watermarks = { most = "4 %" } } }]
"#;
    for name in ["6.1", "6.12"] {
        let Some(bench) = bench(stock(name)) else {
            return;
        };
        let outcome = Outcome::from_capture(run(&bench, &guarded).unwrap()).unwrap();
        assert!(seconds(&outcome, "first read") > 0.6, "{name}");
    }
}

#[test]
fn a_studys_wording_changes_no_byte_but_its_names() {
    let Some(bench) = bench(stock("6.12")) else {
        return;
    };
    let text = SMALL.replace(
        "{ snapshot = \"end\" }",
        "{ label = \"some\", read = { file = \"big\", pattern = \"random\", amount = \"4 MiB\" } }, \
         { snapshot = \"end\" }",
    );
    let names = ["disk", "big", "reader", "idle", "first read", "some"];
    let names = names.map(|name| (name, format!("{name} {}", "x".repeat(60))));
    let quoted = |name: &str| format!("\"{name}\"");
    let renamed = names.iter().fold(text.clone(), |text, (name, long)| {
        text.replace(&quoted(name), &quoted(long))
    });
    let worded = format!("{renamed}\n{}", "# why this is so\n".repeat(1200));
    let plain = run(&bench, &text).unwrap();
    let mut other = run(&bench, &worded).unwrap();
    assert!(other.labelled(&names[3].1).is_some(), "its own name");
    take_back(&mut other, &names);
    let (plain, other) = (plain.to_text(), other.to_text());
    let differs = plain.lines().zip(other.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert!(plain == other);
}

/// Replaces the long names in labels and in the bench's notes.
fn take_back(capture: &mut Capture, names: &[(&str, String)]) {
    let short = |text: &str| {
        let replaced = |text: String, (name, long): &(&str, String)| text.replace(long, name);
        names.iter().fold(text.to_owned(), replaced)
    };
    for frame in &mut capture.frames {
        frame.label = frame.label.as_deref().map(short);
        let notes = frame.files.iter_mut();
        let notes = notes.filter(|(path, _)| path.starts_with("plimsoll/"));
        notes.for_each(|(_, text)| *text = short(text));
    }
}

fn beside_busy_threads<T>(work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn wall_time_yields_an_outcome_too() {
    let options = VmOptions {
        clock: Clock::Wall,
        ..stock("6.1")
    };
    let Some(bench) = bench(options) else {
        return;
    };
    let outcome = Outcome::from_capture(run(&bench, SMALL).unwrap()).unwrap();
    // Throttled to 100 000 KiB/s; what passes before the throttle acts is a tenth of a second's.
    let first = seconds(&outcome, "first read");
    assert!(first > 0.4, "{first} s");
}

#[test]
fn a_panic_is_told_with_the_kernels_own_line() {
    let Some(bench) = bench(stock("6.1")) else {
        return;
    };
    // A process that must not be killed asks for more than there is.
    let study = SMALL.replace(
        "name = \"reader\"",
        "name = \"reader\"\noom-score-adj = -1000",
    );
    let study = study.replace(
        "{ snapshot = \"end\" }",
        "{ map = { region = \"a\", size = \"300 MiB\" } }, { touch = { region = \"a\", write-percent = 100 } }, \
         { map = { region = \"b\", size = \"300 MiB\" } }, { touch = { region = \"b\", write-percent = 100 } }",
    );
    let error = run(&bench, &study).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("the VM's kernel panicked: "), "{error}");
}

#[test]
fn a_hang_ends_at_the_deadline() {
    let options = VmOptions {
        deadline: Duration::from_secs(2),
        ..stock("6.1")
    };
    let Some(bench) = bench(options) else {
        return;
    };
    let study = SMALL.replace("{ snapshot = \"end\" }", "{ sleep = \"99 h\" }");
    let error = run(&bench, &study).map(drop).unwrap_err().to_string();
    assert!(
        error.starts_with("the VM had not ended after 2 s"),
        "{error}"
    );
}

/// QEMU and its files go with an interrupted command, and nothing else of its folder does.
#[test]
fn an_interrupt_leaves_nothing_behind() {
    if bench(stock("6.1")).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let study = SMALL.replace("{ snapshot = \"end\" }", "{ sleep = \"99 h\" }");
    std::fs::write(place.path().join("small.toml"), study).unwrap();
    let mut command = Command::new(machine::plimsoll())
        .args(["prove", "small.toml", "--kernel", "6.1"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = Pid::from_child(&command);
    let qemu = wait_for(|| child_of(process));
    kill_process(process, Signal::INT).unwrap();
    assert_eq!(command.wait().unwrap().code(), Some(2));
    assert!(!Path::new("/proc").join(qemu.to_string()).exists());
    assert_eq!(run_directories(process), 0);
}

/// The first child that is a QEMU.
fn child_of(process: Pid) -> Option<u32> {
    let process = process.as_raw_nonzero();
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let is_qemu = |child: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
        name.is_ok_and(|name| name.starts_with("qemu"))
    };
    children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .find(is_qemu)
}

fn run_directories(process: Pid) -> usize {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache"),
        PathBuf::from,
    );
    let prefix = format!("{}-", process.as_raw_nonzero());
    let runs = std::fs::read_dir(cache.join("plimsoll/run")).unwrap();
    let names = runs.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with(&prefix))
        .count()
}

/// Looks again and again, for a minute at most.
fn wait_for<T>(look: impl Fn() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing came within a minute");
}

#[test]
fn a_disk_too_small_is_refused_in_one_line_before_a_vm_boots() {
    let small = SMALL.replace("64 MiB", "255 MiB");
    let error = Study::parse(&small, "small.toml").unwrap_err().to_string();
    assert!(error.contains("disk `disk` is too small"), "{error}");
    assert!(!error.contains('\n'));
}

/// What the formulas give is what the kernel prints, to the page: as booted for the figures that
/// move, and for the marks and reserves once their tunables were written.
fn recomputed_numbers_are_the_kernels(kernel: &str, memory: &str) {
    let Some(bench) = bench(stock(kernel)) else {
        return;
    };
    let study = SMALL.replace("512 MiB", memory);
    let study = study.replace(
        "name = \"default\"",
        "name = \"default\"\nsettings = { \"vm.min_free_kbytes\" = \"100000\", \
         \"vm.watermark_scale_factor\" = \"200\", \"vm.dirty_ratio\" = \"25\", \
         \"vm.dirty_background_ratio\" = \"30\" }",
    );
    let study = study.replace(
        "{ snapshot = \"end\" }",
        "{ apply = \"arm\" }, { snapshot = \"set\" }, \
         { map = { region = \"heap\", size = \"120 MiB\" } }, \
         { touch = { region = \"heap\", write-percent = 100 } }, { snapshot = \"end\" }",
    );
    let twice = |study: String, label: &str| {
        let once = format!("{{ snapshot = \"{label}\" }}");
        assert!(study.contains(&once), "{study}");
        study.replace(
            &once,
            &format!("{once}, {{ snapshot = \"{label} again\" }}"),
        )
    };
    let labels = ["idle", "set", "end"];
    let study = labels.into_iter().fold(study, twice);
    let capture = run(&bench, &study).unwrap();
    for label in labels {
        let [once, again] = [label.to_owned(), format!("{label} again")]
            .map(|label| Snapshot::parse(capture.labelled(&label).expect("it was asked for")));
        let place = format!("{kernel}, {memory}, {label}");
        // A batch of free pages may move between what the kernel prints and what it computes; not
        // twice in a row.
        if moving(&once).is_err() {
            assert_eq!(moving(&again), Ok(()), "{place}, after {:?}", moving(&once));
        }
        assert!(
            once.writeback.len() >= 2,
            "{place}: the disk's and the outbox's"
        );
        if label != "idle" {
            assert_marks_equal(&once, &place);
        }
    }
}

/// Whether the figures that move are equal; where not, those computed and those printed:
/// MemAvailable and the dirty thresholds.
fn moving(snapshot: &Snapshot) -> Result<(), [[Pages; 3]; 2]> {
    let available = snapshot.meminfo.as_ref().and_then(|m| m.mem_available);
    let available = available.expect("MemAvailable").pages_floor(snapshot.page);
    let threshold = |item| snapshot.vmstat(item).map(Pages).expect("a threshold");
    let printed = [
        available,
        threshold("nr_dirty_threshold"),
        threshold("nr_dirty_background_threshold"),
    ];
    let thresholds = snapshot.thresholds().expect("their inputs");
    let computed = [
        snapshot.available().expect("its inputs").total,
        thresholds.dirty,
        thresholds.background,
    ];
    match computed == printed {
        true => Ok(()),
        false => Err([computed, printed]),
    }
}

fn assert_marks_equal(snapshot: &Snapshot, place: &str) {
    let zones = &snapshot.zoneinfo.as_ref().expect("zoneinfo").zones;
    let marks = snapshot.watermarks().expect("their inputs");
    let reserves = snapshot.protection().expect("their inputs");
    for ((zone, marks), reserve) in zones.iter().zip(marks).zip(reserves) {
        let printed = zone.watermarks;
        let computed = (marks.min, marks.low, marks.high);
        assert_eq!(
            computed,
            (printed.min, printed.low, printed.high),
            "{place}, {}",
            zone.kind
        );
        assert_eq!(reserve, zone.protection, "{place}, {}", zone.kind);
    }
}

#[test]
fn on_linux_6_1_recomputed_numbers_are_the_kernels() {
    recomputed_numbers_are_the_kernels("6.1", "512 MiB");
    recomputed_numbers_are_the_kernels("6.1", "3840 MiB");
}

#[test]
fn on_linux_6_12_recomputed_numbers_are_the_kernels() {
    recomputed_numbers_are_the_kernels("6.12", "1 GiB");
    recomputed_numbers_are_the_kernels("6.12", "5 GiB");
}

/// Those that are also studied have tests of their own above.
#[test]
fn every_other_stock_kernel_boots_and_its_numbers_are_recomputed() {
    let studied = ["6.1", "6.12"];
    for row in ALL.iter().filter(|row| !studied.contains(&row.name)) {
        recomputed_numbers_are_the_kernels(row.name, "1 GiB");
    }
}
