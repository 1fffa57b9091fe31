//! Trees of `sysctl.d`, made to be hostile, and what becomes of them.

use std::fs;

use conf::Write;
use conf::sysctl_d::files::{DIRECTORIES, SYSCTL_CONF};
use conf::sysctl_d::{Loader, load};
use conf::{Entry, Live, Tree};
use mm::prng::Prng;

use crate::compare::{self, Case, Expected};
use crate::pick::{one, percent, weighted};
use crate::sandbox::{Sandbox, Written};

/// The tunables of the made-up machine.
const TUNABLES: &[&str] = &[
    "vm/swappiness",
    "vm/dirty_ratio",
    "vm/dirty_bytes",
    "vm/dirty_background_ratio",
    "vm/min_free_kbytes",
    "kernel/x",
    "net/ipv4/conf/eth0.100/rp_filter",
    "net/ipv4/conf/eth1/rp_filter",
    "net/ipv4/conf/all/rp_filter",
];

const PATTERNS: &[&str] = &[
    "net.ipv4.conf.*.rp_filter",
    "net/ipv4/conf/*/rp_filter",
    "net.ipv4.conf.eth?.rp_filter",
    "net.ipv4.conf.[!a]*.rp_filter",
    "vm.dirty_*",
    "vm.*",
    "vm/dirty_{ratio,bytes}*",
    "vm.[sm]*",
    "vm.no*",
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
    "é.conf",
    "A.conf",
    "20-B.conf",
    "{10-a,50}.conf",
    "?0.conf",
    "x y.conf",
    ".conf",
];

/// What Alpine's start script does: which files, in which order, and that each is handed over
/// apart.
const ALPINE: &str = r#"
apply() {
    for file in "$1"/*.conf; do
        for by in $2; do
            if [ -f "$by/${file##*/}" ]; then continue 2; fi
        done
        if [ -f "$file" ]; then busybox sysctl -p "$file"; fi
    done
}
apply /lib/sysctl.d "/etc/sysctl.d /run/sysctl.d"
apply /etc/sysctl.d /run/sysctl.d
if [ -f /etc/sysctl.conf ]; then busybox sysctl -p /etc/sysctl.conf; fi
apply /run/sysctl.d ""
"#;

/// Holds a loader against its model.
pub(crate) fn hold(sandbox: &Sandbox, loader: Loader, trees: u64) {
    compare::hold(&loader.to_string(), trees, |seed| {
        let (tree, live) = generate(&mut Prng::for_part(seed, "sysctl"));
        let real = really_written(sandbox, loader, &tree, &live);
        let model = seen(load(&tree, loader, &live).writes, loader, &live);
        Case { tree, real, model }
    });
}

