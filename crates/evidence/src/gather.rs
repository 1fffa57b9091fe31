//! What several readings of one piece of evidence make together: frames, and the note of what was
//! taken.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::close::{FREE, TOP};
use super::reading::{Passed, Piece, Reading};
use super::{NOTE, log, path, split};
use mm::capture::Frame;
use mm::notes::{FACTS, UNREADABLE};
use mm::programs;

/// The files that show a moment: the same one again with another text is another moment.
const MOMENT: &[&str] = &[
    "proc/meminfo",
    "proc/vmstat",
    "proc/zoneinfo",
    "proc/buddyinfo",
    "proc/pagetypeinfo",
];

/// Notes that several pieces may add to.
const SHARED: &[&str] = &[FACTS, UNREADABLE, programs::PATH];

/// Notes of lines that were not taken, in one piece of evidence.
const MOST_NOTES: usize = 50;

/// The frames of one piece of evidence: one a moment and a machine, and one a report of its logs.
///
/// A folder with the files of two machines gives the frames of both, with the folders' names as
/// labels.
#[must_use]
pub fn frames(readings: &[Reading]) -> Vec<Frame> {
    let mut trees = trees(readings);
    join_settings(&mut trees);
    let several = trees.len() > 1;
    let mut frames = Vec::new();
    for (tree, readings) in &trees {
        let label = several.then(|| (*tree).to_string());
        let mut own = moments(readings);
        own.iter_mut()
            .for_each(|frame| frame.label.clone_from(&label));
        add_logs(&mut own, readings);
        frames.extend(own);
    }
    frames
}

/// The readings of each tree, in the order in which the trees came.
fn trees(readings: &[Reading]) -> Vec<(&str, Vec<&Reading>)> {
    let mut trees: Vec<(&str, Vec<&Reading>)> = Vec::new();
    for reading in readings {
        match trees.iter_mut().find(|(tree, _)| *tree == reading.tree) {
            Some((_, same)) => same.push(reading),
            None => trees.push((&reading.tree, alloc::vec![reading])),
        }
    }
    trees
}

/// Gives what is of no tree that shows a moment to the first that does.
fn join_settings(trees: &mut Vec<(&str, Vec<&Reading>)>) {
    let shows = |readings: &[&Reading]| {
        let mut pieces = readings.iter().flat_map(|reading| &reading.pieces);
        pieces.any(|piece| MOMENT.contains(&piece.path.as_str()))
    };
    let (mut with, without): (Vec<_>, Vec<_>) = trees.drain(..).partition(|(_, own)| shows(own));
    let rest = without.into_iter().flat_map(|(_, readings)| readings);
    match with.first_mut() {
        Some((_, first)) => first.extend(rest),
        None => with.push(("", rest.collect())),
    }
    *trees = with;
}

fn moments(readings: &[&Reading]) -> Vec<Frame> {
    let pieces = || readings.iter().flat_map(|reading| &reading.pieces);
    let mut frames = alloc::vec![Frame::default()];
    let by_tools = [FREE, TOP];
    let of_kernel =
        |piece: &&Piece| !by_tools.contains(&piece.what.as_str()) && piece.path != log::PATH;
    pieces()
        .filter(of_kernel)
        .for_each(|piece| add(&mut frames, piece));
    for tool in by_tools {
        let mut there = frames.iter();
        if there.all(|frame| frame.file("proc/meminfo").is_none()) {
            let told = pieces().filter(|piece| piece.what == tool);
            told.for_each(|piece| add(&mut frames, piece));
        }
    }
    frames.retain(|frame| !frame.files.is_empty());
    frames
}

fn add(frames: &mut Vec<Frame>, piece: &Piece) {
    let path = piece.path.as_str();
    let there = frames.last().and_then(|frame| frame.file(path));
    let differs = there.is_some_and(|text| text.trim_end() != piece.text.trim_end());
    let adds = there.is_some_and(|text| path == "proc/meminfo" && are_parts(text, &piece.text));
    if differs && !adds && MOMENT.contains(&path) {
        frames.push(Frame::default());
    }
    let at = if SHARED.contains(&path) {
        0
    } else {
        frames.len() - 1
    };
    let Some(frame) = frames.get_mut(at) else {
        return;
    };
    let text = frame.files.entry(piece.path.clone()).or_default();
    if !adds && !SHARED.contains(&path) {
        text.clear();
    }
    text.push_str(&piece.text);
}

