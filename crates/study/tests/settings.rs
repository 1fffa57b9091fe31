//! Bad settings: limits that exclude each other or that a kernel does not take, and limits of disks
//! that are not there. Each is refused in one line with the place and the way out.

use expect_test::{Expect, expect};
use plimsoll_study::Study;

/// A study whose arm has these settings.
fn study(settings: &str) -> String {
    format!(
        r#"name = "limits"
title = "Limits"
question = "Which are taken?"

[machine]
memory = "512 MiB"

[[machine.disk]]
name = "stick"
size = "1 GiB"
bandwidth = "8 MB/s"

[[arm]]
name = "limited"
settings = {{ {settings} }}

[[process]]
name = "idle"
steps = [{{ label = "rest", sleep = "1 s" }}]
"#
    )
}

/// Place, what is wrong, and the way out, a line each.
#[track_caller]
fn refused(settings: &str, expected: Expect) {
    let error = Study::parse(&study(settings), "s.toml").expect_err(settings);
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    let place = format!("{}:{}", error.line, error.column);
    expected.assert_eq(&format!("{place}\n{}\n{}\n", error.what, error.way_out));
}

#[track_caller]
fn taken(settings: &str) {
    Study::parse(&study(settings), "s.toml").expect("a good study");
}

#[test]
fn both_partners_of_a_pair_in_one_arm_are_refused() {
    refused(
        "\"vm.dirty_ratio\" = 10, \"vm.dirty_bytes\" = 1048576",
        expect![[r#"
            15:56
            vm.dirty_bytes and vm.dirty_ratio exclude each other
            keep one of them: writing one switches the other off
        "#]],
    );
    refused(
        "\"vm.dirty_background_bytes\" = 1048576, \"vm.dirty_background_ratio\" = 5",
        expect![[r#"
            15:83
            vm.dirty_background_ratio and vm.dirty_background_bytes exclude each other
            keep one of them: writing one switches the other off
        "#]],
    );
    taken("\"vm.dirty_bytes\" = 1048576, \"vm.dirty_background_ratio\" = 5");
}

#[test]
fn a_background_limit_above_the_hard_one_is_taken() {
    taken("\"vm.dirty_ratio\" = 10, \"vm.dirty_background_ratio\" = 90");
}

#[test]
fn a_limit_below_two_pages_says_what_the_kernel_does_with_it() {
    refused(
        "\"vm.dirty_bytes\" = 8191",
        expect![[r#"
        15:33
        vm.dirty_bytes = "8191"
        write an integer of at least 8192: the kernel takes no limit below two pages and keeps the old one
    "#]],
    );
    // The background limit has no such bound: a page is the least that it comes to.
    taken("\"vm.dirty_background_bytes\" = 1");
}

#[test]
fn a_measure_of_a_disk_names_a_disk_and_a_counter() {
    let refused = |measure: &str, expected: Expect| {
        let text = study("") + "[[measure]]\nname = \"m\"\n" + measure;
        let error = Study::parse(&text, "s.toml").expect_err(measure);
        expected.assert_eq(&format!("{}\n{}\n", error.what, error.way_out));
    };
    let during = |item: &str| format!("during = \"run\"\n{item}\n");
    refused(
        &during("diskstats = \"stik.writes\""),
        expect![[r#"
        unknown disk `stik`
        did you mean `stick`?
    "#]],
    );
    refused(
        &during("diskstats = \"stick.write\""),
        expect![[r#"
        a disk has no counter `write`
        did you mean `writes`?
    "#]],
    );
    let of_step = "step = \"rest\"\ntake = \"duration\"\nover = \"time\"\n";
    refused(
        of_step,
        expect![[r#"
        `over` in [[measure]] is "time"
        there is `minimum`, `mean`, `median`, `p90`, `p99`, `maximum`
    "#]],
    );
    refused(
        &during("progress = \"idel\""),
        expect![[r#"
        unknown process `idel`
        did you mean `idle`?
    "#]],
    );
    refused(
        &during("diskstats = \"writes\""),
        expect![[r#"
        `diskstats` in [[measure]] is "writes"
        write disk and counter, as in "disk.written"
    "#]],
    );
    refused(
        &during("diskstats = \"stick.written\"\nper = \"stick.writes\""),
        expect![[r#"
            `per` does not go with `during`
            drop it
        "#]],
    );
    refused(
        &during("diskstats = \"stick.written\"\nunit = \"s\""),
        expect![[r#"
            `unit` in [[measure]] does not fit what is measured
            write a unit like "MiB", or drop it
        "#]],
    );
}

#[test]
fn a_disks_own_limit_names_one_of_the_disks() {
    refused(
        "\"bdi.stik.max_ratio\" = 10",
        expect![[r#"
        15:37
        unknown disk `stik`
        did you mean `stick`?
    "#]],
    );
    refused(
        "\"bdi.stick.max-ratio\" = 10",
        expect![[r#"
        15:38
        unknown tunable `bdi.stick.max-ratio`
        did you mean `bdi.stick.max_ratio`?
    "#]],
    );
    refused(
        "\"bdi.max_ratio\" = 10",
        expect![[r#"
        15:32
        unknown tunable `bdi.max_ratio`
        did you mean `bdi.DEVICE.max_ratio`?
    "#]],
    );
    refused(
        "\"bdi.stick.max_ratio\" = 101",
        expect![[r#"
        15:38
        bdi.stick.max_ratio = "101"
        write an integer from 0 to 100
    "#]],
    );
    refused(
        "\"bdi.stick.strict_limit\" = true",
        expect![[r#"
        15:41
        bdi.stick.strict_limit = "true"
        write an integer from 0 to 1
    "#]],
    );
    refused(
        "\"bdi.stick.max_ratio\" = 5, \"bdi.stick.min_ratio\" = 6",
        expect![[r#"
            15:65
            bdi.stick.min_ratio = 6 is above bdi.stick.max_ratio = 5
            the kernel refuses that: lower the one or raise the other
        "#]],
    );
    taken("\"bdi.stick.max_ratio\" = 5, \"bdi.stick.min_ratio\" = 5");
    taken("\"bdi.stick.strict_limit\" = 1, \"bdi.stick.max_ratio\" = 5");
}

#[test]
fn a_file_system_that_no_vm_has_is_the_models_alone() {
    let with = |settings: &str| {
        let text = study(settings);
        text.replace("[machine]\n", "[machine]\nfile-system = \"xfs\"\n")
    };
    let error = Study::parse(&with(""), "s.toml").expect_err("a VM could run it");
    assert_eq!((error.line, error.column), (6, 15));
    assert!(error.what.contains("lie on ext4"), "{}", error.what);
    let of_the_model = with("").replace("settings = {  }", "model-only = true");
    Study::parse(&of_the_model, "s.toml").expect("no VM runs it");
}
