//! `explain` on captures of kernels and of cases, and what it does with keys that mean nothing.

use std::process::{Command, Output};

use expect_test::{expect, expect_file};

fn explain(arguments: &[&str]) -> Output {
    let fixtures = testkit::checkout("fixtures");
    Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("explain")
        .args(arguments)
        .current_dir(fixtures)
        .env("COLUMNS", "80")
        .env("LC_ALL", "C")
        .output()
        .expect("the binary runs")
}

/// What it says of a capture, which fits 80 columns.
#[track_caller]
fn shown(key: Option<&str>, evidence: &str) -> String {
    let mut arguments = vec!["--of", evidence];
    arguments.extend(key);
    let output = explain(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{arguments:?}");
    text
}

const KERNEL_5_10: &str = "kernels/vm-1gib-5.10/capture.txt";
const KERNEL_7_2: &str = "kernels/vm-5gib-7.2/capture.txt";
const HOST: &str = "hosts/vm-24gib-6.18/capture.txt";

#[test]
fn what_was_set_is_told_from_what_the_kernel_chose() {
    let of = |key| shown(Some(key), KERNEL_5_10);
    expect_file!["../../../fixtures/explain/min_free-5.10.txt"].assert_eq(&of("min_free_kbytes"));
    expect_file!["../../../fixtures/explain/dirty_bytes-5.10.txt"].assert_eq(&of("vm.dirty_bytes"));
    let ratio = of("/proc/sys/vm/dirty_ratio");
    let first = ratio.lines().next();
    assert_eq!(
        first,
        Some("vm.dirty_ratio = 0 %: off, vm.dirty_bytes = 30000000 rules")
    );
    expect_file!["../../../fixtures/explain/all-5.10.txt"].assert_eq(&shown(None, KERNEL_5_10));
}

#[test]
fn a_proposed_value_is_judged_for_the_machine_of_the_evidence() {
    let of = |word| shown(Some(word), HOST);
    let kills = of("vm.min_free_kbytes=2G");
    assert!(
        kills.starts_with("vm.min_free_kbytes = 2097152: refused by apply"),
        "{kills}"
    );
    for part in [
        "now 67584 (66 MiB)",
        "error min-free-kills",
        "MemAvailable",
        "18.7 GiB  now 23 GiB",
    ] {
        assert!(kills.contains(part), "{part}: {kills}");
    }
    assert!(!kills.contains("plimsoll apply"), "{kills}");
    assert!(of("swappiness=60").contains("so already; nothing would change"));
    let dead = of("vm.swappiness=1");
    assert!(
        dead.contains("swappiness-dead") && dead.contains("apply vm.swappiness=1"),
        "{dead}"
    );
}

#[test]
fn a_file_of_proposed_values_is_judged_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("99-db.conf");
    std::fs::write(&path, "vm.dirty_ratio = 5\nvm.dirty_background_ratio = 2\n").expect("a file");
    let text = shown(path.to_str(), HOST);
    assert!(
        text.starts_with("2 settings: no rule speaks against it here"),
        "{text}"
    );
    assert!(
        text.contains("dirty limit") && text.contains("background writeback from"),
        "{text}"
    );
}

#[test]
fn a_word_lists_the_tunables_that_have_it_by_their_names_first() {
    let text = shown(Some("dirty"), HOST);
    let first = text.lines().next().unwrap_or_default();
    assert!(first.contains("dirty"), "{first}");
    assert!(
        text.starts_with("vm.") && text.contains("vm.drop_caches"),
        "{text}"
    );
    let output = explain(&["vm.transparent_hugepages", "--of", HOST]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("did you mean thp.enabled?"), "{stderr}");
}

#[test]
fn on_a_kernel_as_it_booted_nothing_differs() {
    let booted = "kernels/vm-5gib-7.2/booted.txt";
    let text = shown(None, booted);
    assert!(text.starts_with("0 of "), "{text}");
    let min_free = shown(Some("vm.min_free_kbytes"), booted);
    assert!(
        min_free
            .lines()
            .next()
            .is_some_and(|line| line.ends_with("the kernel's own choice"))
    );
}

