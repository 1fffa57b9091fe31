//! `plimsoll explain`: what a tunable is, what its value comes to here, and what changing it does.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use conf::Tree;
use host::Root;
use mm::capture::{Capture, Frame};
use mm::catalogue::{self, KeyError, Tunable, folder};
use mm::settings::Setting;
use mm::snapshot::Snapshot;

use super::inspect::evidence::{self, Facts, Read};
use crate::changing::asked::{self, Where};
use crate::exit::ExitCode;
use crate::term::{self, Canvas, Charset};
use look::explain::overview::Overview;
use look::explain::proposed::Proposed;
use look::explain::{Explanation, Looked, boot};
use look::page::Page;
use look::view::View;

/// Folders of which each file should be a tunable or a counter that is known.
const FOLDERS: [&str; 6] = [
    folder::VM,
    folder::KSM,
    folder::LRU_GEN,
    folder::THP,
    folder::KHUGEPAGED,
    folder::ZSWAP,
];

/// Explain a tunable: its value in bytes here, the kernel's own choice, what goes with it
///
/// KEY=VALUE, a file of them, or a profile of TuneD (tuned.conf) is judged instead: what it would
/// change in bytes, what lint says of it on this machine, what was measured. A word, such as dirty,
/// lists the tunables that have it. KEY may be written in any spelling: vm.swappiness,
/// vm/swappiness, /proc/sys/vm/swappiness, swappiness, ksm.run, /sys/kernel/mm/lru_gen/min_ttl_ms,
/// bdi.sda.max_ratio, system.slice/memory.high, MemoryHigh. Without KEY it lists the tunables that
/// differ from what this kernel chooses on this machine, the largest effect first. Needs no root
/// and changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tunable, a value proposed for it, a file of such values, or a word to search for
    /// [default: all that differ from the kernel's own choice]
    #[arg(value_name = "KEY[=VALUE]|FILE")]
    key: Option<String>,
    /// Explain it for the machine that this evidence comes from: whatever `inspect` reads; - is
    /// standard input
    #[arg(long = "of", value_name = "EVIDENCE")]
    evidence: Vec<PathBuf>,
    #[command(flatten)]
    facts: Facts,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
    /// Draw with these characters [default: what the locale says]
    #[arg(long, value_name = "SET", value_parser = term::charsets())]
    charset: Option<Charset>,
}

/// Explains.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let key = args.key.as_deref();
    let is_file = |key: &str| catalogue::resolve(key).is_err() && Path::new(key).is_file();
    if let Some(word) = key.filter(|key| key.contains('=') || is_file(key)) {
        return judged(&args, word);
    }
    if let Some(found) = key.and_then(with_word).filter(|_| !args.json) {
        return write(&listed(&found, canvas(&args)));
    }
    // A key that means nothing is said before anything is read.
    let named = key.map(catalogue::resolve).transpose().map_err(way_out)?;
    let frame = frame(&args)?;
    let snapshot = Snapshot::parse(&frame);
    let canvas = canvas(&args);
    let text = match named {
        Some(named) => {
            let explanation = Explanation::of(Looked {
                frame: &frame,
                snapshot: &snapshot,
                named,
                evidence: &in_a_command(&args.evidence),
                configuration: configuration(&args, &frame).as_ref(),
            });
            match args.json {
                true => shapes::text(&explanation) + "\n",
                false => explanation.text(canvas),
            }
        }
        None => {
            let overview = Overview::of(&frame, &snapshot, strange(&args, &frame));
            match args.json {
                true => shapes::text(&overview) + "\n",
                false => overview.text(canvas),
            }
        }
    };
    write(&text)
}

fn write(text: &str) -> anyhow::Result<ExitCode> {
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

/// Judges proposed values.
fn judged(args: &Args, word: &str) -> anyhow::Result<ExitCode> {
    let frame = frame(args)?;
    let snapshot = Snapshot::parse(&frame);
    let words = [word.to_owned()];
    // Of another machine its evidence tells the names, and not this host.
    let asked = match args.evidence.is_empty() {
        true => asked::read(&words, snapshot.page)?,
        false => asked::read_for(
            &words,
            snapshot.page,
            Where {
                one_name: &|setting| one_name(&snapshot, setting),
                configuration: &|| boot::tree_of(&frame).unwrap_or_default(),
            },
        )?,
    };
    asked.notes.iter().for_each(term::talk);
    let proposed = Proposed::of(&frame, &snapshot, asked.settings);
    let text = match args.json {
        true => shapes::text(&proposed) + "\n",
        false => proposed.text(canvas(args), &in_a_command(&args.evidence)),
    };
    write(&text)
}

/// A setting under the one name of its value on the machine of a snapshot.
fn one_name(snapshot: &Snapshot, setting: Setting) -> Setting {
    let device = |number: &str| {
        let mut disks = snapshot.diskstats.as_ref()?.disks.iter();
        Some(disks.find(|disk| disk.number == number)?.name.clone())
    };
    let meminfo = snapshot.meminfo.as_ref();
    setting.by_one_name(device, meminfo.and_then(|meminfo| meminfo.hugepagesize))
}

/// The tunables with this word, where it is no name of one and several have it.
fn with_word(word: &str) -> Option<Vec<&'static Tunable>> {
    let is_word = word.len() >= 3 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let unknown = matches!(catalogue::resolve(word), Err(KeyError::Unknown { .. }));
    let word = word.to_ascii_lowercase();
    let has = |tunable: &&Tunable| {
        tunable.name.contains(&word) || tunable.effect.to_ascii_lowercase().contains(&word)
    };
    let of_one = catalogue::of_devices().chain(catalogue::of_page_sizes());
    let all = catalogue::all().chain(of_one).chain(catalogue::of_groups());
    let mut found: Vec<&Tunable> = all.filter(has).collect();
    let begins = |part: &str| part.starts_with(&word);
    found.sort_by_key(|tunable| match tunable.name {
        name if name.split('.').any(begins) => 0,
        name if name.contains(&word) => 1,
        _ => 2,
    });
    (is_word && unknown && found.len() > 1).then_some(found)
}

