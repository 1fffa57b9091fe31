//! Files that do not end, are no files, or are not what they are named: what reads them ends by
//! itself, in time, in little memory and with a short error.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{CONFIG, SETS};
use crate::place::{Place, SECRET, VICTIM, system};
use crate::process::{Ended, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "plimsoll_toml",
        must_not: "a repository's plimsoll.toml makes lint neither wait, nor take memory, nor \
                   show another file, nor print a long error",
        run: plimsoll_toml,
    },
    Attack {
        name: "a_fifo_in_the_place_of_a_file",
        must_not: "no verb waits for a FIFO that nobody writes into",
        run: |place| named(place, "FIFO"),
    },
    Attack {
        name: "a_device_in_the_place_of_a_file",
        must_not: "no verb reads a device without end",
        run: |place| named(place, "device"),
    },
    Attack {
        name: "a_huge_file_in_the_place_of_a_file",
        must_not: "no verb takes more than 1 GiB for a file of 300 MB",
        run: |place| named(place, "huge"),
    },
    Attack {
        name: "counters_in_the_place_of_a_file",
        must_not: "no verb takes more than 1 GiB for 64 MB of lines that are counters",
        run: |place| named(place, "counters"),
    },
    Attack {
        name: "packed_counters_in_the_place_of_a_file",
        must_not: "no verb takes more than 1 GiB for 62 kB that unpack to such lines",
        run: |place| named(place, "packed"),
    },
    Attack {
        name: "a_dictionary_in_the_place_of_a_file",
        must_not: "no verb takes the memory that the head of a compressed file asks for",
        run: |place| named(place, "dictionary"),
    },
    Attack {
        name: "a_fifo_in_a_folder",
        must_not: "no verb waits for a FIFO in a repository, image or evidence",
        run: |place| inside(place, "FIFO"),
    },
    Attack {
        name: "a_device_in_a_folder",
        must_not: "no verb reads a device in a repository, image or evidence",
        run: |place| inside(place, "device"),
    },
    Attack {
        name: "a_huge_file_in_a_folder",
        must_not: "no verb takes more than 1 GiB for a repository, image or evidence",
        run: |place| inside(place, "huge"),
    },
    Attack {
        name: "lines_in_a_folder",
        must_not: "no verb takes more than 1 GiB for files of such lines",
        run: |place| inside(place, "lines"),
    },
    Attack {
        name: "own_files_that_are_none",
        must_not: "no verb waits for, or takes memory for, a journal, state, event or \
                   configuration file",
        run: own_files,
    },
];

/// How long an error may be.
const LONG: usize = 4096;
/// What a command may take of memory, in bytes.
const MEMORY: &str = "--data=1073741824";
const WITHIN: Duration = Duration::from_secs(10);

/// What takes the name of a file.
const READERS: &[&[&str]] = &[
    &["plimsoll", "inspect"],
    &["plimsoll", "lint"],
    &["plimsoll", "lint", "/tmp/image", "--of"],
    &["plimsoll", "explain", "vm.swappiness", "--of"],
    &["plimsoll", "apply", "--dry-run"],
    &["plimsoll", "predict"],
    &["plimsoll", "predict", "min-free-kbytes", "--like"],
    &["plimsoll", "report"],
    &["plimsoll", "replay", "--memory", "10%"],
    &["plimsoll", "guard", "check"],
    &["plimsoll", "guard", "check", "--config"],
    &["plimsoll", "guard", "events", "--state"],
    &["plimsoll", "guard", "status", "--state"],
    &["plimsoll-guard", "--config"],
];

/// What takes a folder.
const FOLDERS: &[&[&str]] = &[
    &["plimsoll", "inspect", "/tmp/image"],
    &["plimsoll", "lint", "/tmp/image"],
    &["plimsoll", "lint", "--diff", "/tmp/image"],
    &["plimsoll", "explain", "vm.swappiness", "--of", "/tmp/image"],
];

