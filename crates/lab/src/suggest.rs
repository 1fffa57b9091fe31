//! "Did you mean …?": the name that is nearest to one that does not exist.

/// The candidate with the fewest edits to `wanted`, if it is near enough to be a likely slip.
pub(crate) fn nearest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let tolerance = (wanted.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (edits(wanted, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A way out for a name that is not among `candidates`: the nearest one, or all of them.
pub(crate) fn way_out<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(wanted, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => "there is none".to_owned(),
        None => format!("there is {}", listed(&candidates)),
    }
}

/// The names in backticks, at most twelve of them.
pub(crate) fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| format!("`{n}`")).collect();
    let rest = if names.len() > 12 { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other,
/// without regard to case.
fn edits(left: &str, right: &str) -> usize {
    let fold = |text: &str| text.chars().take(64).flat_map(char::to_lowercase).collect();
    let (left, right): (Vec<char>, Vec<char>) = (fold(left), fold(right));
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut next = vec![row];
        for column in 1..=right.len() {
            let differs = usize::from(left[row - 1] != right[column - 1]);
            let mut cost = (last[column] + 1)
                .min(next[column - 1] + 1)
                .min(last[column - 1] + differs);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                cost = cost.min(before[column - 2] + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let keys = ["bandwidth", "latency", "size"];
        assert_eq!(nearest("bandwith", keys), Some("bandwidth"));
        assert_eq!(nearest("Latnecy", keys), Some("latency"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        assert_eq!(edits("sawp", "swap"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("same", "same"), 0);
    }
}
