//! What would act on everybody: a plan whose lines are each allowed, processes with more addresses
//! than a machine has memory, and a guard that has a machine only in part.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{CONFIG, Guard, SETS};
use crate::place::{PROMPT, Place, SWAPPINESS, system};
use crate::process::{becomes, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "a_reserve_that_leaves_nothing",
        must_not: "apply takes no reserve for root that leaves nobody else any memory",
        run: a_reserve_that_leaves_nothing,
    },
    Attack {
        name: "a_limit_that_sinks_further",
        must_not: "a machine near its commit limit gets none below what is promised already",
        run: a_limit_that_sinks_further,
    },
    Attack {
        name: "address_space_without_end",
        must_not: "processes with 120 TiB of addresses take no memory from ksm estimate, and hide \
                   no other process from it",
        run: address_space_without_end,
    },
    Attack {
        name: "a_guard_in_a_container",
        must_not: "a guard inside a container sets nothing of the machine's",
        run: a_guard_in_a_container,
    },
];

/// A file in the place of `/proc/meminfo`.
const MEMINFO: &str = "/tmp/own/meminfo";

/// The files of the commit limit, as a machine has them that lets everybody have memory.
fn strict(place: &Place, mode: &str, ratio: &str) {
    for (name, value) in [
        ("overcommit_memory", mode),
        ("overcommit_ratio", ratio),
        ("overcommit_kbytes", "0"),
        ("nr_hugepages", "0"),
        ("admin_reserve_kbytes", "8192"),
        ("user_reserve_kbytes", "131072"),
    ] {
        place.file(format!("/proc/sys/vm/{name}"), value);
    }
}

/// A line of `/proc/meminfo`, in KiB.
fn meminfo(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect(key)
}

/// The plan is refused.
fn refused(place: &Place, settings: &[&str]) -> Outcome {
    let words = [&["apply", "--dry-run"], settings].concat();
    let ended = place.run(&words)?;
    held_if(ended.code == Some(1), || {
        format!("{words:?}: {:?}: {}", ended.code, ended.said())
    })
}

fn a_reserve_that_leaves_nothing(place: &Place) -> Outcome {
    let text = fs::read_to_string("/proc/meminfo").expect("meminfo");
    let all = format!("vm.admin_reserve_kbytes={}", meminfo(&text, "MemTotal"));
    strict(place, "0", "50");
    refused(
        place,
        &["vm.overcommit_memory=2", "vm.overcommit_ratio=100", &all],
    )?;
    strict(place, "2", "100");
    refused(place, &[&all])
}

fn a_limit_that_sinks_further(place: &Place) -> Outcome {
    let text = fs::read_to_string("/proc/meminfo").expect("meminfo");
    let total = meminfo(&text, "MemTotal");
    let limit = total * 8 / 100 + meminfo(&text, "SwapTotal");
    // Half of the memory, which is not counted in the limit.
    let huge = format!("vm.nr_hugepages={}", total / 2 / 2048);
    // Near the limit, and beyond it, which lint finds before the change too.
    for percent in [97, 103] {
        let line = |line: &str| match line.split_once(':') {
            Some(("CommitLimit", _)) => format!("CommitLimit: {limit} kB\n"),
            Some(("Committed_AS", _)) => format!("Committed_AS: {} kB\n", limit * percent / 100),
            _ => format!("{line}\n"),
        };
        fs::write(MEMINFO, text.lines().map(line).collect::<String>()).expect("a file");
        system("mount", &["--bind", MEMINFO, "/proc/meminfo"]);
        strict(place, "2", "8");
        for setting in ["vm.overcommit_kbytes=1", "vm.overcommit_ratio=1", &huge] {
            refused(place, &[setting]).map_err(|what| format!("at {percent} %: {what}"))?;
        }
        system("umount", &["/proc/meminfo"]);
    }
    Ok(())
}

fn address_space_without_end(_: &Place) -> Outcome {
    let maps: Vec<(Actor, String)> = (0..3).map(|_| Actor::start("map-much", &[])).collect();
    // One of root's that can be read.
    let own = Command::new("/tmp/bin/hostile")
        .args(["--actor", "lock-all"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut own = own.expect("a process");
    let pids: Vec<&str> = maps.iter().map(|(_, pid)| pid.as_str()).collect();
    let pids = format!("{},{}", own.id(), pids.join(","));
    let mut command = Command::new("prlimit");
    command.args(["--data=1073741824", "/tmp/bin/plimsoll", "ksm", "estimate"]);
    command.args(["--sample-time", "0", "--pid", &pids]);
    let ended = ends(command.current_dir("/tmp/own"), Duration::from_secs(30));
    own.kill().expect("a child");
    own.wait().expect("a child");
    let ended = ended.ok_or("ksm estimate does not end")?;
    held_if(ended.code == Some(0), || {
        format!("{:?}: {}", ended.code, ended.said())
    })
}

fn a_guard_in_a_container(place: &Place) -> Outcome {
    place.file(CONFIG, SETS);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "/tmp/bin/plimsoll-guard"]);
    let mut guard = Guard::spawn_by(command.current_dir("/").stdin(Stdio::null()));
    guard.is_on()?;
    let is_set = || place.read(SWAPPINESS) != "60";
    let is_told = || guard.log().contains("this is a container");
    becomes(PROMPT, || is_set() || is_told());
    held_if(is_told() && !is_set(), || {
        format!(
            "vm.swappiness is {}: {}",
            place.read(SWAPPINESS),
            guard.log()
        )
    })
}
