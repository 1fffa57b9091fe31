//! `[table]`, `[[chart]]` and `[[distribution]]`: what of a study is shown first, on a page and
//! in a terminal. No record depends on it.

use super::arm::Arm;
use super::node::Node;
use super::source::StudyError;
use super::table::Table;
use crate::measure::{Measure, Source, Take};
use mm::suggest;

const TABLE: &[&str] = &["title", "row", "columns", "sort", "except", "effect"];
const EFFECT: &[&str] = &["measure", "more", "less"];
const CHART: &[&str] = &["title", "measure", "along", "points", "published"];
const POINT: &[&str] = &["arm", "at"];
const DISTRIBUTION: &[&str] = &["title", "measure", "published"];

/// Places on a chart are from 0 to this.
const FARTHEST: f64 = 1e9;

/// What is shown before all figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// One row an arm.
    pub table: Option<ArmTable>,
    /// A measure along something that the arms differ in.
    pub charts: Vec<Chart>,
    /// How long each round of a step took, arm by arm.
    pub distributions: Vec<Distribution>,
}

/// A table with one row an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmTable {
    /// What it shows.
    pub title: String,
    /// What a row is: "remedy".
    pub row: String,
    /// Measures; at least one, each once; what they are sorted by is one of them.
    pub columns: Vec<String>,
    /// The measure whose best arm stands first; without it the arms keep their order.
    pub sort: Option<String>,
    /// Arms that it leaves out.
    pub except: Vec<String>,
    /// What counts as a side effect.
    pub effects: Vec<Effect>,
}

/// A measure that tells of a side effect when it differs from the first arm's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The measure.
    pub measure: String,
    /// What is said where the number is larger.
    pub more: Option<String>,
    /// What is said where it is smaller.
    pub less: Option<String>,
}

/// A measure along something that the arms differ in.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The measure.
    pub measure: String,
    /// What the points differ in.
    pub along: String,
    /// Arms and where they stand, from left to right; at least two.
    pub points: Vec<(String, f64)>,
    /// What others reported, in words.
    pub published: Option<String>,
}

/// How long each round of a step took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// What it shows.
    pub title: String,
    /// The step's label.
    pub step: String,
    /// What others reported, in words.
    pub published: Option<String>,
}

/// The arms and measures that may be named.
struct Known<'a> {
    arms: Vec<&'a str>,
    measures: &'a [Measure],
}

/// Reads the three, and checks that what they name is there.
pub(super) fn shown(
    root: &Table<'_>,
    measures: &[Measure],
    arms: &[Arm],
) -> Result<Shown, StudyError> {
    let known = Known {
        arms: arms.iter().map(|arm| arm.name.as_str()).collect(),
        measures,
    };
    let table = |node: &Node<'_>| known.table(&node.clone().placed("[table]").table(TABLE)?);
    let charts = root.tables("chart", "[[chart]]", CHART)?;
    let distributions = root.tables("distribution", "[[distribution]]", DISTRIBUTION)?;
    let distributions = distributions.iter().map(|table| known.distribution(table));
    Ok(Shown {
        table: root.maybe("table", table)?,
        charts: charts
            .iter()
            .map(|table| known.chart(table))
            .collect::<Result<_, _>>()?,
        distributions: distributions.collect::<Result<_, _>>()?,
    })
}

