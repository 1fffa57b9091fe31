//! A note: what people get wrong about a tunable.

use schemars::JsonSchema;
use serde::Serialize;

/// What there is to know about some tunables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// The tunables, by the catalogue's names.
    pub(super) of: &'static [&'static str],
    /// Others that count: the key, and how.
    pub(crate) with: &'static [(&'static str, &'static str)],
    /// What changing it costs.
    pub(crate) costs: &'static [&'static str],
    /// What it does not do.
    pub(crate) does_not: &'static [Myth],
}

/// A thing that people expect of a tunable and that it does not do.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(crate) struct Myth {
    pub(crate) text: &'static str,
    /// Where that is known from.
    pub(crate) source: &'static str,
}

pub(super) const fn myth(text: &'static str, source: &'static str) -> Myth {
    Myth { text, source }
}
