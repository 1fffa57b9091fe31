//! Words and numbers of kernel messages.

/// The first `most` bytes of a text, or less where that is inside a character.
pub(super) fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether a text begins as lines of a report do that have a list of numbers at their end: a time
/// within them is another message's.
pub(super) fn is_of_report(text: &str) -> bool {
    const BEGIN: [&str; 4] = ["Node ", "lowmem_reserve[]", "Mem-Info", "CPU: "];
    BEGIN.iter().any(|begin| text.starts_with(begin))
}

/// The number that a text begins with, and what stands behind it.
pub(super) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}

/// The number behind `key`, wherever that stands.
pub(super) fn number_after(text: &str, key: &str) -> Option<u64> {
    Some(leading_number(after(text, key)?.trim_ascii_start())?.0)
}

/// What stands behind `key`.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}

/// The value of "KEY=VALUE", up to a comma, a space or the end.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let value = after(text, key)?;
    Some(value.split([',', ' ']).next().unwrap_or(value))
}

/// The pairs of "key:12kB" and "key:12" among the words of a text; the number is as it stands.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.split_ascii_whitespace().filter_map(|word| {
        let (key, value) = word.rsplit_once(':')?;
        Some((key, leading_number(value)?.0))
    })
}
