//! Every tunable of the catalogue that a kernel has: applied, read back, taken back.
//!
//! One machine a kernel, with a shell alone. Tunables are applied many at a time, a pair of
//! partners or two files of one value never together; `PLIMSOLL_BATCH` says how many.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mm::catalogue::{self, DefaultRule, Named, Of, Tunable, Values};
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};

use super::{boot, debian, disk, pick};

/// How many at a time where nobody says.
const BATCH: u64 = 40;

/// Values where none near the default would do: it is refused, does nothing, or kills the machine.
const VALUES: &[(&str, [&str; 2])] = &[
    ("vm.min_free_kbytes", ["20000", "30000"]),
    (
        "vm.lowmem_reserve_ratio",
        ["128 256 32 0 0", "256 128 32 0 0"],
    ),
    ("vm.percpu_pagelist_high_fraction", ["8", "16"]),
    ("vm.admin_reserve_kbytes", ["4096", "2048"]),
    ("vm.user_reserve_kbytes", ["16384", "8192"]),
    ("vm.max_map_count", ["65531", "1048576"]),
    ("vm.mmap_min_addr", ["65536", "32768"]),
    ("vm.mmap_rnd_bits", ["29", "30"]),
    ("vm.mmap_rnd_compat_bits", ["9", "10"]),
    ("vm.overcommit_kbytes", ["900000", "800000"]),
    ("vm.dirty_bytes", ["67108864", "33554432"]),
    ("vm.dirty_background_bytes", ["16777216", "8388608"]),
    ("khugepaged.max_ptes_none", ["255", "127"]),
    // Kept in ticks of 4 ms.
    ("lru_gen.min_ttl_ms", ["1000", "2000"]),
    ("lru_gen.enabled", ["0x0000", "0x0007"]),
    ("bdi.DEVICE.min_ratio", ["10", "20"]),
    ("bdi.DEVICE.max_ratio", ["90", "80"]),
    ("bdi.DEVICE.min_ratio_fine", ["150000", "250000"]),
    ("bdi.DEVICE.max_ratio_fine", ["950000", "850000"]),
    ("bdi.DEVICE.read_ahead_kb", ["256", "512"]),
    ("hugetlb.SIZE.nr_hugepages", ["2", "3"]),
    ("zswap.compressor", ["lzo", "zstd"]),
];

/// What takes no second value, and bytes that the kernel keeps as parts of a threshold, so that no
/// number reads back as it was written.
const UNFIT: [&str; 3] = [
    "vm.numa_zonelist_order",
    "bdi.DEVICE.min_bytes",
    "bdi.DEVICE.max_bytes",
];

/// Settings that must be refused, each with words of the reason: a file that takes only what it
/// shows, actions that leave no value, a value out of range, and what this kernel does not have.
const REFUSED: &[(&str, &str)] = &[
    (
        "vm.numa_zonelist_order=0",
        "the kernel refuses this value; change",
    ),
    ("vm.drop_caches=1", "acts once when it is written"),
    ("vm.compact_memory=1", "acts once when it is written"),
    ("vm.swappiness=201", "expected an integer from 0 to 200"),
    ("vm.block_dump=1", "this kernel has no such tunable"),
];

/// Tries what must be refused: its exit status and last line, and in the end what stands.
const REFUSE: &str = "\
while read -r setting; do
    said=$(plimsoll apply --now --even-so $setting 2>&1)
    echo \"$? $(echo \"$said\" | tail -n 1)\"
done < /plimsoll/refused
plimsoll status
";

/// Chooses for each tunable that is there the first value, or the second where the first is the
/// present one; applies all, shows them, and takes the change back.
const TRY: &str = "\
set --
while read -r name path first second; do
    [ -e /$path ] || continue
    first=$(echo $first | tr _ ' ') second=$(echo $second | tr _ ' ')
    present=$(tr -s '\\t' ' ' < /$path)
    value=$first
    case \"$present\" in \"$first\"|*\"[$first]\"*) value=$second;; esac
    set -- \"$@\" \"$name=$value\"
    echo \"asked $path $value\"
    paths=\"$paths /$path\"
done < /plimsoll/batch.N
[ $# = 0 ] && exit
grep -s '' $paths /dev/null | sed 's/^/before /'
plimsoll apply --now --even-so \"$@\" > /plimsoll/said 2>&1 || cat /plimsoll/said
grep -s '' $paths /dev/null | sed 's/^/applied /'
plimsoll undo > /plimsoll/said 2>&1 || cat /plimsoll/said
grep -s '' $paths /dev/null | sed 's/^/after /'
";

#[test]
fn linux_6_1_takes_every_tunable_and_gives_it_back() {
    try_all(Release::Debian12);
}

#[test]
fn linux_6_12_takes_every_tunable_and_gives_it_back() {
    try_all(Release::Debian13);
}

fn try_all(release: Release) {
    let Some(machine) = debian(release) else {
        return;
    };
    let batches = batches(pick::number("PLIMSOLL_BATCH", BATCH));
    let directory = tempfile::tempdir().unwrap();
    let mut order = Boot::new(First::Shell).disk(&disk(&machine, directory.path()));
    for (index, batch) in batches.iter().enumerate() {
        let lines: String = batch.iter().map(line).collect();
        order = order.file(&format!("plimsoll/batch.{index}"), lines);
        order = order.command(TRY.replace("batch.N", &format!("batch.{index}")));
    }
    let refused: String = REFUSED
        .iter()
        .map(|(setting, _)| format!("{setting}\n"))
        .collect();
    let order = order.file("plimsoll/refused", refused).command(REFUSE);
    let answers = boot(&machine, &order).answers;
    check_refusals(&answers[batches.len()].output);
    let (mut tried, mut wrong) = (0, String::new());
    for (batch, answer) in batches.iter().zip(&answers) {
        let (there, problems) = check(batch, &answer.output);
        tried += there;
        wrong += &problems;
    }
    println!(
        "{}: {tried} tunables applied and taken back",
        machine.kernel()
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(tried > 60, "a kernel has more tunables than {tried}");
}

/// Tunables in batches in which none has anything to do with another.
fn batches(size: u64) -> Vec<Vec<Named<'static>>> {
    let mut batches: Vec<Vec<Named<'_>>> = Vec::new();
    for named in all() {
        let is_free = |other: &Named<'_>| !are_tied(named.tunable, other.tunable);
        let fits =
            |batch: &&mut Vec<Named<'_>>| (batch.len() as u64) < size && batch.iter().all(is_free);
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.push(named),
            None => batches.push(vec![named]),
        }
    }
    batches
}

