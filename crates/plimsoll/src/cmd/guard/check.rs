//! `plimsoll guard check`: what a configuration would do on a machine.

use std::io::Write as _;
use std::path::PathBuf;

use guard::Config;
use host::Root;
use mm::text::counted;
use mm::units::Bytes;

use super::checked::{Checked, Limit, Locks};
use super::json;
use super::ksm::Merging;
use super::machine::Machine;
use super::others::{self, Other};
use super::shared::{ConfigArg, item};
use super::watermarks::Watermarks;
use super::writeback::Writeback;
use crate::cmd::inspect::evidence;
use crate::exit::ExitCode;
use crate::term::{self, bad, bold};

/// Check a configuration, and say in bytes what each policy would do here; needs no root
///
/// The exit code is 1 where a policy can do nothing here.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Check it for the machine that this evidence comes from, instead of for this one
    #[arg(value_name = "EVIDENCE")]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArg,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Checks.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let pairs = args.config.read()?;
    let config = Config::of(&pairs)?;
    let capture = args.evidence.as_deref().map(evidence::one).transpose()?;
    let frame = capture.as_ref().and_then(|capture| capture.frames.last());
    let root = Root::default();
    let (machine, others) = match frame {
        Some(frame) => (Machine::Evidence(frame), Vec::new()),
        None => (Machine::This(root.clone()), others::find(&root)),
    };
    let checked = Checked::of(&config, &machine)?;
    let mut out = term::out();
    match args.json {
        true => writeln!(out, "{}", json::check(&checked, &costs(&checked), &others))?,
        false => {
            let path = args.config.config.display().to_string();
            write!(out, "{}", said(&path, &checked, &others, term::columns()))?;
        }
    }
    Ok(match checked.problems.is_empty() {
        true => ExitCode::Done,
        false => ExitCode::No,
    })
}

fn said(path: &str, checked: &Checked, others: &[Other], width: usize) -> String {
    let total = Bytes(checked.total_bytes);
    let valid = format!("{path} is valid. The machine has {total} of memory.");
    let mut said = item(&valid, 0, width);
    if let Some(floor) = &checked.floor {
        said += &format!("\n{}\n", bold("floor"));
        said += &lines(floor_lines(floor), width);
    }
    if let Some(limits) = &checked.ceiling {
        said += &format!("\n{}\n", bold("ceiling"));
        said += &lines(limits.iter().map(limit), width);
    }
    let more = [
        (
            "watermarks",
            checked.watermarks.as_ref().map(Watermarks::lines),
        ),
        (
            "writeback",
            checked.writeback.as_ref().map(Writeback::lines),
        ),
        ("ksm", checked.ksm.as_ref().map(Merging::lines)),
    ];
    for (policy, told) in more {
        if let Some(told) = told {
            said += &format!("\n{}\n", bold(policy));
            said += &lines(told, width);
        }
    }
    let costs = costs(checked);
    if !costs.is_empty() {
        said += &format!("\n{}\n", bold("what it costs others"));
        said += &lines(costs, width);
    }
    if !others.is_empty() {
        said += &format!("\n{}\n", bold("others that run here"));
        let others = others.iter();
        let told = others.map(|it| format!("{} ({}) {}", it.program, it.pid, it.meets));
        said += &lines(told, width);
    }
    for (number, problem) in checked.problems.iter().enumerate() {
        said += if number == 0 { "\n" } else { "" };
        said += &format!("{} {}", bad("!"), item(problem, 2, width).trim_start());
    }
    said
}

fn lines(lines: impl IntoIterator<Item = String>, width: usize) -> String {
    let lines = lines.into_iter();
    lines.map(|line| item(&line, 2, width)).collect()
}

fn floor_lines(floor: &Locks) -> Vec<String> {
    let mut lines = Vec::new();
    let budget = Bytes(floor.lock_budget_bytes);
    lines.push(match (floor.lock_budget_bytes, floor.is_capped) {
        (0, _) => "locks no files: clean_min is not set".to_owned(),
        (_, false) => format!("locks at most {budget} of files that are used again and again"),
        (_, true) => format!(
            "locks at most {budget} of files that are used again and again: 25 % of the memory, \
             less than is configured"
        ),
    });
    let (floor_size, anon) = (Bytes(floor.anon_floor_bytes), Bytes(floor.anon_bytes));
    if floor_size > Bytes::ZERO {
        let now = match anon < floor_size {
            true => "which would be now",
            false => "not now",
        };
        lines.push(format!(
            "sets vm.swappiness to 0 below {floor_size} of anonymous memory; there are {anon}, \
             {now}"
        ));
    }
    for keep in &floor.keep {
        let size = keep.bytes.map(|bytes| {
            let files = keep.files.unwrap_or(0);
            format!("{} in {}", Bytes(bytes), counted(files, "file"))
        });
        let note = keep.note.map(str::to_owned);
        let told: Vec<String> = match keep.note {
            Some(note) if keep.files == Some(0) => vec![note.to_owned()],
            _ => size.into_iter().chain(note).collect(),
        };
        let told = match told.is_empty() {
            true => "evidence has no files".to_owned(),
            false => told.join("; "),
        };
        lines.push(format!("keeps {}: {told}", keep.path));
    }
    if !floor.except.is_empty() {
        lines.push(format!("locks nothing of {}", floor.except.join(", ")));
    }
    lines
}

