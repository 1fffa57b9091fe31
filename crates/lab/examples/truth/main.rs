//! Studies that nobody chose, on both benches. `cargo xtask truth` runs it.
//!
//! `--seeds A..B` draws the studies of these seeds, proves each on the kernel that its seed drew,
//! with `--starts N`, predicts it with the same seeds, and says where the model's reader would have
//! chosen another arm than the kernel's. Records lie in `records/truth`, or where `--records DIR`
//! says; what is there is not run again. `--recorded` runs nothing and takes what is there.
//! `--plimsoll PATH` is the command that proves. `--cpus N` and `--kernel NAME` put studies on such
//! a machine, except those of `--errors` and `--small`.

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

use ask::Benches;
use decide::Judgement;
use drawn::Drawn;
use mm::stock::Stock;
use shown::Miss;
use tally::Tallies;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = Wanted::parse(&arguments)?;
    match wanted.what {
        What::Text(seed) => print!("{}", text::of(&wanted.placed(draw::whole(seed)))),
        What::Small(seed) => print!("{}", draw::small(seed)),
        What::Shrink(seed) => shrink::run(&wanted.benches()?, wanted.placed(draw::whole(seed)))?,
        What::Seeds => score(&wanted)?,
        What::Errors => errors::run(&wanted.benches()?, wanted.seeds)?,
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
    plimsoll: Option<PathBuf>,
    cpus: Option<u32>,
    kernel: Option<&'static str>,
}

/// The folder of the checkout.
fn root() -> PathBuf {
    testkit::checkout("")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Seeds,
    Errors,
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
            plimsoll: None,
            cpus: None,
            kernel: None,
        };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            match option.as_str() {
                "--recorded" => wanted.recorded = true,
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
            "--plimsoll" => self.plimsoll = Some(PathBuf::from(value)),
            "--cpus" => self.cpus = Some(u32::try_from(number()?)?),
            "--kernel" => {
                let stock = Stock::named(value).with_context(|| format!("no kernel {value}"))?;
                self.kernel = Some(stock.name);
            }
            "--shrink" => self.what = What::Shrink(number()?),
            "--text" => self.what = What::Text(number()?),
            "--small" => self.what = What::Small(number()?),
            _ => bail!(
                "no option \"{option}\"; there are --seeds A..B, --starts N, --records DIR, \
                 --recorded, --errors, --cpus N, --kernel NAME, \
                 --shrink SEED, --text SEED, --small SEED, --plimsoll PATH"
            ),
        }
        Ok(())
    }

    /// A study on the machine that is wanted.
    fn placed(&self, drawn: Drawn) -> Drawn {
        Drawn {
            cpus: self.cpus.unwrap_or(drawn.cpus),
            kernel: self.kernel.unwrap_or(drawn.kernel),
            ..drawn
        }
    }

    fn benches(&self) -> Result<Benches> {
        let runs = !self.recorded && self.what != What::Errors;
        if runs && self.plimsoll.is_none() {
            bail!("say which command proves with --plimsoll PATH, or --recorded");
        }
        Ok(Benches {
            records: self.records.clone(),
            plimsoll: self.plimsoll.clone().filter(|_| runs),
            starts: self.starts,
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

fn score(wanted: &Wanted) -> Result<()> {
    let benches = wanted.benches()?;
    let (mut tallies, mut misses, mut refusals) = (Tallies::default(), Vec::new(), String::new());
    for seed in wanted.seeds.clone() {
        let asked = match benches.ask(wanted.placed(draw::whole(seed))) {
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
