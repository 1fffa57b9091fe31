//! Random plans on this very machine: settings of the whole catalogue in hostile spellings are
//! applied, perhaps over one another, and undone. After each plan that failed or is undone every
//! value is as before, or `status` names it; after one that was applied every value is as the plan
//! says.
//!
//! The journals lie in a mount namespace of their own, the tunables are the machine's: only values
//! that do no harm in the second in which they stand are drawn (`values`). Root is needed.
//!
//!     cargo test -p plimsoll --test plans -- --plans 200 --seed 7
//!
//! A failure names its seed: `--plans 1 --seed S` draws that plan again.

mod machine;
mod spellings;
mod values;

use std::process::ExitCode;

use mm::prng::Prng;

use machine::{Cannot, Cells, Machine};
use values::Word;

/// Where nobody says how many, and from which seed.
const PLANS: u64 = 12;
const SEED: u64 = 1;

/// A plan has at most this many settings, and at most this many stand at a time.
const SETTINGS: u64 = 4;
const CHANGES: u64 = 3;

const TESTS: [(&str, Test); 2] = [
    (
        "a_spelling_is_to_the_kernel_what_the_catalogue_says",
        spellings,
    ),
    ("every_value_is_as_before_or_status_names_it", plans),
];

/// A test: what is wrong, a line each.
type Test = fn(&Machine, &[String]) -> Vec<String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let machine = match Machine::enter() {
        Ok(machine) => machine,
        Err(Cannot::Here(code)) => return ExitCode::from(code),
        Err(Cannot::Skip(why)) => {
            let told = |(name, _): &(&str, Test)| println!("test {name} ... skipped: {why}");
            TESTS.iter().for_each(told);
            return ExitCode::SUCCESS;
        }
    };
    let mut failed = 0;
    for (name, test) in TESTS {
        let wrong = test(&machine, &words);
        wrong.iter().for_each(|line| println!("{line}"));
        println!(
            "test {name} ... {}",
            if wrong.is_empty() { "ok" } else { "FAILED" }
        );
        failed += u8::from(!wrong.is_empty());
    }
    ExitCode::from(failed)
}

fn spellings(machine: &Machine, _: &[String]) -> Vec<String> {
    let (wrong, written) = spellings::wrong(machine.tunables());
    println!("{written} spellings");
    wrong
}

fn plans(machine: &Machine, words: &[String]) -> Vec<String> {
    let number = |name: &str| {
        let mut words = words.iter().skip_while(|word| *word != name).skip(1);
        words.next().map(|word| word.parse().expect("a number"))
    };
    let seed = number("--seed").unwrap_or(SEED);
    let plans = number("--plans").unwrap_or(PLANS);
    let mut tally = Tally::default();
    let wrong = (seed..seed + plans).filter_map(|seed| {
        let done = run(machine, seed, &mut tally);
        done.err().map(|what| format!("seed {seed}: {what}"))
    });
    let wrong = wrong.collect();
    println!("{plans} series from seed {seed}: {tally:?}");
    wrong
}

/// What came of the plans.
#[derive(Debug, Default)]
struct Tally {
    applied: u32,
    /// Nothing was written: a value that cannot be, or that would kill.
    refused: u32,
    /// The kernel did not take it as it was asked for.
    failed: u32,
    /// Values that were not as before, and that `status` names.
    named: u32,
}

/// A few changes, one over the other, undone in some order.
fn run(machine: &Machine, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Prng::for_part(seed, "plans");
    machine.reset();
    let before = Cells::read();
    let mut told = Vec::new();
    let done = series(machine, &mut random, &before, &mut told, tally);
    let left = before.differing();
    before.restore();
    match (done, left.as_slice()) {
        (Ok(()), []) => Ok(()),
        (Ok(()), left) => Err(format!("{}: in the end {left:?}", told.join("; "))),
        (Err(what), left) => Err(format!("{}: {what}; left: {left:?}", told.join("; "))),
    }
}

fn series(
    machine: &Machine,
    random: &mut Prng,
    before: &Cells,
    told: &mut Vec<String>,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut standing: Vec<String> = Vec::new();
    for _ in 0..1 + random.below(CHANGES) {
        let words: Vec<Word> = (0..1 + random.below(SETTINGS))
            .map(|_| values::draw(random, machine.tunables()))
            .collect();
        told.push(
            words
                .iter()
                .map(Word::to_string)
                .collect::<Vec<_>>()
                .join(" "),
        );
        let held = Cells::read();
        let end = machine.apply(&words, random.below(2) == 0);
        match end.code {
            0 => {
                tally.applied += 1;
                end.check_written()?;
                standing.extend(end.change.map(|id| id.to_string()));
            }
            2 => {
                match end.text.contains("is taken back") {
                    true => tally.failed += 1,
                    false => tally.refused += 1,
                }
                named(machine, &held, tally).map_err(|it| format!("{it} after {}", end.text))?;
            }
            code => return Err(format!("apply ended with {code}: {}", end.text)),
        }
    }
    random.shuffle(&mut standing);
    for id in standing {
        told.push(format!("undo {id}"));
        let end = machine.plimsoll(&["undo", &id]);
        if end.0 != 0 {
            return Err(end.1);
        }
    }
    named(machine, before, tally)
}

/// Every value is as it was held, or `status` names its file.
fn named(machine: &Machine, held: &Cells, tally: &mut Tally) -> Result<(), String> {
    let differing = held.differing();
    if differing.is_empty() {
        return Ok(());
    }
    let (_, status) = machine.plimsoll(&["status"]);
    for (path, was, is) in differing {
        if !status.contains(&path) {
            return Err(format!(
                "/{path} was {was} and is {is}, and status says: {status}"
            ));
        }
        tally.named += 1;
    }
    Ok(())
}