#[test]
fn a_host_is_explained_in_its_own_bytes() {
    for (key, file) in [
        (
            "swappiness",
            expect_file!["../../../fixtures/explain/swappiness-6.18.txt"],
        ),
        (
            "vm/watermark_scale_factor",
            expect_file!["../../../fixtures/explain/scale-6.18.txt"],
        ),
        (
            "bdi.max_ratio",
            expect_file!["../../../fixtures/explain/max_ratio-6.18.txt"],
        ),
        (
            "ksm",
            expect_file!["../../../fixtures/explain/ksm-6.18.txt"],
        ),
        (
            "transparent_hugepage",
            expect_file!["../../../fixtures/explain/thp-6.18.txt"],
        ),
        (
            "drop_caches",
            expect_file!["../../../fixtures/explain/drop_caches-6.18.txt"],
        ),
        (
            "lowmem_reserve_ratio",
            expect_file!["../../../fixtures/explain/lowmem-6.18.txt"],
        ),
    ] {
        file.assert_eq(&shown(Some(key), HOST));
    }
}

#[test]
fn a_kernel_that_lacks_or_ignores_a_tunable_is_said_in_the_first_line() {
    let first = |key, evidence| {
        let text = shown(Some(key), evidence);
        text.lines()
            .take_while(|line| !line.starts_with(' '))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        first("vm.laptop_mode", KERNEL_7_2),
        "vm.laptop_mode = 0 s: this kernel ignores what is written"
    );
    assert_eq!(
        first("zswap.zpool", HOST),
        "zswap.zpool: this kernel (6.18.44) does not have it: since 3.17, gone in 6.18"
    );
    assert_eq!(
        first("percpu_pagelist_high_fraction", KERNEL_5_10),
        "vm.percpu_pagelist_high_fraction: this kernel (5.10.0-46-cloud-amd64) does not have it: \
         since 5.14"
    );
    assert_eq!(
        first("vm.swappiness", "evidence/zone-normal.txt"),
        "vm.swappiness: this evidence does not have its file"
    );
}

/// A machine's files in a folder, as a support archive has them.
fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let meminfo = "MemTotal:       4000000 kB\nMemFree:         100000 kB\n";
    for (path, text) in files.iter().chain(&[("proc/meminfo", meminfo)]) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn boot(key: &str, folder: &tempfile::TempDir) -> String {
    let text = shown(Some(key), folder.path().to_str().expect("UTF-8"));
    let section = text
        .split("At the next boot\n")
        .nth(1)
        .expect("the section");
    let section = section.split("\n\n").next().unwrap_or_default();
    section.replace("\n  ", "\n").trim().to_owned()
}

#[test]
fn the_line_that_wins_at_the_next_boot_is_named_beside_every_other_and_the_value_of_now() {
    let folder = machine(&[
        (
            "etc/sysctl.d/10-a.conf",
            "vm.swappiness = 10\nvm.dirty_bytes = 8192\n",
        ),
        ("usr/lib/sysctl.d/50-b.conf", "# ours\nvm.swappiness = 20\n"),
        ("etc/sysctl.conf", "vm.swap* = 40\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/sys/vm/dirty_ratio", "20\n"),
        ("proc/sys/vm/max_map_count", "262144\n"),
    ]);
    expect![[r#"
          /usr/lib/sysctl.d/50-b.conf:2 sets it to 20; now it is 60: it was written
          since the boot, or the file came since.
          - /usr/lib/sysctl.d/50-b.conf:2 = 20: wins
          - /etc/sysctl.d/10-a.conf:1 = 10: /usr/lib/sysctl.d/50-b.conf:2 sets it again
          - /etc/sysctl.conf:1 = 40: not read by this loader, and no link leads to it
          The files are read by systemd-sysctl, which is taken for granted: no file here
          says it."#]]
    .assert_eq(&boot("vm.swappiness", &folder));
    assert!(
        boot("vm.dirty_ratio", &folder).starts_with(
            "/etc/sysctl.d/10-a.conf:2 sets its partner to 8192, so that this one is 0."
        )
    );
    let nobody = boot("vm.max_map_count", &folder);
    let nobody = nobody.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        nobody.starts_with("No file that is read sets it:"),
        "{nobody}"
    );
    assert!(nobody.contains("the value of now is lost"), "{nobody}");
}

#[test]
fn a_number_that_the_kernel_reads_otherwise_is_told_as_it_reads_it() {
    let folder = machine(&[
        ("etc/sysctl.d/10-a.conf", "vm.swappiness = 010\n"),
        ("proc/sys/vm/swappiness", "8\n"),
    ]);
    let text = boot("vm.swappiness", &folder);
    let told = "/etc/sysctl.d/10-a.conf:1 sets it to 010 (8 to the kernel), which it is now.";
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with(told), "{text}");
}

