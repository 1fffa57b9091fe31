//! The machine itself: commands answer, a disk outlives it, the power can go at any moment.

use mm::units::Nanos;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};

use super::{boot, debian, disk};

fn answers_and_keeps_its_files(release: Release, systemd: &str) {
    let Some(machine) = debian(release) else {
        return;
    };
    let order = Boot::new(First::Systemd)
        .file("etc/sysctl.d/50-test.conf", "vm.swappiness = 7\n")
        .command("cat /proc/sys/vm/swappiness; exit 3")
        .command("systemctl --version | head -n 1; systemctl --failed --no-legend")
        .command("sleep 1000")
        .command("kill -9 $$");
    let answers = boot(&machine, &order).answers;
    assert_eq!((answers[0].status, answers[0].output.as_str()), (3, "7\n"));
    assert!(
        answers[1].output.starts_with(systemd),
        "{}",
        answers[1].output
    );
    assert_eq!(
        answers[1].output.lines().count(),
        1,
        "{}",
        answers[1].output
    );
    let slept = answers[2].to - answers[2].from;
    assert!((1000.0..1001.0).contains(&slept), "{slept}");
    assert_eq!(answers[3].status, 137);
}

#[test]
fn debian_12_answers() {
    answers_and_keeps_its_files(Release::Debian12, "systemd 252 ");
}

#[test]
fn debian_13_answers() {
    answers_and_keeps_its_files(Release::Debian13, "systemd 257 ");
}

/// What was synced is there in the next life; what was only written, just before the power went,
/// is not: the guest's page cache goes with the guest.
#[test]
fn a_disk_outlives_the_machine_and_loses_what_was_not_written_back() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let disk = disk(&machine, directory.path());
    let first = Boot::new(First::Shell)
        .disk(&disk)
        .command("echo kept > /etc/kept; sync; echo lost > /etc/lost; cat /etc/lost");
    assert_eq!(boot(&machine, &first).answers[0].output, "lost\n");
    let second = Boot::new(First::Shell)
        .disk(&disk)
        .command("cat /etc/kept /etc/lost");
    let answer = &boot(&machine, &second).answers[0];
    assert_eq!(answer.status, 1);
    assert!(answer.output.starts_with("kept\n"), "{}", answer.output);
    assert!(answer.output.contains("/etc/lost"), "{}", answer.output);
}

/// The watchdog takes the power away at its instant, whatever runs then; the same order does so at
/// the same instruction.
#[test]
fn a_power_cut_comes_at_its_moment_and_is_repeatable() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let order = Boot::new(First::Shell)
        .command("i=0; while :; do i=$((i + 1)); echo round $i > /dev/ttyS1; done")
        .power_cut(Nanos(250_000_000));
    let [one, other] = [(); 2].map(|()| boot(&machine, &order));
    assert_eq!(one.answers, []);
    assert!(one.notes.len() > 100, "{}", one.notes.len());
    assert_eq!(one, other);
}
