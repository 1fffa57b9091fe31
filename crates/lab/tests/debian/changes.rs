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

#[test]
fn a_change_takes_itself_back_whatever_happens() {
    let Some(machine) = debian(Release::Debian12) else {
        return;
    };
    let mut order = Boot::new(First::Systemd);
    for (_, script) in HAPPENINGS {
        order = order.command(format!("{FUNCTIONS}{script}"));
    }
    let confirmed = "plimsoll apply vm.swappiness=10 --confirm 5s > /dev/null
                     plimsoll confirm > /dev/null; sleep 10; value; unit
                     sysctl -q -w vm.swappiness=20; plimsoll status; echo status $?
                     sysctl -q -w vm.swappiness=10; plimsoll undo; value; plimsoll status";
    let order = order.command(format!("{FUNCTIONS}{confirmed}"));
    let answers = boot(&machine, &order).answers;
    for ((what, _), answer) in HAPPENINGS.iter().zip(&answers) {
        let late = late(answer);
        println!("{what}: taken back {late:.2} s after the deadline");
        assert!(
            (0.0..LATE).contains(&late),
            "{what}: {late} s, {}",
            answer.output
        );
    }
    let last = &answers[HAPPENINGS.len()].output;
    assert!(
        last.starts_with("10\n"),
        "it stays, and nothing waits: {last}"
    );
    assert!(
        last.contains("status 1\n"),
        "an administrator's write is a drift: {last}"
    );
    assert!(last.contains("\n60\nno change"), "{last}");
}

/// How long after the deadline it was taken back. The clock in `/proc` is rounded down to 10 ms.
fn late(answer: &Answer) -> f64 {
    let lines: Vec<&str> = answer.output.lines().rev().take(2).collect();
    let [now, deadline] = lines[..] else {
        panic!("a deadline and a time: {}", answer.output);
    };
    let now: f64 = now.parse().unwrap_or_else(|_| panic!("{}", answer.output));
    let deadline: f64 = deadline
        .parse()
        .unwrap_or_else(|_| panic!("{}", answer.output));
    now + 0.01 - deadline / 1e9
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

/// A soft reboot keeps the kernel, its values, and so the watcher.
#[test]
fn a_soft_reboot_does_not_end_the_watch() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let script = format!(
        "{FUNCTIONS}if ! [ -e /run/second ]; then
             : > /run/second
             plimsoll apply vm.swappiness=10 --confirm 20s > /dev/null; value > /dev/ttyS1
             systemctl soft-reboot; sleep 1000
         fi
         value > /dev/ttyS1; watch_back sleep 0.02 > /dev/ttyS1; echo o > /proc/sysrq-trigger"
    );
    let order = Boot::new(First::Systemd).command(script).end(End::Early);
    let notes = boot(&machine, &order).notes;
    let numbers: Vec<f64> = notes.iter().filter_map(|line| line.parse().ok()).collect();
    let [before, after, deadline, now] = numbers[..] else {
        panic!("four numbers: {notes:?}");
    };
    assert_eq!((before, after), (10.0, 10.0), "the kernel is the same");
    let late = now + 0.01 - deadline / 1e9;
    assert!((0.0..LATE).contains(&late), "{late} s after the deadline");
}
