//! Generated configurations: what a Debian has after it booted with them, against `conf`.
//!
//! One boot a tree. The guest hands back its configuration as it lies there, the packages' own
//! files too, and every value below `/proc/sys`, once before systemd starts and once when all is
//! up; from the first two `conf` says what the third must be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use conf::boot::boot as predict;
use conf::places::{Place, Take, WHERE};
use conf::sysctl_d::which;
use conf::{Entry, Live, Tree, value};
use mm::catalogue;
use mm::prng::Prng;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, Debian, First};

use super::{boot, debian, pick};

/// Keys, each with values that its kernel takes, and some that it refuses.
const KEYS: &[(&str, &[&str])] = &[
    (
        "vm.swappiness",
        &[
            "0",
            "10",
            "0x3c",
            "074",
            "100 # all",
            "200",
            "201",
            "60%",
            "-1",
        ],
    ),
    ("vm.dirty_ratio", &["5", "40", "0", "101"]),
    ("vm.dirty_bytes", &["8192", "16777216", "0", "4095"]),
    ("vm.dirty_background_ratio", &["3", "0", "101"]),
    ("vm.dirty_background_bytes", &["1048576", "0"]),
    ("vm.dirty_expire_centisecs", &["100", "6000"]),
    ("vm.dirty_writeback_centisecs", &["0", "1500"]),
    ("vm.vfs_cache_pressure", &["50", "200", "-5"]),
    ("vm.watermark_scale_factor", &["50", "1000", "1001", "0"]),
    ("vm.watermark_boost_factor", &["0", "15000"]),
    ("vm.min_free_kbytes", &["4096", "20000"]),
    ("vm.overcommit_memory", &["0", "1", "3"]),
    ("vm.overcommit_ratio", &["20", "90"]),
    ("vm.overcommit_kbytes", &["0", "900000"]),
    ("vm.page-cluster", &["0", "5"]),
    ("vm.max_map_count", &["262144", "1048576"]),
    ("vm.compaction_proactiveness", &["0", "50", "101"]),
    ("vm.extfrag_threshold", &["100", "1001"]),
    ("vm.stat_interval", &["1", "10"]),
    ("vm.laptop_mode", &["0", "5"]),
    ("vm.oom_kill_allocating_task", &["0", "1"]),
    ("vm.oom_dump_tasks", &["0", "1"]),
    ("kernel.panic", &["10", "20"]),
    ("kernel.pid_max", &["32768", "65536"]),
    ("net.core.somaxconn", &["128", "8192"]),
    ("net.ipv4.conf.all.rp_filter", &["1", "2"]),
    ("net.ipv4.conf.lo.rp_filter", &["1", "2"]),
    ("net/ipv4/conf/default/rp_filter", &["1", "2"]),
    ("net.ipv4.conf.*.accept_redirects", &["0"]),
    ("vm.dirty_*_centisecs", &["700"]),
    ("-net.ipv4.conf.nosuch.rp_filter", &["1"]),
    ("vm.no_such_key", &["1"]),
];

