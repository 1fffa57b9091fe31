//! What a report is made of.

use crate::base;
use crate::pressure;
use study::Study;
use study::compare::{self, Reading, Row};
use study::likely_error;
use study::measure::Measure;
use study::record::Record;
use study::verdicts::{ArmVerdict, of_arms};

/// What a report is made of.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The study.
    pub study: &'a Study,
    /// The runs, by kernel; the answer speaks of the first kernel that was really run.
    pub pairs: Vec<Pair>,
    /// What could not be used, one line each.
    pub problems: Vec<String>,
    /// On which machine and kernel the study was asked, and why, one line each.
    pub notes: Vec<String>,
    /// The arguments that asked for another machine or an arm more, as they are typed; each begins
    /// with a blank.
    pub arguments: String,
    /// Why there is no record of a real kernel, where records were looked for: "no record in
    /// records".
    pub no_record: Option<String>,
    /// The program's version.
    pub version: String,
}

/// The runs of one kernel: as the model foretold them, and as they were.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The kernel for people: "Linux 6.1".
    pub kernel: String,
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// The bench of the proofs in its own words; empty without proofs.
    pub bench: String,
    /// Runs of the model.
    pub model: Vec<Record>,
    /// Runs of the kernel itself.
    pub proofs: Vec<Record>,
    /// How often the runs that the verdicts rest on may have been looked at to decide whether more
    /// are needed; 1 where their number was fixed.
    pub looks: u32,
}

impl Report<'_> {
    /// The pair that the answer speaks of: the first kernel that was really run, else the first.
    #[must_use]
    pub fn spoken_of(&self) -> Option<&Pair> {
        let proved = self.pairs.iter().find(|pair| pair.is_proved());
        proved.or_else(|| self.pairs.first())
    }
}

impl Pair {
    /// A kernel that was not run.
    #[must_use]
    pub fn unproved(version: &str) -> Self {
        Self {
            kernel: format!("Linux {version}"),
            release: version.to_owned(),
            bench: String::new(),
            model: Vec::new(),
            proofs: Vec::new(),
            looks: 1,
        }
    }

    /// Model against kernel, measure by measure.
    #[must_use]
    pub fn rows(&self, study: &Study) -> Vec<Row> {
        let arms: Vec<String> = study.arms.iter().map(|arm| arm.name.clone()).collect();
        let read = |records| readings(&study.measures, records);
        let (model, kernel) = (read(&self.model), read(&self.proofs));
        compare::compare(&study.measures, &arms, &model, &kernel)
    }

    /// Each arm against the first, by the kernel's runs, or the model's where there are none.
    #[must_use]
    pub fn verdicts(&self, study: &Study) -> Vec<ArmVerdict> {
        match self.is_proved() {
            true => of_arms(study, &self.proofs, self.looks),
            false => likely_error::doubted(study, of_arms(study, &self.model, self.looks)),
        }
    }

    /// What every arm sets that the kernel does not boot with.
    #[must_use]
    pub fn unlike_boot(&self, study: &Study) -> Option<String> {
        base::unlike_boot(study, &self.release)
    }

    /// Why nothing is ranked, where the study's pressure was not reached.
    #[must_use]
    pub fn missed_pressure(&self, study: &Study) -> Option<String> {
        match self.is_proved() {
            true => pressure::missed(study, &self.proofs),
            false => pressure::missed(study, &self.model),
        }
    }

    /// Whether there is neither a prediction nor a proof.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.model.is_empty() && self.proofs.is_empty()
    }

    /// Whether the kernel itself was run.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        !self.proofs.is_empty()
    }
}

/// The first run of an arm: the one that charts show.
pub(super) fn first<'a>(records: &'a [Record], arm: &str) -> Option<&'a Record> {
    let of_arm = records.iter().filter(|record| record.provenance.arm == arm);
    of_arm.min_by_key(|record| record.provenance.seed)
}

pub(super) fn readings(measures: &[Measure], records: &[Record]) -> Vec<Reading> {
    let read = |record: &Record| Reading::of(measures, &record.provenance.arm, &record.outcome);
    records.iter().map(read).collect()
}

/// The first two parts of a release: "6.1" of "6.1.0-53-cloud-amd64".
#[must_use]
pub fn series(release: &str) -> &str {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let version = release
        .split_once(|c| !digits(c))
        .map_or(release, |(version, _)| version);
    let end = version
        .match_indices('.')
        .nth(1)
        .map_or(version.len(), |(at, _)| at);
    &version[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_belongs_to_its_series() {
        let releases = ["6.1.0-53-cloud-amd64", "6.12.107+deb13", "6.18", "7"];
        assert_eq!(releases.map(series), ["6.1", "6.12", "6.18", "7"]);
    }
}
