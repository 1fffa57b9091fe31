//! Bad studies: each is refused in one line with the place, what is wrong and the way out, and no
//! text panics the reader.

use expect_test::{Expect, expect};
use plimsoll_study::{Study, StudyError};

const GOOD: &str = r#"name = "small"
title = "A small study"
question = "Does it work?"

[machine]
memory = "512 MiB"

[[machine.disk]]
name = "disk"
size = "1 GiB"
bandwidth = "100 MiB/s"

[[machine.file]]
name = "file"
disk = "disk"
size = "512 MiB"

[[arm]]
name = "default"

[[arm]]
name = "low"
settings = { "vm.swappiness" = 10 }

[[cgroup]]
path = "apps"

[[process]]
name = "reader"
steps = [
  { label = "read", read = { file = "file", block = "1 MiB" } },
  { start = "hog" },
  { snapshot = "end" },
]

[[process]]
name = "hog"
start = "on demand"
steps = [
  { map = { region = "heap", size = "64 MiB" } },
  { touch = { region = "heap" } },
]

[[measure]]
name = "time"
step = "read"
take = "duration"
"#;

/// The error of the good study with `old` replaced by `new`: always one line.
fn error(old: &str, new: &str) -> StudyError {
    assert!(GOOD.contains(old), "{old}");
    let text = GOOD.replacen(old, new, 1);
    let error = Study::parse(&text, "s.toml").expect_err(new);
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

fn said(old: &str, new: &str) -> String {
    error(old, new).to_string()
}

/// Place, what is wrong, and the way out, a line each.
#[track_caller]
fn refused(old: &str, new: &str, expected: Expect) {
    let StudyError {
        line,
        column,
        what,
        way_out,
        ..
    } = error(old, new);
    expected.assert_eq(&format!("{line}:{column}\n{what}\n{way_out}\n"));
}

#[test]
fn the_good_study_is_good() {
    let study = Study::parse(GOOD, "s.toml").unwrap();
    assert_eq!(study.arms.len(), 2);
}

#[test]
fn unknown_keys_get_a_suggestion() {
    refused(
        "bandwidth",
        "bandwith",
        expect![[r#"
            11:1
            unknown key `bandwith` in [[machine.disk]]
            did you mean `bandwidth`?
        "#]],
    );
    refused(
        "title",
        "titel",
        expect![[r#"
        2:1
        unknown key `titel` in the study
        did you mean `title`?
    "#]],
    );
    refused(
        "block =",
        "blok =",
        expect![[r#"
            31:45
            unknown key `blok` in `read` in step 1 of process `reader`
            did you mean `block`?
        "#]],
    );
}

#[test]
fn what_is_no_toml_names_the_place() {
    let found = said("[machine]", "[machine");
    assert!(found.starts_with("s.toml:5:9: not TOML: "), "{found}");
    let found = said("name = \"small\"", "name = \"small\"\nname = \"again\"");
    assert!(
        found.starts_with("s.toml:2:1: not TOML: duplicate key"),
        "{found}"
    );
}

#[test]
fn values_out_of_range_say_what_fits() {
    refused(
        "\"100 MiB/s\"",
        "\"0 MiB/s\"",
        expect![[r#"
            11:13
            `bandwidth` in [[machine.disk]] is "0 MiB/s"
            write a bandwidth above zero
        "#]],
    );
    refused(
        "\"512 MiB\"",
        "\"512 mb\"",
        expect![[r#"
            6:10
            `memory` in [machine]: "512 mb" has no unit of size
            did you mean `MB`?
        "#]],
    );
    refused(
        "\"512 MiB\"",
        "\"99999999999 TiB\"",
        expect![[r#"
            6:10
            `memory` in [machine]: "99999999999 TiB" is too large; the most is 1024 PiB
            write a size as in "512 MiB"
        "#]],
    );
    refused(
        "\"512 MiB\"",
        "512",
        expect![[r#"
        6:10
        `memory` in [machine] is 512
        write a size as in "512 MiB"
    "#]],
    );
    refused(
        "{ region = \"heap\" }",
        "{ region = \"heap\", write-percent = 101 }",
        expect![[r#"
            41:48
            `write-percent` in `touch` in step 2 of process `hog` is 101
            write a whole number from 0 to 100
        "#]],
    );
    refused(
        "name = \"hog\"\n",
        "name = \"hog\"\noom-score-adj = 2000\n",
        expect![[r#"
            38:17
            `oom-score-adj` in [[process]] is 2000
            write a whole number from -1000 to 1000
        "#]],
    );
}

#[test]
fn settings_are_those_of_the_catalogue() {
    refused(
        "vm.swappiness",
        "vm.swapiness",
        expect![[r#"
        23:31
        unknown tunable `vm.swapiness`
        did you mean `vm.swappiness`?
    "#]],
    );
    let found = said("\"vm.swappiness\" = 10", "\"vm.swappiness\" = 300");
    assert!(
        found.starts_with("s.toml:23:32: vm.swappiness = \"300\"; write "),
        "{found}"
    );
    refused(
        "\"vm.swappiness\" = 10",
        "\"vm.dirty_ratio\" = 10, \"vm.dirty_bytes\" = 1048576",
        expect![[r#"
            23:56
            vm.dirty_bytes and vm.dirty_ratio exclude each other
            keep one of them: writing one switches the other off
        "#]],
    );
}

#[test]
fn unknown_names_get_a_suggestion() {
    refused(
        "disk = \"disk\"",
        "disk = \"dsik\"",
        expect![[r#"
        15:8
        unknown disk `dsik`
        did you mean `disk`?
    "#]],
    );
    refused(
        "file = \"file\"",
        "file = \"flie\"",
        expect![[r#"
        31:37
        unknown file `flie`
        did you mean `file`?
    "#]],
    );
    refused(
        "start = \"hog\"",
        "start = \"hgo\"",
        expect![[r#"
        32:13
        unknown process `hgo`
        did you mean `hog`?
    "#]],
    );
    refused(
        "touch = { region = \"heap\"",
        "touch = { region = \"hepa\"",
        expect![[r#"
            41:24
            unknown region `hepa`
            did you mean `heap`?
        "#]],
    );
    refused(
        "name = \"hog\"\n",
        "name = \"hog\"\ncgroup = \"app\"\n",
        expect![[r#"
            38:10
            unknown control group `app`
            did you mean `apps`?
        "#]],
    );
}

#[test]
fn unknown_labels_and_arms_get_a_suggestion() {
    refused(
        "step = \"read\"",
        "step = \"raed\"",
        expect![[r#"
        46:8
        unknown label `raed`
        did you mean `read`?
    "#]],
    );
    refused(
        "take = \"duration\"",
        "take = \"duration\"\npublished = { lwo = \"1 s\" }",
        expect![[r#"
            48:21
            a value is published for an unknown arm `lwo`
            did you mean `low`?
        "#]],
    );
    refused(
        "path = \"apps\"",
        "path = \"apps\"\narms = [\"hihg\"]",
        expect![[r#"
            27:9
            `arms` in [[cgroup]] names an unknown arm `hihg`
            there is `default`, `low`
        "#]],
    );
}

#[test]
fn names_are_given_once() {
    refused(
        "name = \"hog\"",
        "name = \"reader\"",
        expect![[r#"
        37:8
        the process `reader` is already on line 29
        give it another name
    "#]],
    );
    refused(
        "name = \"low\"",
        "name = \"default\"",
        expect![[r#"
        22:8
        there are two arms called `default`
        give one of them another name
    "#]],
    );
    refused(
        "{ start = \"hog\" }",
        "{ label = \"read\", start = \"hog\" }",
        expect![[r#"
            32:13
            the label `read` is already on line 31
            give it another name
        "#]],
    );
    refused(
        "{ touch",
        "{ map = { region = \"heap\", size = \"1 MiB\" } },\n  { touch",
        expect![[r#"
            41:22
            the region `heap` is already on line 40
            give it another name
        "#]],
    );
}

#[test]
fn a_disk_too_small_says_how_much_is_missing() {
    refused(
        "size = \"1 GiB\"",
        "size = \"256 MiB\"",
        expect![[r#"
            10:8
            disk `disk` is too small for `file` (line 13): 264 MiB are missing
            make its size 529 MiB or more
        "#]],
    );
}

#[test]
fn a_step_does_exactly_one_thing() {
    refused(
        "{ start = \"hog\" }",
        "{ start = \"hog\", sleep = \"1 s\" }",
        expect![[r#"
            32:3
            step 2 of process `reader` has both `sleep` and `start`
            keep one of them
        "#]],
    );
    let found = said("{ start = \"hog\" }", "{ label = \"nothing\" }");
    assert!(
        found.starts_with("s.toml:32:3: step 2 of process `reader` says nothing; "),
        "{found}"
    );
}

#[test]
fn processes_start_wait_and_end() {
    refused(
        "{ start = \"hog\" },",
        "",
        expect![[r#"
            37:8
            process `hog` waits for demand, but none starts it
            add a step `start = "hog"`, or drop its `start`
        "#]],
    );
    refused(
        "start = \"on demand\"\n",
        "",
        expect![[r#"
            32:13
            process `hog` is started here, but it starts by itself
            give it `start = "on demand"`, or drop this step
        "#]],
    );
    refused(
        "{ start = \"hog\" }",
        "{ start = \"hog\" }, { wait = \"reader\" }",
        expect![[r#"
            32:31
            process `reader` waits for itself
            wait for another one
        "#]],
    );
    let both = GOOD
        .replace(
            "{ start = \"hog\" }",
            "{ start = \"hog\" }, { wait = \"hog\" }",
        )
        .replace("{ touch", "{ wait = \"reader\" },\n  { touch");
    let found = Study::parse(&both, "s.toml").unwrap_err().to_string();
    assert_eq!(
        found,
        "s.toml:41:12: `hog` and `reader` wait for each other; drop one of the waits"
    );
    refused(
        "{ touch = { region = \"heap\" } }",
        "{ repeat = { forever = true, steps = [{ sleep = \"1 s\" }] } }",
        expect![[r#"
            41:26
            process `hog` repeats forever
            give the study a `deadline`, or kill the process
        "#]],
    );
}

#[test]
fn a_round_leaves_the_regions_as_it_found_them() {
    refused(
        "{ touch = { region = \"heap\" } }",
        "{ repeat = { times = 2, steps = [{ unmap = \"heap\" }] } }",
        expect![[r#"
            41:14
            region `heap` is unmapped in the first round
            unmap it after the repetition, or map it in the round
        "#]],
    );
    refused(
        "{ touch = { region = \"heap\" } }",
        "{ repeat = { times = 2, steps = [{ map = { region = \"more\", size = \"1 MiB\" } }] } }",
        expect![[r#"
            41:14
            region `more` would be mapped again in every round
            map it before the repetition, or unmap it in the round
        "#]],
    );
}

#[test]
fn contents_are_shares_of_one_region() {
    refused(
        "size = \"64 MiB\" }",
        "size = \"64 MiB\", contents = [{ zero = \"60 %\" }, { unique = 50 }] }",
        expect![[r#"
            40:58
            the shares of `contents` in `map` in step 1 of process `hog` add up to 110 %
            at most 100 %; what is left is unique
        "#]],
    );
}

#[test]
fn nothing_to_do_is_no_study() {
    let without = |from: &str, to: &str| {
        let (start, end) = (GOOD.find(from).unwrap(), GOOD.find(to).unwrap());
        let text = format!("{}{}", &GOOD[..start], &GOOD[end..]);
        Study::parse(&text, "s.toml").unwrap_err().to_string()
    };
    assert_eq!(
        without("[[arm]]", "[[cgroup]]"),
        "s.toml:1:1: the study has no arms; add an [[arm]] with a name"
    );
    assert_eq!(
        without("[[process]]", "[[measure]]"),
        "s.toml:1:1: the workload of arm `default` is empty; add a [[process]] with steps"
    );
    let empty = Study::parse("", "s.toml").unwrap_err().to_string();
    assert_eq!(
        empty,
        "s.toml:1:1: the study has no arms; add an [[arm]] with a name"
    );
}

#[test]
fn parameters_are_declared() {
    refused(
        "\"vm.swappiness\" = 10",
        "\"vm.swappiness\" = \"$swap\"",
        expect![[r#"
            23:32
            unknown parameter `$swap` in `vm.swappiness` in the settings of arm `low`
            there is none
        "#]],
    );
    refused(
        "settings = { \"vm.swappiness\" = 10 }",
        "parameters = { size = \"1 MiB\" }",
        expect![[r#"
            23:23
            unknown parameter `size`
            declare it, with its usual value, in [parameters]
        "#]],
    );
}
