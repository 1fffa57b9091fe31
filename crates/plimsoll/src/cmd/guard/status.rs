//! `plimsoll guard status`: whether a guard runs, and what it holds.

use std::io::Write as _;

use guard::Figures;
use mm::text::counted;
use mm::units::Bytes;

use super::json;
use super::shared::{StateArg, item, stands_down};
use crate::exit::ExitCode;
use crate::term;

/// Show whether a guard runs, what it locks and what it set; needs no root
///
/// The exit code is 1 where none runs.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    state: StateArg,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Shows.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let figures = args.state.figures()?;
    let mut out = term::out();
    match (&figures, args.json) {
        (figures, true) => writeln!(out, "{}", json::status(figures.as_ref()))?,
        (Some(figures), false) => write!(out, "{}", said(figures, term::columns()))?,
        (None, false) => write!(out, "{}", item(&args.state.nobody(), 0, term::columns()))?,
    }
    Ok(match figures {
        Some(_) => ExitCode::Done,
        None => ExitCode::No,
    })
}

fn said(figures: &Figures, width: usize) -> String {
    let started = crate::changing::told::date(figures.value("start_time_seconds"));
    let pid = figures
        .of("info")
        .next()
        .map_or("", |info| info.label("pid"));
    let mut said = format!("a guard runs (process {pid}) since {started}\n");
    let lines = policies(figures).into_iter().chain(held(figures));
    for line in lines {
        said += &item(&line, 2, width);
    }
    said
}

fn policies(figures: &Figures) -> Vec<String> {
    let mut lines = Vec::new();
    for policy in figures.of("policy_enabled") {
        let name = policy.label("policy");
        let state = match (policy.value, stands_down(figures, name)) {
            (0, _) => "off".to_owned(),
            (_, false) => "on".to_owned(),
            (_, true) => format!("on, but {}", left_alone(name)),
        };
        let count = |family| {
            let of = figures.of(family).filter(|it| it.label("policy") == name);
            of.map(|it| it.value).sum::<u64>()
        };
        let (done, failed) = (count("actions_total"), count("failures_total"));
        let failed = match failed {
            0 => String::new(),
            failed => format!(", {failed} failed: plimsoll guard events says why, to root"),
        };
        let done = match policy.value {
            0 => String::new(),
            _ => format!("; {}{failed}", counted(done, "action")),
        };
        lines.push(format!("{name}: {state}{done}"));
    }
    lines
}

/// What a policy that stands down leaves, and to whom.
fn left_alone(policy: &str) -> &'static str {
    match policy {
        "floor" => "it leaves vm.swappiness alone: somebody else wrote it",
        "watermarks" => "it leaves vm.watermark_scale_factor alone: somebody else wrote it",
        "writeback" => "it leaves a limit alone: somebody else wrote it",
        "ksm" => "it leaves ksmd alone: somebody else or the kernel's advisor sets it",
        _ => "it stands down",
    }
}

/// What it holds at present.
fn held(figures: &Figures) -> Vec<String> {
    let mut lines = Vec::new();
    let bytes = |name| Bytes(figures.value(name));
    if figures.of("lock_budget_bytes").next().is_some() {
        let files = counted(figures.value("locked_files"), "file");
        let (locked, budget) = (bytes("locked_bytes"), bytes("lock_budget_bytes"));
        lines.push(format!("locked: {locked} of {files}, at most {budget}"));
    }
    for ceiling in figures.of("ceiling_bytes") {
        let whose = match ceiling.label("group") {
            "" => "the machine",
            group => group,
        };
        lines.push(format!("ceiling of {whose}: {}", Bytes(ceiling.value)));
    }
    for setting in figures.of("setting_held") {
        let (tunable, before) = (setting.label("tunable"), setting.label("before"));
        lines.push(format!(
            "{tunable} is set; it was {before}, and will be again"
        ));
    }
    let released = figures.of("released").map(|it| it.label("place"));
    let released: Vec<&str> = released.collect();
    if !released.is_empty() {
        lines.push(format!(
            "let go of until it is told to keep: {}",
            released.join(", ")
        ));
    }
    let lost = figures.value("lost_events_total");
    if lost > 0 {
        lines.push(format!(
            "lost uses of files {lost} times: more came than the kernel's queue holds"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_answer_names_what_is_held() {
        let mut figures = Figures::default();
        figures.add("info", &[("pid", "12")], 1);
        figures.add("policy_enabled", &[("policy", "floor")], 1);
        figures.add("policy_enabled", &[("policy", "ceiling")], 0);
        figures.add("policy_standing_down", &[("policy", "floor")], 1);
        figures.add("lock_budget_bytes", &[], 8 << 20);
        figures.add("locked_bytes", &[], 1 << 20);
        figures.add("locked_files", &[], 1);
        figures.add(
            "setting_held",
            &[("tunable", "vm.swappiness"), ("before", "60")],
            1,
        );
        figures.add(
            "actions_total",
            &[("policy", "floor"), ("action", "lock")],
            3,
        );
        figures.add(
            "failures_total",
            &[("policy", "floor"), ("action", "fill")],
            2,
        );
        let text = said(&figures, 80);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "a guard runs (process 12) since 1970",
            "floor: on, but it leaves vm.swappiness alone: somebody else wrote it; 3 actions, 2 \
             failed",
            "ceiling: off locked: 1 MiB of 1 file, at most 8 MiB",
            "vm.swappiness is set; it was 60, and will be again",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
