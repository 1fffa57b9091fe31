//! Whether the pressure that a study is about was reached. Where it was not, its arms differ by
//! nothing that it asks about, and none of them is ranked.

use study::record::Record;
use study::stats;
use study::{Least, Pressure, Study};

/// Why nothing is ranked, as a sentence without its stop; `None` where the pressure was reached,
/// where the study does not say what it is, and where its arm was not run.
///
/// It is reached where half of the arm's runs reach it.
#[must_use]
pub fn missed(study: &Study, records: &[Record]) -> Option<String> {
    let pressure = study.pressure.as_ref()?;
    let of_arm = records
        .iter()
        .filter(|it| it.provenance.arm == pressure.arm);
    let runs: Vec<(f64, f64)> = of_arm.filter_map(|run| read(pressure, run)).collect();
    let short: Vec<f64> = runs.iter().map(|(number, least)| number - least).collect();
    if stats::median(&short)? >= 0.0 {
        return None;
    }
    let middle =
        |of: fn(&(f64, f64)) -> f64| stats::median(&runs.iter().map(of).collect::<Vec<_>>());
    let (number, least) = middle(|run| run.0).zip(middle(|run| run.1))?;
    let (unit, name) = (pressure.measure.unit, &pressure.measure.name);
    Some(format!(
        "the pressure of this study was not reached, so nothing is ranked: {} ({name} on arm {}: \
         {}, and the least is {})",
        pressure.what,
        pressure.arm,
        unit.show(number),
        unit.show(least)
    ))
}

/// The number of a run, and the least that it has to be.
fn read(pressure: &Pressure, run: &Record) -> Option<(f64, f64)> {
    let least = match &pressure.least {
        Least::Number(least) => *least,
        Least::Line(line) => line.read(&run.outcome).ok()?,
    };
    Some((pressure.measure.read(&run.outcome).ok()?, least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::testing::record;

    /// The record's snapshot "idle" says that 42 kB are free.
    fn said(pressure: &str) -> Option<String> {
        let text = format!(
            "name = \"m\"\ntitle = \"m\"\nquestion = \"m\"\n[machine]\nmemory = \"1 GiB\"\n\
             [[arm]]\nname = \"default\"\n[[arm]]\nname = \"raised\"\n[[arm]]\nname = \"guard\"\n\
             [[process]]\nname = \"p\"\nsteps = [{{ snapshot = \"idle\" }}]\n\
             [pressure]\n{pressure}"
        );
        let study = Study::parse(&text, "test").unwrap();
        missed(&study, &[record("default", 1), record("raised", 2)])
    }

    #[test]
    fn what_was_not_reached_is_said_with_its_numbers() {
        let free = "what = \"it is full\"\nsnapshot = \"idle\"\nmeminfo = \"MemFree\"\n";
        assert_eq!(said(&format!("{free}least = 0.01")), None);
        let missed = said(&format!("{free}least = 1")).unwrap();
        let expected = "the pressure of this study was not reached, so nothing is ranked: it is \
                        full (MemFree on arm default: 0.041 MiB, and the least is 1.00 MiB)";
        assert_eq!(missed, expected);
        let of_line = format!("{free}arm = \"raised\"\nleast = \"MemFree\"");
        assert_eq!(said(&of_line), None);
    }

    #[test]
    fn nothing_is_said_of_an_arm_that_was_not_run() {
        let other = "what = \"w\"\narm = \"guard\"\nsnapshot = \"idle\"\nmeminfo = \"MemFree\"\n";
        assert_eq!(said(other), None);
    }
}
