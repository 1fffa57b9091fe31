//! Who survived: one row a process, one mark an instance.

use scenario::outcome::Status;
use scenario::workload::{Action, Process, Step};

use super::html::Escaped;
use super::pair::{Pair, first};
use study::record::Record;
use study::{Arm, Study};

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
    let instances = process.instances();
    let fates: Vec<Fate> = instances.flat_map(|name| fates(record, &name)).collect();
    let count = |fate| fates.iter().filter(|&&other| other == fate).count();
    let marks: String = fates.iter().map(|fate| fate.mark()).collect();
    let all = fates.len().max(process.count as usize);
    let mut words = format!("{} of {all} lived", count(Fate::Lived));
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

/// How each life of an instance ended: one that is started again and again has several. None where
/// no labelled step tells of it.
fn fates(record: &Record, instance: &str) -> Vec<Fate> {
    let steps = record.outcome.steps.iter();
    let of_instance = steps.filter(|step| step.process == instance);
    let ends = of_instance.map(|step| match step.status {
        Status::Done => Fate::Lived,
        Status::Killed(_) => Fate::Killed,
        Status::Failed(_) => Fate::Failed,
    });
    let ends: Vec<Fate> = ends.collect();
    let lived = ends.last().filter(|fate| **fate == Fate::Lived).copied();
    let ended = ends.into_iter().filter(|fate| *fate != Fate::Lived);
    ended.chain(lived).collect()
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