fn listed(found: &[&Tunable], canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    for tunable in found {
        page.line(tunable.name);
        page.paragraph(4, tunable.effect);
    }
    page.into_text()
}

/// The evidence as a further command names it; a word in its place where that cannot be typed.
fn in_a_command(sources: &[PathBuf]) -> String {
    let names: Vec<String> = sources
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let plain = |name: &String| {
        let fine = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
        name != "-" && name.chars().all(fine)
    };
    match names.iter().all(plain) {
        true => names.join(" "),
        false => "EVIDENCE".to_owned(),
    }
}

/// An error of a key with what to do.
fn way_out(error: KeyError) -> anyhow::Error {
    match &error {
        KeyError::Unknown {
            suggestion: None, ..
        } => {
            anyhow::anyhow!("{error}; docs/tunables.md lists those there are")
        }
        _ => error.into(),
    }
}

/// The machine's files, or those of the evidence.
fn frame(args: &Args) -> anyhow::Result<Frame> {
    if args.evidence.is_empty() {
        return Ok(host::read::full(
            &Root::default(),
            host::facts::since_boot(),
        ));
    }
    match evidence::read(&args.evidence, &args.facts)? {
        Read::One(capture) => last(&capture, args),
        Read::Two(_) => bail!(
            "{}: two moments or machines; explain looks at one",
            evidence::names(&args.evidence)
        ),
    }
}

fn last(capture: &Capture, args: &Args) -> anyhow::Result<Frame> {
    let frame = View::frame(capture, None);
    let frame = frame.with_context(|| evidence::names(&args.evidence))?;
    Ok(frame.clone())
}

/// The files that set tunables at boot: of this machine, or those that the evidence has.
fn configuration(args: &Args, frame: &Frame) -> Option<Tree> {
    match args.evidence.is_empty() {
        true => Some(host::configuration::read(&Root::default())),
        false => boot::tree_of(frame),
    }
}

/// Files beside the tunables that the catalogue does not know.
fn strange(args: &Args, frame: &Frame) -> Vec<String> {
    let root = Root::default();
    let live = FOLDERS.iter().flat_map(|folder| {
        let names = root.names(folder).into_iter();
        names.map(move |name| format!("{folder}/{name}"))
    });
    let paths: Vec<String> = match args.evidence.is_empty() {
        true => live.filter(|path| root.is_file(path)).collect(),
        false => {
            let beside = |path: &&String| {
                let folder = path.rsplit_once('/').map(|(folder, _)| folder);
                folder.is_some_and(|folder| FOLDERS.contains(&folder))
            };
            frame.files.keys().filter(beside).cloned().collect()
        }
    };
    let is_strange = |path: &String| {
        let path = format!("/{path}");
        let known = catalogue::resolve(&path);
        !matches!(known, Ok(_) | Err(KeyError::Counter { .. }))
    };
    let strange = paths.into_iter().filter(is_strange);
    strange.map(|path| format!("/{path}")).collect()
}

fn canvas(args: &Args) -> Canvas {
    let canvas = term::canvas();
    Canvas {
        charset: args.charset.unwrap_or(canvas.charset),
        ..canvas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_evidence_has_the_name_that_the_evidence_tells() {
        let disk = "8 0 of-evidence 1 0 8 1 1 0 0 1 0 0 1\n";
        let files = [("proc/diskstats".to_owned(), disk.to_owned())];
        let snapshot = Snapshot::parse(&Frame {
            files: files.into(),
            ..Frame::default()
        });
        let named = |tunable: &str| {
            let (tunable, value) = (tunable.to_owned(), "1".to_owned());
            one_name(&snapshot, Setting { tunable, value }).tunable
        };
        assert_eq!(named("bdi.8:0.max_ratio"), "bdi.of-evidence.max_ratio");
        assert_eq!(named("bdi.8:16.max_ratio"), "bdi.8:16.max_ratio");
        assert_eq!(
            named("hugetlb.hugepages-2048kB.nr_hugepages"),
            "hugetlb.hugepages-2048kB.nr_hugepages"
        );
    }
}
