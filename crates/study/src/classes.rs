//! `classes` of a touch: pages of a region by how often each is used.

use mm::units::Bytes;
use scenario::workload::Class;

use super::node::Node;
use super::source::StudyError;
use super::table::Table;

const MILLION: f64 = 1e6;
const PAGE: u64 = 4096;

/// Reads `classes = [[rate, pages], …]`; none where the key is missing.
pub(super) fn classes(table: &Table<'_>) -> Result<Vec<Class>, StudyError> {
    table.not_both("classes", "pattern")?;
    let Some(node) = table.get("classes")? else {
        return Ok(Vec::new());
    };
    let block = table.maybe("block", |n| n.size())?;
    if block.is_some_and(|block| block != Bytes(PAGE)) {
        return Err(node.error("classes are of pages", "drop `block`"));
    }
    let classes: Vec<Class> = node.list()?.iter().map(class).collect::<Result<_, _>>()?;
    if uses(&classes) < MILLION as u128 {
        return Err(node.expected(
            "pairs of a rate and a number of pages, with one access or more a second together, \
             as in [[0.5, 1000]]",
        ));
    }
    Ok(classes)
}

/// Operations a second, of `blocks` accesses each.
pub(super) fn rate(classes: &[Class], blocks: u32) -> u32 {
    let each = MILLION as u128 * u128::from(blocks.max(1));
    u32::try_from(uses(classes).div_ceil(each)).unwrap_or(u32::MAX)
}

/// Accesses of all pages in a million seconds.
fn uses(classes: &[Class]) -> u128 {
    let uses = |class: &Class| u128::from(class.rate_micro) * u128::from(class.pages);
    classes.iter().map(uses).sum()
}

/// `[rate, pages]`: accesses of each page a second, and how many pages.
fn class(node: &Node<'_>) -> Result<Class, StudyError> {
    let pair = node.list()?;
    let [rate, pages] = &pair[..] else {
        return Err(node.expected("[RATE, PAGES]"));
    };
    let number = rate.decimal()?;
    if !(0.0..=MILLION).contains(&number) {
        return Err(rate.expected("a rate from 0 to 1000000 accesses of each page a second"));
    }
    Ok(Class {
        rate_micro: (number * MILLION).round() as u64,
        pages: pages.count(0, 1 << 40)?,
    })
}
