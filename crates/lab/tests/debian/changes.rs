//! `apply`, `confirm`, `undo` and `status` where systemd runs: a change takes itself back whatever
//! happens to the command, the terminal, systemd or the watcher; and what lasts outlives a reboot.
//!
//! Times are the guest's own, `CLOCK_BOOTTIME`.

use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Answer, Boot, End, First};

use super::{boot, debian, disk};

/// How much later than its deadline a change may be taken back, in seconds.
const LATE: f64 = 2.0;

/// Functions that the commands use. `watch_back` waits until the value is back, does what it is
/// told meanwhile, and prints the deadline of the change and when that was.
const FUNCTIONS: &str = "\
export LC_ALL=C
value() { cat /proc/sys/vm/swappiness; }
until_is() { until [ \"$(value)\" = $1 ]; do sleep 0.02; done; }
watch_back() {
    until [ \"$(value)\" = 60 ]; do \"$@\"; done
    read now rest < /proc/uptime
    sed -n 's/.* planned id=.* deadline=\\([0-9]*\\) .*/\\1/p' /run/plimsoll/journal | tail -n 1
    echo $now
}
unit() { ls /run/systemd/transient | grep plimsoll-watch; }
kill_watcher() { kill -9 $(systemctl show -p MainPID --value $(unit)); sleep 0.2; }
";

/// A change is made and something happens; then it must be taken back in time.
const HAPPENINGS: &[(&str, &str)] = &[
    (
        "the command is killed",
        "plimsoll apply vm.swappiness=10 --confirm 5s > /dev/null & until_is 10
         kill -9 $!; watch_back sleep 0.02",
    ),
    (
        "its terminal hangs up",
        "script -q -c 'plimsoll apply vm.swappiness=10 --confirm 5s; sleep 1000' /dev/null &
         until_is 10; sleep 0.5; kill -9 $!; watch_back sleep 0.02",
    ),
    (
        "systemd is reloaded again and again",
        "plimsoll apply vm.swappiness=10 --confirm 3s > /dev/null
         watch_back systemctl daemon-reload",
    ),
    (
        "its watcher is killed again and again",
        "plimsoll apply vm.swappiness=10 --confirm 3s > /dev/null; watch_back kill_watcher",
    ),
    (
        "somebody wants to stop the watcher",
        "plimsoll apply vm.swappiness=10 --confirm 3s > /dev/null
         systemctl stop $(unit) && echo 'stopped'
         systemctl kill $(unit); watch_back sleep 0.02",
    ),
];

/// A confirmed change stays, and nothing waits; an administrator's write is a drift.
const CONFIRMED: &str = "\
plimsoll apply vm.swappiness=10 --confirm 5s > /dev/null
plimsoll confirm > /dev/null; sleep 10; value; unit
sysctl -q -w vm.swappiness=20; plimsoll status; echo status $?
sysctl -q -w vm.swappiness=10; plimsoll undo; value; plimsoll status
";

/// All commands run a second time after a soft reboot; only the last one has something to do then.
const ONCE: &str = "if [ -e /run/second ]; then exit; fi\n";

/// A soft reboot keeps the kernel, its values, and so it must keep the watcher.
const SOFT_REBOOT: &str = "\
if ! [ -e /run/second ]; then
    : > /run/second
    plimsoll apply vm.swappiness=10 --confirm 20s > /dev/null; value > /dev/ttyS1
    systemctl soft-reboot; sleep 1000
fi
value > /dev/ttyS1; watch_back sleep 0.02 > /dev/ttyS1; echo o > /proc/sysrq-trigger
";

fn order() -> Boot {
    let scripts = HAPPENINGS.iter().map(|(_, script)| script);
    scripts
        .chain([&CONFIRMED])
        .fold(Boot::new(First::Systemd), |order, script| {
            order.command(format!("{ONCE}{FUNCTIONS}{script}"))
        })
}

#[test]
fn on_debian_12_a_change_takes_itself_back_whatever_happens() {
    let Some(machine) = debian(Release::Debian12) else {
        return;
    };
    assert_taken_back(&boot(&machine, &order()).answers);
}

#[test]
fn on_debian_13_a_change_takes_itself_back_whatever_happens() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let order = order().command(format!("{FUNCTIONS}{SOFT_REBOOT}"));
    let all = boot(&machine, &order.end(End::Early));
    assert_taken_back(&all.answers);
    let [before, after, deadline, now] = &all.notes[..] else {
        panic!("two values and two times: {:?}", all.notes);
    };
    assert_eq!(
        (before.as_str(), after.as_str()),
        ("10", "10"),
        "the kernel is the same"
    );
    assert_in_time("a soft reboot", deadline, now);
}

fn assert_taken_back(answers: &[Answer]) {
    for ((what, _), answer) in HAPPENINGS.iter().zip(answers) {
        let lines: Vec<&str> = answer.output.lines().rev().take(2).collect();
        let [now, deadline] = lines[..] else {
            panic!("{what}: a deadline and a time: {}", answer.output);
        };
        assert_in_time(what, deadline, now);
        assert!(
            !answer.output.contains("stopped"),
            "{what}: {}",
            answer.output
        );
    }
    let last = &answers[HAPPENINGS.len()].output;
    assert!(last.starts_with("10\n"), "it stays: {last}");
    assert!(!last.contains("plimsoll-watch"), "nothing waits: {last}");
    assert!(last.contains("status 1\n"), "a drift: {last}");
    assert!(last.contains("\n60\nno change"), "{last}");
}

/// Not before the deadline, and not long after it. The clock in `/proc` is rounded down to 10 ms.
fn assert_in_time(what: &str, deadline: &str, now: &str) {
    let number = |text: &str| {
        text.parse::<f64>()
            .unwrap_or_else(|_| panic!("{what}: {text}"))
    };
    let late = number(now) + 0.01 - number(deadline) / 1e9;
    println!("{what}: taken back {late:.2} s after the deadline");
    assert!(
        (0.0..LATE).contains(&late),
        "{what}: {late} s after the deadline"
    );
}

#[test]
fn a_reboot_undoes_what_nobody_confirmed_and_keeps_what_lasts() {
    let Some(machine) = debian(Release::Debian12) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let disk = disk(&machine, directory.path());
    let life = |script: &str| {
        let script = format!("{FUNCTIONS}{script}");
        let order = Boot::new(First::Systemd).disk(&disk).command(script);
        boot(&machine, &order).answers.remove(0).output
    };
    let before = life(
        "plimsoll apply vm.vfs_cache_pressure=50 --persist > /dev/null && plimsoll confirm
         plimsoll apply vm.swappiness=10 > /dev/null; value; cat /proc/sys/vm/vfs_cache_pressure",
    );
    assert!(before.ends_with("\n10\n50\n"), "{before}");
    let after = life(
        "value; cat /proc/sys/vm/vfs_cache_pressure; plimsoll status; echo status $?
         echo 'vm.vfs_cache_pressure = 77' > /etc/sysctl.d/zz-admin.conf; sync",
    );
    assert!(after.starts_with("60\n50\n"), "{after}");
    assert!(
        after.ends_with("status 0\n"),
        "the native file won: {after}"
    );
    let overruled = life(
        "cat /proc/sys/vm/vfs_cache_pressure; plimsoll status; echo status $?
         rm /etc/sysctl.d/zz-admin.conf; sysctl -q -w vm.vfs_cache_pressure=50
         plimsoll undo; ls /etc/sysctl.d; cat /proc/sys/vm/vfs_cache_pressure",
    );
    assert!(overruled.starts_with("77\n"), "{overruled}");
    assert!(
        overruled.contains("zz-admin.conf") && overruled.contains("status 1\n"),
        "{overruled}"
    );
    assert!(overruled.ends_with("\n100\n"), "{overruled}");
    assert!(
        !overruled.contains("99-plimsoll.conf\nREADME"),
        "{overruled}"
    );
}
