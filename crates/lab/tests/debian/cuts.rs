//! Power cuts while changes are made, confirmed and taken back: afterwards the machine is as before
//! a change or as after it, and `status` knows which.
//!
//! One disk goes through all lives. Each life begins as a boot does, with the loader of `sysctl.d`;
//! it is looked at, brought back to the beginning, and then changes are made and taken back until
//! the power goes. `PLIMSOLL_CUTS` says how often, `PLIMSOLL_SEED` from which seed the moments are
//! drawn: the same seed cuts at the same instructions.

use mm::prng::Prng;
use mm::units::Nanos;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};

use super::{boot, debian, disk, pick};

/// Where nobody says how many.
const CUTS: u64 = 5;

/// Two changes of two tunables each; one has a partner, and they share a file.
const ONE: &str = "vm.swappiness=10 vm.dirty_bytes=64M";
const OTHER: &str = "vm.vfs_cache_pressure=50 vm.page-cluster=0";

/// Prints what the files set, what the kernel has, and what `status` and its exit code say.
const LOOK: &str = "\
/usr/lib/systemd/systemd-sysctl
for file in swappiness dirty_bytes dirty_ratio vfs_cache_pressure page-cluster; do
    cat /proc/sys/vm/$file
done | tr '\\n' ' '
echo
plimsoll status --json; echo status $?
cat /etc/sysctl.d/*plimsoll* 2> /dev/null
";

/// Takes everything back, and prints what is left: nothing.
const RESTORE: &str = "\
while plimsoll undo > /plimsoll/undone 2>&1; do :; done
cat /plimsoll/undone
for file in swappiness dirty_bytes dirty_ratio vfs_cache_pressure page-cluster; do
    cat /proc/sys/vm/$file
done | tr '\\n' ' '
echo
ls -A /etc/sysctl.d
";

/// What a disk with nothing of ours on it has: the values of the kernel, the files of the packages.
const CLEAN: &str = "60 0 20 100 3 ";

#[test]
fn a_power_cut_leaves_the_old_or_the_new_state() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let disk = disk(&machine, directory.path());
    let cuts = pick::number("PLIMSOLL_CUTS", CUTS);
    let seed = pick::number("PLIMSOLL_SEED", 0);
    let prng = &mut Prng::for_part(seed, "cuts");
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for cut in 0..=cuts {
        let life = Boot::new(First::Shell)
            .disk(&disk)
            .command(LOOK)
            .command(RESTORE);
        let life = match cut == cuts {
            true => life,
            false => life.power_cut(moment(prng)).command(forever()),
        };
        let answers = boot(&machine, &life).answers;
        let place = format!("seed {seed}, before cut {cut}");
        let state = state(&answers[0].output, &place);
        println!("{place}: {state}");
        *seen.entry(state).or_default() += 1;
        let (_, left) = answers[1].output.split_once('\n').expect("two lines");
        assert!(left.starts_with(CLEAN), "{place}: {}", answers[1].output);
        assert!(!left.contains("plimsoll"), "{place}: {left}");
        assert_eq!(
            answers.len(),
            if cut == cuts { 2 } else { 3 },
            "the cut came: {place}"
        );
    }
    println!("{cuts} power cuts: {seen:?}");
}

/// When the power goes: within a second and a half, in which changes are made and taken back
/// several times; not before the shell has begun with it.
fn moment(prng: &mut Prng) -> Nanos {
    Nanos(50_000_000 + prng.below(1_450_000_000))
}

/// Makes and takes back changes, in both ways to confirm, until the power goes.
fn forever() -> String {
    format!(
        "while :; do
             plimsoll apply {ONE} --persist --now
             plimsoll apply {OTHER} --persist --confirm 60s
             plimsoll confirm
             plimsoll undo
             plimsoll undo
         done"
    )
}

/// Which changes stand, in words; anything that is neither old nor new fails.
fn state(looked: &str, place: &str) -> String {
    let mut lines = looked.lines();
    let values = lines.next().expect("values");
    let status = lines.next().expect("what status says");
    let code = lines.next().expect("its exit code");
    let file: String = lines.map(|line| format!("{line}\n")).collect();
    let words: Vec<&str> = values.split_whitespace().collect();
    let [swappiness, bytes, ratio, pressure, cluster] = words[..] else {
        panic!("{place}: five values: {looked}");
    };
    let one = match (swappiness, bytes, ratio) {
        ("60", "0", "20") => false,
        ("10", "67108864", "0") => true,
        _ => panic!("{place}: a mixture: {looked}"),
    };
    let other = match (pressure, cluster) {
        ("100", "3") => false,
        ("50", "0") => true,
        _ => panic!("{place}: a mixture: {looked}"),
    };
    assert_eq!(code, "status 0", "{place}: {looked}");
    assert_eq!(status.contains("vm/swappiness"), one, "{place}: {looked}");
    assert_eq!(
        status.contains("vm/vfs_cache_pressure"),
        other,
        "{place}: {looked}"
    );
    assert_eq!(file.contains("vm.swappiness"), one, "{place}: {looked}");
    assert_eq!(
        file.contains("vm.vfs_cache_pressure"),
        other,
        "{place}: {looked}"
    );
    format!("{}", u8::from(one) + u8::from(other)) + " of 2 changes stand"
}
