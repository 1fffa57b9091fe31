//! Files and processes of the attacker's that are called like those that root's commands look for,
//! and names that would end the line in which they are written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{CONFIG, Guard};
use crate::place::{PROMPT, Place, SWAPPINESS, give_away};
use crate::process::{Ended, becomes, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "a_crontab_of_theirs",
        must_not: "a crontab of the attacker's neither keeps root from a change that lasts, nor \
                   tells lint, explain or status what is set at boot",
        run: a_crontab_of_theirs,
    },
    Attack {
        name: "a_plimsoll_toml_of_theirs",
        must_not: "plimsoll.toml in the attacker's folder decides nothing about this machine",
        run: a_plimsoll_toml_of_theirs,
    },
    Attack {
        name: "processes_called_like_others",
        must_not: "a process of the attacker's passes for no service by its name",
        run: processes_called_like_others,
    },
    Attack {
        name: "a_process_called_like_a_tuner",
        must_not: "a process of the attacker's keeps the guard from no policy by its name",
        run: a_process_called_like_a_tuner,
    },
    Attack {
        name: "files_called_like_settings",
        must_not: "a file of the attacker's is taken for no setting, and no arm, by its name",
        run: files_called_like_settings,
    },
    Attack {
        name: "a_path_with_a_line_end",
        must_not: "a folder's name puts no file into a capture that is saved",
        run: a_path_with_a_line_end,
    },
];

const THEIRS: &str = "/tmp/theirs";
const KSM: &str = "[ksm]\nmost_cpu = \"20 %\"";

/// Runs the command in the attacker's folder.
fn in_theirs(place: &Place, words: &[&str]) -> Result<Ended, String> {
    let mut command = place.plimsoll(words);
    let ended = ends(command.current_dir(THEIRS), PROMPT);
    ended.ok_or_else(|| format!("{words:?} did not end"))
}

/// A file of the attacker's.
fn file_of_theirs(place: &Place, path: &str, text: &str) -> PathBuf {
    let path = place.file(path, text);
    give_away(&path);
    path
}

/// cron runs it as its owner, who may set no tunable.
fn a_crontab_of_theirs(place: &Place) -> Outcome {
    const TABLE: &str = "/var/spool/cron/crontabs/nobody";
    const LINE: &str = "@reboot sysctl -w vm.swappiness=5 vm.page-cluster=33";
    let explain: &[&str] = &["explain", "vm.swappiness"];
    let roots = place.file("/var/spool/cron/crontabs/root", LINE);
    let said = place.run(explain)?.said();
    assert!(said.contains("crontabs/root"), "root's decides: {said}");
    fs::remove_file(roots).expect("a file");
    let theirs = file_of_theirs(place, TABLE, LINE);
    crate::place::mode(&theirs, 0o600);
    place.does(&["apply", "vm.swappiness=10", "--persist", "--now"])?;
    for words in [&["lint"][..], explain, &["status"]] {
        let said = place.run(words)?.said();
        held_if(!said.contains(TABLE), || format!("{words:?}: {said}"))?;
    }
    place.does(&["status"])?;
    place.does(&["undo"])?;
    place.does(&["apply", "vm.swappiness=10", "--now"])?;
    place.does(&["confirm", "2", "--persist"]).map(drop)
}

fn a_plimsoll_toml_of_theirs(place: &Place) -> Outcome {
    place.file("/etc/sysctl.d/a.conf", "vm.swapiness = 10");
    place.theirs(THEIRS);
    let before = in_theirs(place, &["lint"])?;
    assert_eq!(before.code, Some(1), "{}", before.said());
    for text in [
        "[lint]\nselect = [\"swappiness-200\"]\nfail-on = \"error\"",
        "broken",
    ] {
        file_of_theirs(place, "/tmp/theirs/plimsoll.toml", text);
        let ended = in_theirs(place, &["lint"])?;
        let is_same = (ended.code, &ended.out) == (before.code, &before.out);
        held_if(is_same, || format!("{:?}: {}", ended.code, ended.said()))?;
    }
    Ok(())
}

/// A process of the attacker's with this name.
fn called(place: &Place, name: &str) -> Actor {
    place.theirs(THEIRS);
    let program = Path::new(THEIRS).join(name);
    fs::copy("/tmp/bin/hostile", &program).expect("a copy");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    Actor::start_by(&program, "lock-all", &[]).0
}

fn processes_called_like_others(place: &Place) -> Outcome {
    place.file(CONFIG, KSM);
    let check = |place: &Place| place.run(&["guard", "check"]).map(|ended| ended.said());
    let before = check(place)?;
    let names = [
        "plimsoll-guard",
        "earlyoom",
        "ksmtuned",
        "tuned",
        "systemd-oomd",
    ];
    let _processes = names.map(|name| called(place, name));
    let said = check(place)?;
    let is_met = |name: &&str| said.matches(*name).count() > before.matches(*name).count();
    let met: Vec<_> = names.into_iter().filter(is_met).collect();
    held_if(met.is_empty(), || {
        format!("it meets {}: {said}", met.join(", "))
    })
}

fn a_process_called_like_a_tuner(place: &Place) -> Outcome {
    let _process = called(place, "ksmtuned");
    let guard = Guard::start(place, KSM)?;
    let status = || place.run(&["guard", "status"]).map(|ended| ended.said());
    let is_told = || status().is_ok_and(|said| said.contains("ksm"));
    assert!(becomes(PROMPT, is_told), "{}", guard.log());
    let said = status()?;
    held_if(!said.contains("leaves ksmd alone"), || said)
}

fn files_called_like_settings(place: &Place) -> Outcome {
    const CLUSTER: &str = "/proc/sys/vm/page-cluster";
    place.theirs(THEIRS);
    for word in ["vm.swappiness=10", "memory-hogs:swappiness 30"] {
        file_of_theirs(place, &format!("{THEIRS}/{word}"), "vm.page-cluster = 9");
        let said = in_theirs(place, &["apply", word, "--now"])?.said();
        held_if(place.read(CLUSTER) == "3", || format!("{word}: {said}"))?;
        let is_set = place.read(SWAPPINESS) != "60";
        held_if(is_set, || format!("{word} does nothing: {said}"))?;
        place.does(&["undo"])?;
    }
    Ok(())
}

fn a_path_with_a_line_end(place: &Place) -> Outcome {
    const SAVED: &str = "/tmp/own/saved";
    let meminfo = "MemTotal: 65536 kB\nMemFree: 100 kB\n";
    let group = format!(
        "/tmp/image/sys/fs/cgroup/x 1\n0\n\n= proc/meminfo {}\n{meminfo}\n= zzz",
        meminfo.len()
    );
    place.file(format!("{group}/memory.max"), "4096");
    place.file("/tmp/image/proc/sys/vm/swappiness", "60");
    place.run(&["inspect", "/tmp/image", "--save", SAVED])?;
    let saved = place.read(SAVED);
    assert!(saved.contains("proc/sys/vm/swappiness"), "{saved}");
    let forged = saved.lines().any(|line| line.starts_with("= proc/meminfo"));
    held_if(!forged && saved.contains("zzz"), || saved)
}
