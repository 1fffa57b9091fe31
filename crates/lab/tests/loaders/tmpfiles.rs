//! Trees of `tmpfiles.d`, made to be hostile, and what becomes of them.

use std::fs;

use conf::tmpfiles::{DIRECTORIES, load};
use conf::{Entry, Live, Tree};
use mm::prng::Prng;

use crate::compare::{self, Case, Expected};
use crate::pick::{one, percent, weighted};
use crate::sandbox::{Sandbox, Written};

/// The files of the made-up machine.
const FILES: &[&str] = &[
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/mm/ksm/pages_to_scan",
    "sys/kernel/mm/a b",
    "proc/sys/vm/swappiness",
];

const PATTERNS: &[&str] = &[
    "/sys/kernel/mm/ksm/*",
    "/sys/kernel/mm/*/[dr]*",
    "/sys/kernel/mm/{ksm/run,transparent_hugepage/enabled}",
    "/sys/kernel/mm/a?b",
    "/sys/kernel/mm/no*",
];

const NAMES: &[&str] = &[
    "10-a.conf",
    "20-b.conf",
    "50.conf",
    "99-z.conf",
    "b.conf",
    "noext",
    ".hid.conf",
    "20-b.conf~",
    "A.conf",
    "{10-a,50}.conf",
];

/// Other files that specifiers stand for.
const MACHINE_ID: &str = "etc/machine-id";
const HOSTNAME: &str = "etc/hostname";
const OS_RELEASE: &str = "etc/os-release";
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
const OSRELEASE: &str = "proc/sys/kernel/osrelease";

/// As the service of the same name runs it at boot.
const PROGRAM: &[&str] = &[
    "/usr/bin/systemd-tmpfiles",
    "--create",
    "--remove",
    "--boot",
    "--exclude-prefix=/dev",
];

/// Holds systemd-tmpfiles against its model.
pub(crate) fn hold(sandbox: &Sandbox, trees: u64) {
    compare::hold("systemd-tmpfiles", trees, |seed| {
        let tree = generate(&mut Prng::for_part(seed, "tmpfiles"));
        let mut live = Live::default();
        for path in FILES {
            live.know(path);
        }
        let real = really_written(sandbox, &tree);
        let model = seen(&tree, &live);
        Case { tree, real, model }
    });
}

fn really_written(sandbox: &Sandbox, tree: &Tree) -> Vec<Written> {
    sandbox.put(tree, &DIRECTORIES[..4]);
    for path in FILES {
        let file = sandbox.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
        fs::write(file, "old\n").expect("a file");
    }
    let mut writes = sandbox.writes(PROGRAM, "");
    writes.retain(|(path, _)| FILES.contains(&path.as_str()));
    writes
}

fn seen(tree: &Tree, live: &Live) -> Vec<Expected> {
    let writes = load(tree, live).writes.into_iter();
    let there = writes.filter(|it| live.has(&it.path) && !it.value.is_empty());
    there
        .map(|it| {
            let line = (it.origin.path, it.origin.line);
            ((it.path, it.value), it.pattern.map(|_| line))
        })
        .collect()
}

fn generate(prng: &mut Prng) -> Tree {
    let mut tree = Tree::default();
    for directory in &DIRECTORIES[..4] {
        for _ in 0..prng.below(4) {
            let name = one(NAMES, prng);
            tree.put(&format!("{directory}/{name}"), entry(prng));
        }
    }
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy().into_owned();
    let release = name.release().to_string_lossy().into_owned();
    let facts = [
        (MACHINE_ID, "0123456789abcdef0123456789abcdef"),
        (HOSTNAME, &host),
        (OS_RELEASE, "ID=debian\nVERSION_ID=\"12\""),
        (BOOT_ID, "01234567-89ab-4def-8123-456789abcdef"),
        (OSRELEASE, &release),
    ];
    for (path, text) in facts {
        tree.put(path, Entry::File(format!("{text}\n")));
    }
    tree
}

