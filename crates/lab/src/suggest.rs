//! "Did you mean …?": the way out of a name that does not exist.

use mm::suggest::nearest;

/// The candidate that is meant most likely: the same but for case, or nearly the same.
pub(crate) fn near<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
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
pub(crate) fn way_out<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match near(wanted, candidates.iter().copied()) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
