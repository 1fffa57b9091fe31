//! `map`: an anonymous region, its huge pages, and what its pages hold.

use scenario::workload::{Content, ContentShare, Huge, Map};

use super::names::{Kind, Names};
use super::node::Node;
use super::source::StudyError;
use super::table::Table;

const MAP: &[&str] = &[
    "region",
    "size",
    "huge",
    "mergeable",
    "populate",
    "contents",
];
const SHARE: &[&str] = &[
    "identical",
    "class",
    "repeated",
    "copies",
    "unique",
    "zero",
    "volatile",
    "every",
];

const HUGE: &[(&str, Huge)] = &[
    ("system", Huge::System),
    ("advise", Huge::Advise),
    ("never", Huge::Never),
    ("hugetlb", Huge::Hugetlb),
];

/// Reads `map = {…}` and notes the region's name.
pub(super) fn map(node: &Node<'_>, names: &mut Names) -> Result<Map, StudyError> {
    let table = node.table(MAP)?;
    Ok(Map {
        region: names.add(Kind::Region, &table.need("region")?)?,
        size: table.need("size")?.some_workload_size()?,
        huge: table.or("huge", Huge::System, |n| n.choice(HUGE))?,
        mergeable: table.or("mergeable", false, |n| n.flag())?,
        populate: table.or("populate", false, |n| n.flag())?,
        contents: table.or("contents", Vec::new(), contents)?,
    })
}

fn contents(node: &Node<'_>) -> Result<Vec<ContentShare>, StudyError> {
    let mut shares = Vec::new();
    for entry in node.list()? {
        let place = format!("an entry of {}", node.place());
        shares.push(share(&entry.placed(place).table(SHARE)?)?);
    }
    let total: u32 = shares.iter().map(|share| u32::from(share.percent)).sum();
    if total > 100 {
        let what = format!("the shares of {} add up to {total} %", node.place());
        return Err(node.error(what, "at most 100 %; what is left is unique"));
    }
    Ok(shares)
}

/// `{ identical = "40 %", class = "guest" }`: the kind is the key, its share the value.
fn share(table: &Table<'_>) -> Result<ContentShare, StudyError> {
    let (kind, node) = table.one_of(&["identical", "repeated", "unique", "zero", "volatile"])?;
    let more = [
        ("class", "identical"),
        ("copies", "repeated"),
        ("every", "volatile"),
    ];
    for (key, of) in more {
        if kind != of
            && let Some(node) = table.get(key)?
        {
            let what = format!("`{key}` does not go with `{kind}`");
            return Err(node.error(what, format!("drop it; it belongs to `{of}`")));
        }
    }
    let content = match kind {
        "identical" => Content::Identical {
            class: table.need("class")?.name()?,
        },
        "repeated" => Content::Repeated {
            copies: table.need("copies")?.count(2, 1 << 30)?,
        },
        "volatile" => Content::Volatile {
            every: table.need("every")?.some_duration()?,
        },
        "zero" => Content::Zero,
        _ => Content::Unique,
    };
    Ok(ContentShare {
        content,
        percent: node.percent()?,
    })
}
