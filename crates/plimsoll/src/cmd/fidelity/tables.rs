//! The score as text: a summary of each study with its kernels across, and a list of figures.

use lab::fidelity::StudyScore;
use mm::text::counted;
use study::compare::{Row, worst_first};
use study::measure::Kind;
use study::stats::Concordance;

use crate::table::{Cell, Mood, Table};

/// Below this the arms are not in the kernel's order.
const GOOD_TAU: f64 = 0.9;

/// One study: figures that hold, by kind, and the order of its arms; a column for each kernel.
pub(super) fn summary(scores: &[StudyScore]) -> Table {
    let name = scores.first().map_or("", |one| &one.study);
    let mut head: Vec<Cell> = vec![name.into()];
    head.extend(scores.iter().map(|one| Cell::from(&one.kernel)));
    let mut table = Table::new(head);
    line(&mut table, "records", scores, |one| records(one).into());
    line(&mut table, "figures that hold", scores, |one| {
        held(one, |_| true)
    });
    for kind in Kind::ALL {
        let has = |one: &StudyScore| one.figures().any(|row| row.kind == kind);
        if scores.iter().any(has) {
            let label = format!("  {}", kind.word());
            line(&mut table, &label, scores, |one| {
                held(one, |row| row.kind == kind)
            });
        }
    }
    if scores.iter().flat_map(StudyScore::figures).any(by_scatter) {
        line(&mut table, "  by range or modes", scores, |one| {
            held(one, by_scatter)
        });
    }
    order(&mut table, scores);
    table
}

/// Whether the kernel's own scatter decided what holds, and not a fixed tolerance.
fn by_scatter(row: &Row) -> bool {
    use study::score::Gap::{OtherMode, Outside, Shares};
    let gap = row.score().map(|score| score.gap);
    matches!(gap, Some(Outside(_) | Shares(_) | OtherMode))
}

fn line(table: &mut Table, label: &str, scores: &[StudyScore], of: impl Fn(&StudyScore) -> Cell) {
    let mut cells: Vec<Cell> = vec![label.into()];
    cells.extend(scores.iter().map(of));
    table.row(cells);
}

fn records(one: &StudyScore) -> String {
    match one.seeds {
        [1, 1] => format!("{}, 1 seed", one.records),
        [least, most] if least == most => format!("{}, {most} seeds", one.records),
        [least, most] => format!("{}, {least} to {most} seeds", one.records),
    }
}

fn held(one: &StudyScore, counts: impl Fn(&Row) -> bool) -> Cell {
    let all = one.figures().filter(|row| counts(row)).count();
    let missed = one.misses().filter(|row| counts(row)).count();
    let text = format!("{} of {all}", all - missed);
    match missed {
        _ if all == 0 => "–".into(),
        0 => Cell::new(text, Mood::Good),
        _ => Cell::new(text, Mood::Bad),
    }
}

fn order(table: &mut Table, scores: &[StudyScore]) {
    let pairs = |one: &StudyScore, measure: &str| {
        let order = one.orders.iter().find(|order| order.measure == measure);
        order.map(|order| order.pairs).unwrap_or_default()
    };
    line(table, "order of arms, tau", scores, |one| {
        let mut all = Concordance::default();
        one.orders.iter().for_each(|order| all.add(order.pairs));
        tau(all)
    });
    for order in scores.first().map_or(&[][..], |one| &one.orders) {
        let measure = order.measure.as_str();
        if scores.iter().any(|one| pairs(one, measure).pairs() > 0) {
            line(table, &format!("  {measure}"), scores, |one| {
                tau(pairs(one, measure))
            });
        }
    }
}

fn tau(pairs: Concordance) -> Cell {
    let counted = counted(pairs.pairs(), "pair");
    match pairs.tau() {
        None => "no pairs".into(),
        Some(tau) => {
            let mood = if tau >= GOOD_TAU {
                Mood::Good
            } else {
                Mood::Bad
            };
            Cell::new(format!("{tau:.2}, {counted}"), mood)
        }
    }
}

/// The arms that are not compared, one line each.
pub(super) fn absent(scores: &[StudyScore]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in scores {
        lines.extend(one.absent.iter().map(|absent| {
            let (study, kernel) = (&one.study, &one.kernel);
            format!(
                "not compared: {study} on {kernel}, arm {}: {}",
                absent.arm, absent.why
            )
        }));
    }
    lines
}

/// The listed figures, the worst first; `None` where there are none. `held` names what the measured
/// figures are held against.
pub(super) fn figures<'a>(
    scores: impl Iterator<Item = &'a StudyScore>,
    held: &str,
    listed: impl Fn(&StudyScore) -> Vec<Row>,
) -> Option<Table> {
    let rows = |one: &'a StudyScore| listed(one).into_iter().map(move |row| (one, row));
    let mut figures: Vec<(&StudyScore, Row)> = scores.flat_map(rows).collect();
    worst_first(&mut figures, |(_, row)| row);
    let head = [
        "study", "kernel", "arm", "measure", held, "measured", "range", "distance", "",
    ];
    let mut table = Table::new(head.map(Cell::from).into());
    for (one, row) in &figures {
        let (word, mood) = match row.holds() {
            Some(true) => ("holds", Mood::Good),
            _ => ("misses", Mood::Bad),
        };
        let gap = row.score().map(|score| score.gap.show());
        table.row(vec![
            one.study.as_str().into(),
            one.kernel.as_str().into(),
            row.arm.as_str().into(),
            row.measure.as_str().into(),
            row.model.show(row.unit).into(),
            row.kernel.show(row.unit).into(),
            row.kernel.range(row.unit).unwrap_or_default().into(),
            gap.unwrap_or_else(|| "not predicted".to_owned()).into(),
            Cell::new(word, mood),
        ]);
    }
    (!figures.is_empty()).then_some(table)
}