#[test]
fn of_two_lines_of_tmpfiles_the_first_wins() {
    let thp = "/sys/kernel/mm/transparent_hugepage/enabled";
    let folder = machine(&[
        (
            "etc/tmpfiles.d/10-thp.conf",
            &format!("w {thp} - - - - madvise\n"),
        ),
        (
            "etc/tmpfiles.d/90-thp.conf",
            &format!("w {thp} - - - - never\n"),
        ),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        ),
    ]);
    let text = boot("thp", &folder);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.starts_with("/etc/tmpfiles.d/10-thp.conf:1 sets it to madvise, which it is now."),
        "{text}"
    );
    assert!(
        words.contains("- /etc/tmpfiles.d/90-thp.conf:1 = never"),
        "{text}"
    );
}

#[test]
fn each_control_group_whose_limit_is_set_is_named_with_what_it_holds() {
    let folder = machine(&[
        ("sys/fs/cgroup/app.slice/memory.high", "1073741824\n"),
        ("sys/fs/cgroup/app.slice/memory.current", "536870912\n"),
        ("sys/fs/cgroup/app.slice/db.service/memory.high", "max\n"),
    ]);
    let evidence = folder.path().to_str().expect("UTF-8").to_owned();
    let lines = |key| {
        let text = shown(Some(key), &evidence);
        let all = [
            text.lines().next(),
            text.lines().find(|line| line.contains("holds")),
        ];
        all.map(|line| line.unwrap_or_default().trim_start().to_owned())
    };
    assert_eq!(
        lines("MemoryHigh"),
        [
            "memory.high: set on 1 of 2 control groups; the kernel chooses max",
            "app.slice                      1 GiB  holds 512 MiB",
        ]
    );
    assert_eq!(
        lines("/sys/fs/cgroup/app.slice/memory.high")[0],
        "app.slice/memory.high = 1073741824 bytes (1 GiB): set; the kernel chooses max"
    );
}

#[test]
fn evidence_without_files_of_configuration_says_nothing_of_the_next_boot() {
    let folder = machine(&[("proc/sys/vm/swappiness", "60\n")]);
    let text = shown(
        Some("vm.swappiness"),
        folder.path().to_str().expect("UTF-8"),
    );
    assert!(!text.contains("At the next boot"), "{text}");
}

#[test]
fn a_key_that_means_nothing_is_refused_in_one_line_with_the_way_out() {
    for (key, message) in [
        ("vm.swapiness", "did you mean vm.swappiness?"),
        (
            "enabled",
            "say thp.enabled, lru_gen.enabled or zswap.enabled",
        ),
        ("ksm.pages_shared", "it cannot be set"),
        ("teapot", "docs/tunables.md lists those there are"),
        ("", "no such tunable"),
        ("\u{1b}[31m", "no such tunable"),
    ] {
        let output = explain(&[key, "--of", HOST]);
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{key}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{key}: {stderr}");
        assert!(stderr.contains(message), "{key}: {stderr}");
        assert!(
            !stderr.contains('\u{1b}') && output.stdout.is_empty(),
            "{key}"
        );
    }
    let two = explain(&["vm.swappiness", "--of", HOST, "--of", KERNEL_7_2]);
    let stderr = String::from_utf8_lossy(&two.stderr);
    assert!(
        two.status.code() == Some(2) && stderr.contains("explain looks at one"),
        "{stderr}"
    );
}

#[test]
fn this_machine_is_explained_without_root_and_nothing_is_left_out_of_the_count() {
    let output = explain(&[]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success());
    assert!(text.contains(" tunables differ from what "), "{text}");
    for key in ["min_free_kbytes", "vm.dirty_ratio", "swappiness"] {
        let output = explain(&[key]);
        assert!(output.status.success(), "{key}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains(" = "), "{text}");
    }
}
