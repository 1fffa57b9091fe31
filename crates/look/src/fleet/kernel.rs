//! By which of the kernel's rules a machine computes.

use mm::release::{Span, Version};
use mm::rules::TABLE;

/// The releases whose rules are those of a kernel, in words; the releases that it may be of, where
/// their rules are not the same. `None` where nothing is known of it.
pub(super) fn rules(span: Span) -> Option<String> {
    if span == Span::ALL {
        return None;
    }
    let releases = || TABLE.iter().map(|row| row.releases);
    let changes = releases().any(|it| it.from > span.from && it.from <= span.to);
    let from = releases()
        .map(|it| it.from)
        .filter(|&from| from <= span.from);
    let to = releases().map(|it| it.to).filter(|&to| to >= span.to);
    let shared = Span {
        from: from.max().unwrap_or(Version::FIRST),
        to: to.min().unwrap_or(Version::LAST),
    };
    let rules = if changes { span } else { shared };
    Some(rules.to_string())
}