/// Every tunable with a value that can be set: the machine's, the disk's, those of one size of huge
/// pages. Those of groups are set by systemd.
fn all() -> impl Iterator<Item = Named<'static>> {
    let one = |tunable: &'static Tunable, of| tunable.of_this(of).expect("such a name");
    let machine = catalogue::all().map(move |it| Named {
        tunable: it,
        of: Of::Machine,
    });
    let disk = catalogue::of_devices().map(move |it| one(it, "pda"));
    let size = catalogue::of_page_sizes().map(move |it| one(it, "hugepages-2048kB"));
    let has_values =
        |named: &Named<'_>| !named.tunable.is_action() && !UNFIT.contains(&named.tunable.name);
    machine.chain(disk).chain(size).filter(has_values)
}

/// Whether a write of one changes the other.
fn are_tied(one: &Tunable, other: &Tunable) -> bool {
    let names = |it: &Tunable, name: &str| {
        it.partner == Some(name) || it.views.contains(&name) || it.touches.contains(&name)
    };
    let view = one.views.iter().any(|it| other.views.contains(it));
    view || names(one, other.name) || names(other, one.name)
}

/// A line of the batch: name, path, two values with `_` for blanks.
fn line(named: &Named<'_>) -> String {
    let [first, second] = values(named.tunable).map(|value| value.replace(' ', "_"));
    format!("{named} {} {first} {second}\n", named.path())
}

/// Two values, of which one at least differs from what the kernel has.
fn values(tunable: &Tunable) -> [String; 2] {
    if let Some((_, values)) = VALUES.iter().find(|(name, _)| *name == tunable.name) {
        return values.map(str::to_owned);
    }
    match tunable.values {
        Values::Integer { min, max } => {
            let default = match tunable.default {
                DefaultRule::Fixed(text) => text.parse().unwrap_or(min),
                _ => min,
            };
            let near = [
                default.saturating_add(1),
                default.saturating_sub(1),
                default,
            ];
            let mut near = near.into_iter().filter(|it| (min..=max).contains(it));
            [(); 2].map(|()| near.next().unwrap_or(min).to_string())
        }
        Values::Words(words) => [words[0].to_owned(), words[words.len() - 1].to_owned()],
        Values::Truth([no, yes]) => [yes.into(), no.into()],
        _ => ["0".into(), "1".into()],
    }
}

fn check_refusals(output: &str) {
    for ((setting, why), line) in REFUSED.iter().zip(output.lines()) {
        assert!(
            line.starts_with("2 ") && line.contains(why),
            "{setting}: {line}"
        );
    }
    assert!(
        output.ends_with("\nno change of plimsoll's stands\n"),
        "{output}"
    );
}

/// How many of a batch the kernel has, and what went wrong with them.
fn check(batch: &[Named<'_>], output: &str) -> (usize, String) {
    let mut parts: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    let mut wrong = String::new();
    let known: BTreeSet<&str> = ["asked", "before", "applied", "after"].into();
    for line in output.lines() {
        let (part, rest) = line.split_once(' ').unwrap_or((line, ""));
        let blank = if part == "asked" { ' ' } else { ':' };
        match rest.trim_start_matches('/').split_once(blank) {
            Some((path, value)) if known.contains(part) => {
                parts.entry(part).or_default().insert(path, value);
            }
            _ => _ = writeln!(wrong, "{line}"),
        }
    }
    let part = |name: &str| parts.get(name).cloned().unwrap_or_default();
    let [asked, before, applied, after] = ["asked", "before", "applied", "after"].map(part);
    for named in batch {
        let (tunable, path) = (named.tunable, named.path());
        if !asked.contains_key(path.as_str()) {
            continue;
        }
        let [asked, before, applied, after] =
            [&asked, &before, &applied, &after].map(|it| it.get(path.as_str()).copied());
        let same = |a: Option<&str>, b: Option<&str>| {
            a.zip(b).is_some_and(|(a, b)| tunable.means_same(a, b))
        };
        if !same(asked, applied) || same(before, applied) || before != after {
            let name = tunable.name;
            let _ = writeln!(
                wrong,
                "{name}: {before:?}, asked {asked:?}, {applied:?}, {after:?}"
            );
        }
    }
    (asked.len(), wrong)
}