fn really_written(sandbox: &Sandbox, loader: Loader, tree: &Tree, live: &Live) -> Vec<Written> {
    let directories: Vec<&str> = DIRECTORIES[..4].to_vec();
    if tree.entry(SYSCTL_CONF).is_none() {
        let _ = fs::remove_file(sandbox.join(SYSCTL_CONF));
    }
    sandbox.put(tree, &directories);
    sandbox.clear("proc/sys");
    for path in paths() {
        let file = sandbox.join(&path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
        fs::write(file, live.value(&path).expect("a value")).expect("a tunable");
    }
    let program: &[&str] = match loader {
        Loader::Systemd => &["/usr/lib/systemd/systemd-sysctl"],
        Loader::Procps => &["/usr/sbin/sysctl", "--system"],
        Loader::Alpine => &["/usr/bin/busybox", "sh", "-c", ALPINE],
    };
    let mut writes = sandbox.writes(program, "proc/sys/");
    // busybox makes files that are missing, which only a tmpfs lets it.
    writes.retain(|(path, _)| live.has(path));
    // busybox cuts a file off before it finds that there is nothing to write.
    let checked = if loader == Loader::Alpine {
        &[]
    } else {
        &writes[..]
    };
    for (path, text) in last_of_each(checked) {
        let file = fs::read_to_string(sandbox.join(path)).expect("a tunable");
        assert!(
            file.starts_with(text),
            "{path} was written last with {text:?}: {file:?}"
        );
    }
    writes
}

fn last_of_each(writes: &[Written]) -> impl Iterator<Item = &Written> {
    let later = |at: usize, path: &str| writes[at + 1..].iter().any(|(other, _)| other == path);
    let all = writes.iter().enumerate();
    all.filter(move |(at, (path, _))| !later(*at, path))
        .map(|(_, write)| write)
}

/// What can be seen of the model's writes: those into tunables that there are.
fn seen(writes: Vec<Write>, loader: Loader, live: &Live) -> Vec<Expected> {
    let there = writes
        .into_iter()
        .filter(|it| live.value(&it.path).is_some() && !it.is_live);
    there
        .map(|it| {
            let line = (it.origin.path, it.origin.line);
            // systemd writes the matches of a pattern in no order of its own.
            let unordered = it.pattern.is_some() && loader == Loader::Systemd;
            let end = if loader == Loader::Alpine { "" } else { "\n" };
            ((it.path, it.value + end), unordered.then_some(line))
        })
        .collect()
}

fn paths() -> impl Iterator<Item = String> {
    TUNABLES.iter().map(|path| format!("proc/sys/{path}"))
}

fn generate(prng: &mut Prng) -> (Tree, Live) {
    let mut tree = Tree::default();
    for directory in &DIRECTORIES[..4] {
        for _ in 0..prng.below(4) {
            let name = one(NAMES, prng);
            tree.put(&format!("{directory}/{name}"), entry(prng));
        }
    }
    if percent(40, prng) {
        tree.put(SYSCTL_CONF, Entry::File(text(prng)));
        if percent(40, prng) {
            let link = Entry::Link("../sysctl.conf".into());
            tree.put("etc/sysctl.d/99-sysctl.conf", link);
        }
    }
    let mut live = Live::default();
    for path in paths() {
        live.put(&path, &format!("{}\n", prng.below(10)));
    }
    (tree, live)
}

fn entry(prng: &mut Prng) -> Entry {
    match prng.below(100) {
        0..7 => Entry::Link("/dev/null".into()),
        7..11 => Entry::Link("/nonexistent".into()),
        11..13 => Entry::Link("../sysctl.conf".into()),
        13..15 => Entry::Link("../../etc/sysctl.d/50.conf".into()),
        15..18 => Entry::Directory,
        18..22 => Entry::File(String::new()),
        _ => Entry::File(text(prng)),
    }
}

fn text(prng: &mut Prng) -> String {
    let mut text = String::new();
    let end = weighted(
        &[(85, "\n"), (8, "\r\n"), (3, "\r"), (2, "\n\r"), (2, "\n\n")],
        prng,
    );
    for _ in 0..=prng.below(4) {
        text += &line(prng);
        text += end;
    }
    if percent(20, prng) {
        text.truncate(text.trim_end_matches(['\n', '\r']).len());
    }
    text
}

fn line(prng: &mut Prng) -> String {
    let is_pattern = percent(12, prng);
    let key = match is_pattern {
        true => (*one(PATTERNS, prng)).to_owned(),
        false => key(prng),
    };
    let digit = prng.below(9) + 1;
    let plain = format!("{key} = {digit}");
    let usual: &[(u64, String)] = &[
        (56, plain.clone()),
        (8, format!("-{key}={digit}")),
        (4, format!("- {key} = {digit}")),
        (2, format!("--{key} = {digit}")),
        (7, format!("-{key}")),
        (2, format!("- {key} ")),
        (4, format!("{key} {digit}")),
        (3, format!("  ; {plain}")),
        (3, format!(" #{plain}")),
        (3, format!("vm.nope = {digit}")),
        (2, format!("vm/../{} = {digit}", key.replace('.', "/"))),
        (
            1,
            format!("vm/no/../../{} = {digit}", key.replace('.', "/")),
        ),
        (2, format!("\t{key}\t=\t{digit}\t ")),
        (1, format!("\u{b}{key} = {digit}")),
        (1, format!("= {digit}")),
        (1, "x".to_owned()),
        (1, "-".to_owned()),
        (1, " ".to_owned()),
        (1, format!("{plain}\\")),
    ];
    // A pattern's values have one length, for a file of a tmpfs keeps what a shorter one leaves.
    let odd: &[(u64, String)] = &[
        (4, format!("{key} = {digit} # c")),
        (3, format!("{key} =")),
        (2, format!("{key} = \"{digit}\"")),
        (2, format!("{key} = {digit} = 3")),
        (1, format!("{key} == {digit}")),
        (1, format!("{key} = 0x{digit}")),
        (1, format!("{key} = {digit}\t4")),
        (1, format!("{key} = {digit}\u{c}")),
        (1, format!("{key} = {digit}\0{plain}")),
        (1, format!("{key} = é")),
    ];
    let choices = match is_pattern {
        true => usual.to_vec(),
        false => [usual, odd].concat(),
    };
    weighted(&choices, prng).clone()
}

/// A key in one of the spellings.
fn key(prng: &mut Prng) -> String {
    let path = *one(TUNABLES, prng);
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    let dotted: String = path.chars().map(swap).collect();
    match prng.below(100) {
        0..55 => dotted,
        55..92 => path.to_owned(),
        92..94 => format!("/{path}"),
        94..96 => path.replace('/', "//"),
        96..98 => dotted.replacen('.', "..", 1),
        _ => format!("./{path}"),
    }
}