/// Files of its own, and what reads them.
const OWN: &[(&str, &[&[&str]])] = &[
    ("/run/plimsoll/journal", JOURNAL),
    ("/var/lib/plimsoll/journal", JOURNAL),
    (
        "/run/plimsoll/guard.state",
        &[
            &["plimsoll-guard", "--restore"],
            &["plimsoll-guard", "--for", "1s"],
        ],
    ),
    (
        "/run/plimsoll/guard.events",
        &[
            &["plimsoll", "guard", "events"],
            &["plimsoll-guard", "--for", "1s"],
        ],
    ),
    (
        "/run/plimsoll/guard.prom",
        &[
            &["plimsoll", "guard", "status"],
            &["plimsoll", "guard", "explain"],
        ],
    ),
    ("/etc/plimsoll/guard.toml", CONFIGURATION),
    ("/etc/plimsoll/guard.toml.d/a.toml", CONFIGURATION),
];
const JOURNAL: &[&[&str]] = &[
    &["plimsoll", "status"],
    &["plimsoll", "history"],
    &["plimsoll", "undo"],
];
const CONFIGURATION: &[&[&str]] = &[
    &["plimsoll", "guard", "check"],
    &["plimsoll-guard", "--for", "1s"],
];

fn make(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    match kind {
        "FIFO" => drop(Command::new("mkfifo").arg(path).status().expect("mkfifo")),
        "device" => symlink("/dev/zero", path).expect("a link"),
        "counters" => counters(path),
        "packed" => packed(path),
        "lines" => lines(path),
        "dictionary" => dictionary(path),
        _ => huge(path),
    }
}

/// 16 million lines of which each is a counter.
fn counters(path: &Path) {
    let text = format!("nr_free_pages 1\n{}", "a 1\n".repeat(16 << 20));
    fs::write(path, text).expect("room");
}

fn packed(path: &Path) {
    let plain = path.with_extension("plain");
    counters(&plain);
    let packed = fs::File::create(path).expect("a file");
    let mut gzip = Command::new("gzip");
    let packed = gzip.args(["-9", "-c"]).arg(&plain).stdout(packed).status();
    assert!(packed.expect("gzip").success());
    fs::remove_file(plain).expect("a file");
}

/// As many as fit into the longest file that lint reads.
fn lines(path: &Path) {
    fs::write(
        path,
        format!("vm.swappiness=1\n{}", "a\n".repeat(2_000_000)),
    )
    .expect("room");
}

