//! `cargo xtask bench --against REV`: how many times as fast this state of the source is.
//!
//! Both are built first, then take turns, so that what else the machine does falls on both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::clock::{Spent, median};
use crate::against::{self, Program, State};
use crate::{process, tree};

const ROUNDS: usize = 3;
const README_ASKS: [&str; 2] = ["predict", "min-free-kbytes"];

/// The programs of a state.
struct Programs {
    plimsoll: PathBuf,
    model: PathBuf,
    outcomes: PathBuf,
}

/// A figure of a round.
struct Figure {
    name: String,
    value: f64,
    /// More of it is better.
    is_speed: bool,
}

/// Measures and prints the table; `rest` may be `--rounds N`.
pub(super) fn print(revision: &str, rest: &[String]) -> Result<()> {
    let rounds = rounds(rest)?;
    let before = Programs::of(&State::of(revision)?)?;
    let now = Programs::of(&State::now())?;
    let mut measured = Vec::new();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        measured.push((before.measure()?, now.measure()?));
    }
    print!("{}", table(revision, &measured));
    Ok(())
}

fn rounds(rest: &[String]) -> Result<usize> {
    match rest {
        [] => Ok(ROUNDS),
        [flag, number] if flag == "--rounds" => number.parse().context("--rounds takes a number"),
        _ => bail!("bench --against REV takes --rounds N beside it"),
    }
}

impl Programs {
    /// Built, and where the next build does not reach them.
    fn of(state: &State) -> Result<Self> {
        Ok(Self {
            plimsoll: state.build(Program::Plimsoll)?,
            model: state.build(Program::Model)?,
            outcomes: state.build(Program::Outcomes)?,
        })
    }

    /// All figures once.
    fn measure(&self) -> Result<Vec<Figure>> {
        let mut figures = speeds(&against::printed(&self.model, &["1".to_owned()])?)?;
        let (cpu, _) = spent(&self.outcomes, &[])?;
        figures.push(seconds("all studies, 6.1 and 6.12, two seeds: CPU s", cpu));
        let (cpu, wall) = spent(&self.plimsoll, &README_ASKS)?;
        let command = README_ASKS.join(" ");
        figures.push(seconds(&format!("plimsoll {command}: CPU s"), cpu));
        figures.push(seconds(&format!("plimsoll {command}: wall s"), wall));
        Ok(figures)
    }
}

/// CPU and wall time of a program that runs in a folder of its own.
fn spent(program: &Path, arguments: &[&str]) -> Result<(f64, f64)> {
    let folder = tree::root().join("target/against/out");
    fs::create_dir_all(&folder)?;
    let mut command = process::program(program);
    command.args(arguments).current_dir(folder);
    let spent = Spent::by(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    Ok((spent.cpu, spent.wall))
}

fn seconds(name: &str, value: f64) -> Figure {
    Figure {
        name: name.to_owned(),
        value,
        is_speed: false,
    }
}

/// The medians of the table that the benchmark of the model prints.
fn speeds(table: &str) -> Result<Vec<Figure>> {
    let rows = table.lines().skip(2);
    let figure = |row: &str| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (case, lru, value) = (cells.next()?, cells.next()?, cells.next()?);
        Some(Figure {
            name: format!("{case}, {lru}: million accesses per CPU s"),
            value: value.parse().ok()?,
            is_speed: true,
        })
    };
    let figures: Option<Vec<Figure>> = rows.map(figure).collect();
    figures.context("the benchmark of the model prints another table")
}

/// The medians of both states, and that of the ratios within each round.
fn table(revision: &str, rounds: &[(Vec<Figure>, Vec<Figure>)]) -> String {
    let mut text =
        format!("| | {revision} | now | times as fast | range |\n|---|---|---|---|---|\n");
    let Some((first, _)) = rounds.first() else {
        return text;
    };
    for (at, figure) in first.iter().enumerate() {
        let before = rounds.iter().map(|(before, _)| before[at].value);
        let now = rounds.iter().map(|(_, now)| now[at].value);
        let times = before
            .clone()
            .zip(now.clone())
            .map(|(before, now)| match figure.is_speed {
                true => now / before,
                false => before / now,
            });
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = times.clone().fold(0.0, f64::max);
        text += &format!(
            "| {} | {:.2} | {:.2} | {:.2} | {least:.2} to {most:.2} |\n",
            figure.name,
            median(before),
            median(now),
            median(times),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_say_how_many_times_as_fast_it_is() {
        let model = "| case | LRU | median | range | of classic |\n|---|---|---|---|---|\n\
                     | stream | classic | 5.0 | 4.9 to 5.1 | 100 % |\n";
        let with = |speed: f64, time: f64| {
            let mut figures = speeds(model).unwrap();
            figures[0].value *= speed;
            figures.push(seconds("all", time));
            figures
        };
        let rounds = [
            (with(1.0, 8.0), with(2.0, 4.0)),
            (with(1.0, 8.0), with(3.0, 2.0)),
        ];
        let table = table("HEAD~1", &rounds);
        let speed = "| stream, classic: million accesses per CPU s | 5.00 | 15.00 | 3.00 | 2.00 to";
        assert!(table.contains(speed), "{table}");
        assert!(
            table.contains("| all | 8.00 | 4.00 | 4.00 | 2.00 to 4.00 |"),
            "{table}"
        );
        assert!(speeds("no\ntable\nat all").is_err());
    }

    #[test]
    fn rounds_are_a_number() {
        assert_eq!(rounds(&["--rounds".to_owned(), "7".to_owned()]).unwrap(), 7);
        assert!(rounds(&["--rounds".to_owned()]).is_err());
        assert!(rounds(&["--rounds".to_owned(), "many".to_owned()]).is_err());
    }
}
