//! Names and texts that a terminal would act on, wherever a file or a name is shown; and cells that
//! a spreadsheet would compute.

use std::fs;
use std::path::Path;

use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{self, CONFIG, SETS};
use crate::place::{PROMPT, Place};
use crate::process::{Ended, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "escapes_in_an_image",
        must_not: "no name or line of an image reaches the terminal as it is",
        run: an_image,
    },
    Attack {
        name: "escapes_in_plimsoll_toml",
        must_not: "nothing of a repository's plimsoll.toml reaches the terminal as it is",
        run: a_plimsoll_toml,
    },
    Attack {
        name: "escapes_in_a_study",
        must_not: "no text of a study, and no error about it, reaches the terminal as it is",
        run: a_study,
    },
    Attack {
        name: "escapes_in_a_path",
        must_not: "no argument reaches the terminal as it is",
        run: a_path,
    },
    Attack {
        name: "escapes_in_a_reason",
        must_not: "the reason of a change reaches the terminal of who looks at it as it is",
        run: a_reason,
    },
    Attack {
        name: "escapes_in_a_configuration",
        must_not: "nothing of the guard's configuration reaches the terminal as it is",
        run: a_configuration,
    },
    Attack {
        name: "escapes_in_what_a_guard_says",
        must_not: "no figure or event reaches the terminal as it is",
        run: what_a_guard_says,
    },
    Attack {
        name: "escapes_in_evidence",
        must_not: "nothing of a capture, log or archive reaches the terminal as it is",
        run: evidence,
    },
    Attack {
        name: "escapes_in_a_trace",
        must_not: "no column or name of a trace reaches the terminal as it is",
        run: a_trace,
    },
    Attack {
        name: "escapes_of_a_process",
        must_not: "the name of a process reaches the terminal as it is",
        run: a_process,
    },
    Attack {
        name: "cells_that_compute",
        must_not: "no cell of a CSV begins as a formula does",
        run: cells,
    },
];

/// A title, a cleared screen, colour by C1, a carriage return, bidirectional overrides, a bell, a
/// backspace and a delete.
const EVIL: &str = "e\x1b]0;t\x07\x1b[2J\u{9b}31m\x08\u{202e}x\u{2066}y\u{2069}\x7f\rz";

