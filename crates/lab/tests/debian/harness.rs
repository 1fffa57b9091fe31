//! The machine itself: commands answer, a disk outlives it, the power can go at any moment.

use mm::units::Nanos;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};

use super::{boot, debian, disk};

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
        .command("sleep 1000")
        .command("kill -9 $$")
        .command("echo kept > /etc/kept; sync; echo lost > /etc/lost; cat /etc/lost; exit 3");
    let [slept, killed, wrote] = &boot(&machine, &first).answers[..] else {
        panic!("three commands answer");
    };
    let seconds = slept.to - slept.from;
    assert!((1000.0..1001.0).contains(&seconds), "{seconds}");
    assert_eq!(killed.status, 137);
    assert_eq!((wrote.status, wrote.output.as_str()), (3, "lost\n"));
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
        .power_cut(Nanos(50_000_000))
        .command("i=0; while :; do i=$((i + 1)); echo round $i > /dev/ttyS1; done");
    let [one, other] = [(); 2].map(|()| boot(&machine, &order));
    assert_eq!(one.answers.len(), 1, "the cut alone");
    assert!(one.notes.len() > 100, "{}", one.notes.len());
    assert_eq!(one, other);
}
