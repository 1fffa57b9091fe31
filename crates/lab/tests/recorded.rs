//! Studies with a recording: read as meant, or refused in one line; the model runs them.

use std::fs;
use std::path::Path;

use answer::calibration;
use answer::model_bench::ModelBench;
use mm::units::{Bytes, Nanos};
use plimsoll_lab::experiment::Experiment;
use scenario::recording::{Kind, Part, Run, Writer};
use scenario::workload::{Action, Pace, Pattern};
use study::recording::{self, pack};
use study::{AtHand, Study, StudyError};

const TEXT: &str = r#"name = "web"
title = "A recording"
question = "Can it be done again?"

[machine]
memory = "512 MiB"
recorded-files = "disk"

[[machine.disk]]
name = "disk"
size = "1 GiB"
bandwidth = "100 MiB/s"

[[arm]]
name = "default"

[[process]]
name = "server"
steps = [
  { map = { region = "heap", size = "16 MiB", populate = true } },
  { label = "replay", access = { recorded = 0 } },
  { snapshot = "end" },
]

[[measure]]
name = "read in"
snapshot = "end"
vmstat = "pgpgin"
unit = "kB"
"#;

const RUN: Run = Run {
    compute: Nanos(8600),
    sleep: Nanos::ZERO,
    took: Nanos(5000),
    kind: Kind::Read,
    file: 0,
    offset: 0,
    length: 4096,
};

/// Random reads of a file of 64 MiB, and one write at its end.
fn runs() -> Vec<Run> {
    let page = |n: u64| n * 7919 % 16384 * 4096;
    let reads = (0..20_000).map(|n| Run {
        offset: page(n),
        ..RUN
    });
    let write = Run {
        kind: Kind::Write,
        offset: 64 << 20,
        ..RUN
    };
    reads.chain([write]).collect()
}

fn recording(text: &str, runs: &[Run]) -> Vec<u8> {
    let mut writer = Writer::new(text, &pack);
    writer.file(Bytes(64 << 20));
    runs.iter().for_each(|run| writer.run(0, run));
    writer.take(Part::All)
}

fn study(text: &str, runs: &[Run]) -> Result<Study, StudyError> {
    let (text, recording) = recording::read(&recording(text, runs)).expect("a recording");
    Study::parse_with(&text, "web.rec", recording)
}

/// The recording's study with `old` replaced by `new`.
fn with(old: &str, new: &str) -> Result<Study, StudyError> {
    assert!(TEXT.contains(old), "{old}");
    study(&TEXT.replacen(old, new, 1), &runs())
}

