//! What real loads need in a study: read as meant, or refused in one line.

use plimsoll_lab::measure::{Over, Source};
use plimsoll_lab::study::{Study, StudyError};

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
