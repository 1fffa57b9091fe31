//! What real loads need in a study: read as meant, or refused in one line.

use mm::units::Nanos;
use plimsoll_study::measure::{Over, Source};
use plimsoll_study::{Study, StudyError};
use scenario::workload::{Access, Action, Step, Think};

const GOOD: &str = r#"name = "loads"
title = "Loads"
question = "Can it be said?"

[machine]
memory = "512 MiB"

[[machine.disk]]
name = "disk"
size = "1 GiB"
bandwidth = "100 MiB/s"

[[machine.file]]
name = "file"
disk = "disk"
size = "256 MiB"

[[arm]]
name = "default"

[[process]]
name = "server"
steps = [
  { map = { region = "heap", size = "64 MiB" } },
  { label = "serve", touch = { region = "heap", for = "1 s" } },
  { snapshot = "end" },
]

[[measure]]
name = "dirty"
during = "run"
meminfo = "Dirty"
over = "time"
"#;

/// The good study with `old` replaced by `new`.
fn with(old: &str, new: &str) -> Result<Study, StudyError> {
    assert!(GOOD.contains(old), "{old}");
    Study::parse(&GOOD.replacen(old, new, 1), "s.toml")
}

/// The one line with which it is refused.
fn refused(old: &str, new: &str) -> String {
    let line = with(old, new).expect_err(new).to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

#[test]
fn any_whole_share_may_be_reached() {
    for percent in [1, 50, 90, 99] {
        let study = with("\"time\"", &format!("\"time to {percent} %\"")).unwrap();
        match &study.measures[0].source {
            Source::During { over, .. } => assert_eq!(*over, Over::TimeTo(percent)),
            other => panic!("{other:?}"),
        }
    }
    for share in ["0 %", "100 %", "99.5 %", "+9 %", "300 %", " %", "90", "90%"] {
        assert_eq!(
            refused("\"time\"", &format!("\"time to {share}\"")),
            format!(
                "s.toml:33:8: `over` in [[measure]] is \"time to {share}\"; write a whole share \
                 from 1 to 99, as in \"time to 90 %\""
            )
        );
    }
}

/// The access of the step labelled "serve", with these keys besides.
fn access(keys: &str) -> Access {
    let study = with("for = \"1 s\"", &format!("for = \"1 s\", {keys}")).unwrap();
    let serves = |step: &&Step| step.label.as_deref() == Some("serve");
    let mut steps = study.arms[0].workload.processes[0].steps.iter();
    match &steps.find(serves).expect("it serves").action {
        Action::Access(access) => access.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn times_to_think_are_constant_or_drawn() {
    let think = |text: &str| access(&format!("think = \"{text}\"")).think;
    let (one, nine) = (Nanos::MILLI, Nanos(9_000_000));
    assert_eq!(think("9 ms"), Think::Constant(nine));
    assert_eq!(think("exponential 9 ms"), Think::Exponential { mean: nine });
    let (from, to) = (one, nine);
    assert_eq!(think("uniform 1 ms to 9 ms"), Think::Uniform { from, to });
    let refused = |think: &str| {
        let keys = format!("for = \"1 s\", think = {think}");
        refused("for = \"1 s\"", &keys)
    };
    let way_out = "write a time as in \"5 ms\", \"exponential 5 ms\" or \"uniform 1 ms to 9 ms\"";
    let place = "s.toml:25:70: `think` in `touch` in step 2 of process `server`";
    assert_eq!(
        refused("\"uniform 9 ms to 1 ms\""),
        format!("{place}: \"9 ms to 1 ms\" is no range of times; {way_out}")
    );
    assert_eq!(refused("5"), format!("{place} is 5; {way_out}"));
    assert_eq!(
        refused("\"normal 5 ms\""),
        format!("{place}: \"normal 5 ms\" does not begin with a number; {way_out}")
    );
}

#[test]
fn an_operation_may_be_of_several_blocks() {
    assert_eq!(
        (access("rate = 0").blocks, access("blocks = 8").blocks),
        (1, 8)
    );
    let said = |blocks: &str| {
        refused(
            "for = \"1 s\"",
            &format!("for = \"1 s\", blocks = {blocks}"),
        )
    };
    for none in ["0", "10001", "-1", "\"8\""] {
        let line = said(none);
        assert!(line.contains("`blocks` in `touch`"), "{line}");
    }
}