/// What a colour of the house or of the parser of arguments looks like.
const COLOURS: [&str; 7] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[4m", "\x1b[31m", "\x1b[32m", "\x1b[33m",
];

/// What a terminal would act on.
fn acted_on(bytes: &[u8]) -> Option<String> {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for colour in COLOURS {
        text = text.replace(colour, "");
    }
    let acts = |c: &char| {
        let is_layout = matches!(c, '\n' | '\t');
        let is_override = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && !is_layout) || is_override
    };
    let at = text.char_indices().find(|(_, c)| acts(c))?.0;
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    Some(text[line..].lines().next().unwrap_or_default().to_owned())
}

/// Runs a command as at a terminal with colours.
fn run(place: &Place, words: &[&str], folder: &str) -> Result<Ended, String> {
    let mut command = place.plimsoll(words);
    command.current_dir(folder).env("CLICOLOR_FORCE", "1");
    let ended = ends(command.env("LC_ALL", "C.UTF-8"), PROMPT);
    ended.ok_or_else(|| format!("{words:?} did not end"))
}

/// Runs each; all that give way are named.
fn shown(place: &Place, commands: &[&[&str]], folder: &str) -> Outcome {
    let mut gave_way = Vec::new();
    for words in commands {
        let ended = run(place, words, folder)?;
        for (stream, bytes) in [("stdout", &ended.out), ("stderr", &ended.err)] {
            if let Some(line) = acted_on(bytes) {
                gave_way.push(format!("{words:?} on {stream}: {line}"));
            }
        }
    }
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

fn an_image(place: &Place) -> Outcome {
    let line = format!("vm.swapiness = 10 # {EVIL}\n{EVIL} = 1\nvm.swappiness = {EVIL}");
    let renew = || {
        fs::remove_dir_all("/tmp/image").ok();
        place.file(format!("/tmp/image/etc/sysctl.d/{EVIL}.conf"), &line);
        place.file(
            format!("/tmp/image/etc/tmpfiles.d/{EVIL}.conf"),
            &format!("w /sys/kernel/mm/ksm/{EVIL} - - - - {EVIL}"),
        );
        place.file(
            format!("/tmp/image/etc/tuned/{EVIL}/tuned.conf"),
            &format!("[sysctl]\nvm.swapiness={EVIL}\n{EVIL}=1"),
        );
        place.file(
            format!("/tmp/image/{EVIL}.yaml"),
            &format!("sysctl:\n  vm.swapiness: \"{}\"", EVIL.escape_default()),
        );
    };
    renew();
    let commands: [&[&str]; 6] = [
        &["lint", "--diff", "/tmp/image"],
        &["lint", "/tmp/image"],
        &["lint", "--format", "github", "/tmp/image"],
        &["explain", "vm.swappiness", "--of", "/tmp/image"],
        &["lint", "--fix", "/tmp/image"],
        &["lint", "--fix", "--undo", "/tmp/image"],
    ];
    shown(place, &commands, "/")
}

fn a_plimsoll_toml(place: &Place) -> Outcome {
    let evil: String = EVIL
        .chars()
        .map(|c| format!("\\U{:08x}", u32::from(c)))
        .collect();
    let mut gave_way = Vec::new();
    for text in [
        format!("\"{evil}\" = 1"),
        format!("[lint]\n\"{evil}\" = 1"),
        format!("[lint]\nselect = [\"{evil}\"]"),
        format!("[lint]\nfail-on = \"{evil}\""),
        format!("[lint]\nselect = {EVIL}"),
        format!("# {EVIL}"),
        format!("[\"{evil}\""),
    ] {
        place.file("/tmp/repository/plimsoll.toml", &text);
        place.file("/tmp/repository/a.conf", "vm.swapiness = 10");
        let words: &[&str] = &["lint", "/tmp/repository"];
        gave_way.extend(shown(place, &[words], "/tmp/repository").err());
    }
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

/// A study with a text in the place of every name.
fn study(name: &str, text: &str, arms: [&str; 2], measure: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"{text}\"\nquestion = \"{text}\"\nanswer = \"{text}\"\n\
         sample = \"1 s\"\n\
         [machine]\nmemory = \"512 MiB\"\n\
         [[machine.disk]]\nname = \"disk\"\nsize = \"1 GiB\"\nbandwidth = \"100 MiB/s\"\n\
         [[machine.file]]\nname = \"big\"\ndisk = \"disk\"\nsize = \"30 MiB\"\n\
         [[arm]]\nname = \"{}\"\n[[arm]]\nname = \"{}\"\n\
         settings = {{ \"vm.min_free_kbytes\" = \"100000\" }}\n\
         [[process]]\nname = \"reader\"\n\
         steps = [{{ label = \"read\", read = {{ file = \"big\" }} }}]\n\
         [[measure]]\nname = \"{measure}\"\nstep = \"read\"\ntake = \"duration\"\n\
         better = \"lower\"\n",
        arms[0], arms[1]
    )
}

fn a_study(place: &Place) -> Outcome {
    let evil: String = EVIL
        .chars()
        .map(|c| format!("\\U{:08x}", u32::from(c)))
        .collect();
    let plain = study("plain", &evil, ["plain", "raised"], "read");
    let texts = [
        plain.clone(),
        study(&evil, "t", ["plain", "raised"], "read"),
        study("plain", "t", [&evil, "raised"], "read"),
        study("plain", "t", ["plain", "raised"], &evil),
        plain.replace("vm.min_free_kbytes", &evil),
        plain.replace("100000", &evil),
        format!("\"{evil}\" = 1\n{plain}"),
        format!("{EVIL} = 1\n{plain}"),
        plain.replace("512 MiB", &evil),
    ];
    let mut gave_way = Vec::new();
    for text in texts {
        let path = format!("/tmp/study/{EVIL}.toml");
        place.file(&path, &text);
        let commands: [&[&str]; 2] = [
            &["predict", &path, "--repetitions", "1"],
            &["predict", &path, "--repetitions", "1", "--all"],
        ];
        gave_way.extend(shown(place, &commands, "/tmp/study").err());
    }
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

fn a_path(place: &Place) -> Outcome {
    let path = format!("/tmp/{EVIL}");
    let setting = format!("{EVIL}=1");
    let value = format!("vm.swappiness={EVIL}");
    let commands: [&[&str]; 15] = [
        &["inspect", &path],
        &["lint", &path],
        &["lint", "--select", EVIL],
        &["lint", "--explain", EVIL],
        &["explain", EVIL],
        &["explain", "vm.swappiness", "--of", &path],
        &["apply", &setting],
        &["apply", &value],
        &["apply", &path],
        &["predict", &path],
        &["predict", "min-free-kbytes", "--arm", EVIL],
        &["replay", &path, "--memory", "10%"],
        &["guard", "check", "--config", &path],
        &["guard", "release", &path],
        &[EVIL],
    ];
    let outcome = shown(place, &commands, "/tmp");
    let ended = guarding::ends_with(&["--config", &path])?;
    let said = acted_on(&ended.err).map(|line| format!("plimsoll-guard: {line}"));
    outcome.and(said.map_or(Ok(()), Err))
}

fn a_reason(place: &Place) -> Outcome {
    let text = format!("why {EVIL}");
    let commands: [&[&str]; 7] = [
        &[
            "apply",
            "vm.swappiness=10",
            "--now",
            "--persist",
            "--why",
            &text,
        ],
        &["status"],
        &["history"],
        &[
            "apply",
            "vm.page-cluster=0",
            "--confirm",
            "1h",
            "--why",
            &text,
        ],
        &["confirm"],
        &["undo"],
        &["history"],
    ];
    shown(place, &commands, "/tmp")
}

fn a_configuration(place: &Place) -> Outcome {
    let evil: String = EVIL
        .chars()
        .map(|c| format!("\\U{:08x}", u32::from(c)))
        .collect();
    let mut gave_way = Vec::new();
    for text in [
        format!("[floor]\nkeep = [\"/{evil}\", \"unit:{evil}.service\"]\nclean_min = \"5 %\""),
        format!("[ceiling.groups]\n\"{evil}/x\" = \"64 MiB\""),
        format!("metrics = \"/tmp/{evil}\"\n{SETS}"),
        format!("[floor]\n\"{evil}\" = 1"),
        format!("[\"{evil}\"]\na = 1"),
        format!("[floor]\nclean_min = \"{evil}\""),
        format!("{EVIL} = 1"),
    ] {
        place.file(CONFIG, &text);
        gave_way.extend(shown(place, &[&["guard", "check"]], "/tmp").err());
        let ended = guarding::ends_with(&["--dry-run", "--for", "300ms"])?;
        let said = acted_on(&ended.err).map(|line| format!("plimsoll-guard: {line}"));
        gave_way.extend(said);
    }
    place.file(CONFIG, SETS);
    place.file(format!("{CONFIG}.d/{EVIL}.toml"), "[floor]\nclean_min = 1");
    gave_way.extend(shown(place, &[&["guard", "check"]], "/tmp").err());
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

/// In files of somebody's that stand in the place of the guard's.
fn what_a_guard_says(place: &Place) -> Outcome {
    let own = std::process::id();
    place.file(
        "/tmp/theirs/g.prom",
        &format!(
            "plimsoll_guard_info{{version=\"{EVIL}\",pid=\"{own}\"}} 1\n\
             plimsoll_guard_setting_held{{tunable=\"{EVIL}\",before=\"{EVIL}\"}} 1\n\
             plimsoll_guard_released{{place=\"{EVIL}\"}} 1"
        ),
    );
    place.file(
        "/tmp/theirs/g.events",
        &format!(
            "time=1700000000000 policy=\"{EVIL}\" action=lock file=\"{EVIL}\" \
             what=\"{EVIL}\" why=\"{EVIL}\""
        ),
    );
    let state: &[&str] = &["--state", "/tmp/theirs/g.state"];
    let verbs = ["status", "explain", "events"].map(|verb| [&["guard", verb][..], state].concat());
    let commands: Vec<&[&str]> = verbs.iter().map(Vec::as_slice).collect();
    shown(place, &commands, "/tmp")
}

fn evidence(place: &Place) -> Outcome {
    let log = include_str!("../../../../fixtures/kernel_log/global-5.4.log");
    let victim = log
        .split("Killed process ")
        .nth(1)
        .and_then(|rest| rest.split('(').nth(1));
    let victim = victim
        .and_then(|rest| rest.split(')').next())
        .expect("a victim");
    place.file("/tmp/oom.log", &log.replace(victim, EVIL));
    let folder = "/tmp/evidence";
    for (name, text) in [
        (format!("{EVIL}.txt"), EVIL.to_owned()),
        (
            "proc/version".to_owned(),
            format!("Linux version 6.1.0-{EVIL} (a@b)"),
        ),
        (
            "proc/meminfo".to_owned(),
            format!("MemTotal: 1000 kB\n{EVIL}: 5 kB\nMemFree: {EVIL}"),
        ),
        (
            "proc/swaps".to_owned(),
            format!("Filename Type Size Used Priority\n/{EVIL} file 9 1 -2"),
        ),
        (
            "proc/mounts".to_owned(),
            format!("/dev/{EVIL} /{EVIL} tmpfs rw 0 0"),
        ),
        ("proc/sys/vm/swappiness".to_owned(), EVIL.to_owned()),
        ("proc/sys/kernel/hostname".to_owned(), EVIL.to_owned()),
        (
            format!("etc/sysctl.d/{EVIL}.conf"),
            format!("vm.swappiness = {EVIL}"),
        ),
    ] {
        place.file(Path::new(folder).join(name), &text);
    }
    place.file(
        "/tmp/capture",
        &format!("plimsoll-capture 1\n@ 0 {EVIL}\n= {EVIL} 3\nabc"),
    );
    let commands: [&[&str]; 8] = [
        &["inspect", "/tmp/oom.log"],
        &["inspect", folder],
        &["inspect", folder, "--all"],
        &["explain", "--of", folder],
        &["explain", "vm.swappiness", "--of", folder],
        &["lint", folder],
        &["inspect", "/tmp/capture"],
        &["guard", "check", folder],
    ];
    place.file(CONFIG, SETS);
    shown(place, &commands, "/tmp")
}

fn a_trace(place: &Place) -> Outcome {
    let path = format!("/tmp/{EVIL}.csv");
    place.file(&path, &format!("{EVIL},size\n{EVIL},1\n2,1"));
    let commands: [&[&str]; 3] = [
        &["replay", &path, "--memory", "10"],
        &["replay", &path, "--memory", "10", "--object", EVIL],
        &["replay", &path, "--memory", EVIL],
    ];
    shown(place, &commands, "/tmp")
}

/// A process that holds some memory, so that it is looked at.
fn a_process(place: &Place) -> Outcome {
    let name = format!("/tmp/theirs/{}", EVIL.chars().take(9).collect::<String>());
    place.theirs("/tmp/theirs");
    fs::copy("/bin/sleep", &name).expect("a copy");
    crate::place::mode(name.as_ref(), 0o755);
    let mut sleep = std::process::Command::new(&name);
    let mut sleeping = crate::process::as_nobody(sleep.arg("60"))
        .spawn()
        .expect("it runs");
    let pid = sleeping.id().to_string();
    let words: &[&str] = &["ksm", "estimate", "--sample-time", "0", "--pid", &pid];
    let outcome = shown(place, &[words, &["inspect"]], "/tmp");
    sleeping.kill().expect("a child");
    sleeping.wait().expect("a child");
    outcome
}

fn cells(place: &Place) -> Outcome {
    let mut computing = Vec::new();
    for start in ["=", "+", "-", "@"] {
        let [arm, measure] = ["arm", "measure"].map(|word| format!("{start}{word}"));
        place.file(
            "/tmp/study/own.toml",
            &study("own", "t", [&arm, "other"], &measure),
        );
        let words = ["predict", "own.toml", "--repetitions", "1", "--csv"];
        let ended = run(place, &words, "/tmp/study")?;
        let text = String::from_utf8_lossy(&ended.out).into_owned();
        let cells = text.lines().flat_map(|line| line.split(','));
        let cells = cells.map(|cell| cell.trim_matches('"').to_owned());
        computing.extend(cells.filter(|cell| computes(cell)));
    }
    held_if(computing.is_empty(), || format!("cells {computing:?}"))
}

/// Whether a spreadsheet takes a cell for a formula.
fn computes(cell: &str) -> bool {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    is_formula && cell.parse::<f64>().is_err()
}
