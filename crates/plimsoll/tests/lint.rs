//! `plimsoll lint` from outside: exit codes, formats, what a file allows, plimsoll.toml, changes
//! that are taken back, and what is looked at.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn lint(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let command = command.arg("lint").args(arguments).current_dir(folder);
    command
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn fixture(name: &str) -> String {
    let path = testkit::checkout(&format!("fixtures/{name}"));
    path.to_string_lossy().into_owned()
}

/// The names of the rules that find something.
fn found(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = lint(folder, &[arguments, &["--json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let findings = document["findings"].as_array().expect("a list").iter();
    let found = findings.filter(|finding| finding["status"] == "found");
    found
        .map(|finding| finding["rule"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn the_exit_code_is_the_same_in_every_format() {
    let bad = folder(&[("a.conf", "vm.dirty_writeback_centisecs = 0\n")]);
    let good = folder(&[("a.conf", "vm.swappiness = 60\n")]);
    for format in ["human", "json", "sarif", "github"] {
        let code = |folder: &Path, more: &[&str]| {
            let all = [&["a.conf", "--format", format], more].concat();
            lint(folder, &all).status.code()
        };
        assert_eq!(code(good.path(), &[]), Some(0), "{format}");
        assert_eq!(code(bad.path(), &[]), Some(1), "{format}");
        assert_eq!(
            code(bad.path(), &["--fail-on", "error"]),
            Some(0),
            "{format}"
        );
        assert_eq!(
            code(bad.path(), &["--ignore", "writeback-off"]),
            Some(0),
            "{format}"
        );
        assert_eq!(
            code(bad.path(), &["--select", "dirty-pair"]),
            Some(0),
            "{format}"
        );
        assert_eq!(code(bad.path(), &["no-such-file"]), Some(2), "{format}");
        assert_eq!(
            code(bad.path(), &["--select", "no-such-rule"]),
            Some(2),
            "{format}"
        );
    }
}

#[test]
fn what_fails_is_one_line_with_the_way_out() {
    let folder = folder(&[
        ("a.conf", "vm.swappiness = 60\n"),
        ("plimsoll.toml", "[lint]\nselct = []\n"),
    ]);
    let output = lint(folder.path(), &["a.conf"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status.code(), error.lines().count()),
        (Some(2), 1),
        "{error}"
    );
    assert!(
        error.contains("plimsoll.toml: line 2") && error.contains("select?"),
        "{error}"
    );
    let output = lint(folder.path(), &["--explain", "dirty-pare"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean dirty-pair?"));
}

#[test]
fn the_page_of_each_rule_is_shown_and_so_is_the_list() {
    let folder = folder(&[]);
    let pages = testkit::checkout("docs/rules");
    let list = out(&lint(folder.path(), &["--explain"]));
    let mut shown = 0;
    for entry in fs::read_dir(pages).expect("the pages") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert!(list.contains(&name), "{name}");
        if shown % 10 == 0 {
            let page = out(&lint(folder.path(), &["--explain", &name]));
            assert_eq!(page, fs::read_to_string(&path).expect("the page"));
        }
        shown += 1;
    }
    assert!(shown >= 40, "{shown}");
}

#[test]
fn the_file_of_settings_gives_what_the_command_line_does_not() {
    let text = "[lint]\nignore = [\"writeback-off\"]\nfail-on = \"note\"\n";
    let files = [
        ("plimsoll.toml", text),
        ("a.conf", "vm.dirty_writeback_centisecs = 0\n"),
        ("b.conf", "vm.dirty_ratio = 80\n"),
    ];
    let folder = folder(&files);
    let code = |arguments: &[&str]| lint(folder.path(), arguments).status.code();
    assert_eq!(code(&["a.conf"]), Some(0));
    assert_eq!(code(&["a.conf", "--ignore", "dirty-pair"]), Some(1));
    assert_eq!(code(&["b.conf"]), Some(1), "a note is enough");
    assert_eq!(code(&["b.conf", "--fail-on", "warning"]), Some(0));
}

#[test]
fn a_file_allows_a_line_or_itself_with_a_reason() {
    let line = "# plimsoll: allow(writeback-off) a RAM disk\nvm.dirty_writeback_centisecs = 0\n";
    let whole = "# plimsoll: allow(dirty-ratio-high) a RAM disk\n\nvm.dirty_ratio = 80\n";
    let no_reason = line.replace(" a RAM disk", "");
    let files = [
        ("line.conf", line),
        ("whole.conf", whole),
        ("none.conf", &no_reason),
    ];
    let folder = folder(&files);
    assert_eq!(found(folder.path(), &["line.conf"]), Vec::<String>::new());
    assert_eq!(found(folder.path(), &["whole.conf"]), Vec::<String>::new());
    let both = ["allow-without-reason", "writeback-off"];
    assert_eq!(found(folder.path(), &["none.conf"]), both);
    let other = ["none.conf", "--select", "dirty-pair"];
    assert_eq!(found(folder.path(), &other), Vec::<String>::new());
}

#[test]
fn what_is_certain_is_changed_once_and_taken_back() {
    let text = "# ours\nvm.dirty_bytes = 268435456\nvm.dirty_ratio = 10\nvm.drop_caches = 3\r\n\
                vm.swapiness = 10 # low\nvm.dirty_writeback_centisecs = 0\n";
    let vendors = "vm.drop_caches = 3\n";
    let folder = folder(&[
        ("etc/sysctl.d/a.conf", text),
        ("usr/lib/sysctl.d/b.conf", vendors),
    ]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a file");
    let diff = lint(folder.path(), &[".", "--diff"]);
    assert!(out(&diff).contains("-vm.drop_caches = 3"), "{}", out(&diff));
    assert_eq!(read("etc/sysctl.d/a.conf"), text, "--diff changes nothing");

    let fixed = lint(folder.path(), &[".", "--fix"]);
    assert_eq!(
        fixed.status.code(),
        Some(1),
        "what is not certain is still there"
    );
    let expected = "# ours\nvm.dirty_ratio = 10\n# low\nvm.swappiness = 10\n\
                    vm.dirty_writeback_centisecs = 0\n";
    assert_eq!(read("etc/sysctl.d/a.conf"), expected);
    assert_eq!(read("etc/sysctl.d/a.conf.plimsoll-old"), text);
    assert_eq!(
        read("usr/lib/sysctl.d/b.conf"),
        vendors,
        "a package's file is not ours"
    );

    let again = lint(folder.path(), &[".", "--fix"]);
    assert!(again.stderr.is_empty(), "nothing is left to change");
    assert_eq!(out(&again), out(&fixed));

    let undone = lint(folder.path(), &[".", "--fix", "--undo"]);
    assert_eq!(undone.status.code(), Some(0));
    assert_eq!(read("etc/sysctl.d/a.conf"), text);
    assert!(
        !folder
            .path()
            .join("etc/sysctl.d/a.conf.plimsoll-old")
            .exists()
    );
}

#[test]
fn no_link_of_an_image_leads_to_a_file_of_the_host() {
    let bad = "w /sys/kernel/mm/ksm/run - - - - 1\nw /proc/sys/vm/drop_caches - - - - 3\n";
    let host = "# the host's\nvm.secret = 1\n3\n4\n5\n";
    let folder = folder(&[
        ("host.conf", host),
        ("image/etc/tmpfiles.d/b.conf", bad),
        ("image/etc/sysctl.d/c.conf", "vm.drop_caches = 3\n"),
    ]);
    let (image, outside) = (folder.path().join("image"), folder.path().join("host.conf"));
    let within = image.join(outside.strip_prefix("/").expect("a whole path"));
    fs::create_dir_all(within.parent().expect("a parent")).expect("a folder");
    fs::write(&within, bad).expect("a file");
    for name in ["etc/tmpfiles.d/a.conf", "etc/sysctl.d/a.conf"] {
        std::os::unix::fs::symlink(&outside, image.join(name)).expect("a link");
    }
    for arguments in [["image", "--diff"], ["image", "--fix"], ["image", "--json"]] {
        let output = lint(folder.path(), &arguments);
        let said = out(&output) + &String::from_utf8_lossy(&output.stderr);
        assert!(
            !said.contains("the host's") && !said.contains("secret"),
            "{said}"
        );
    }
    assert_eq!(fs::read_to_string(&outside).expect("a file"), host);
    let own = fs::read_to_string(image.join("etc/sysctl.d/c.conf")).expect("a file");
    assert_eq!(own, "", "the image's own is changed");
    let own = fs::read_to_string(&within).expect("a file");
    assert_eq!(own.lines().count(), 1, "{own}");
}

#[test]
fn nothing_of_a_hostile_repository_acts_on_a_terminal() {
    let evil = "e\n0 settings\x1b]0;t\x07\x1b[2J\u{9b}31m\x08\u{202e}\u{2066}\x7f\rz";
    let line = format!("vm.swapiness = 10 # {evil}\n{evil} = 1\nvm.dirty_ratio = {evil}\n");
    let name = format!("a{evil}.conf");
    let folder = folder(&[(&name, &line), ("b.conf", "vm.drop_caches = 3\n")]);
    let acts = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || ('\u{2028}'..'\u{206f}').contains(&c)
    };
    for arguments in [
        &[".", "--diff"][..],
        &["."],
        &[".", "--format", "github"],
        &[".", "--format", "sarif"],
        &[&name, "--json"],
        &[evil],
        &["--select", evil],
        &[".", "--fix"],
        &[".", "--fix", "--undo"],
    ] {
        let output = lint(folder.path(), arguments);
        let said = out(&output) + &String::from_utf8_lossy(&output.stderr);
        let is_forged = said.lines().any(|line| line.starts_with("0 settings\\"));
        assert!(
            !said.is_empty() && !said.contains(acts) && !is_forged,
            "{arguments:?}: {said:?}"
        );
    }
    let document = out(&lint(folder.path(), &[".", "--json"]));
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let paths = document["findings"].as_array().expect("a list").iter();
    let is_whole = |finding: &Value| finding["path"] == format!("./{name}");
    assert!(paths.clone().any(is_whole), "{document}");
}

#[test]
fn a_copy_of_an_earlier_change_is_not_overwritten() {
    let folder = folder(&[
        ("a.conf", "vm.drop_caches = 3\n"),
        ("a.conf.plimsoll-old", "vm.swappiness = 1\n"),
    ]);
    let output = lint(folder.path(), &["a.conf", "--fix"]);
    assert_eq!(output.status.code(), Some(2));
    let kept = fs::read_to_string(folder.path().join("a.conf.plimsoll-old")).expect("a file");
    assert_eq!(kept, "vm.swappiness = 1\n");
    let text = fs::read_to_string(folder.path().join("a.conf")).expect("a file");
    assert_eq!(text, "vm.drop_caches = 3\n");
}

#[test]
fn numbers_are_those_of_the_machine_that_is_named() {
    let folder = folder(&[("a.conf", "vm.min_free_kbytes = 1500000\n")]);
    let nowhere = out(&lint(folder.path(), &["a.conf"]));
    assert!(
        nowhere.contains("Unknown: ") && nowhere.contains("/proc/zoneinfo"),
        "{nowhere}"
    );
    let machine = fixture("formulas/vm-3840mib-6.1.txt");
    let there = out(&lint(folder.path(), &["a.conf", "--of", &machine]));
    assert!(there.contains("error min-free-kills"), "{there}");
    assert!(there.contains("is 39% of memory"), "{there}");
}

#[test]
fn the_published_values_of_kubernetes_are_told_in_bytes() {
    let capture = fixture("lint/published/kubernetes-swap.txt");
    let folder = folder(&[]);
    let text = out(&lint(folder.path(), &[&capture]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("the high mark of Normal is 2.2 GiB, 46% of it"),
        "{text}"
    );
}

#[test]
fn this_machine_is_looked_at_by_default_and_nothing_is_changed() {
    let folder = folder(&[]);
    let output = lint(folder.path(), &["--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["machine"], "this");
    let paths = document["findings"].as_array().expect("a list").iter();
    for path in paths.map(|finding| finding["path"].as_str().expect("a path")) {
        assert!(path.starts_with('/'), "{path}");
    }
}

#[test]
fn of_a_machine_scripts_and_the_active_profile_count_too() {
    let script = "#!/bin/sh\necho 3 > /proc/sys/vm/drop_caches\n\
                  echo $X > /proc/sys/vm/min_free_kbytes\nsysctl -w vm.dirty_bytes=$((A * 2))\n";
    let profile = "[variables]\nx = 0\n[sysctl]\nvm.vfs_cache_pressure = ${x}\n";
    let files = [
        ("etc/sysctl.d/a.conf", "vm.swappiness = 60\n"),
        ("etc/cron.daily/clean", script),
        ("etc/tuned/active_profile", "ours\n"),
        ("etc/tuned/ours/tuned.conf", profile),
        (
            "usr/lib/tuned/other/tuned.conf",
            "[sysctl]\nvm.zone_reclaim_mode = 1\n",
        ),
    ];
    let folder = folder(&files);
    let both = ["vfs-pressure-zero", "action-as-setting"];
    assert_eq!(found(folder.path(), &["."]), both);
    let alone = found(folder.path(), &["usr/lib/tuned/other/tuned.conf"]);
    assert_eq!(alone, ["zone-reclaim"]);
}

#[test]
fn files_act_together_in_one_sysctl_d_and_each_for_itself_elsewhere() {
    let (bytes, ratio) = ("vm.dirty_bytes = 268435456\n", "vm.dirty_ratio = 10\n");
    let files = [
        ("roles/a/files/sysctl.d/10-a.conf", bytes),
        ("roles/a/files/sysctl.d/20-b.conf", ratio),
        ("other/10-a.conf", bytes),
        ("other/20-b.conf", ratio),
        (
            "values.yaml",
            "sysctls:\n  vm.dirty_bytes: 268435456\n  vm.dirty_ratio: 10\n",
        ),
        ("notes.md", "vm.dirty_ratio = 10\n"),
    ];
    let folder = folder(&files);
    let all = found(folder.path(), &["."]);
    assert_eq!(all, ["dirty-pair", "dirty-pair"], "{all:?}");
    assert_eq!(found(folder.path(), &["values.yaml"]), ["dirty-pair"]);
}

#[test]
fn a_file_without_settings_is_clean_and_says_so() {
    let folder = folder(&[("nginx.conf", "http {}\n"), ("notes.txt", "vm is short\n")]);
    let output = lint(folder.path(), &["nginx.conf"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        out(&output).contains("no setting that is known is in it"),
        "{}",
        out(&output)
    );
    assert_eq!(
        lint(folder.path(), &["notes.txt"]).status.code(),
        Some(2),
        "no evidence either"
    );
    assert_eq!(lint(folder.path(), &["."]).status.code(), Some(0));
}

#[test]
fn standard_input_is_settings_or_evidence() {
    let piped = |text: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let command = command
            .args(["lint", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        out(&child.wait_with_output().expect("it ends"))
    };
    let text = piped("vm.drop_caches = 3\n");
    assert!(text.contains("line 1: warning action-as-setting"), "{text}");
    let evidence = piped("kernel.osrelease = 6.1.0\nvm.dirty_bytes = 0\nvm.dirty_ratio = 0\n");
    assert!(
        !evidence.contains("dirty-bytes-floor"),
        "a value that the kernel has: {evidence}"
    );
}

#[test]
fn text_fits_80_columns() {
    let capture = fixture("lint/rules/min-free-kills.txt");
    let folder = folder(&[]);
    let output = lint(folder.path(), &[&capture, "--at", "finds"]);
    let text = out(&output);
    assert!(text.contains("min-free-kills"), "{text}");
    let wide: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    let paths = |line: &&str| line.starts_with('/');
    assert!(wide.iter().all(paths), "{wide:?}");
}