/// Files that lines of tmpfiles.d set, each with values that its kernel takes.
const FILES: &[(&str, &[&str])] = &[
    ("/sys/kernel/mm/lru_gen/min_ttl_ms", &["1000", "2000"]),
    ("/sys/kernel/mm/ksm/sleep_millisecs", &["200", "40"]),
    ("/sys/kernel/mm/ksm/pages_to_scan", &["400", "1000"]),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        &["madvise", "never", "sometimes"],
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/defrag",
        &["defer", "defer+madvise"],
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/khugepaged/*_sleep_millisecs",
        &["20000"],
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
        &["30000"],
    ),
    ("/sys/kernel/mm/no_such_file", &["1"]),
];

/// Words of the kernel's command line; no generated file sets the last one.
const WORDS: [&str; 3] = [
    "sysctl.vm.swappiness=33",
    "sysctl.vm.dirty_expire_centisecs=1234",
    "sysctl.vm.user_reserve_kbytes=4321",
];

const DIRECTORIES: [&str; 4] = [
    "etc/sysctl.d",
    "run/sysctl.d",
    "usr/local/lib/sysctl.d",
    "usr/lib/sysctl.d",
];

const NAMES: [&str; 7] = [
    "10-a.conf",
    "50-b.conf",
    "50-default.conf",
    "99-sysctl.conf",
    "a.conf",
    "noext",
    ".hidden.conf",
];

/// Prints the tree of the places that `conf` wants, and every value.
const READ_BACK: &str = "\
cd /
echo 'PRESENT' | while read -r path; do
    if [ -e $path ]; then echo file $path 0; fi
done
find READ 2> /dev/null | sort -u | while read -r path; do
    if [ -h $path ]; then echo link $path $(readlink $path)
    elif [ -d $path ]; then echo directory $path
    else echo file $path $(sed -n '$=' $path); sed -e '$a\\' $path
    fi
done
echo values
cat /plimsoll/before
echo values
grep -rs '' proc/sys sys/kernel/mm
";
const BEFORE: &str = "grep -rs '' /proc/sys /sys/kernel/mm > /plimsoll/before\n";

/// What moves by itself, and what systemd raises or names whatever the files say.
const MOVES: [&str; 14] = [
    "proc/sys/fs/",
    "proc/sys/kernel/random/",
    "proc/sys/kernel/ns_last_pid",
    "proc/sys/kernel/hostname",
    "proc/sys/net/netfilter",
    "proc/sys/kernel/pty/nr",
    "sys/kernel/mm/hugepages/",
    "sys/kernel/mm/swap/",
    "sys/kernel/mm/page_idle/",
    "sys/kernel/mm/transparent_hugepage/khugepaged/full_scans",
    "proc/sys/kernel/ctrl-alt-del",
    "proc/sys/kernel/domainname",
    "proc/sys/kernel/printk_devkmsg",
    "proc/sys/net/unix/max_dgram_qlen",
];

/// What a boot ended with.
struct Booted {
    tree: Tree,
    /// The kernel's own values.
    before: BTreeMap<String, String>,
    values: BTreeMap<String, String>,
}

#[test]
fn a_booted_debian_12_has_what_conf_says() {
    compare(Release::Debian12);
}

#[test]
fn a_booted_debian_13_has_what_conf_says() {
    compare(Release::Debian13);
}

fn compare(release: Release) {
    let Some(machine) = debian(release) else {
        return;
    };
    let trees = pick::number("PLIMSOLL_TREES", 1);
    let first = pick::number("PLIMSOLL_SEED", 0);
    let (mut set, mut wrong) = (0, 0);
    for seed in first..first + trees {
        let prng = &mut Prng::for_part(seed, "trees");
        let files = generate(prng);
        let mut words = WORDS.to_vec();
        words.retain(|_| pick::percent(50, prng));
        let booted = start(&machine, &files, &words);
        let differences = differences(&booted, &mut set);
        if !differences.is_empty() {
            wrong += 1;
            println!("seed {seed}:{differences}\n{words:?} {files:#?}");
        }
    }
    println!(
        "{}: {trees} trees, {set} values set, {wrong} trees differ",
        machine.kernel()
    );
    assert_eq!(wrong, 0, "trees that differ");
    assert!(set > 0, "nothing was set");
}

fn start(machine: &Debian, files: &[(String, String)], words: &[&str]) -> Booted {
    let mut order = Boot::new(First::Systemd).early(BEFORE).command(read_back());
    for (path, text) in files {
        order = order.file(path, text.as_str());
    }
    for word in words {
        order = order.parameter(word);
    }
    let answer = boot(machine, &order).answers.remove(0);
    let parts: Vec<&str> = answer.output.split("\nvalues\n").collect();
    let [tree, before, values] = parts[..] else {
        panic!("not three parts: {}", answer.output);
    };
    Booted {
        tree: read_tree(tree),
        before: read_values(before),
        values: read_values(values),
    }
}

/// The command that prints the places that `conf` wants.
fn read_back() -> String {
    let is_presence = |it: &&Place| it.take == Take::Presence;
    let (present, read): (Vec<&Place>, Vec<&Place>) = WHERE.iter().partition(is_presence);
    let present: Vec<&str> = present.iter().map(|it| it.path).collect();
    let depth = |take| if take == Take::All { 4 } else { 1 };
    let read = read
        .iter()
        .map(|it| format!("{} -maxdepth {}", it.path, depth(it.take)));
    let read: Vec<String> = read.collect();
    let find = read.join(" 2> /dev/null; find ");
    READ_BACK.replace("PRESENT", &present.join("\n")).replace(
        "find READ 2> /dev/null",
        &format!("{{ find {find} 2> /dev/null; }}"),
    )
}

fn read_tree(text: &str) -> Tree {
    let mut tree = Tree::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        let (path, entry) = match words[..] {
            ["link", path, target] => (path, Entry::Link(target.into())),
            ["directory", path] => (path, Entry::Directory),
            ["file", path, ref count @ ..] => {
                // sed counts no line in an empty file.
                let count = count.first().map_or(0, |it| it.parse().expect("a number"));
                let text = lines.by_ref().take(count);
                let text = text.fold(String::new(), |text, line| text + line + "\n");
                (path, Entry::File(text))
            }
            _ => panic!("{line:?} in {text}"),
        };
        tree.put(path, entry);
    }
    tree
}

fn read_values(text: &str) -> BTreeMap<String, String> {
    let pair = |line: &str| {
        let (path, value) = line.split_once(':').expect("as grep prints it");
        (path.to_owned(), value.to_owned())
    };
    let is_fixed = |(path, _): &(String, String)| !MOVES.iter().any(|it| path.starts_with(it));
    text.lines()
        .map(|it| pair(it.trim_start_matches('/')))
        .filter(is_fixed)
        .collect()
}

/// A line for each value that is not as `conf` says.
fn differences(booted: &Booted, set: &mut usize) -> String {
    let mut live = Live::default();
    for path in booted.values.keys() {
        live.know(path);
    }
    let boot = predict(&booted.tree, which(&booted.tree).loader, &live);
    let touched = touched(&boot);
    let mut lines = String::new();
    for (path, real) in &booted.values {
        if touched.contains(&path.as_str()) {
            continue;
        }
        let expected = match boot.standing(path) {
            Some(step) => {
                *set += 1;
                step.write.value.clone()
            }
            None if boot.switched_off_by(path).is_some() => "0".to_owned(),
            None => booted.before.get(path).cloned().unwrap_or_default(),
        };
        if !same(path, real, &expected) {
            let _ = write!(lines, "\n  {path}: {real}, and conf says {expected}");
        }
    }
    lines
}

/// What the kernel changes by itself when a file's value is written, as `min_free_kbytes` with huge
/// pages: no file says what it is then.
fn touched(boot: &conf::boot::Boot) -> Vec<&'static str> {
    let tunables = boot
        .steps
        .iter()
        .filter_map(|step| value::tunable(&step.write.path));
    let names = tunables.flat_map(|tunable| tunable.touches);
    names
        .filter_map(|name| catalogue::find(name))
        .map(|it| it.path)
        .collect()
}

/// As the kernel prints it: a number in decimal, blanks as one.
fn same(path: &str, real: &str, expected: &str) -> bool {
    if value::tunable(path).is_some_and(|tunable| tunable.means_same(real, expected)) {
        return true;
    }
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let number = catalogue::sysctl_number(expected).map(|number| number.to_string());
    words(real) == words(expected) || number.as_deref() == Some(real.trim())
}

fn generate(prng: &mut Prng) -> Vec<(String, String)> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..6 + prng.below(6) {
        let path = format!(
            "{}/{}",
            pick::one(&DIRECTORIES, prng),
            pick::one(&NAMES, prng)
        );
        files.insert(path, text(prng));
    }
    if pick::percent(50, prng) {
        files.insert("etc/sysctl.conf".into(), text(prng));
    }
    for _ in 0..2 + prng.below(4) {
        let directory = pick::one(&DIRECTORIES, prng).replace("sysctl.d", "tmpfiles.d");
        files.insert(
            format!("{directory}/{}", pick::one(&NAMES, prng)),
            lines(prng),
        );
    }
    files.into_iter().collect()
}

/// Lines of tmpfiles.d.
fn lines(prng: &mut Prng) -> String {
    let mut text = String::from("# generated\n");
    for _ in 0..1 + prng.below(4) {
        let (path, values) = pick::one(FILES, prng);
        let value = pick::one(values, prng);
        let kind = pick::weighted(&[(60, "w"), (20, "w!"), (10, "w+"), (10, "w-")], prng);
        let _ = writeln!(text, "{kind} {path} - - - - {value}");
    }
    text
}

fn text(prng: &mut Prng) -> String {
    let mut text = String::from("# generated\n");
    for _ in 0..1 + prng.below(8) {
        let (key, values) = pick::one(KEYS, prng);
        let value = pick::one(values, prng);
        let slashed = key.replace('.', "/");
        let lines = [
            (50, format!("{key} = {value}")),
            (10, format!("{slashed}={value}")),
            (10, format!("-{key}={value}")),
            (10, format!("  {key}   =\t{value}  ")),
            (7, format!("-{}", key.trim_start_matches('-'))),
            (7, format!(";{key} = {value}")),
            (6, format!("{key} {value}")),
        ];
        text.push_str(pick::weighted(&lines, prng).as_str());
        text.push('\n');
    }
    text
}
