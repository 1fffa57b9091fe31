//! What Kubernetes runs: the plugin of node-problem-detector, the figures of a node, and `lint` in a
//! container, which looks at its host.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

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

/// What the plugin of node-problem-detector runs, but for the folder of the host.
fn plugin(folder: &Path, host: &str) -> Output {
    let config = testkit::text("packaging/kubernetes/plimsoll-monitor.json");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let words = config["rules"][0]["args"].as_array().expect("a list");
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let Some((&"/host", words)) = words.split_last() else {
        panic!("it looks at {words:?}");
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = command.args(words).arg(host).current_dir(folder).output();
    let output = output.expect("the binary runs");
    let most = config["pluginConfig"]["max_output_length"].as_u64();
    let said = out(&output);
    assert!(
        said.trim_end().len() as u64 <= most.expect("a number"),
        "{said}"
    );
    output
}

#[test]
fn the_plugin_of_kubernetes_answers_in_one_short_line() {
    let harmful = folder(&[
        ("host/etc/sysctl.d/1.conf", "vm.overcommit_ratio = 50\n"),
        ("host/etc/sysctl.d/9.conf", "vm.swappiness = 300\n"),
    ]);
    let output = plugin(harmful.path(), "host");
    let said = out(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("error ") && said.lines().count() == 1,
        "{said}"
    );
    let sound = folder(&[("host/etc/sysctl.d/9.conf", "vm.swappiness = 10\n")]);
    let output = plugin(sound.path(), "host");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(out(&output), "nothing found in 1 setting\n");
    assert_eq!(plugin(sound.path(), "nowhere").status.code(), Some(2));
}

/// What a container prints whose `/host` has these files of its host, and whose kernel is ours.
fn in_a_container(files: &[(&str, &str)], words: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root may make a container");
        return None;
    }
    let root = folder(files);
    for name in ["proc", "sys", "host"] {
        fs::create_dir_all(root.path().join(name)).expect("a folder");
    }
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), root.path().join("plimsoll")).expect("a file");
    let script = format!(
        "mount --rbind /proc proc && mount --rbind /sys sys && exec chroot . /plimsoll {words}"
    );
    let mut command = Command::new("unshare");
    let command = command.args(["--mount", "--pid", "--fork", "sh", "-c", &script]);
    let output = command.current_dir(root.path()).output();
    let output = output.expect("unshare is part of util-linux");
    let said = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn in_a_container_its_host_is_looked_at() {
    let files = [("host/etc/sysctl.d/9.conf", "vm.swappiness = 300\n")];
    for words in ["lint /host", "lint"] {
        let Some(said) = in_a_container(&files, words) else {
            return;
        };
        assert!(
            said.contains("/host/etc/sysctl.d/9.conf"),
            "{words}: {said}"
        );
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("Numbers are those of this machine."),
            "{words}: {said}"
        );
    }
    if let Some(said) = in_a_container(&files, "metrics") {
        assert!(
            said.contains("\nplimsoll_lint_findings{severity=\"error\"} 1\n"),
            "{said}"
        );
    }
}
