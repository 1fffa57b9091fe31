//! What a person may have meant by a name that does not exist.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Characters of a name that count.
const LONGEST: usize = 64;

/// The candidate nearest to `name`, if one is near: at most one edit for each three characters.
///
/// Of equally near ones the first is taken.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let far = (name.chars().count() / 3 + 1).max(2);
    let length = |text: &str| text.chars().take(LONGEST).count();
    let own = length(&name);
    // Each character more is an edit: most candidates need no measuring.
    let may_be_near = |candidate: &&str| length(candidate).abs_diff(own) < far;
    let measured = candidates
        .into_iter()
        .filter(may_be_near)
        .map(|candidate| (distance(&name, candidate), candidate));
    let near = measured.filter(|&(edits, _)| edits < far);
    near.min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements that turn `a` into `b`, and swaps of neighbours
/// (optimal string alignment). Only the first 64 characters count.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = core::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

/// The candidate that is meant most likely: the same but for case, or nearly the same.
pub fn near<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let same = candidates
        .iter()
        .copied()
        .find(|name| name.eq_ignore_ascii_case(wanted));
    same.or_else(|| {
        let lower: Vec<String> = candidates.iter().map(|n| n.to_ascii_lowercase()).collect();
        let near = nearest(wanted, lower.iter().map(String::as_str))?;
        let at = lower.iter().position(|name| name == near)?;
        Some(candidates[at])
    })
}

/// A way out for a name that is not among `candidates`: the nearest one, or all of them.
pub fn way_out<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match near(wanted, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => "there is none".into(),
        None => format!("there is {}", listed(&candidates)),
    }
}

/// The names in backticks, at most twelve of them.
#[must_use]
pub fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| format!("`{n}`")).collect();
    let rest = if names.len() > 12 { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_and_a_swap_is_one() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("swapiness", "swappiness"), 1);
        assert_eq!(distance("drity", "dirty"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let names = ["vm.swappiness", "vm.dirty_ratio"];
        assert_eq!(nearest("vm.swapiness", names), Some("vm.swappiness"));
        assert_eq!(nearest("VM.Dirty_Ratio", names), Some("vm.dirty_ratio"));
        assert_eq!(nearest("teapot", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_is_shown_them_all() {
        let keys = ["bandwidth", "latency", "size"];
        assert_eq!(way_out("bandwith", keys), "did you mean `bandwidth`?");
        let kernels = ["MemTotal", "MemFree"];
        assert_eq!(way_out("MemFre", kernels), "did you mean `MemFree`?");
        assert_eq!(
            way_out("colour", keys),
            "there is `bandwidth`, `latency`, `size`"
        );
        assert_eq!(way_out("colour", []), "there is none");
    }
}
