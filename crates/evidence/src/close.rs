//! What is done with a text once it is whole.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::free::{self, Unit};
use super::reading::Piece;
use super::{containers, kind, lines, merging, numa, zones};
use crate::series;
use mm::notes::FACTS;

/// Lines that are not taken, and why.
type Passed = Vec<(usize, String)>;

/// The pieces that a text makes.
pub(super) fn close(piece: Piece, unit: Unit) -> (Vec<Piece>, Passed) {
    match piece.what.as_str() {
        "zoneinfo" => whole_zones(piece),
        "free" => (table_of_free(piece, unit), Vec::new()),
        "top" => (head_of(piece, free::by_top), Vec::new()),
        "atop" => (head_of(piece, free::by_atop), Vec::new()),
        "lscpu" => (cpus(&piece).into_iter().collect(), Vec::new()),
        "meminfo of a node" => (nodes(piece), Vec::new()),
        "stats of containers" => (files_of(&piece, containers::files(&piece.text)), Vec::new()),
        "numactl" | "numastat" => (files_of(&piece, numa::files(&piece.text)), Vec::new()),
        "ksm" => (files_of_merging(&piece), Vec::new()),
        "kernel log" => kernel_log(piece),
        "node_exporter" => (metrics(piece), Vec::new()),
        _ if piece.path.is_empty() => {
            let why = format!("{}: says nothing of memory", piece.what);
            (Vec::new(), alloc::vec![(piece.line, why)])
        }
        _ => (alloc::vec![piece], Vec::new()),
    }
}

fn whole_zones(mut piece: Piece) -> (Vec<Piece>, Passed) {
    let (text, cut) = zones::whole(&piece.text);
    let cut = cut.into_iter().map(|(at, why)| (piece.line + at, why));
    let cut = cut.collect();
    piece.text = text;
    let pieces = (!piece.text.is_empty()).then_some(piece);
    (pieces.into_iter().collect(), cut)
}

/// What `free` printed, and where it is exact the part of meminfo.
fn table_of_free(piece: Piece, unit: Unit) -> Vec<Piece> {
    let meminfo = free::meminfo(&piece.text, unit).map(|text| Piece {
        path: "proc/meminfo".to_owned(),
        what: FREE.to_owned(),
        text,
        line: piece.line,
    });
    core::iter::once(piece).chain(meminfo).collect()
}

/// What `top` or `atop` printed, and what its head has of meminfo.
fn head_of(piece: Piece, by: fn(&str) -> Option<String>) -> Vec<Piece> {
    let meminfo = by(&piece.text).map(|text| Piece {
        path: "proc/meminfo".to_owned(),
        what: TOP.to_owned(),
        text,
        line: piece.line,
    });
    core::iter::once(piece).chain(meminfo).collect()
}

/// The name of the part of meminfo that the head of `top` gives: all others stand before it.
pub(super) const TOP: &str = "meminfo by top";

/// The name of the part of meminfo that `free` gives: a real meminfo stands before it.
pub(super) const FREE: &str = "meminfo by free";

fn cpus(piece: &Piece) -> Option<Piece> {
    let mut lines = piece.text.lines();
    let cpus = lines.find_map(|line| line.trim().strip_prefix("CPU(s):"))?;
    let cpus: u64 = cpus.trim().parse().ok()?;
    Some(Piece {
        path: FACTS.to_owned(),
        what: "lscpu".to_owned(),
        text: format!("cpus\t{cpus}\n"),
        line: piece.line,
    })
}

/// The files of samepage merging that were copied by name.
fn files_of_merging(piece: &Piece) -> Vec<Piece> {
    let files = merging::files(&piece.text);
    let file = |(name, number)| Piece {
        path: format!("{}/{name}", mm::ksm::DIR),
        text: format!("{number}\n"),
        what: piece.what.clone(),
        line: piece.line,
    };
    files.map(file).collect()
}

/// The kernel's files that the metrics were made of.
fn metrics(piece: Piece) -> Vec<Piece> {
    let Some(files) = series::node_exporter(&piece.text) else {
        return alloc::vec![piece];
    };
    files_of(&piece, files)
}

/// One file a node.
fn nodes(piece: Piece) -> Vec<Piece> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for line in piece.text.lines() {
        let mut words = line.trim().split(' ');
        if let (Some("Node"), Some(node)) = (words.next(), words.next()) {
            let file = files.entry(kind::NODE_MEMINFO.replace("nodeN", &format!("node{node}")));
            let text = file.or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    files_of(&piece, files)
}

/// The files that a text was made of.
fn files_of(piece: &Piece, files: impl IntoIterator<Item = (String, String)>) -> Vec<Piece> {
    let file = |(path, text)| Piece {
        path,
        text,
        what: piece.what.clone(),
        line: piece.line,
    };
    files.into_iter().map(file).collect()
}

/// A log that says something of memory, and the release that it names.
fn kernel_log(piece: Piece) -> (Vec<Piece>, Passed) {
    let release = piece.text.lines().find_map(|line| {
        let at = line.find("Linux version ")?;
        lines::uname(&line[at..])
    });
    let release = release.map(|release| Piece {
        path: "proc/sys/kernel/osrelease".to_owned(),
        what: "release".to_owned(),
        text: format!("{release}\n"),
        line: piece.line,
    });
    if mm::kernel_log::is_log(&piece.text) {
        return (release.into_iter().chain([piece]).collect(), Vec::new());
    }
    let why = "a log that names no OOM kill, allocation failure, hung task or program that kills";
    (
        release.into_iter().collect(),
        alloc::vec![(piece.line, why.to_owned())],
    )
}
