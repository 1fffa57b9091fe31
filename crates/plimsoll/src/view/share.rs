//! A share of a whole as a small bar and a percentage.

use super::page::Page;

/// Columns of the bar.
const BAR: u64 = 10;

/// "■■■······  31 %  about"; at least one block where there is anything.
pub(crate) fn bar(page: &Page, part: u64, whole: u64, about: &str) -> String {
    let scaled = |to: u64| u128::from(part) * u128::from(to) / u128::from(whole.max(1));
    let blocks = scaled(BAR * 2).div_ceil(2).min(u128::from(BAR));
    let blocks = usize::try_from(blocks)
        .unwrap_or(0)
        .max(usize::from(part > 0));
    let full = page.either("■", "#").repeat(blocks);
    let empty = page
        .either("·", ".")
        .repeat(usize::try_from(BAR).unwrap_or(0) - blocks);
    format!("{full}{empty} {:>4}  {about}", percent(part, whole))
}

/// "31%", "<1%", "0%".
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match u128::from(part) * 100 / u128::from(whole.max(1)) {
        0 if part > 0 => "<1%".to_owned(),
        percent => format!("{percent}%"),
    }
}
