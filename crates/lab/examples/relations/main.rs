//! Relations between studies that need no kernel: two studies that must have the same outcome, or
//! outcomes in a known order.
//!
//! `cargo run --release -p plimsoll-lab --example relations -- 0..1000 [RELATION...]` tries each
//! relation on the drawn studies of these seeds and prints where one does not hold. The seed is the
//! bug report. Tests run a few.

mod draw;
mod idle;
mod labels;
mod order;
mod run;
mod same;
mod words;

use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;

/// A relation: what is done to a study, and whether it holds for the study of a seed.
struct Relation {
    name: &'static str,
    holds: fn(u64) -> Result<(), String>,
}

const RELATIONS: &[Relation] = &[
    Relation {
        name: "again",
        holds: words::again,
    },
    Relation {
        name: "names",
        holds: words::names,
    },
    Relation {
        name: "layout",
        holds: words::layout,
    },
    Relation {
        name: "order",
        holds: words::order,
    },
    Relation {
        name: "units",
        holds: words::units,
    },
    Relation {
        name: "written-keys",
        holds: same::written_keys,
    },
    Relation {
        name: "halves-of-a-sleep",
        holds: same::halves_of_a_sleep,
    },
    Relation {
        name: "halves-of-an-access",
        holds: same::halves_of_an_access,
    },
    Relation {
        name: "idle-process",
        holds: idle::process,
    },
    Relation {
        name: "idle-file",
        holds: idle::file,
    },
    Relation {
        name: "idle-disk",
        holds: idle::disk,
    },
    Relation {
        name: "faster-disk",
        holds: order::faster_disk,
    },
    Relation {
        name: "twice-the-memory",
        holds: order::twice_the_memory,
    },
    Relation {
        name: "labels",
        holds: labels::each_action,
    },
];

/// Of a hundred studies a relation may fail on one.
const HOLDS: f64 = 0.99;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [seed] = &arguments[..]
        && let Ok(seed) = seed.parse()
    {
        print!("{}", draw::small(seed).text());
        return ExitCode::SUCCESS;
    }
    let Some((seeds, wanted)) = asked(&arguments) else {
        eprintln!("usage: relations FIRST..END [RELATION...], or SEED for its study");
        return ExitCode::FAILURE;
    };
    let is_wanted = |it: &&Relation| wanted.is_empty() || wanted.iter().any(|name| name == it.name);
    let mut all_hold = true;
    for relation in RELATIONS.iter().filter(is_wanted) {
        all_hold &= try_all(relation, seeds.clone());
    }
    match all_hold {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn asked(arguments: &[String]) -> Option<(std::ops::Range<u64>, &[String])> {
    let (seeds, wanted) = arguments.split_first()?;
    let (first, end) = seeds.split_once("..")?;
    let is_known = |name: &String| RELATIONS.iter().any(|relation| relation.name == name);
    let seeds = first.parse().ok()?..end.parse().ok()?;
    (!seeds.is_empty() && wanted.iter().all(is_known)).then_some((seeds, wanted))
}

/// Prints where a relation does not hold; whether it holds nearly everywhere.
fn try_all(relation: &Relation, seeds: std::ops::Range<u64>) -> bool {
    let began = Instant::now();
    let tried = seeds.end - seeds.start;
    let mut failed: Vec<(u64, String)> = seeds
        .into_par_iter()
        .filter_map(|seed| Some((seed, (relation.holds)(seed).err()?)))
        .collect();
    failed.sort();
    let held = tried - failed.len() as u64;
    let seconds = began.elapsed().as_secs();
    println!(
        "{:20} holds in {held} of {tried} ({seconds} s)",
        relation.name
    );
    for (seed, why) in &failed {
        println!("  seed {seed}: {why}");
    }
    held as f64 >= HOLDS * tried as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_hold_on_a_few_studies() {
        for relation in RELATIONS {
            for seed in 0..2 {
                let held = (relation.holds)(seed);
                assert_eq!(held, Ok(()), "{}, seed {seed}", relation.name);
            }
        }
    }

    #[test]
    fn seeds_and_relations_are_asked_for_by_name() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        assert!(asked(&words("3..9 names")).is_some_and(|(seeds, _)| seeds == (3..9)));
        for wrong in ["", "3", "9..3", "0..2 no-such"] {
            assert!(asked(&words(wrong)).is_none(), "{wrong}");
        }
    }
}