impl Known<'_> {
    fn table(&self, table: &Table<'_>) -> Result<ArmTable, StudyError> {
        let mut columns = each_once(&table.need("columns")?, |node| self.measure(node))?;
        if columns.is_empty() {
            return Err(table.need("columns")?.expected("at least one measure"));
        }
        // Nobody sees an order whose reason is not shown.
        let sort = table.maybe("sort", |node| self.measure(node))?;
        if let Some(sort) = sort.as_ref().filter(|sort| !columns.contains(sort)) {
            columns.insert(0, sort.clone());
        }
        let except = |node: &Node<'_>| {
            let except = each_once(node, |node| self.arm(node))?;
            match except.len() == self.arms.len() {
                true => Err(node.error("[table] leaves out every arm", "leave some in")),
                false => Ok(except),
            }
        };
        let effects = table.tables("effect", "[[table.effect]]", EFFECT)?;
        let effects = effects.iter().map(|table| self.effect(table));
        Ok(ArmTable {
            title: words(&table.need("title")?)?,
            row: table.or("row", "arm".to_owned(), words)?,
            columns,
            sort,
            except: table.or("except", Vec::new(), except)?,
            effects: effects.collect::<Result<_, _>>()?,
        })
    }

    fn effect(&self, table: &Table<'_>) -> Result<Effect, StudyError> {
        let effect = Effect {
            measure: self.measure(&table.need("measure")?)?,
            more: table.maybe("more", words)?,
            less: table.maybe("less", words)?,
        };
        match (&effect.more, &effect.less) {
            (None, None) => {
                let way_out = "say in `more` or `less` what a larger or smaller number means";
                let what = "[[table.effect]] says nothing";
                Err(table.node().error(what, way_out))
            }
            _ => Ok(effect),
        }
    }

    fn chart(&self, table: &Table<'_>) -> Result<Chart, StudyError> {
        let node = table.need("points")?;
        let mut points: Vec<(String, f64)> = Vec::new();
        for point in node.list()? {
            let point = self.point(&point, points.last())?;
            if points.iter().any(|(arm, _)| *arm == point.0) {
                let what = format!("{} names arm `{}` twice", node.place(), point.0);
                return Err(node.error(what, "name it once"));
            }
            points.push(point);
        }
        if points.len() < 2 {
            let what = format!("{} has fewer than two points", node.place());
            return Err(node.error(what, "give each arm of the chart a point"));
        }
        Ok(Chart {
            title: words(&table.need("title")?)?,
            measure: self.measure(&table.need("measure")?)?,
            along: words(&table.need("along")?)?,
            points,
            published: table.maybe("published", words)?,
        })
    }

    /// A point, which must lie to the right of the one before.
    fn point(
        &self,
        node: &Node<'_>,
        before: Option<&(String, f64)>,
    ) -> Result<(String, f64), StudyError> {
        let table = node.clone().placed("a point of [[chart]]").table(POINT)?;
        let at = table.need("at")?;
        let place = at.decimal()?;
        if !(0.0..=FARTHEST).contains(&place) {
            return Err(at.expected(&format!("a number from 0 to {FARTHEST}")));
        }
        if before.is_some_and(|(_, before)| *before >= place) {
            return Err(at.expected("a larger number than that of the point before"));
        }
        Ok((self.arm(&table.need("arm")?)?, place))
    }

    fn distribution(&self, table: &Table<'_>) -> Result<Distribution, StudyError> {
        let node = table.need("measure")?;
        let name = self.measure(&node)?;
        let measure = self.measures.iter().find(|measure| measure.name == name);
        let step = measure.and_then(|measure| match &measure.source {
            Source::Step {
                label,
                take: Take::Duration,
                share_of: None,
                ..
            } => Some(label.clone()),
            _ => None,
        });
        Ok(Distribution {
            title: words(&table.need("title")?)?,
            step: step.ok_or_else(|| node.expected("a measure that takes a step's duration"))?,
            published: table.maybe("published", words)?,
        })
    }

    fn measure(&self, node: &Node<'_>) -> Result<String, StudyError> {
        let names = self.measures.iter().map(|measure| measure.name.as_str());
        one_of(node, "measure", names.collect())
    }

    fn arm(&self, node: &Node<'_>) -> Result<String, StudyError> {
        one_of(node, "arm", self.arms.clone())
    }
}

/// The names in a list, none of them twice.
fn each_once<'a>(
    node: &Node<'a>,
    one: impl Fn(&Node<'a>) -> Result<String, StudyError>,
) -> Result<Vec<String>, StudyError> {
    let mut names = Vec::new();
    for node in node.list()? {
        let name = one(&node)?;
        if names.contains(&name) {
            let what = format!("{} names `{name}` twice", node.place());
            return Err(node.error(what, "name it once"));
        }
        names.push(name);
    }
    Ok(names)
}

/// A text of at least one word, on one line.
fn words(node: &Node<'_>) -> Result<String, StudyError> {
    let text = node.text()?.split_whitespace().collect::<Vec<_>>();
    match text.is_empty() {
        true => Err(node.expected("some words")),
        false => Ok(text.join(" ")),
    }
}

fn one_of(node: &Node<'_>, kind: &str, names: Vec<&str>) -> Result<String, StudyError> {
    let name = node.text()?;
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    let what = format!("{} names an unknown {kind} `{name}`", node.place());
    Err(node.error(what, suggest::way_out(name, names)))
}
