//! The guard is killed, and its machine's power cut, at any moment: nothing that it set stays.
//!
//! In each life of the machine the guard runs under pressure, is killed several times, and after
//! each kill comes back or only restores; in the end the power goes. What the machine is like is
//! compared with what it was like before the guard first ran. `PLIMSOLL_KILLS` and
//! `PLIMSOLL_GUARD_CUTS` say how often, `PLIMSOLL_SEED` from which seed the moments are drawn: the
//! same seed kills at the same instructions.

use mm::prng::Prng;
use mm::units::Nanos;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};

use super::{boot, debian, disk, machine, pick};

/// Where nobody says how many.
const KILLS: u64 = 5;
const CUTS: u64 = 5;

/// Functions that the commands use. `look` prints what must be as before: tunables, the limits of
/// the group, locked memory, which the kernel counts in batches until it compacts, what lies in the
/// guard's folder and on the disk. `press` keeps the
/// files, the memory and the group busy until `relax`.
const FUNCTIONS: &str = "\
export LC_ALL=C
look() {
    echo 1 > /proc/sys/vm/compact_memory
    grep -rs . /proc/sys/vm | grep -v -e stat_refresh -e drop_caches
    grep -rs . /sys/kernel/mm/ksm/run /sys/kernel/mm/lru_gen
    grep -s . /sys/class/bdi/*/*_ratio* /sys/class/bdi/*/strict_limit
    for file in min low high max; do cat /sys/fs/cgroup/busy/memory.$file; done
    grep -e Mlocked -e Unevictable /proc/meminfo
    ls /run/plimsoll | grep -v -e lock -e sock -e prom -e events
    ls -A /etc/sysctl.d /var/lib | grep plimsoll
}
guard() { exec plimsoll-guard --config /plimsoll/guard.toml > /plimsoll/log 2>&1; }
now() { grep -o 'Mlocked:.*' /proc/meminfo; cat /proc/sys/vm/swappiness; }
backup() {
    echo 0 > /sys/fs/cgroup/busy/cgroup.procs
    while [ -e /run/press ]; do cat /disk/backup > /dev/null; sleep 0.1; done
}
service() {
    while [ -e /run/press ]; do
        for file in 1 2 3; do cat /disk/$file > /dev/null; done
        dd if=/dev/zero of=/dev/null bs=40M count=1 2> /dev/null
        sleep 0.1
    done
}
press() { : > /run/press; (backup) & backup=$!; (service) & service=$!; }
relax() { rm /run/press; wait $backup $service; }
";

/// Makes the files once, the group, and a configuration in which every policy has something to do:
/// files that are read again and again, anonymous memory that crosses its floor, and a group with
/// too many file pages. Prints what is to be found again.
const BEFORE: &str = "\
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/busy /run/plimsoll
if ! [ -e /disk/backup ]; then
    for file in 1 2 3; do head -c 1M /dev/urandom > /disk/$file; done
    head -c 6M /dev/urandom > /disk/backup
    sync
fi
anon=$(awk '/^(Ina|A)ctive.anon/ { sum += $2 } END { print int(sum / 1024) }' /proc/meminfo)
cat > /plimsoll/guard.toml << END
[floor]
clean_min = \"16 MiB\"
anon_min = \"$((anon + 8)) MiB\"
[ceiling.groups]
busy = \"1 MiB\"
END
look > /plimsoll/before
cat /plimsoll/before
";

/// What follows a kill.
const AFTER: [(&str, &str); 3] = [
    ("it restores", "plimsoll-guard --restore > /plimsoll/log 2>&1 || echo failed"),
    (
        "it is killed while it restores",
        "plimsoll-guard --restore > /plimsoll/log 2>&1 & sleep $MOMENT; { kill -9 $!; wait $!; } 2> /dev/null
         plimsoll-guard --restore > /plimsoll/log 2>&1 || echo failed",
    ),
    (
        "another guard",
        "guard & sleep 0.3; kill $!; wait $! || { echo failed; cat /plimsoll/log; }",
    ),
];

