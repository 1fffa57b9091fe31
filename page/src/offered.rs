//! What there is to choose from: studies, kernels, and what of a study can be changed.

use answer::calibration;
use mm::catalogue::{self, DefaultRule, Tunable, Values};
use serde::Serialize;
use study::{BUILT_IN, Cost, DiskKind, Study};

#[derive(Serialize)]
struct Offer {
    version: &'static str,
    studies: Vec<Named>,
    kernels: Vec<&'static str>,
    disks: Vec<&'static str>,
    /// What may be set in an arm of one's own: all that a machine has once.
    tunables: Vec<Choice>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    title: String,
}

#[derive(Serialize)]
struct Changeable {
    name: String,
    title: String,
    question: String,
    arms: Vec<Arm>,
    repetitions: u32,
    memory_mib: u64,
    cpus: u32,
    /// CPU time of a run of one arm, natively; 0 where it is not known.
    milliseconds: u64,
    /// What its arms set.
    tunables: Vec<Choice>,
}

#[derive(Serialize)]
struct Arm {
    name: String,
    settings: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Choice {
    name: String,
    effect: &'static str,
    /// What may be written, in words.
    takes: String,
    unit: String,
    /// The kernel's own choice, or the rule by which it chooses.
    default: &'static str,
    min: Option<u64>,
    max: Option<u64>,
    words: Vec<&'static str>,
    /// What the study's arms set it to.
    values: Vec<String>,
}

/// All that there is, as JSON.
pub(crate) fn all() -> String {
    let studies = BUILT_IN
        .iter()
        .filter_map(|(name, _)| Study::built_in(name));
    let studies = studies.map(|study| Named {
        name: study.name,
        title: study.title,
    });
    json(&Offer {
        version: env!("CARGO_PKG_VERSION"),
        studies: studies.collect(),
        kernels: calibration::kernels().collect(),
        disks: DiskKind::WORDS.iter().map(|(word, _)| *word).collect(),
        tunables: catalogue::all()
            .filter(|tunable| !tunable.is_action())
            .map(|tunable| choice(tunable, tunable.name, Vec::new()))
            .collect(),
    })
}

/// What of a study can be changed, as JSON.
pub(crate) fn study(study: &Study) -> String {
    let machine = study.arms.first().map(|arm| &arm.machine);
    let milliseconds = Cost::of(&study.name).map_or(0, |cost| cost.model.as_millis());
    json(&Changeable {
        name: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        arms: study.arms.iter().map(arm).collect(),
        repetitions: study.repetitions,
        memory_mib: machine.map_or(0, |machine| machine.memory.0 >> 20),
        cpus: machine.map_or(1, |machine| machine.cpus),
        milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX),
        tunables: tunables(study),
    })
}

fn arm(arm: &study::Arm) -> Arm {
    let settings = arm.settings.0.iter();
    let pairs = settings.map(|it| (it.tunable.clone(), it.value.clone()));
    Arm {
        name: arm.name.clone(),
        settings: pairs.collect(),
    }
}

/// What the arms set, in the order in which they first do.
fn tunables(study: &Study) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for setting in study.arms.iter().flat_map(|arm| &arm.settings.0) {
        let of_name = |choice: &&mut Choice| choice.name == setting.tunable;
        if let Some(choice) = choices.iter_mut().find(of_name) {
            choice.values.push(setting.value.clone());
        } else if let Some(named) = catalogue::named(&setting.tunable) {
            let values = vec![setting.value.clone()];
            choices.push(choice(named.tunable, &setting.tunable, values));
        }
    }
    choices
}

fn choice(tunable: &Tunable, name: &str, values: Vec<String>) -> Choice {
    let (min, max) = match tunable.values {
        Values::Integer { min, max } => (Some(min), Some(max)),
        _ => (None, None),
    };
    Choice {
        name: name.to_owned(),
        effect: tunable.effect,
        takes: tunable.values.to_string(),
        unit: tunable.unit.to_string(),
        default: match tunable.default {
            DefaultRule::Fixed(text) | DefaultRule::Rule(text) => text,
            DefaultRule::Partner => "0",
            DefaultRule::Action => "",
        },
        min,
        // What a number of JavaScript holds exactly.
        max: max.map(|max| max.min(1 << 53)),
        words: match tunable.values {
            Values::Words(words) => words.to_vec(),
            Values::Truth(words) => words.to_vec(),
            _ => Vec::new(),
        },
        values,
    }
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("strings, numbers and lists of them")
}
