//! The catalogue of tunables as a search sees it.

use mm::catalogue::{self, DefaultRule, Tunable, Values};
use pyo3::prelude::*;

/// A tunable that is one number: its name, the least and the most that it takes, the kernel's fixed
/// choice, its partner, its risk, and what it counts.
type Row = (
    &'static str,
    (u64, u64),
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
    String,
);

/// The tunables of the machine that are one number each.
#[pyfunction]
pub(crate) fn tunables() -> Vec<Row> {
    catalogue::all().filter_map(row).collect()
}

fn row(tunable: &Tunable) -> Option<Row> {
    let Values::Integer { min, max } = tunable.values else {
        return None;
    };
    let default = match tunable.default {
        DefaultRule::Fixed(value) => Some(value),
        _ => None,
    };
    let (risk, unit) = (tunable.risk.word(), tunable.unit.to_string());
    Some((
        tunable.name,
        (min, max),
        default,
        tunable.partner,
        risk,
        unit,
    ))
}
