//! A question as the page writes it, in the words of the command's arguments.

use answer::machine::{self, Like, Machine};
use answer::question::{Costs, Question};
use mm::capture::{Capture, Frame};
use mm::catalogue;
use mm::settings::Setting;
use mm::snapshot::Snapshot;
use mm::units::PageSize;
use serde::Deserialize;
use study::{Study, recording};

/// A study: one that is built in, or a file that somebody has.
#[derive(Debug, Deserialize)]
pub(crate) struct Of {
    /// Its name, or the file's.
    study: String,
    /// The file's text.
    #[serde(default)]
    text: Option<String>,
}

/// A capture, and what it is called.
#[derive(Debug, Deserialize)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) capture: String,
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
    /// A machine that there is a capture of.
    like: Option<Held>,
    kernel: Option<String>,
    repetitions: Option<u32>,
    /// A text to be given back with the answer's numbers in it, as that of a study
    /// (`study::template`).
    #[serde(default)]
    pub(crate) says: String,
}

impl Of {
    /// The study: that of a recording where there is a file.
    pub(crate) fn study(&self, file: &[u8]) -> Result<Study, String> {
        if !file.is_empty() {
            let (text, recording) = recording::read(file).map_err(|why| why.to_string())?;
            let study = Study::parse_with(&text, &self.study, recording);
            return study.map_err(|why| why.to_string());
        }
        match &self.text {
            Some(text) => Study::parse(text, &self.study).map_err(|why| why.to_string()),
            None => Study::built_in(&self.study)
                .ok_or_else(|| format!("there is no built-in study `{}`", self.study)),
        }
    }
}

impl Predict {
    /// The question, with what is wrong with it.
    pub(crate) fn question(self, file: &[u8]) -> Result<Question, String> {
        let settings = self.set.iter().map(|text| setting(text));
        Ok(Question {
            settings: settings.collect::<Result<_, _>>()?,
            machine: Machine {
                memory: option("memory", self.memory.as_deref(), machine::memory)?,
                cpus: self.cpus,
                disk: option("disk", self.disk.as_deref(), machine::disk)?,
                like: self.like.map(like).transpose()?,
                ..Machine::default()
            },
            costs: self.kernel.map_or(Costs::Nearest, Costs::Kernel),
            arms: self.arms,
            repetitions: self.repetitions,
            ..Question::new(self.of.study(file)?)
        })
    }
}

/// The machine of a capture.
fn like(held: Held) -> Result<Like, String> {
    let capture = Capture::parse(&held.capture).map_err(|why| why.to_string())?;
    let has_memory = |frame: &&Frame| frame.file("proc/meminfo").is_some();
    let frame = capture.frames.iter().find(has_memory);
    let frame = frame.ok_or("no /proc/meminfo in it, so no machine")?;
    let (at_hand, release) = machine::of_frame(frame, &Snapshot::parse(frame));
    Ok(Like {
        named: held.name,
        at_hand,
        release,
    })
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
