//! Random plans in hostile spellings, as `plimsoll/tests/plans` draws them for the machine that
//! runs the test: after each that failed, and after each that is undone, every value is as before.
//!
//! `PLIMSOLL_PLANS` says how many, `PLIMSOLL_SEED` from which seed they are drawn.

use mm::catalogue::{self, Named, Of};
use mm::prng::Prng;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};

use super::values::{self, Word};
use super::{boot, debian, disk, pick};

/// Where nobody says how many.
const PLANS: u64 = 12;

/// Settings of one plan, at most.
const SETTINGS: u64 = 4;

/// Applies and undoes each plan, and prints what is not as before. Bytes of a device move with the
/// dirty threshold.
const TRY: &str = "\
look() { grep -s '' $(cat /plimsoll/paths) /dev/null | grep -v 'bdi/m.._bytes:'; }
differs() { look > /run/after; ! cmp -s /run/before /run/after; }
shows() { echo \"$1:\"; grep -vxF -f /run/before /run/after; cat /run/said; }
while IFS= read -r words; do
    look > /run/before
    eval \"plimsoll apply --now $words\" > /run/said 2>&1
    code=$?
    [ $code = 0 ] || { differs && shows 'after it failed'; }
    plimsoll undo --all > /run/undone 2>&1 || cat /run/undone
    differs && shows 'after undo'
    echo \"$code $words\"
done < /plimsoll/plans
";

#[test]
fn linux_6_1_gives_back_whatever_is_asked() {
    try_plans(Release::Debian12);
}

#[test]
fn linux_6_12_gives_back_whatever_is_asked() {
    try_plans(Release::Debian13);
}

fn try_plans(release: Release) {
    let Some(machine) = debian(release) else {
        return;
    };
    let tunables = tunables();
    let seed = pick::number("PLIMSOLL_SEED", 1);
    let count = pick::number("PLIMSOLL_PLANS", PLANS);
    let plans: Vec<String> = (seed..seed + count)
        .map(|seed| plan(seed, &tunables))
        .collect();
    let paths: String = tunables
        .iter()
        .map(|named| format!("/{}\n", named.path()))
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let order = Boot::new(First::Shell)
        .disk(&disk(&machine, directory.path()))
        .file("plimsoll/paths", paths)
        .file("plimsoll/plans", plans.concat())
        .command(TRY);
    let output = &boot(&machine, &order).answers[0].output;
    let ends: Vec<String> = ["0", "2"]
        .iter()
        .flat_map(|code| {
            plans
                .iter()
                .map(move |plan| format!("{code} {}", plan.trim_end()))
        })
        .collect();
    let wrong: Vec<&str> = output
        .lines()
        .filter(|line| !ends.iter().any(|end| end == line))
        .collect();
    assert!(wrong.is_empty(), "from seed {seed}:\n{output}");
    let applied = output.lines().filter(|line| line.starts_with("0 ")).count();
    println!("{}: {applied} of {count} plans applied", machine.kernel());
    assert_eq!(output.lines().count() as u64, count, "{output}");
}

/// The words of a plan, as a shell takes them.
fn plan(seed: u64, tunables: &[Named<'static>]) -> String {
    let mut random = Prng::for_part(seed, "plans");
    let words = (0..1 + random.below(SETTINGS)).map(|_| values::draw(&mut random, tunables));
    let words: Vec<Word> = words.collect();
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    words.join(" ") + "\n"
}

fn tunables() -> Vec<Named<'static>> {
    let of = Of::Machine;
    let machine = catalogue::all().map(move |tunable| Named { tunable, of });
    let disk = catalogue::of_devices().filter_map(|it| it.of_this("pda"));
    let sizes = catalogue::of_page_sizes().filter_map(|it| it.of_this("hugepages-2048kB"));
    let all = machine.chain(disk).chain(sizes);
    all.filter(|named| !named.tunable.is_action()).collect()
}
