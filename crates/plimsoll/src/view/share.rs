//! A share of a whole as a small bar and a percentage.

use look::share::Share;

use super::page::Page;

/// Columns of the bar.
const BAR: u64 = 10;

/// "■■■······  31%  about"; at least one block where there is anything, and nothing but the words
/// where there is no share.
pub(crate) fn bar(page: &Page, part: u64, whole: u64, about: &str) -> String {
    let Some(share) = Share::of(part, whole) else {
        return about.to_owned();
    };
    let blocks = share.scaled(BAR * 2).div_ceil(2).max(u64::from(part > 0));
    let signs = |sign: &str, count: u64| (0..count).map(|_| sign).collect::<String>();
    let full = signs(page.either("■", "#"), blocks);
    let empty = signs(page.either("·", "."), BAR - blocks);
    format!("{full}{empty} {share:>4}  {about}")
}
