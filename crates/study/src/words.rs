//! The author's words for the report, with placeholders that must name what the study measures.

use super::arm::Arm;
use super::measures;
use super::node::Node;
use super::source::StudyError;
use super::table::Table;
use crate::compare::{Row, compare};
use crate::measure::Measure;
use crate::template;

/// What is said about the study as a whole.
pub(super) struct Words {
    pub(super) answer: Option<String>,
    pub(super) publication: Option<String>,
}

/// Reads the study's words, and checks the placeholders in them and in the measures' reasons.
pub(super) fn words(
    root: &Table<'_>,
    measured: &[Measure],
    arms: &[Arm],
) -> Result<Words, StudyError> {
    let arms: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
    let rows = compare(measured, &arms, &[], &[]);
    for table in root.tables("measure", "[[measure]]", measures::MEASURE)? {
        table.maybe("why", |node| checked(node, &rows))?;
    }
    Ok(Words {
        answer: root.maybe("answer", |node| checked(node, &rows))?,
        publication: root.maybe("publication", |node| checked(node, &rows))?,
    })
}

/// The text, if every placeholder in it can be filled in.
fn checked(node: &Node<'_>, rows: &[Row]) -> Result<String, StudyError> {
    let text = node.text()?.trim();
    let way_out = "write {MEASURE/ARM}, as in {free after reading/raised}";
    match template::fill(text, rows) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(node.error(format!("{}: {error}", node.place()), way_out)),
    }
}
