//! By which of the kernel's rules a machine computes.

use mm::release::{Span, Version};
use mm::rules::TABLE;

/// The releases whose rules are those of a kernel, in words; `None` where it is not known well
/// enough to tell.
pub(super) fn rules(span: Span) -> Option<String> {
    let begins = |at: Version| TABLE.iter().any(|row| row.releases.from == at);
    let from = TABLE.iter().map(|row| row.releases.from);
    let from = from.filter(|from| *from <= span.from).max();
    let to = TABLE.iter().map(|row| row.releases.to);
    let to = to.filter(|to| *to >= span.to).min()?;
    let since = from.filter(|from| begins(*from)).unwrap_or(Version::FIRST);
    // A span that a new rule begins in is of no one set.
    let changes = TABLE
        .iter()
        .any(|row| row.releases.from > span.from && row.releases.from <= span.to);
    (!changes).then(|| Span { from: since, to }.to_string())
}