fn refused(old: &str, new: &str) -> String {
    let line = with(old, new).expect_err(new).to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

fn action(study: &Study, step: usize) -> &Action {
    &study.arms[0].workload.processes[0].steps[step].action
}

#[test]
fn a_step_says_which_stream_and_how_much_of_it_at_which_pace() {
    let plain = study(TEXT, &runs()).unwrap();
    let Action::Replay(replay) = action(&plain, 1) else {
        panic!("it replays");
    };
    assert_eq!((replay.stream, replay.skip, replay.runs), (0, 0, None));
    assert_eq!((replay.pace, replay.compute), (Pace::Closed, None));
    let keys =
        "recorded = 0, skip = 5, runs = 7, pace = \"clock\", compute = \"2 us\", for = \"1 s\"";
    let all = with("recorded = 0", keys).unwrap();
    let Action::Replay(replay) = action(&all, 1) else {
        panic!("it replays");
    };
    assert_eq!((replay.skip, replay.runs), (5, Some(7)));
    assert_eq!(
        (replay.pace, replay.compute),
        (Pace::Clock, Some(Nanos(2000)))
    );
    assert_eq!(replay.time_limit, Some(Nanos::SECOND));
}

#[test]
fn a_replay_that_cannot_be_done_is_refused_in_one_line() {
    assert_eq!(
        refused("recorded = 0", "recorded = 3"),
        "web.rec:21:45: `recorded` in `access` in step 2 of process `server` is 3; write 0"
    );
    assert!(refused("recorded = 0", "recorded = 0, rate = 5").contains("`rate`"));
    assert!(refused("recorded = 0", "recorded = 0, pace = \"slow\"").contains("`clock`"));
    assert!(refused("recorded = 0", "recorded = 0, runs = 0").contains("`runs`"));
    assert!(
        refused("recorded-files = \"disk\"\n", "").ends_with("name one: recorded-files = \"DISK\"")
    );
    assert!(refused("recorded-files = \"disk\"", "recorded-files = \"tape\"").contains("tape"));
    assert!(refused("size = \"1 GiB\"", "size = \"64 MiB\"").contains("too small"));
    let file = "[[machine.file]]\nname = \"recorded-0000001\"\ndisk = \"disk\"\nsize = \"1 MiB\"\n";
    let named = refused("[[arm]]", &format!("{file}\n[[arm]]"));
    assert!(named.ends_with("give it another name"), "{named}");
    let alone = Study::parse(TEXT, "web.toml").expect_err("there is no stream");
    assert!(
        alone
            .to_string()
            .ends_with("name the file with the stream: recording = \"FILE\""),
        "{alone}"
    );
}

#[test]
fn what_no_bench_can_do_again_is_refused_in_one_line() {
    let load = Run {
        kind: Kind::Load,
        ..RUN
    };
    let mapped: Vec<Run> = runs().into_iter().chain([load]).collect();
    let error = study(TEXT, &mapped).expect_err("it grows").to_string();
    assert!(
        error.ends_with(
            "file 0 of the recording is mapped, and changes its size; leave its loads and stores \
             out of the recording"
        ),
        "{error}"
    );
    let error = refused("memory = \"512 MiB\"", "memory = \"32 KiB\"");
    assert!(error.ends_with("give the machine 8 times that"), "{error}");
}

#[test]
fn classes_have_rates_and_take_the_place_of_a_pattern() {
    let touch = |keys: &str| {
        let touch = format!("touch = {{ region = \"heap\", for = \"1 s\", {keys} }}");
        with("access = { recorded = 0 }", &touch)
    };
    let study = touch("classes = [[2.5, 1000], [0.01, 3000]]").unwrap();
    let Action::Access(access) = action(&study, 1) else {
        panic!("it touches");
    };
    assert_eq!((access.pattern, access.rate), (Pattern::Classes, 2530));
    assert_eq!(access.classes[1].rate_micro, 10_000);
    let why = |keys: &str| touch(keys).expect_err(keys).to_string();
    assert!(why("classes = []").contains("one access or more a second"));
    assert!(why("classes = [[0.0001, 10]]").contains("one access or more a second"));
    assert!(why("classes = [[1]]").contains("[RATE, PAGES]"));
    assert!(why("classes = [[-1, 5]]").contains("a rate from 0"));
    assert!(why("classes = [[5, 5]], pattern = \"random\"").contains("pattern"));
    assert!(why("classes = [[5, 5]], block = \"8 KiB\"").contains("drop `block`"));
}

#[test]
fn a_recording_is_a_study_and_so_is_a_text_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("web.rec"), recording(TEXT, &runs())).unwrap();
    let mine = format!(
        "recording = \"web.rec\"\n{}",
        TEXT.replace("\"web\"", "\"mine\"")
    );
    fs::write(at("mine.toml"), &mine).unwrap();
    let find = |path: &Path| plimsoll_lab::find::find(path.to_str().unwrap());
    let [own, beside] = ["web.rec", "mine.toml"].map(|name| find(&at(name)).unwrap());
    assert_eq!((own.name.as_str(), beside.name.as_str()), ("web", "mine"));
    assert_eq!(own.recorded, beside.recorded);
    assert!(
        own.text.starts_with("recording-sha256 = \""),
        "a record says which it was"
    );
    fs::write(at("mine.toml"), format!("recording-sha256 = \"a\"\n{mine}")).unwrap();
    let error = find(&at("mine.toml"))
        .expect_err("a record of another")
        .to_string();
    assert!(
        error.ends_with("the recording is another one; drop the line"),
        "{error}"
    );
    fs::write(at("mine.toml"), mine.replace("web.rec", "mine.toml")).unwrap();
    let error = find(&at("mine.toml")).expect_err("itself").to_string();
    assert!(error.contains("not a recording"), "{error}");
    let cut = recording(TEXT, &runs());
    fs::write(at("web.rec"), &cut[..60]).unwrap();
    let error = find(&at("web.rec")).expect_err("half a text").to_string();
    assert!(error.ends_with("there is nothing of it to use"), "{error}");
}

fn read_in(study: &Study) -> (f64, f64) {
    let bench = ModelBench::new(calibration::built_in("6.12").unwrap());
    let experiment = Experiment {
        repetitions: 1,
        ..Experiment::new(study)
    };
    let results = experiment.run(&bench, None, &|_| ()).unwrap();
    assert_eq!(results.failures, []);
    let outcome = &results.records[0].outcome;
    let step = outcome.labelled("replay").next().expect("it ran");
    let read_in = study.measures[0].read(outcome).unwrap();
    (read_in, step.duration().seconds())
}

#[test]
fn the_model_reads_in_what_memory_does_not_hold_and_half_of_it_reads_more() {
    let study = study(TEXT, &runs()).unwrap();
    let (all, seconds) = read_in(&study);
    assert_eq!((all, seconds), read_in(&study), "the same figures twice");
    assert!(
        (65_536.0..70_000.0).contains(&all),
        "each page once: {all} KiB"
    );
    let at_hand = AtHand {
        memory: Some(Bytes(144 << 20)),
        ..AtHand::default()
    };
    let smaller = study.on(&at_hand).unwrap();
    let heap = |study: &Study| match action(study, 0) {
        Action::Map(map) => map.size,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        heap(&smaller),
        heap(&study),
        "what was recorded keeps its size"
    );
    let (more, longer) = read_in(&smaller);
    assert!(more > all && longer > seconds, "{more} KiB in {longer} s");
}

#[test]
fn a_recording_that_is_cut_off_is_used_up_to_there_and_says_so() {
    let whole = recording(TEXT, &runs());
    let all = recording::read(&whole).unwrap().1;
    let cut = recording::read(&whole[..whole.len() * 2 / 3]).unwrap().1;
    let runs =
        |it: &recording::Recording| it.recorded.streams.first().map_or(0, |stream| stream.len());
    assert_eq!((runs(&all), all.cut), (20_001, None));
    assert!(runs(&cut) < 20_001, "{cut:?}");
    let said = cut.cut.expect("it is cut off");
    assert!(said.ends_with("the rest is left out"), "{said}");
    assert_ne!(cut.sha256, all.sha256, "another recording");
}
