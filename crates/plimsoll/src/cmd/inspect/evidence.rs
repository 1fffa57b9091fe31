//! The evidence on the command line, made into one capture.

use std::path::{Path, PathBuf};

use ::evidence::NOTE;
use anyhow::Context as _;
use lab::evidence::{self, Found};
use mm::capture::{Capture, Frame};
use mm::notes::FACTS;

/// What evidence may lack.
#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Facts {
    /// The kernel of the evidence, where it does not say: what uname -r prints
    #[arg(long, value_name = "RELEASE", requires = "evidence")]
    kernel: Option<String>,
    /// Its page size in bytes, or as in 64K, where it does not say
    #[arg(long, value_name = "SIZE", requires = "evidence", value_parser = page_size)]
    page_size: Option<u64>,
    /// Its number of CPUs, where it does not say
    #[arg(long, value_name = "N", requires = "evidence", value_parser = cpus())]
    cpus: Option<u64>,
}

/// A number of CPUs.
fn cpus() -> impl Fn(&str) -> Result<u64, String> + Clone {
    crate::cmd::whole(1..=8192)
}

/// A page size: a power of two from 4096 to 65536.
fn page_size(text: &str) -> Result<u64, String> {
    let kib = text.trim_end_matches("iB").strip_suffix(['K', 'k']);
    let number = kib.unwrap_or(text).parse::<u64>().ok();
    let bytes = number.and_then(|number| number.checked_mul(if kib.is_some() { 1024 } else { 1 }));
    let page = bytes.and_then(mm::units::PageSize::new);
    page.map(|page| page.bytes())
        .ok_or_else(|| "expected a power of two from 4096 to 65536, as in 64K".to_owned())
}

/// The names of the evidence, for messages.
pub(in crate::cmd) fn names(sources: &[PathBuf]) -> String {
    let names = sources.iter().map(|path| match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// What the evidence is of.
pub(in crate::cmd) enum Read {
    /// One machine, at one or more moments.
    One(Capture),
    /// Two pieces that hold the same kernel file, to be compared.
    Two([Capture; 2]),
}

/// Reads all of it. Files of one machine become one frame. Two pieces with the same kernel file are
/// compared, more are moments.
///
/// # Errors
/// Which of it cannot be read or is not known, and why.
pub(in crate::cmd) fn read(sources: &[PathBuf], facts: &Facts) -> anyhow::Result<Read> {
    let mut found = Vec::new();
    for path in sources {
        let mut piece = evidence::read(path).with_context(|| names(std::slice::from_ref(path)))?;
        piece
            .frames
            .iter_mut()
            .for_each(|frame| facts.add_to(frame));
        found.push(piece);
    }
    if let [one, other] = found.as_slice()
        && !fit_whole(one, other)
    {
        let capture = |found: &Found| Capture {
            frames: found.frames.clone(),
        };
        return Ok(Read::Two([capture(one), capture(other)]));
    }
    let frames = found.into_iter().fold(Vec::new(), merged);
    Ok(Read::One(Capture { frames }))
}

/// Whether two pieces are parts of one moment.
fn fit_whole(one: &Found, other: &Found) -> bool {
    match (one.frames.as_slice(), other.frames.as_slice()) {
        ([one], [other]) => fit(one, other),
        _ => false,
    }
}

/// Reads one piece of evidence, whose facts are as it says.
///
/// # Errors
/// Why it cannot be read or is not known.
pub(in crate::cmd) fn one(path: &Path) -> anyhow::Result<Capture> {
    let found = evidence::read(path).with_context(|| names(&[path.to_owned()]))?;
    let frames = found.frames;
    Ok(Capture { frames })
}

/// The frames of what came before and of a further piece of evidence.
fn merged(mut before: Vec<Frame>, found: Found) -> Vec<Frame> {
    let mut further = found.frames;
    if let ([one], [other]) = (before.as_mut_slice(), further.as_mut_slice())
        && fit(one, other)
    {
        for (path, text) in std::mem::take(&mut other.files) {
            let notes = [NOTE, FACTS].contains(&path.as_str());
            let file = one.files.entry(path).or_default();
            match notes {
                true if *file == text => {}
                true => file.push_str(&text),
                false => *file = text,
            }
        }
        return before;
    }
    before.append(&mut further);
    before.sort_by_key(|frame| frame.at);
    before
}

/// Whether two frames can be of one moment: no kernel file has two texts.
fn fit(one: &Frame, other: &Frame) -> bool {
    let mut both = other.files.iter().filter(|(path, _)| {
        !path.starts_with("plimsoll/") && !path.starts_with("proc/sys/kernel/osrelease")
    });
    both.all(|(path, text)| {
        one.file(path)
            .is_none_or(|there| there.trim() == text.trim())
    })
}

impl Facts {
    /// Writes what was told into a frame.
    fn add_to(&self, frame: &mut Frame) {
        if let Some(kernel) = &self.kernel {
            let path = "proc/sys/kernel/osrelease".to_owned();
            frame.files.insert(path, format!("{kernel}\n"));
        }
        for (key, value) in [("page_size", self.page_size), ("cpus", self.cpus)] {
            if let Some(value) = value {
                let facts = frame.files.entry(FACTS.to_owned()).or_default();
                // The first fact of a name counts.
                *facts = format!("{key}\t{value}\n{facts}");
            }
        }
    }
}
