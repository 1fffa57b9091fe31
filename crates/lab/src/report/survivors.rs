//! Who survived: one row a process, one mark an instance.

use mm::outcome::Status;
use mm::workload::{Action, Process, Step};

use super::html::Escaped;
use super::{Pair, first};
use crate::record::Record;
use crate::study::{Arm, Study};

/// How an instance of a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lived,
    Killed,
    Failed,
}

/// The table of processes that hold memory of their own; `None` where none does.
pub(super) fn survivors(study: &Study, pair: &Pair) -> Option<String> {
    let mut body = String::new();
    for arm in &study.arms {
        let processes = arm.workload.processes.iter();
        for process in processes.filter(|process| holds_memory(&process.steps)) {
            body += &row(arm, process, pair);
        }
    }
    let measured = if pair.is_proved() {
        "<th scope=\"col\">Measured</th>"
    } else {
        ""
    };
    (!body.is_empty()).then(|| {
        format!(
            "<table class=\"stack\">\n<thead><tr><th scope=\"col\">Process</th>\
             <th scope=\"col\">Arm</th><th scope=\"col\">Predicted</th>{measured}</tr></thead>\n\
             <tbody>\n{body}</tbody></table>\n"
        )
    })
}

fn row(arm: &Arm, process: &Process, pair: &Pair) -> String {
    let cell = |name: &str, records: &[Record]| {
        let marks = first(records, &arm.name).map(|record| marks(record, process));
        format!(
            "<td data-name=\"{name}\">{}</td>",
            marks.unwrap_or_default()
        )
    };
    let (name, arm, predicted) = (
        Escaped(&process.name),
        Escaped(&arm.name),
        cell("Predicted", &pair.model),
    );
    let measured = match pair.is_proved() {
        true => cell("Measured", &pair.proofs),
        false => String::new(),
    };
    format!(
        "<tr><th scope=\"row\">{name}</th><td data-name=\"Arm\">{arm}</td>\
         {predicted}{measured}</tr>\n"
    )
}

fn holds_memory(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Map(_) => true,
        Action::Repeat { steps, .. } => holds_memory(steps),
        _ => false,
    })
}

fn marks(record: &Record, process: &Process) -> String {
    let fates: Vec<Fate> = process
        .instances()
        .filter_map(|name| fate(record, &name))
        .collect();
    let count = |fate| fates.iter().filter(|&&other| other == fate).count();
    let marks: String = fates.iter().map(|fate| fate.mark()).collect();
    let mut words = format!("{} of {} lived", count(Fate::Lived), process.count);
    for (fate, word) in [(Fate::Killed, "killed"), (Fate::Failed, "failed")] {
        match count(fate) {
            0 => {}
            some => words += &format!(", {some} {word}"),
        }
    }
    if fates.is_empty() {
        return "<small>did not run</small>".to_owned();
    }
    format!("<span aria-hidden=\"true\">{marks}</span> {words}")
}

/// `None` for an instance that no labelled step tells of.
fn fate(record: &Record, instance: &str) -> Option<Fate> {
    let steps = record
        .outcome
        .steps
        .iter()
        .filter(|step| step.process == instance);
    let fates = steps.map(|step| match step.status {
        Status::Done => Fate::Lived,
        Status::Killed(_) => Fate::Killed,
        Status::Failed(_) => Fate::Failed,
    });
    fates.reduce(|worst, fate| if worst == Fate::Lived { fate } else { worst })
}

impl Fate {
    fn mark(self) -> &'static str {
        match self {
            Self::Lived => "<span class=\"mark good\">●</span> ",
            Self::Killed => "<span class=\"mark bad\">✕</span> ",
            Self::Failed => "<span class=\"mark bad\">!</span> ",
        }
    }
}
