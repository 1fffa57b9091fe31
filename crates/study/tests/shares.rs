//! Sizes as shares of what is available: where they may stand, and what is refused.

use plimsoll_study::Study;
use scenario::workload::{Action, Size};

fn study(file: &str, region: &str) -> Result<Study, String> {
    let text = format!(
        r#"
name = "m"
title = "m"
question = "m"
[parameters]
region = "{region}"
[machine]
memory = "1 GiB"
[[machine.disk]]
name = "disk"
size = "1 GiB"
bandwidth = "1 MiB/s"
[[machine.file]]
name = "file"
disk = "disk"
size = "{file}"
[[arm]]
name = "a"
[[process]]
name = "p"
steps = [
  {{ label = "map", map = {{ region = "heap", size = "$region" }} }},
  {{ label = "read", read = {{ file = "file", amount = "$region" }} }},
]
[[measure]]
name = "m"
step = "read"
take = "duration"
"#
    );
    Study::parse(&text, "s").map_err(|error| error.to_string())
}

#[test]
fn a_share_stands_for_a_regions_size_and_an_amount() {
    let study = study("1 MiB", "97.5 % of available").unwrap();
    let steps = &study.arms[0].workload.processes[0].steps;
    let share = Size::OfAvailable { thousandths: 975 };
    assert!(matches!(&steps[0].action, Action::Map(map) if map.size == share));
    assert!(matches!(&steps[1].action, Action::Access(read) if read.amount == Some(share)));
}

#[test]
fn what_is_no_share_says_where_and_the_way_out() {
    let said = |region| study("1 MiB", region).unwrap_err();
    let at = "`size` in `map` in step 1 of process `p`";
    assert_eq!(
        said("0 % of available"),
        format!("s:22:52: {at} is \"0 % of available\"; write a size above zero")
    );
    assert_eq!(
        said("9.55 % of available"),
        format!(
            "s:22:52: {at}: \"9.55 % of available\" is no share of what is available; write a \
             size as in \"512 MiB\", or a share as in \"95 % of available\""
        )
    );
    let no_unit = said("95 % of free");
    assert!(
        no_unit.contains("\"95 % of free\" has no unit of size"),
        "{no_unit}"
    );
}

#[test]
fn a_file_is_made_before_the_machine_is_there() {
    let error = study("50 % of available", "1 MiB").unwrap_err();
    let why = "`size` in [[machine.file]]: \"50 % of available\" has no unit of size";
    assert!(error.contains(why), "{error}");
}
