//! A scenario without its author's names: both benches run this one, and a VM is told it as bytes.

use answer::bench::{Bench as _, Run};
use answer::calibration;
use answer::model_bench::ModelBench;
use mm::capture::Capture;
use scenario::Scenario;
use study::{BUILT_IN, Study};

const STUDY: &str = r#"
name = "s"
title = "t"
question = "q"

[machine]
memory = "256 MiB"

[[machine.disk]]
name = "slow"
size = "512 MiB"
bandwidth = "50 MiB/s"
latency = "100 us"

[[machine.swap]]
disk = "slow"
size = "128 MiB"

[[machine.file]]
name = "table"
disk = "slow"
size = "200 MiB"

[base]
"bdi.slow.read_ahead_kb" = 64

[[arm]]
name = "default"

[[process]]
name = "server"
count = 2
steps = [
  { map = { region = "heap", size = "40 MiB" } },
  { label = "fill", touch = { region = "heap", write-percent = 100 } },
  { label = "serve", access = { region = "heap", pattern = "zipf 0.9", amount = "80 MiB" } },
  { label = "query", read = { file = "table", pattern = "random", amount = "8 MiB" } },
]

[[process]]
name = "hog"
steps = [
  { snapshot = "before" },
  { map = { region = "heap", size = "150 MiB" } },
  { label = "flood", touch = { region = "heap", write-percent = 100 } },
  { label = "wait", wait = "server" },
  { snapshot = "after" },
]
"#;

/// Each name of [`STUDY`] and another for it.
const NAMES: [(&str, &str); 12] = [
    ("slow", "zz-disk"),
    ("table", "a.table with blanks"),
    (
        "server",
        "a process whose name is long, the longest of all of them by far",
    ),
    ("hog", "a hog"),
    ("heap", "process-0001"),
    ("fill", "label-0002"),
    ("serve", "ä"),
    ("query", "disk-0001"),
    ("before", "first look"),
    ("after", "last look"),
    ("flood", "region-0001-0001"),
    ("wait", "file-0001"),
];

fn scenarios(text: &str) -> Vec<Scenario> {
    let study = Study::parse(text, "study.toml").unwrap_or_else(|error| panic!("{error}"));
    let arms = study.arms.iter();
    arms.map(|arm| study.scenario(&arm.name, 1).expect("it has the arm"))
        .collect()
}

fn outcome(text: &str) -> Capture {
    let scenario = &scenarios(text)[0];
    let calibration = calibration::built_in("6.1").expect("the binary carries it");
    let bench = ModelBench::new(calibration);
    bench
        .run(Run { scenario }, &mut |_| {})
        .expect("the model runs it")
}

fn renamed(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (name, other)| {
        let text = text.replace(&format!("bdi.{name}."), &format!("bdi.{other}."));
        text.replace(&format!("= \"{name}\""), &format!("= \"{other}\""))
    })
}

#[test]
fn names_change_no_byte_of_an_outcome_but_themselves() {
    let (mut plain, mut other) = (outcome(STUDY), outcome(&renamed(STUDY)));
    assert_ne!(plain, other, "each has its own names");
    let back = |text: &str| {
        let given = |text: String, (name, other): &(&str, &str)| {
            let text = text.replace(&format!("{other}\t"), &format!("{name}\t"));
            text.replace(&format!("{other} "), &format!("{name} "))
                .replace(&format!("{other}."), &format!("{name}."))
        };
        NAMES.iter().fold(text.to_owned(), given)
    };
    for frame in &mut other.frames {
        let label = frame.label.take();
        let known = |label: &String| NAMES.iter().find(|(_, other)| other == label);
        frame.label = label.map(|label| known(&label).map_or(label, |(name, _)| (*name).into()));
    }
    let notes = |capture: &mut Capture| -> Vec<Vec<String>> {
        let frames = capture.frames.iter_mut();
        frames
            .map(|frame| {
                let paths: Vec<String> = frame.files.keys().cloned().collect();
                let own = |path: &&String| path.starts_with("plimsoll/");
                let own = paths.iter().filter(own);
                own.filter_map(|path| frame.files.remove(path)).collect()
            })
            .collect()
    };
    let (noted, renamed) = (notes(&mut plain), notes(&mut other));
    assert!(plain == other, "the kernel's own files");
    let lines = |notes: &[Vec<String>], back: &dyn Fn(&str) -> String| -> Vec<String> {
        let mut lines: Vec<String> = notes.iter().flatten().map(|text| back(text)).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&renamed, &back), lines(&noted, &str::to_owned));
}

#[test]
fn comments_and_titles_change_no_byte() {
    let worded = STUDY.replace("title = \"t\"", "title = \"A long title\" # why");
    let worded = format!("# {}\n{worded}", "x".repeat(20_000));
    assert!(outcome(STUDY) == outcome(&worded));
}

#[test]
fn another_arms_process_changes_no_access() {
    let only = "name = \"server\"\ncount";
    let other = "[[arm]]\nname = \"other\"\n\n[[process]]\nname = \"extra\"\narms = [\"other\"]\n\
                 steps = [{ sleep = \"1 s\" }]\n\n[[process]]\nname = \"server\"\ncount";
    let text = STUDY.replace(&format!("[[process]]\n{only}"), other);
    let of = |arm: usize| scenarios(&text)[arm].nameless().0.workload.processes;
    let server = |processes: &[scenario::workload::Process]| {
        let mut servers = processes.iter().filter(|it| it.count == 2);
        servers.next().map(|it| it.name.clone())
    };
    assert_eq!(of(0).len() + 1, of(1).len());
    assert_eq!(server(&of(0)), server(&of(1)), "the streams have its name");
}

#[test]
fn what_a_vm_is_told_is_the_scenario() {
    let written = [("this", STUDY)]
        .into_iter()
        .chain(BUILT_IN.iter().copied());
    for (name, text) in written {
        for scenario in scenarios(text) {
            let bytes = scenario.to_bytes();
            assert_eq!(Scenario::from_bytes(&bytes), Some(scenario), "{name}");
            assert_eq!(Scenario::from_bytes(&bytes[..bytes.len() - 1]), None);
            assert_eq!(Scenario::from_bytes(&[&bytes[..], &[0]].concat()), None);
        }
    }
}

/// The guest is told the same number of bytes whatever it is told.
#[test]
fn the_built_in_studies_take_a_tenth_of_what_a_vm_can_be_told() {
    let all = BUILT_IN.iter().flat_map(|(_, text)| scenarios(text));
    let most = all.map(|it| it.nameless().0.to_bytes().len()).max();
    assert!(most.is_some_and(|most| most < 6500), "{most:?}");
}
