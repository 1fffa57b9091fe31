//! `plimsoll lint`: what is wrong with settings, on this machine or wherever they stand.

mod brief;
mod fixing;
mod github;
mod human;
mod own_host;
mod sarif;
mod settings;
mod targets;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use look::lint::{Choice, Report, Severity, json, page};
use mm::capture::Frame;
use mm::text::one_line;

use crate::exit::{ExitCode, heard};
use crate::pages;
use crate::term;

use self::targets::Targets;

/// Find what is wrong with settings: units, pairs, dead keys, values that kill
///
/// Reads sysctl.d, tmpfiles.d, udev rules, TuneD profiles and YAML with literal keys; by default
/// those of this machine, with the present values of its kernel. Questions that lack a fact are
/// counted as unknown. Answers by the exit code: 0 nothing at --fail-on or above, 1 findings, 2
/// not run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check this instead of this machine: a root directory, a folder of configuration or YAML,
    /// a file, or evidence as for inspect; - is standard input
    #[arg(value_name = "DIR|FILE|EVIDENCE")]
    what: Vec<PathBuf>,
    /// The machine whose numbers are used for files: evidence as for inspect, or "this"
    #[arg(long, value_name = "EVIDENCE")]
    of: Option<PathBuf>,
    /// Check the snapshot of this name in a capture [default: the last]
    #[arg(long, value_name = "NAME")]
    at: Option<String>,
    /// Check only these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not check these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// The lowest severity for which the exit code is 1 [default: warning]
    #[arg(long, value_name = "SEVERITY", value_parser = severities())]
    fail_on: Option<Severity>,
    /// How to write what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Write JSON, one document in a line: as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write one line of at most 80 bytes with the worst finding, for what watches a machine
    #[arg(long, conflicts_with_all = ["format", "json", "fix", "diff"])]
    brief: bool,
    /// Make the changes that are certain to be right, keep each old file as NAME.plimsoll-old, show
    /// the changes, and lint again
    #[arg(long)]
    fix: bool,
    /// Restore the files that --fix kept
    #[arg(long, requires = "fix")]
    undo: bool,
    /// Show what --fix would change, and change nothing
    #[arg(long, conflicts_with = "fix")]
    diff: bool,
    /// Show the page of a rule; without a name all rules
    #[arg(long, value_name = "RULE", num_args = 0..=1, exclusive = true)]
    explain: Option<Option<String>>,
}

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text for a terminal.
    Human,
    /// One JSON document in a line.
    Json,
    /// SARIF 2.1.0, with the list of all rules.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
}

/// Times that files are changed and looked at again.
const PASSES: usize = 8;

/// Lints.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.explain {
        return pages::show(&page::pages(), name.as_deref());
    }
    let settings = settings::read(args.what.is_empty())?;
    let choice = choice(&args, settings.choice)?;
    if args.undo {
        return undo(&args);
    }
    let (targets, report) = match args.fix {
        true => fixed(&args, &choice)?,
        false => looked(&args, &choice)?,
    };
    let mut text = written(&args, &report, &targets)?;
    if args.diff {
        text = fixing::diff(&report, &targets)? + &text;
    }
    let told = print(&text);
    match args.fix {
        true => heard(told, "what is certain is fixed")?,
        false => told?,
    }
    let fail_on = args.fail_on.or(settings.fail_on);
    Ok(
        match report.is_better_than(fail_on.unwrap_or(Severity::Warning)) {
            true => ExitCode::Done,
            false => ExitCode::No,
        },
    )
}

/// What all rules find on this machine.
///
/// # Errors
/// Its root cannot be opened.
pub(super) fn of_this() -> anyhow::Result<Report> {
    let targets = Targets::read(&[], None, None)?;
    Ok(Report::of(&targets.scopes(), &Choice::default()))
}

/// What all rules find in what a capture says of its machine.
pub(super) fn of_frame(frame: &Frame, name: &Path) -> Report {
    let targets = Targets::of_frame(frame, name);
    Report::of(&targets.scopes(), &Choice::default())
}

/// What is looked at, and what is found in it.
fn looked(args: &Args, choice: &Choice) -> anyhow::Result<(Targets, Report)> {
    let targets = Targets::read(&args.what, args.of.as_deref(), args.at.as_deref())?;
    let report = Report::of(&targets.scopes(), choice);
    Ok((targets, report))
}

/// Changes the files until there is nothing left that is certain; what is found then.
fn fixed(args: &Args, choice: &Choice) -> anyhow::Result<(Targets, Report)> {
    let mut kept = Vec::new();
    for _ in 0..PASSES {
        let (targets, report) = looked(args, choice)?;
        let diff = fixing::fix(&report, &targets, &mut kept)?;
        if diff.is_empty() {
            return Ok((targets, report));
        }
        write!(term::err(), "{diff}").ok();
    }
    looked(args, choice)
}

fn undo(args: &Args) -> anyhow::Result<ExitCode> {
    let targets = Targets::read(&args.what, None, None)?;
    let back = fixing::undo(&targets)?;
    let line = |path: &PathBuf| format!("{}: restored\n", one_line(&path.display().to_string()));
    let told: String = back.iter().map(line).collect();
    match back.is_empty() {
        true => print("Nothing was kept by --fix here.\n")?,
        false => heard(print(&told), "what --fix kept is restored")?,
    }
    Ok(ExitCode::Done)
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn written(args: &Args, report: &Report, targets: &Targets) -> anyhow::Result<String> {
    let format = match args.json {
        true => Format::Json,
        false if args.brief => return Ok(brief::text(report)),
        false => args.format,
    };
    Ok(match format {
        Format::Human => human::text(report, targets, term::canvas()),
        Format::Json => {
            let machine = targets.machine.as_deref();
            json::text(report, machine, &targets.problems) + "\n"
        }
        Format::Sarif => sarif::text(report, targets),
        Format::Github => github::text(report, targets),
    })
}

/// The rules of the command line, or of the file where it names none.
fn choice(args: &Args, of_file: Choice) -> anyhow::Result<Choice> {
    let or = |names: &[String], of_file: Vec<&'static str>| match names {
        [] => Ok(of_file),
        names => rules(names),
    };
    Ok(Choice {
        select: or(&args.select, of_file.select)?,
        ignore: or(&args.ignore, of_file.ignore)?,
    })
}

/// A severity as an option's value, whose words are completed.
fn severities() -> impl TypedValueParser<Value = Severity> {
    let words = PossibleValuesParser::new(Severity::ALL.map(Severity::word));
    words.try_map(|word| Severity::of_word(&word).ok_or("a severity"))
}

/// The rules of these names.
fn rules(names: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let rule = |name: &String| Choice::rule(name).map_err(anyhow::Error::msg);
    names.iter().map(rule).collect()
}
