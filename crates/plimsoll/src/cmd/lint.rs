//! `plimsoll lint`: what is wrong with settings, on this machine or wherever they stand.

mod explain;
mod human;
mod json;
mod targets;

use std::io::Write as _;
use std::path::PathBuf;

use crate::exit::ExitCode;
use crate::lint::{Choice, Report, Severity, table};
use crate::term::{self, Canvas};

use self::targets::Targets;

/// Find what is wrong with settings: units, pairs, dead keys, values that kill
///
/// Reads sysctl.d, tmpfiles.d, udev rules, profiles of TuneD and YAML with literal keys; of this
/// machine by default, with the values that its kernel has now. What is missing to tell is counted
/// as unknown. Answers by the exit code: 0 nothing at --fail-on or above, 1 findings, 2 not run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this in place of this machine: a root directory, a folder of configuration or YAML, a
    /// file, or evidence as for inspect; - is standard input
    #[arg(value_name = "DIR|FILE|EVIDENCE")]
    what: Vec<PathBuf>,
    /// Take the numbers of this machine for files: evidence as for inspect, or "this"
    #[arg(long, value_name = "EVIDENCE")]
    of: Option<PathBuf>,
    /// Look at the snapshot of this name in a capture [default: the last]
    #[arg(long, value_name = "NAME")]
    at: Option<String>,
    /// Ask these rules alone
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not ask these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// The severity from which on the exit code is 1 [default: warning]
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<Severity>,
    /// How to write what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Write JSON, one document in a line: as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Show the page of a rule; without a name all rules
    #[arg(long, value_name = "RULE", num_args = 0..=1, exclusive = true)]
    explain: Option<Option<String>>,
}

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text for a terminal.
    Human,
    /// One JSON document.
    Json,
}

/// Lints.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.explain {
        return explain::run(name.as_deref());
    }
    let choice = Choice {
        select: rules(&args.select)?,
        ignore: rules(&args.ignore)?,
    };
    let targets = Targets::read(&args.what, args.of.as_deref(), args.at.as_deref())?;
    let report = Report::of(&targets.scopes(), &choice);
    let text = match (args.json, args.format) {
        (true, _) | (_, Format::Json) => json::text(&report, &targets)?,
        (_, Format::Human) => human::text(&report, &targets, Canvas::detect()),
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    let fail_on = args.fail_on.unwrap_or(Severity::Warning);
    Ok(match report.is_better_than(fail_on) {
        true => ExitCode::Done,
        false => ExitCode::No,
    })
}

/// The rules of these names.
fn rules(names: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let rule = |name: &String| {
        let found = table::find(name).map(|rule| rule.name);
        found.ok_or_else(|| explain::no_rule(name))
    };
    names.iter().map(rule).collect()
}
