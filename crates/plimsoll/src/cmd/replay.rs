//! `plimsoll replay`: how often a trace misses at one or many memory sizes.

mod amount;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use lab::trace::{self, Column, Format, Layout, MissRatio, Trace};
use mm::quantity;
use mm::units::{Bytes, PageSize, Pages};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use sim::replay::Lru;

use crate::exit::ExitCode;
use crate::term;
use amount::Amount;

/// Replay a trace of accesses through the kernel's LRU and print its miss ratio
///
/// The trace is a file of libCacheSim's oracleGeneral records, of VMware's vscsiStats (version 1 or
/// 2), or CSV whose header names the object's column: object, obj_id, id, key, page, lbn, lba,
/// offset or block; `--object` chooses any other, by name or by number. One object is one page. The
/// policy is the kernel's: the classic LRU (an active and an inactive list, and the refault
/// distance that decides whether a page that comes back is activated), or the multi-generation LRU
/// of Linux 6.12 (generations, tiers, and the refaults of each).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The trace file, or - for standard input
    trace: PathBuf,
    /// Memory for the trace's pages, one size or several with commas: pages (`100000`), a size
    /// (`400 MiB`) or a share of the trace's distinct pages (`10%`)
    #[arg(long, value_name = "SIZE", required = true, value_delimiter = ',')]
    #[arg(allow_negative_numbers = true)]
    memory: Vec<Amount>,
    /// The lists that pages are on
    #[arg(long, value_name = "LRU", default_value = "classic")]
    lru: LruName,
    /// Bytes of a page, by which sizes are divided
    #[arg(long, value_name = "SIZE", default_value = "4 KiB", value_parser = page_size)]
    page_size: PageSize,
    /// How the trace is written; without it content and name decide: .csv, .tsv and .txt are CSV
    #[arg(long)]
    format: Option<FormatName>,
    /// The object's column of a CSV trace: its name in the header, or its number from 1
    #[arg(long, value_name = "COLUMN")]
    object: Option<Column>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The formats by the names that are typed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormatName {
    /// libCacheSim's binary records of 24 bytes.
    #[value(name = "oracleGeneral")]
    OracleGeneral,
    /// Values between commas, semicolons, tabs, bars or spaces.
    #[value(name = "csv")]
    Csv,
    /// VMware's vscsiStats, version 1 or 2.
    #[value(name = "vscsi")]
    Vscsi,
}

/// The kinds of lists by the names that are typed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LruName {
    /// An active and an inactive list.
    Classic,
    /// The multi-generation LRU.
    Mglru,
}

/// What is printed as JSON.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Report {
    trace: String,
    /// The name of the object's column, where a CSV trace has a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    lru: &'static str,
    accesses: u64,
    skipped: u64,
    pages: u32,
    page_bytes: u64,
    results: Vec<Line>,
}

impl Shape for Report {
    const NAME: &'static str = "replay";
    const VERSION: u32 = 2;
}

/// One memory size.
#[derive(Debug, JsonSchema, Serialize)]
struct Line {
    memory_pages: u64,
    memory_bytes: u64,
    misses: u64,
    refaults: u64,
    refault_activations: u64,
    activations: u64,
    deactivations: u64,
    refills: u64,
    miss_ratio: f64,
}

/// Runs the verb.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let layout = Layout {
        format: args.format.map(Format::from),
        object: args.object.clone(),
    };
    let mut trace = Trace::open(path_of(&args.trace), layout)?;
    let memories = memories(&args, &trace)?;
    let results = trace::miss_ratios(&mut trace, args.lru.into(), args.page_size, &memories)?;
    let report = Report::new(&args, &trace, &results);
    if args.json {
        let json = shapes::text(&report);
        writeln!(term::out(), "{json}")?;
    } else {
        report.print()?;
    }
    Ok(ExitCode::Done)
}

/// Standard input has a path too.
fn path_of(name: &Path) -> &Path {
    match name == Path::new("-") {
        true => Path::new("/dev/stdin"),
        false => name,
    }
}

fn memories(args: &Args, trace: &Trace) -> anyhow::Result<Vec<Pages>> {
    let pages = |amount: &Amount| {
        let pages = amount.pages(args.page_size, trace.pages());
        if pages == Pages(0) {
            bail!("--memory {amount}: less than one page");
        }
        Ok(pages)
    };
    args.memory.iter().map(pages).collect()
}

fn page_size(text: &str) -> Result<PageSize, String> {
    let Bytes(bytes) = match text.parse() {
        Ok(bytes) => Bytes(bytes),
        Err(_) => quantity::size(text).map_err(|error| error.to_string())?,
    };
    PageSize::new(bytes).ok_or_else(|| "a page has 4, 8, 16, 32 or 64 KiB".to_owned())
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::OracleGeneral => Self::OracleGeneral,
            FormatName::Csv => Self::Csv,
            FormatName::Vscsi => Self::Vscsi,
        }
    }
}

impl From<LruName> for Lru {
    fn from(name: LruName) -> Self {
        match name {
            LruName::Classic => Self::Classic,
            LruName::Mglru => Self::MultiGeneration,
        }
    }
}

impl LruName {
    fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Mglru => "mglru",
        }
    }
}

impl Report {
    fn new(args: &Args, trace: &Trace, results: &[MissRatio]) -> Self {
        let line = |result: &MissRatio| Line {
            memory_pages: result.memory.0,
            memory_bytes: result.memory.bytes(args.page_size).0,
            misses: result.counters.misses,
            refaults: result.counters.refaults,
            refault_activations: result.counters.refault_activations,
            activations: result.counters.activations,
            deactivations: result.counters.deactivations,
            refills: result.counters.refills,
            miss_ratio: result.ratio(),
        };
        Self {
            trace: args.trace.display().to_string(),
            object: trace.column().map(str::to_owned),
            lru: args.lru.name(),
            accesses: trace.accesses(),
            skipped: trace.skipped(),
            pages: trace.pages(),
            page_bytes: args.page_size.bytes(),
            results: results.iter().map(line).collect(),
        }
    }

    fn print(&self) -> std::io::Result<()> {
        let mut out = term::out();
        let Self {
            trace,
            accesses,
            pages,
            ..
        } = self;
        let column = self.object.as_ref();
        let column = column.map_or(String::new(), |name| format!(" (column `{name}`)"));
        writeln!(out, "{trace}: {accesses} accesses to {pages} pages{column}")?;
        if self.skipped > 0 {
            writeln!(out, "{} records of size 0 were passed over", self.skipped)?;
        }
        let heading = format!(
            "{:>12}  {:>9}  {:>8}  {:>12}  {:>12}  {:>10}",
            "pages", "memory", "of trace", "misses", "refaults", "miss ratio"
        );
        writeln!(out, "\n{}", term::bold(heading))?;
        for line in &self.results {
            line.print(&mut out, f64::from(self.pages))?;
        }
        Ok(())
    }
}

impl Line {
    fn print(&self, out: &mut impl std::io::Write, pages: f64) -> std::io::Result<()> {
        writeln!(
            out,
            "{:>12}  {:>9}  {:>6.1} %  {:>12}  {:>12}  {:>10.4}",
            self.memory_pages,
            Bytes(self.memory_bytes).to_string(),
            self.memory_pages as f64 * 100.0 / pages,
            self.misses,
            self.refaults,
            self.miss_ratio
        )
    }
}
