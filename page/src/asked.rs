//! A question as the page writes it, in the words of the command's arguments.

use answer::machine::{self, Machine};
use answer::question::{Costs, Question};
use mm::catalogue;
use mm::settings::Setting;
use mm::units::PageSize;
use serde::Deserialize;
use study::Study;

/// A study: one that is built in, or a file that somebody has.
#[derive(Debug, Deserialize)]
pub(crate) struct Of {
    /// Its name, or the file's.
    study: String,
    /// The file's text.
    #[serde(default)]
    text: Option<String>,
}

/// What `plimsoll predict` takes.
#[derive(Debug, Deserialize)]
pub(crate) struct Predict {
    #[serde(flatten)]
    of: Of,
    #[serde(default)]
    arms: Vec<String>,
    /// `TUNABLE=VALUE` each.
    #[serde(default)]
    set: Vec<String>,
    /// As in 16G.
    memory: Option<String>,
    cpus: Option<u32>,
    disk: Option<String>,
    kernel: Option<String>,
    repetitions: Option<u32>,
}

impl Of {
    /// The study.
    pub(crate) fn study(&self) -> Result<Study, String> {
        match &self.text {
            Some(text) => Study::parse(text, &self.study).map_err(|why| why.to_string()),
            None => Study::built_in(&self.study)
                .ok_or_else(|| format!("there is no built-in study `{}`", self.study)),
        }
    }
}

impl Predict {
    /// The question, with what is wrong with it.
    pub(crate) fn question(self) -> Result<Question, String> {
        let settings = self.set.iter().map(|text| setting(text));
        Ok(Question {
            settings: settings.collect::<Result<_, _>>()?,
            machine: Machine {
                memory: option("memory", self.memory.as_deref(), machine::memory)?,
                cpus: self.cpus,
                disk: option("disk", self.disk.as_deref(), machine::disk)?,
                ..Machine::default()
            },
            costs: self.kernel.map_or(Costs::Nearest, Costs::Kernel),
            arms: self.arms,
            repetitions: self.repetitions,
            ..Question::new(self.of.study()?)
        })
    }
}

/// A setting for the model, whose pages have 4 KiB.
fn setting(text: &str) -> Result<Setting, String> {
    catalogue::typed(text, PageSize::FOUR_KIB).map_err(|why| why.to_string())
}

/// What an option says, with its name before what is wrong with it.
fn option<T>(
    name: &str,
    text: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let read = |text| read(text).map_err(|why| format!("{name}: {why}"));
    text.map(read).transpose()
}
