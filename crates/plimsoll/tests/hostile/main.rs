//! A hostile local user, repository, image and disk against the commands as packaged, run as root.
//!
//! Each attack is a row of a table: its name, what must not happen, and how it is tried. It *holds*,
//! or it *gave way* and says what was seen. They run in a mount namespace of their own, with files in
//! the place of `/proc/sys`, `/sys/kernel/mm`, `/run`, `/etc`, `/var/lib` and `/tmp`, so that nothing
//! of this machine is touched; the attacker is user 65534 without groups. `PLIMSOLL_BINARY` names the
//! command that is attacked, beside which the daemon lies: `cargo xtask hostile` sets it.

mod actor;
mod attack;
mod bounds;
mod files;
mod floor;
mod folders;
mod guarding;
mod killing;
mod locks;
mod mounts;
mod names;
mod place;
mod process;
mod roots;
mod terminal;
mod vanished;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use attack::{Attack, Outcome};
use place::{Cannot, Place};

fn attacks() -> Vec<Attack> {
    let tables: [&[Attack]; 11] = [
        locks::ATTACKS,
        files::ATTACKS,
        mounts::ATTACKS,
        floor::ATTACKS,
        vanished::ATTACKS,
        roots::ATTACKS,
        bounds::ATTACKS,
        terminal::ATTACKS,
        names::ATTACKS,
        folders::ATTACKS,
        killing::ATTACKS,
    ];
    tables.concat()
}

/// What SECURITY.md names in brackets is an attack, or a part of the names of some.
const DOCUMENT: &str = include_str!("../../../../SECURITY.md");

fn unknown_names() -> Vec<&'static str> {
    let attacks = attacks();
    let bracketed = DOCUMENT.split('(').skip(1);
    let bracketed = bracketed.filter_map(|rest| Some(rest.split_once(')')?.0));
    let quoted = bracketed.flat_map(|text| text.split('`').skip(1).step_by(2));
    let is_name = |word: &&str| word.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let is_known = |word: &&str| attacks.iter().any(|attack| attack.name.contains(*word));
    let names = quoted.filter(|word| is_name(word) && word.len() > 3);
    names.filter(|word| !is_known(word)).collect()
}

fn main() -> ExitCode {
    assert_eq!(
        unknown_names(),
        [""; 0],
        "SECURITY.md names these as attacks"
    );
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = actor::run(&words) {
        return code;
    }
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if words.iter().any(|word| word == "--list") {
        attacks()
            .iter()
            .for_each(|attack| println!("{}: test", attack.name));
        return ExitCode::SUCCESS;
    }
    match Place::enter() {
        Ok(place) => run(&place, &words),
        Err(Cannot::Here(code)) => ExitCode::from(code),
        Err(Cannot::Skip(why)) => {
            for attack in attacks() {
                println!("test {} ... skipped: {why}", attack.name);
            }
            ExitCode::SUCCESS
        }
    }
}

fn run(place: &Place, words: &[String]) -> ExitCode {
    let mut names = words.iter().filter(|word| !word.starts_with('-'));
    let names: Vec<&String> = names.by_ref().collect();
    let is_wanted =
        |attack: &Attack| names.is_empty() || names.iter().any(|name| attack.name.contains(*name));
    let (mut held, mut gave_way) = (0, Vec::new());
    for attack in attacks().into_iter().filter(is_wanted) {
        let start = Instant::now();
        let outcome = tried(place, &attack);
        let took = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                held += 1;
                println!("test {} ... ok", attack.name);
                println!("    held ({took:.1} s): {}", attack.must_not);
            }
            Err(seen) => {
                let seen = process::harmless(&seen);
                println!("test {} ... FAILED", attack.name);
                println!("    gave way ({took:.1} s): {seen}");
                gave_way.push(format!("gave way: {}: {seen}", attack.name));
            }
        }
    }
    place.reset();
    println!();
    gave_way.iter().for_each(|line| println!("{line}"));
    let word = if gave_way.is_empty() { "ok" } else { "FAILED" };
    let failed = gave_way.len();
    println!("\ntest result: {word}. {held} passed; {failed} failed; 0 ignored; 0 measured");
    ExitCode::from(u8::from(failed > 0))
}

/// What panics could not be tried, which is no proof that it holds.
fn tried(place: &Place, attack: &Attack) -> Outcome {
    place.reset();
    let tried = catch_unwind(AssertUnwindSafe(|| (attack.run)(place)));
    tried.unwrap_or_else(|_| Err("it could not be tried; the reason stands above".to_owned()))
}
