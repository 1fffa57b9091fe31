//! What was measured on real kernels of each tunable: the table `records/effects.tsv`, which is
//! computed from the records of the built-in studies and kept with them.

use std::fmt::Write as _;

/// The table that is kept with the records.
pub const TABLE: &str = include_str!("../../../records/effects.tsv");

/// The table's first line.
const HEAD: &str = concat!(
    "study\tkernel\tarm\tbaseline\tsettings\tmeasure\tfigure\tof_baseline\tverdict\tby\truns\t",
    "model\tmodel_error\tholds"
);

/// What one arm did to one measure on one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmEffect {
    /// The study's name.
    pub study: String,
    /// The kernel for people: "Linux 6.12".
    pub kernel: String,
    /// The arm, and the one it is compared with.
    pub arm: String,
    /// That one.
    pub baseline: String,
    /// What the arm sets and the baseline does not set so: "vm.swappiness=10, …".
    pub settings: String,
    /// The measure.
    pub measure: String,
    /// What the kernel came to, with its unit.
    pub figure: String,
    /// And on the baseline.
    pub of_baseline: String,
    /// The verdict: "better", "worse", "differs", "not decided", "no difference shown", "too few
    /// runs".
    pub verdict: String,
    /// How far it is from the baseline: "-59 %".
    pub by: String,
    /// Runs of the smaller arm.
    pub runs: String,
    /// What the model foretold.
    pub model: String,
    /// How far its median is off the kernel's: "+0.4 %"; empty where one of them has none.
    pub model_error: String,
    /// "yes" where the model's figure is within what is allowed, "no" where not.
    pub holds: String,
}

impl ArmEffect {
    /// What the records say of it.
    #[must_use]
    pub fn without_the_model(self) -> Self {
        let (model, model_error, holds) = <(String, String, String)>::default();
        Self {
            model,
            model_error,
            holds,
            ..self
        }
    }

    /// The value that the arm sets a tunable to; `None` where it does not set it.
    #[must_use]
    pub fn value_of(&self, tunable: &str) -> Option<&str> {
        let mut settings = self.settings.split(", ");
        settings.find_map(|setting| setting.strip_prefix(tunable)?.strip_prefix('='))
    }

    fn columns(&self) -> [&str; 14] {
        [
            &self.study,
            &self.kernel,
            &self.arm,
            &self.baseline,
            &self.settings,
            &self.measure,
            &self.figure,
            &self.of_baseline,
            &self.verdict,
            &self.by,
            &self.runs,
            &self.model,
            &self.model_error,
            &self.holds,
        ]
    }

    fn parse(line: &str) -> Option<Self> {
        let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let columns: [String; 14] = columns.try_into().ok()?;
        let [
            study,
            kernel,
            arm,
            baseline,
            settings,
            measure,
            figure,
            of_baseline,
            verdict,
            by,
            runs,
            model,
            model_error,
            holds,
        ] = columns;
        Some(Self {
            study,
            kernel,
            arm,
            baseline,
            settings,
            measure,
            figure,
            of_baseline,
            verdict,
            by,
            runs,
            model,
            model_error,
            holds,
        })
    }
}

/// The table as text.
#[must_use]
pub fn to_text(effects: &[ArmEffect]) -> String {
    let mut text = format!("{HEAD}\n");
    for effect in effects {
        let _ = writeln!(text, "{}", effect.columns().join("\t"));
    }
    text
}

/// Reads a table; lines that are not of it are passed over, its head among them.
#[must_use]
pub fn parse(text: &str) -> Vec<ArmEffect> {
    let lines = text.lines().skip_while(|line| *line == HEAD);
    lines.filter_map(ArmEffect::parse).collect()
}

/// All that is kept.
#[must_use]
pub fn kept() -> Vec<ArmEffect> {
    parse(TABLE)
}
