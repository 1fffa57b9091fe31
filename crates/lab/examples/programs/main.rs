//! Real programs: recorded under one setting, run themselves under others, and predicted there.
//!
//! `programs [NAME] [--kernel 6.12] [--arm ARM]... [--prove]` predicts each arm and shows it beside
//! what was measured. What is not in `fixtures/programs` is measured and recorded first, with the
//! `plimsoll` that is built for release: each arm is a boot of a small VM in virtual time, with
//! Debian's own program on its disk. `--prove` also lets a kernel perform the recording. Without a
//! name the errors of all that is there are shown.

mod ask;
#[cfg(test)]
mod errors;
mod measure;
mod program;

use anyhow::{Context as _, Result, bail};
use mm::stock::Stock;

use measure::{Figures, Machine};
use program::{Arm, PROGRAMS, Program};

/// What is asked for.
struct Wanted {
    program: &'static Program,
    kernel: String,
    arms: Vec<&'static Arm>,
    proves: bool,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    println!("program kernel arm: measured and predicted; read, written, time");
    match arguments.next() {
        Some(name) => Wanted::parse(&name, arguments)?.show(),
        None => show_all(),
    }
}

/// What is in the table, and the errors as a whole.
fn show_all() -> Result<()> {
    let mut errors = [vec![], vec![], vec![]];
    for ([program, kernel, arm], own, predicted) in all()? {
        println!("{program} {kernel} {arm}: {}", own.beside(&predicted));
        for (all, error) in errors.iter_mut().zip(own.errors(&predicted)) {
            all.extend(error);
        }
    }
    for (what, errors) in ["read", "written", "time"].iter().zip(errors) {
        let (median, worst) = median_and_worst(errors);
        println!("{what}: median {median:.1} %, worst {worst:.1} %");
    }
    Ok(())
}

/// Program, kernel and arm of each row of the table, what was measured and what is predicted.
fn all() -> Result<Vec<([String; 3], Figures, Figures)>> {
    let row = |(key, own): ([String; 3], Figures)| {
        let [program, kernel, arm] = &key;
        let recording = measure::recording(program, kernel);
        let predicted = ask::predict(&recording, Arm::named(arm)?, kernel)?;
        Ok((key, own, predicted))
    };
    measure::table()?.into_iter().map(row).collect()
}

/// Of the errors without their signs.
fn median_and_worst(mut errors: Vec<f64>) -> (f64, f64) {
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_by(f64::total_cmp);
    let median = errors.get(errors.len() / 2).copied();
    (median.unwrap_or(0.0), errors.last().copied().unwrap_or(0.0))
}

impl Wanted {
    fn parse(name: &str, mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let names: Vec<&str> = PROGRAMS.iter().map(|it| it.name).collect();
        let program = PROGRAMS.iter().find(|it| it.name == name);
        let mut wanted = Self {
            program: program.with_context(|| format!("name one of {}", names.join(", ")))?,
            kernel: "6.12".to_owned(),
            arms: Vec::new(),
            proves: false,
        };
        while let Some(option) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{option} needs a value"))
            };
            match option.as_str() {
                "--kernel" => wanted.kernel = value()?,
                "--arm" => wanted.arms.push(Arm::named(&value()?)?),
                "--prove" => wanted.proves = true,
                _ => bail!("no option {option}; there are --kernel, --arm, --prove"),
            }
        }
        if wanted.arms.is_empty() {
            wanted.arms = wanted.program.arms.iter().collect();
        }
        Ok(wanted)
    }

    fn show(&self) -> Result<()> {
        let (program, kernel) = (self.program.name, self.kernel.as_str());
        let stock = Stock::named(kernel).context("no such kernel; 6.1 and 6.12 are modelled")?;
        let recording = measure::recording(program, kernel);
        if !recording.exists() {
            Machine::new(self.program, kernel, stock)?.record()?;
        }
        for arm in &self.arms {
            let own = self.measured(arm, stock)?;
            let predicted = ask::predict(&recording, arm, kernel)?;
            println!(
                "{program} {kernel} {}: {}",
                arm.name,
                own.beside(&predicted)
            );
            if self.proves {
                let proven = ask::prove(&recording, arm, kernel, stock)?;
                println!("  and proven: {}", own.beside(&proven));
            }
        }
        Ok(())
    }

    /// From the table, else from a run.
    fn measured(&self, arm: &Arm, stock: &'static Stock) -> Result<Figures> {
        let key = [self.program.name, &self.kernel, arm.name];
        let rows = measure::table()?;
        let row = rows.into_iter().find(|(it, _)| *it == key);
        match row {
            Some((_, figures)) => Ok(figures),
            None => Machine::new(self.program, &self.kernel, stock)?.run(arm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_read_with_other_memory_and_settings_is_predicted() {
        let all = all().expect("all are predicted");
        let errors = all
            .iter()
            .filter_map(|(_, own, predicted)| own.errors(predicted)[0]);
        let errors: Vec<f64> = errors.collect();
        assert!(errors.len() > 20, "{} arms", errors.len());
        let (median, worst) = median_and_worst(errors);
        assert!(median <= 5.0 && worst <= 15.0, "{median} % and {worst} %");
    }
}