/// Whether two texts have no item in common: lines that were asked for one after the other.
fn are_parts(one: &str, other: &str) -> bool {
    let item = |line| str::split_once(line, ':').map(|(item, _)| item);
    let known: Vec<&str> = one.lines().filter_map(item).collect();
    !other
        .lines()
        .filter_map(item)
        .any(|item| known.contains(&item))
}

/// Adds the frames of the reports, each with the release and the facts that are known.
fn add_logs(frames: &mut Vec<Frame>, readings: &[&Reading]) {
    let pieces = readings.iter().flat_map(|reading| &reading.pieces);
    let logs = pieces.filter(|piece| piece.path == log::PATH);
    let reports: Vec<Frame> = logs.flat_map(|piece| log::frames(&piece.text)).collect();
    let known: Vec<(String, String)> = ["proc/sys/kernel/osrelease", FACTS]
        .iter()
        .filter_map(|path| {
            let text = frames.iter().find_map(|frame| frame.file(path))?;
            Some(((*path).to_string(), text.to_string()))
        })
        .collect();
    let only_known = |frame: &Frame| {
        frame
            .files
            .keys()
            .all(|path| known.iter().any(|(p, _)| p == path))
    };
    if !reports.is_empty() {
        frames.retain(|frame| !only_known(frame));
    }
    for mut report in reports {
        for (path, text) in &known {
            report
                .files
                .entry(path.clone())
                .or_insert_with(|| text.clone());
        }
        frames.push(report);
    }
}

/// The note about one piece of evidence: what was taken from it and what was not.
#[must_use]
pub fn note(source: &str, readings: &[Reading]) -> String {
    let mut note = String::new();
    let taken = taken(readings);
    if !taken.is_empty() {
        let _ = writeln!(note, "read\t{}\t{taken}", one_line(source));
    }
    let passed = readings.iter().flat_map(|reading| {
        reading
            .passed
            .iter()
            .map(|passed| (reading.source.as_str(), passed))
    });
    for (source, passed) in passed.clone().take(MOST_NOTES) {
        let _ = writeln!(note, "passed\t{}\t{}", one_line(source), told(passed));
    }
    let more = passed.skip(MOST_NOTES).count();
    if more > 0 {
        let _ = writeln!(note, "passed\t{}\t{more} further places", one_line(source));
    }
    note
}

/// Adds a note to the first frame.
pub fn add_note(frames: &mut [Frame], note: &str) {
    if let Some(frame) = frames.first_mut().filter(|_| !note.is_empty()) {
        frame
            .files
            .entry(NOTE.to_string())
            .or_default()
            .push_str(note);
    }
}

fn told(passed: &Passed) -> String {
    let why = one_line(&passed.why);
    match (passed.line, passed.lines) {
        (0, _) => why,
        (line, 0 | 1) => format!("line {line}: {why}"),
        (line, lines) => format!("line {line} and {} that follow: {why}", lines - 1),
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

/// What was taken, in a few words: `meminfo, zoneinfo, 212 settings`.
fn taken(readings: &[Reading]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for piece in readings.iter().flat_map(|reading| &reading.pieces) {
        let name = group(piece);
        *counts.entry(name).or_default() += 1;
        if !order.contains(&name) {
            order.push(name);
        }
    }
    let words = order.iter().take(40).map(|name| match counts[name] {
        1 => (*name).to_string(),
        many => plural(many, name),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// `3 settings`, `2 files of a control group`.
fn plural(many: usize, name: &str) -> String {
    let (noun, rest) = name.split_once(' ').unwrap_or((name, ""));
    let gap = if rest.is_empty() { "" } else { " " };
    match noun {
        "setting" | "file" | "text" | "sentence" => format!("{many} {noun}s{gap}{rest}"),
        _ => format!("{many} times {name}"),
    }
}

/// The name under which a piece is counted.
fn group(piece: &Piece) -> &str {
    let path = piece.path.as_str();
    match path {
        _ if path == "plimsoll/unreadable" => "file that could not be read",
        _ if path.starts_with("proc/sys/kernel/osrelease") => "release",
        _ if path::is_configuration(path) => "text of configuration",
        _ if path.starts_with("sys/fs/cgroup/") => "file of a control group",
        _ if path::is_setting(path) => "setting",
        _ => piece.what.strip_prefix("proc/").unwrap_or(&piece.what),
    }
}

/// How many lines of a reading were not taken.
#[must_use]
pub fn lines_passed(reading: &Reading) -> usize {
    split::count(&reading.passed)
}
