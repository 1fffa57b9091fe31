//! How the rows of the table are written down.

use super::tunable::{DefaultRule, Risk, Tunable};
use super::{Kernels, Unit, Values};

/// The largest value of a file that holds a C `int`.
pub(super) const INT_MAX: u64 = i32::MAX as u64;

/// A row: name, path and values; the rest is added by the functions below.
pub(super) const fn row(name: &'static str, path: &'static str, values: Values) -> Tunable {
    Tunable {
        name,
        path,
        unit: Unit::None,
        values,
        default: DefaultRule::Fixed("0"),
        partner: None,
        views: &[],
        touches: &[],
        is_adjusted: false,
        outlives: None,
        kernels: Kernels::Mainline {
            since: (2, 6),
            ignored: None,
            until: None,
        },
        risk: Risk::Low,
        effect: "",
    }
}

/// The row of an action: a write acts once.
pub(super) const fn action(row: Tunable) -> Tunable {
    row.default(DefaultRule::Action)
}

/// A whole number in a range.
pub(super) const fn from_to(min: u64, max: u64) -> Values {
    Values::Integer { min, max }
}

/// 0 or 1.
pub(super) const SWITCH: Values = from_to(0, 1);

/// The same, where any word for yes or no is taken (`kstrtobool`).
pub(super) const TRUTH: Values = Values::Truth(["0", "1"]);

impl Tunable {
    pub(super) const fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    pub(super) const fn default(self, default: DefaultRule) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn fixed(self, value: &'static str) -> Self {
        self.default(DefaultRule::Fixed(value))
    }

    pub(super) const fn rule(self, words: &'static str) -> Self {
        self.default(DefaultRule::Rule(words))
    }

    pub(super) const fn partner(self, partner: &'static str) -> Self {
        Self {
            partner: Some(partner),
            ..self
        }
    }

    pub(super) const fn views(self, views: &'static [&'static str]) -> Self {
        Self { views, ..self }
    }

    pub(super) const fn touches(self, touches: &'static [&'static str]) -> Self {
        Self { touches, ..self }
    }

    pub(super) const fn adjusted(self) -> Self {
        Self {
            is_adjusted: true,
            ..self
        }
    }

    pub(super) const fn outlives(self, what: &'static str) -> Self {
        Self {
            outlives: Some(what),
            ..self
        }
    }

    pub(super) const fn since(self, major: u32, minor: u32) -> Self {
        Self {
            kernels: self.kernels.since(major, minor),
            ..self
        }
    }

    /// It is there and does nothing from this release on.
    pub(super) const fn ignored(self, major: u32, minor: u32) -> Self {
        Self {
            kernels: self.kernels.ignored(major, minor),
            ..self
        }
    }

    /// This release is the first without it.
    pub(super) const fn until(self, major: u32, minor: u32) -> Self {
        Self {
            kernels: self.kernels.until(major, minor),
            ..self
        }
    }

    pub(super) const fn patched(self, patch: &'static str) -> Self {
        Self {
            kernels: Kernels::Patched(patch),
            ..self
        }
    }

    pub(super) const fn risk(self, risk: Risk) -> Self {
        Self { risk, ..self }
    }

    pub(super) const fn effect(self, effect: &'static str) -> Self {
        Self { effect, ..self }
    }
}
