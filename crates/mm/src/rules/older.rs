//! Parts of the kernel that the model can run as an older release had them: settings of the model,
//! for kernels that are no longer to be had.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Mechanism;
use super::table::TABLE;
use crate::release::Version;

/// A part, by its setting. A value of it, `"before 3.11"`, takes away what that release and later
/// ones brought.
#[derive(Clone, Copy, Debug)]
pub struct Older {
    /// Its setting.
    pub name: &'static str,
    /// What it has changed by, the oldest first.
    mechanisms: &'static [Mechanism],
}

/// All of them.
pub const OLDER: [Older; 4] = [
    Older {
        name: "model.kswapd",
        mechanisms: &[Mechanism::KswapdStopsAtGoal],
    },
    Older {
        name: "model.balance",
        mechanisms: &[
            Mechanism::SparesAnonAtZero,
            Mechanism::SparesAnonBesideCache,
            Mechanism::WeighsByCost,
        ],
    },
    Older {
        name: "model.dirty",
        mechanisms: &[Mechanism::ActivatesDirtyFiles],
    },
    Older {
        name: "model.anon",
        mechanisms: &[Mechanism::AnonBeginsInactive],
    },
];

impl Older {
    /// The value that changes nothing.
    pub const NONE: &str = "as calibrated";

    /// The values that it takes, the oldest release first.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        let releases = self.mechanisms.iter().map(|&mechanism| from(mechanism));
        releases.map(|from| format!("before {from}")).collect()
    }

    /// Each of its mechanisms, and whether a kernel with this value has it.
    pub fn of(&self, value: &str) -> impl Iterator<Item = (Mechanism, bool)> {
        let before = value.strip_prefix("before ").and_then(Version::of);
        let before = before.unwrap_or(Version::LAST);
        let mechanisms = self.mechanisms.iter();
        mechanisms.map(move |&mechanism| (mechanism, from(mechanism) < before))
    }
}

/// The release that brought a mechanism.
fn from(mechanism: Mechanism) -> Version {
    let mut rows = TABLE.iter();
    let row = rows.find(|row| row.mechanism() == Some(mechanism));
    row.map_or(Version::FIRST, |row| row.releases.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_away_what_its_release_and_later_ones_brought() {
        let balance = OLDER[1];
        assert_eq!(balance.values(), ["before 3.5", "before 3.8", "before 5.8"]);
        let has = |value| balance.of(value).map(|(_, has)| has).collect::<Vec<_>>();
        assert_eq!(has("before 3.5"), [false, false, false]);
        assert_eq!(has("before 3.8"), [true, false, false]);
        assert_eq!(has("before 5.8"), [true, true, false]);
        assert_eq!(has(Older::NONE), [true, true, true]);
    }

    #[test]
    fn every_mechanism_came_with_a_release() {
        for older in OLDER {
            assert!(older.mechanisms.iter().all(|&it| from(it) > Version::FIRST));
        }
    }
}
