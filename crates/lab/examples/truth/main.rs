//! Studies that nobody chose, on both benches. `cargo xtask truth` runs it.
//!
//! `--seeds A..B` draws the studies of these seeds, proves each on the kernel that its seed drew,
//! with `--starts N`, predicts it with the same seeds, and says where the model's reader would have
//! chosen another arm than the kernel's. Records lie in `records/truth`, or where `--records DIR`
//! says; what is there is not run again. `--recorded` runs nothing and takes what is there.
//! `--covered` says which part of the figures lies where `predict` says that nine of ten do.
//! `--plimsoll PATH` is the command that proves. `--cpus N` and `--kernel NAME` put studies on such
//! a machine in place of the one that a seed drew.

mod ask;
mod decide;
mod dice;
mod draw;
mod drawn;
mod errors;
mod shown;
mod shrink;
mod tally;
mod text;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use mm::stock::Stock;

use ask::Benches;
use decide::Judgement;
use drawn::Instead;
use shown::Miss;
use tally::Tallies;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = Wanted::parse(&arguments)?;
    match wanted.what {
        What::Text(seed) => print!("{}", text::of(&wanted.instead.of(draw::whole(seed)))),
        What::Small(seed) => print!("{}", draw::small(seed)),
        What::Shrink(seed) => shrink::run(&wanted.benches()?, draw::whole(seed))?,
        What::Seeds => score(&wanted)?,
        What::Errors => errors::run(&wanted.benches()?, wanted.seeds)?,
        What::Covered => errors::covered_by_kept(&wanted.benches()?, wanted.seeds)?,
    }
    Ok(())
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    what: What,
    seeds: RangeInclusive<u64>,
    starts: u64,
    records: PathBuf,
    recorded: bool,
    instead: Instead,
    plimsoll: Option<PathBuf>,
}

/// The folder of the checkout.
fn root() -> PathBuf {
    testkit::checkout("")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Seeds,
    Errors,
    Covered,
    Shrink(u64),
    Text(u64),
    Small(u64),
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut wanted = Self {
            what: What::Seeds,
            seeds: 1..=60,
            starts: 1,
            records: root().join("records/truth"),
            recorded: false,
            instead: Instead::default(),
            plimsoll: None,
        };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            match option.as_str() {
                "--recorded" => wanted.recorded = true,
                "--covered" => wanted.what = What::Covered,
                "--errors" => (wanted.what, wanted.seeds) = (What::Errors, errors::ALL),
                _ => {
                    let value = arguments.next();
                    let value = value.with_context(|| format!("{option} needs a value"))?;
                    wanted.option(option, value)?;
                }
            }
        }
        Ok(wanted)
    }

    fn option(&mut self, option: &str, value: &str) -> Result<()> {
        let number = || {
            let number = value.parse::<u64>();
            number.with_context(|| format!("{option} {value}: give it a number"))
        };
        match option {
            "--seeds" => self.seeds = seeds(value)?,
            "--starts" => self.starts = number()?.max(1),
            "--records" => self.records = PathBuf::from(value),
            "--kernel" => self.instead.kernel = Some(stock(value)?),
            "--cpus" => self.instead.cpus = Some(u32::try_from(number()?)?),
            "--plimsoll" => self.plimsoll = Some(PathBuf::from(value)),
            "--shrink" => self.what = What::Shrink(number()?),
            "--text" => self.what = What::Text(number()?),
            "--small" => self.what = What::Small(number()?),
            _ => bail!(
                "no option \"{option}\"; there are --seeds A..B, --starts N, --records DIR, \
                 --recorded, --cpus N, --kernel NAME, --errors, --covered, --shrink SEED, \
                 --text SEED, --small SEED, --plimsoll PATH"
            ),
        }
        Ok(())
    }

    fn benches(&self) -> Result<Benches> {
        let runs = !self.recorded && !matches!(self.what, What::Errors | What::Covered);
        if runs && self.plimsoll.is_none() {
            bail!("say which command proves with --plimsoll PATH, or --recorded");
        }
        Ok(Benches {
            records: self.records.clone(),
            plimsoll: self.plimsoll.clone().filter(|_| runs),
            starts: self.starts,
            instead: self.instead,
        })
    }
}

/// `A..B`, both of them included.
fn seeds(text: &str) -> Result<RangeInclusive<u64>> {
    let ends = text.split_once("..").unwrap_or((text, text));
    let end = |end: &str| end.parse::<u64>().ok();
    match (end(ends.0), end(ends.1)) {
        (Some(from), Some(to)) if from <= to => Ok(from..=to),
        _ => bail!("--seeds {text}: give it A..B, as in 1..60"),
    }
}

fn stock(name: &str) -> Result<&'static Stock> {
    Stock::named(name).with_context(|| {
        let names: Vec<&str> = Stock::spellings().collect();
        format!("--kernel {name}: there is {}", names.join(", "))
    })
}

fn score(wanted: &Wanted) -> Result<()> {
    let benches = wanted.benches()?;
    let (mut tallies, mut misses, mut refusals) = (Tallies::default(), Vec::new(), String::new());
    for seed in wanted.seeds.clone() {
        let asked = match benches.ask(draw::whole(seed)) {
            Ok(Some(asked)) => asked,
            Ok(None) => continue,
            Err(why) => {
                refusals += &format!("{seed:>5} the kernel: {why}\n");
                continue;
            }
        };
        eprintln!("{seed}: {} runs of the kernel", asked.kernel.len());
        let decisions = tallies.count(&asked);
        if let Err(why) = &asked.model {
            refusals += &format!("{seed:>5} the model: {why}\n");
            continue;
        }
        let wrong = decisions.into_iter();
        let wrong = wrong.filter(|decision| decision.judgement != Judgement::Right);
        misses.extend(wrong.map(|decision| Miss::of(&asked, decision)));
    }
    print!("{}", shown::misses(misses));
    if !refusals.is_empty() {
        print!("\nNo answer:\n{refusals}");
    }
    print!("\n{}", tallies.table());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Wanted> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Wanted::parse(&words)
    }

    #[test]
    fn seeds_are_a_range_or_one() {
        assert_eq!(parse(&["--seeds", "3..9"]).unwrap().seeds, 3..=9);
        let one = parse(&["--seeds", "5", "--starts", "3"]).unwrap();
        assert_eq!((one.seeds, one.starts), (5..=5, 3));
        for wrong in [&["--seeds", "9..3"][..], &["--seeds"], &["--seed", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