#[test]
fn a_killed_guard_or_a_power_cut_leaves_every_setting_as_it_was() {
    let Some(machine) = debian(Release::Debian13) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let disk = disk(&machine, directory.path());
    let kills = pick::number("PLIMSOLL_KILLS", KILLS);
    let cuts = pick::number("PLIMSOLL_GUARD_CUTS", CUTS);
    let seed = pick::number("PLIMSOLL_SEED", 0);
    let prng = &mut Prng::for_part(seed, "guard cuts");
    let mut killed = Vec::new();
    let mut first = None;
    for life in 0..=cuts {
        let place = format!("seed {seed}, life {life}");
        let share = kills * (life + 1) / (cuts + 1) - kills * life / (cuts + 1);
        let mut order = Boot::new(First::Shell)
            .disk(&disk)
            .program("usr/bin/plimsoll-guard", daemon())
            .command(FUNCTIONS.to_owned() + BEFORE);
        for _ in 0..share {
            order = order.command(kill(prng));
        }
        if life < cuts {
            order = order.power_cut(moment(prng));
            order = order.command(FUNCTIONS.to_owned() + "press; guard");
        }
        let answers = boot(&machine, &order).answers;
        let expected = usize::try_from(1 + share).unwrap() + usize::from(life < cuts);
        assert_eq!(answers.len(), expected, "the cut came: {place}");
        let before = &answers[0].output;
        assert!(before.contains("/swappiness:60"), "{place}: {before}");
        assert!(
            before.contains("Mlocked:               0 kB"),
            "{place}: {before}"
        );
        let ours = boots(before);
        assert_eq!(*first.get_or_insert_with(|| ours.clone()), ours, "{place}");
        for answer in &answers[1..expected - usize::from(life < cuts)] {
            let (seen, left) = answer.output.split_once("--\n").expect("two parts");
            println!("{place}: {}", seen.replace('\n', " "));
            assert_eq!((answer.status, left), (0, ""), "{place}: {}", answer.output);
            killed.push(seen.to_owned());
        }
    }
    let set = killed
        .iter()
        .filter(|seen| seen.contains("kB\n0\n"))
        .count();
    let locked = killed
        .iter()
        .filter(|seen| !seen.contains("  0 kB\n"))
        .count();
    println!("{kills} kills, {set} with vm.swappiness 0, {locked} with locked files; {cuts} cuts");
    assert!(
        kills < KILLS || (set > 0 && locked > 0),
        "the guard had nothing to do"
    );
}

/// What each boot begins with: the reserves follow from the memory that the machine's programs leave.
fn boots(before: &str) -> Vec<String> {
    let lines = before.lines().filter(|line| !line.contains("_kbytes:"));
    lines.map(str::to_owned).collect()
}

/// Starts the guard, kills it, and says what it had set; then what follows, and what differs.
fn kill(prng: &mut Prng) -> String {
    let (name, after) = pick::one(&AFTER, prng);
    let seconds = moment(prng).seconds();
    let restores = Nanos(prng.below(10_000_000)).seconds();
    format!(
        "{FUNCTIONS}
         MOMENT={restores:.6}; press
         guard & sleep {seconds:.6}; now; kill -9 $!; wait $! 2> /dev/null
         echo killed after {seconds:.3} s, then {name}; echo --
         {after}
         relax
         look > /plimsoll/after
         diff /plimsoll/before /plimsoll/after"
    )
}

/// How long the guard lives: within half a second, in which each policy acts several times.
fn moment(prng: &mut Prng) -> Nanos {
    Nanos(20_000_000 + prng.below(500_000_000))
}

/// The guard's daemon, which lies beside the command.
fn daemon() -> Vec<u8> {
    let path = machine::plimsoll().with_file_name("plimsoll-guard");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