fn limit(limit: &Limit) -> String {
    let ceiling = Bytes(limit.ceiling_bytes);
    let whose = match &limit.group {
        None => "the page cache of the machine".to_owned(),
        Some(group) => format!("the page cache of {group}"),
    };
    let now = limit.cache_bytes.map(|cache| match cache > ceiling.0 {
        true => format!(
            ", now {}: {} of it would go",
            Bytes(cache),
            Bytes(cache).saturating_sub(ceiling)
        ),
        false => format!(", now {}", Bytes(cache)),
    });
    let now = now.unwrap_or_default();
    format!("{whose}: at most {ceiling}{now}; {}", limit.way)
}

/// What it costs others, as measured (docs/guard.md).
fn costs(checked: &Checked) -> Vec<String> {
    let mut costs = Vec::new();
    if let Some(floor) = &checked.floor
        && floor.lock_budget_bytes > 0
    {
        let share = floor.lock_budget_bytes as f64 * 100.0 / checked.total_bytes.max(1) as f64;
        costs.push(format!(
            "up to {} ({share:.1} %) are missing for everybody else: the pressure moves to other \
             files and to idle anonymous memory",
            Bytes(floor.lock_budget_bytes)
        ));
        costs.push(
            "a file system with a locked file cannot be unmounted before plimsoll guard release \
             PATH"
                .to_owned(),
        );
        costs.push(
            "each open and close of a file on a local disk costs its caller an event, 2.5 us on \
             Linux 6.18"
                .to_owned(),
        );
    }
    if checked.ceiling.is_some() {
        costs.push(
            "what is dropped at a ceiling has to be read again where it is used again".to_owned(),
        );
    }
    if let Some(most) = checked.watermarks.as_ref().and_then(|it| it.most_gap_bytes) {
        let most = Bytes(most);
        costs.push(format!(
            "up to {most} between the watermarks stay free, or are reclaimed and read again"
        ));
    }
    if checked.writeback.is_some() {
        costs.push("writers of a slow device wait for it, and not in the page cache".to_owned());
    }
    if let Some(ksm) = &checked.ksm {
        let cpu = ksm.most_cpu_percent();
        costs.push(format!(
            "ksmd takes up to {cpu} % of a CPU while it scans, and a write to a merged page copies \
             it again"
        ));
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_fits_its_columns_and_names_what_counts() {
        let checked = Checked {
            total_bytes: 16 << 30,
            floor: Some(Locks {
                lock_budget_bytes: 4 << 30,
                is_capped: true,
                anon_floor_bytes: 1 << 30,
                anon_bytes: 2 << 30,
                keep: vec![super::super::checked::Keep {
                    path: "/missing".to_owned(),
                    files: Some(0),
                    bytes: Some(0),
                    note: Some("does not exist now; it counts within a minute when it comes"),
                }],
                except: vec!["/srv".to_owned(), "unit:backup.service".to_owned()],
            }),
            ceiling: Some(vec![Limit {
                group: None,
                ceiling_bytes: 1 << 30,
                cache_bytes: Some(3 << 30),
                way: "the reclaim files of the nodes, file pages only",
            }]),
            watermarks: Some(Watermarks {
                scale_factor: Some(10),
                most_scale_factor: 1000,
                gap_bytes: Some(32 << 20),
                most_gap_bytes: Some(3 << 30),
            }),
            writeback: None,
            ksm: Some(Merging {
                run: Some(0),
                is_advised: false,
                most_cpu_thousandths: 125,
                least_gain_bytes: 64 << 20,
                saved_bytes: 0,
                candidates: Some(0),
            }),
            problems: vec!["it is one".to_owned()],
        };
        let others = [Other {
            program: "tuned",
            pid: 7,
            meets: "sets vm.swappiness by its profile",
        }];
        let text = said("/etc/plimsoll/guard.toml", &checked, &others, 80);
        let plain = look::style::plain(&text);
        assert!(
            plain.lines().all(|line| line.chars().count() <= 80),
            "{plain}"
        );
        let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "locks at most 4 GiB",
            "not now",
            "keeps /missing: does not exist now",
            "locks nothing of /srv, unit:backup.service",
            "at most 1 GiB, now 3 GiB: 2 GiB of it would go",
            "(25.0 %)",
            "tuned (7) sets",
            "32 MiB lie between the min and high watermarks now, 3 GiB at most",
            "up to 3 GiB between the watermarks stay free",
            "at most 12.5 % of a CPU",
            "! it is one",
        ] {
            assert!(plain.contains(expected), "{expected}: {plain}");
        }
    }
}
