//! `prove --trace` and `report --trace` on real kernels.

use std::path::Path;
use std::process::Command;

use mm::capture::Capture;
use plimsoll_lab::traced;
use scenario::traced::Figure;
use study::Study;
use study::traced::read;

use super::machine::plimsoll;
use super::{bench, stock};

/// What fills most of memory, and a reader that has to reclaim beside it.
const STUDY: &str = r#"
name = "traced"
title = "A reader reclaims"
question = "Who reclaims?"
repetitions = 1

[machine]
memory = "256 MiB"

[[machine.disk]]
name = "disk"
size = "512 MiB"
bandwidth = "400000 KiB/s"
latency = "100 us"

[[machine.file]]
name = "big"
disk = "disk"
size = "256 MiB"

[base]
"lru_gen.enabled" = "0"

[[arm]]
name = "default"

[[process]]
name = "holder"
steps = [
  { map = { region = "heap", size = "50 % of available", huge = "never" } },
  { label = "fill", touch = { region = "heap", write-percent = 100 } },
  { start = "my reader" },
  { wait = "my reader" },
]

[[process]]
name = "my reader"
start = "on demand"
steps = [{ label = "read", read = { file = "big", block = "1 MiB" } }]

[[measure]]
name = "read"
step = "read"
take = "duration"
"#;

#[test]
fn on_linux_6_1_the_tasks_of_a_trace_add_up_to_the_counters() {
    the_tasks_add_up("6.1");
}

#[test]
fn on_linux_6_12_the_tasks_of_a_trace_add_up_to_the_counters() {
    the_tasks_add_up("6.12");
}

/// The `plimsoll` in a folder, with these arguments: whether it did, and what it said.
fn command(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(plimsoll());
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn the_tasks_add_up(kernel: &str) {
    if bench(stock(kernel)).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("traced.toml"), STUDY).expect("written");
    let prove = ["prove", "traced.toml", "--kernel", kernel];
    let prove = |more: &[&str]| command(folder.path(), &[&prove, more].concat());
    let (is_done, said) = prove(&["--trace=vmscan:kswapd_wake"]);
    assert!(
        !is_done && said.contains("no such tracepoint; there: "),
        "{said}"
    );
    let (is_done, said) = prove(&["--trace", "--trace-to", "run.trace.gz"]);
    assert!(is_done && said.contains("none lost"), "{said}");
    assert!(!folder.path().join("records").exists(), "it is no record");

    let record = traced::read(&folder.path().join("run.trace.gz")).expect("a trace");
    let study = Study::parse(STUDY, "traced.toml").expect("it is a study");
    let scenario = study.scenario("default", 1).expect("its arm");
    let (counts, kept) = read(&scenario, &record.outcome).expect("its lines");
    assert_eq!(kept.lost, 0);
    let met = |task: &str, figure: Figure| -> u64 {
        let of_it = counts.counts.iter().filter(|it| it.figure == figure);
        let of_it = of_it.filter(|it| counts.tasks[it.task as usize] == task);
        of_it.map(|it| it.amount).sum()
    };
    let all = |figure| {
        counts
            .tasks
            .iter()
            .map(|task| met(task, figure))
            .sum::<u64>()
    };
    let capture = &record.outcome.capture;
    assert_eq!(
        all(Figure::Scanned),
        moved(capture, "pgscan_file") + moved(capture, "pgscan_anon")
    );
    assert_eq!(all(Figure::DirectReclaims), moved(capture, "allocstall_"));
    assert_eq!(all(Figure::KswapdRuns), moved(capture, "pageoutrun"));
    // And a few of the file system's own.
    let (read, size) = (met("my reader", Figure::Read), (256 << 20) / 4096);
    assert!((size..size + 64).contains(&read), "{read}");
    assert!(met("kswapd0", Figure::KswapdRuns) > 0 && met("kswapd0", Figure::Scanned) > 0);

    let (is_done, said) = command(folder.path(), &["report", "--trace", "run.trace.gz"]);
    assert!(is_done && said.contains("my reader"), "{said}");
    // It says when the buffer was full.
    let small = [
        "--trace=filemap:mm_filemap_add_to_page_cache",
        "--trace-buffer=64K",
        "--trace-to=small.gz",
    ];
    let (is_done, said) = prove(&small);
    assert!(is_done && said.contains("lost after that"), "{said}");
}

/// By how much the counters that begin so grew in the run.
fn moved(capture: &Capture, item: &str) -> u64 {
    let sum = |text: Option<&str>| -> u64 {
        let lines = text.unwrap_or_default().lines();
        let lines = lines.filter_map(|line| line.strip_prefix(item)?.rsplit_once(' '));
        lines
            .filter_map(|(_, figure)| figure.parse::<u64>().ok())
            .sum()
    };
    let file =
        |frame: Option<&mm::capture::Frame>| sum(frame.and_then(|it| it.file("proc/vmstat")));
    file(capture.frames.last()) - file(capture.frames.first())
}