/// A stream of xz whose block asks for a dictionary of 4 GiB (property 40 of filter 0x21), and holds
/// one line.
fn dictionary(path: &Path) {
    let with_sum = |bytes: &[u8]| [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat();
    let stream = [&b"\xfd7zXZ\0"[..], &with_sum(&[0, 0])].concat();
    let block = with_sum(&[2, 0, 0x21, 1, 40, 0, 0, 0]);
    let text = b"nr_free_pages 1\n";
    let data = [&[1, 0, text.len() as u8 - 1], &text[..], &[0]].concat();
    fs::write(path, [stream, block, data].concat()).expect("room");
}

/// 300 MB of lines that every reader passes over.
fn huge(path: &Path) {
    let mut file = fs::File::create(path).expect("a file");
    let block = "# nothing\n".repeat(100_000);
    (0..300).for_each(|_| file.write_all(block.as_bytes()).expect("room"));
}

/// Runs a program in little memory; what was seen where it does not end by itself and shortly.
fn bounded(words: &[&str], folder: &str) -> Result<Ended, String> {
    let mut command = Command::new("prlimit");
    let program = format!("/tmp/bin/{}", words[0]);
    command.args([MEMORY, &program]).args(&words[1..]);
    let ended = ends(command.current_dir(folder), WITHIN);
    let ended = ended.ok_or_else(|| format!("{} does not end", words.join(" ")))?;
    held_if(ended.code.is_some(), || {
        format!("{}: no memory: {}", words.join(" "), ended.said())
    })?;
    held_if(ended.err.len() < LONG, || {
        format!("{}: an error of {} bytes", words.join(" "), ended.err.len())
    })?;
    Ok(ended)
}

/// Everything that gives way is named.
fn all<'a>(rows: impl Iterator<Item = (Vec<&'a str>, &'a str)>) -> Outcome {
    let tried = rows.filter_map(|(words, folder)| bounded(&words, folder).err());
    let gave_way: Vec<String> = tried.collect();
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

fn named(place: &Place, kind: &str) -> Outcome {
    let names = [
        "/tmp/evil.toml",
        "/tmp/evil.state",
        "/tmp/evil.events",
        "/tmp/evil.prom",
    ];
    make(kind, names[0].as_ref());
    for name in &names[1..] {
        symlink(names[0], name).expect("a link");
    }
    place.file("/tmp/image/etc/sysctl.d/a.conf", "vm.swapiness = 10");
    let with = |words: &&[&'static str]| {
        let is_state = words.contains(&"--state");
        let name = if is_state { names[1] } else { names[0] };
        ([*words, &[name]].concat(), "/")
    };
    // A trace may be as long as it likes.
    let is_bounded = |words: &&&[&str]| {
        !matches!(kind, "huge" | "counters" | "packed") || !words.contains(&"replay")
    };
    all(READERS.iter().filter(is_bounded).map(with))
}

fn inside(place: &Place, kind: &str) -> Outcome {
    place.file("/tmp/image/etc/sysctl.d/b.conf", "vm.swapiness = 10");
    place.file("/tmp/image/proc/sys/vm/swappiness", "60");
    for name in [
        "etc/sysctl.d/a.conf",
        "etc/tmpfiles.d/a.conf",
        "proc/meminfo",
        "proc/zoneinfo",
        "a.yaml",
    ] {
        let path = Path::new("/tmp/image").join(name);
        match (kind, name) {
            ("huge", "etc/sysctl.d/a.conf") => huge(&path),
            ("huge", _) => {
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::hard_link("/tmp/image/etc/sysctl.d/a.conf", &path).expect("a second name");
            }
            _ => make(kind, &path),
        }
    }
    all(FOLDERS.iter().map(|words| (words.to_vec(), "/")))
}

fn plimsoll_toml(place: &Place) -> Outcome {
    let lint: &[&str] = &["plimsoll", "lint", "/tmp/repository"];
    let folder = "/tmp/repository";
    let renew = || {
        fs::remove_dir_all(folder).ok();
        place.file("/tmp/repository/a.conf", "vm.swapiness = 10");
    };
    let file = Path::new("/tmp/repository/plimsoll.toml");
    let mut gave_way = Vec::new();
    for kind in ["FIFO", "device", "huge"] {
        renew();
        make(kind, file);
        let tried = bounded(lint, folder);
        gave_way.extend(tried.err().map(|what| format!("{kind}: {what}")));
    }
    renew();
    symlink(VICTIM, file).expect("a link");
    let said = bounded(lint, folder)?.said();
    if said.contains(SECRET) || said.contains("secret") {
        gave_way.push(format!("a link: {said}"));
    }
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("{}a = 1", "[lint.".repeat(50_000)),
        format!("{} = 1", "a.".repeat(100_000)),
        format!("[lint]\nselect = [\"{}\"]", "x".repeat(200_000)),
    ] {
        renew();
        place.file(file, &text);
        gave_way.extend(bounded(lint, folder).err());
    }
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

fn own_files(place: &Place) -> Outcome {
    huge("/tmp/huge".as_ref());
    let mut gave_way = Vec::new();
    for kind in ["FIFO", "device", "huge"] {
        for (file, readers) in OWN {
            place.file(CONFIG, SETS);
            fs::remove_file(file).ok();
            match kind {
                "huge" => {
                    place.file(file, "");
                    system("mount", &["--bind", "/tmp/huge", file]);
                }
                kind => make(kind, file.as_ref()),
            }
            let outcome = all(readers.iter().map(|words| (words.to_vec(), "/")));
            gave_way.extend(
                outcome
                    .err()
                    .map(|what| format!("{kind} as {file}: {what}")),
            );
            if kind == "huge" {
                system("umount", &[file]);
            }
            fs::remove_file(file).ok();
        }
    }
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}
