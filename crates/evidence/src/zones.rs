//! A text of `/proc/zoneinfo` whose ends were cut off: the zones that are whole.

use alloc::format;
use alloc::string::String;

/// What every zone has, on every kernel.
const NEEDED: [&str; 5] = ["min", "low", "high", "spanned", "present"];

/// The text of the zones that are whole, and for each of the others why it is not taken, with its
/// line counted from 0.
pub(super) fn whole(text: &str) -> (String, alloc::vec::Vec<(usize, String)>) {
    let mut kept = String::new();
    let mut cut = alloc::vec::Vec::new();
    let mut at = 0;
    for zone in zones(text) {
        match missing(zone) {
            None => kept.push_str(zone),
            Some(mark) => {
                let name = zone.lines().next().unwrap_or_default().trim();
                cut.push((at, format!("{name}: cut off, it has no \"{mark}\"")));
            }
        }
        at += zone.matches('\n').count();
    }
    (kept, cut)
}

/// The text, cut before each line that begins a zone.
fn zones(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let next = rest.get(1..).and_then(|inner| inner.find("\nNode "));
        let (zone, behind) = rest.split_at(next.map_or(rest.len(), |at| at + 2));
        rest = behind;
        Some(zone)
    })
}

fn missing(zone: &str) -> Option<&'static str> {
    let has = |mark: &&str| {
        let mut lines = zone.lines().map(|line| line.split_ascii_whitespace());
        lines.any(|mut words| words.next() == Some(mark) && words.next().is_some())
    };
    if !zone
        .lines()
        .any(|line| line.trim_start().starts_with("pages free"))
    {
        return Some("pages free");
    }
    NEEDED.iter().find(|mark| !has(mark)).copied()
}