fn entry(prng: &mut Prng) -> Entry {
    match prng.below(100) {
        0..6 => Entry::Link("/dev/null".into()),
        6..9 => Entry::Link("/nonexistent".into()),
        9..11 => Entry::Directory,
        11..14 => Entry::File(String::new()),
        _ => Entry::File(text(prng)),
    }
}

fn text(prng: &mut Prng) -> String {
    let mut text = String::new();
    let end = weighted(&[(90, "\n"), (6, "\r\n"), (4, "\n\n")], prng);
    for _ in 0..=prng.below(4) {
        text += &line(prng);
        text += end;
    }
    text
}

fn line(prng: &mut Prng) -> String {
    let action = weighted(
        &[
            (50, "w"),
            (16, "w+"),
            (6, "w!"),
            (4, "w-"),
            (3, "w+!"),
            (1, "w++"),
            (1, "wx"),
            (2, "w~"),
            (1, "w^"),
            (4, "f"),
            (4, "f+"),
            (2, "F"),
            (2, "z"),
            (1, "y"),
            (1, "\"w\""),
            (1, "#w"),
            (1, ";w"),
        ],
        prng,
    );
    let path = path(prng);
    let fields = weighted(
        &[
            (60, " - - - - "),
            (10, " - - - -\t\t"),
            (4, " 0644 root root - "),
            (2, " 644 0 0 '' "),
            (3, " ~0600 - - 10d "),
            (2, " 99 - - - "),
            (2, " - 0 0 aM:5min "),
            (2, " - - - 10q "),
            (2, " - - - \"1h 2s\" "),
            (2, " '' '' '' '' "),
            (2, " - - - "),
            (1, " "),
        ],
        prng,
    );
    let argument = argument(prng);
    // Where fields are missing it is one, and before 256 a field's escapes were not resolved.
    let is_field = fields.split_whitespace().count() < 4;
    match is_field && argument.contains('\\') {
        true => format!("{action} {path}{fields}1"),
        false => format!("{action} {path}{fields}{argument}"),
    }
}

fn path(prng: &mut Prng) -> String {
    if percent(20, prng) {
        return (*one(PATTERNS, prng)).to_owned();
    }
    let path = format!("/{}", one(FILES, prng));
    // Before 256 a field's escapes were not resolved.
    let quoted = path.replace(' ', "' '");
    match prng.below(100) {
        0..72 => quoted,
        72..80 => format!("\"{path}\""),
        80..84 => quoted.replace('/', "//"),
        84..86 => format!("{quoted}/"),
        86..88 => quoted.replacen("/sys", "/./sys", 1),
        88..90 => quoted.replacen("/sys", "/sys/../sys", 1),
        90..92 => quoted.replacen("/s", "/%%s", 1),
        92..93 => quoted.replacen("/s", "/%q", 1),
        93..95 => quoted.trim_start_matches('/').to_owned(),
        95..96 => format!("\"{path}"),
        96..97 => "/sys/kernel/mm/%H".to_owned(),
        _ => "/sys/kernel/mm/missing".to_owned(),
    }
}

fn argument(prng: &mut Prng) -> String {
    let digit = prng.below(4);
    let odd = [
        "\"madvise\"",
        "a b  c",
        "%%",
        "%b",
        "%H",
        "%m",
        "%v",
        "%o-%w",
        "%Z",
        "%",
        "% x",
        "%t/x",
        "x\\ty",
        "\\x41",
        "\\q",
        "\\",
        "-",
        "",
        "- 1",
        "# c",
        "MQ==",
        "bWFk dmlzZQ==",
        "é",
        "%l",
        "\\u00e9",
        "\\101",
        "%B",
        "%S",
        "%u%U",
        "1 # c",
    ];
    match percent(60, prng) {
        true => digit.to_string(),
        false => (*one(&odd, prng)).to_owned(),
    }
}
