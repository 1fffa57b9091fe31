//! How to repeat a report: the commands, the machine, and where every run came from.

use super::html::Escaped;
use super::pair::{Pair, Report, series};
use mm::stock::Stock;
use study::Study;
use study::record::{Provenance, Record};

/// Most records whose provenance is shown unfolded.
const UNFOLDED: usize = 4;

/// The section.
pub(super) fn repeat(report: &Report<'_>) -> String {
    let study = report.study;
    let mut commands: Vec<String> = report
        .pairs
        .iter()
        .flat_map(|p| commands(report, p))
        .collect();
    if !study.is_for_the_model() {
        commands.push(format!("plimsoll report {}", study.file));
    }
    let mut text = format!(
        "<h2>How to repeat it</h2>\n<pre>{}</pre>\n{}",
        Escaped(commands.join("\n")),
        machine(study)
    );
    for pair in &report.pairs {
        let runs = pair.model.len() + pair.proofs.len();
        let open = match runs <= UNFOLDED {
            true => " open",
            false => "",
        };
        let model = pair
            .model
            .iter()
            .map(|record| predicted(&record.provenance));
        let proofs = pair
            .proofs
            .iter()
            .map(|record| measured(&record.provenance));
        let texts: String = model.chain(proofs).collect();
        text += &format!(
            "<details{open}><summary>{}: where each of the {runs} runs came from</summary>\n{texts}\
             </details>\n",
            Escaped(&pair.kernel)
        );
    }
    text
}

/// The commands that make the runs of one kernel again.
fn commands(report: &Report<'_>, pair: &Pair) -> Vec<String> {
    let (study, asked) = (report.study, &report.arguments);
    let series = series(&pair.release);
    let mut commands = Vec::new();
    if !pair.model.is_empty() {
        let runs = runs(study, &pair.model);
        commands.push(format!(
            "plimsoll predict {} --kernel {series}{runs}{asked}",
            study.file
        ));
    }
    if pair.is_proved() {
        let kernel = match Stock::named(series).is_some() {
            true => series,
            false => "host",
        };
        let clock = match pair.bench.contains("wall-clock") {
            true => " --clock wall",
            false => "",
        };
        let runs = runs(study, &pair.proofs);
        commands.push(format!(
            "plimsoll prove {} --kernel {kernel}{clock}{runs}{asked}",
            study.file
        ));
    }
    commands
}

/// The arguments that choose seeds and repetitions.
fn runs(study: &Study, records: &[Record]) -> String {
    let first = records
        .iter()
        .map(|record| record.provenance.seed)
        .min()
        .unwrap_or(1);
    let of_arm = |name: &str| records.iter().filter(|r| r.provenance.arm == name).count();
    let most = study
        .arms
        .iter()
        .map(|arm| of_arm(&arm.name))
        .max()
        .unwrap_or(0);
    format!(" --seed {first} --repetitions {most}")
}

/// The machine of the first arm, in a sentence; the study's file has the others.
fn machine(study: &Study) -> String {
    let Some(arm) = study.arms.first() else {
        return String::new();
    };
    let machine = &arm.machine;
    let mut parts = vec![
        format!("{} of memory", machine.memory),
        format!("{} CPU", machine.cpus),
    ];
    for disk in &machine.disks {
        parts.push(format!(
            "a disk of {} that reads {} a second",
            disk.size, disk.read_bandwidth
        ));
    }
    for file in &machine.files {
        parts.push(format!("a file of {}", file.size));
    }
    format!("<p>The machine: {}.</p>\n", Escaped(parts.join(", ")))
}

/// A prediction's provenance. It has no date: the same program predicts the same at any time.
fn predicted(from: &Provenance) -> String {
    provenance("Predicted", from, Vec::new())
}

fn measured(from: &Provenance) -> String {
    provenance("Measured", from, vec![("ended", from.date.clone())])
}

fn provenance(what: &str, from: &Provenance, more: Vec<(&str, String)>) -> String {
    let settings = |pairs: &[(String, String)]| {
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        pairs.join(", ")
    };
    let mut pairs = vec![
        ("bench", from.bench.clone()),
        ("kernel", from.kernel.clone()),
        (
            "command line",
            from.command_line.clone().unwrap_or_default(),
        ),
        ("settings", settings(&from.settings)),
        ("on every arm", settings(&from.base)),
    ];
    pairs.extend(
        from.details
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    );
    pairs.extend([
        ("plimsoll", from.version.clone()),
        ("program, SHA-256", from.program.clone()),
        ("study, SHA-256", from.study_sha256.clone()),
    ]);
    pairs.extend(more);
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let pairs: String = pairs
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", Escaped(name), Escaped(value)))
        .collect();
    let (arm, seed) = (Escaped(&from.arm), from.seed);
    format!("<h3>{what}: arm {arm}, seed {seed}</h3>\n<dl>\n{pairs}</dl>\n")
}
