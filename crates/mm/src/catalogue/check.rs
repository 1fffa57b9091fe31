//! Whether a setting can be.

use alloc::string::{String, ToString as _};

use super::spelling::meant;
use super::{Named, Tunable, Values, named, nearest};
use crate::settings::Setting;
use crate::text::shown;

/// Why a setting cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No tunable has this name.
    #[error("{name}: no such tunable{}", meant(suggestion.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The tunable that may have been meant.
        suggestion: Option<String>,
    },
    /// The tunable does not take this value.
    #[error("{name} = {value}: expected {expected}")]
    Value {
        /// The tunable, as the setting names it.
        name: String,
        /// The value, cut to 60 characters.
        value: String,
        /// What it takes.
        expected: Values,
    },
}

/// Whether a setting can be: its tunable exists and takes its value, a number in decimal. Which
/// kernel has the tunable, and whether the value is wise, is asked elsewhere.
///
/// # Errors
/// One line that says which, with the nearest name or the values it takes.
pub fn check(setting: &Setting) -> Result<Named<'_>, SettingError> {
    let unknown = || SettingError::Unknown {
        name: shown(&setting.tunable),
        suggestion: nearest(&setting.tunable),
    };
    let named = named(&setting.tunable).ok_or_else(unknown)?;
    let (tunable, value) = (named.tunable, &setting.value);
    // Whoever writes a number as the kernel shows it cannot mean another one.
    let is_plain = |taken: &String| !tunable.is_number() || taken == value;
    match tunable.taken(value).filter(is_plain) {
        Some(_) => Ok(named),
        None => Err(refused(&setting.tunable, tunable, value)),
    }
}

/// The value that the kernel takes from a text in any spelling, in the words that are written.
///
/// # Errors
/// [`SettingError::Value`]: it refuses the text.
pub fn value_of(named: Named<'_>, text: &str) -> Result<String, SettingError> {
    let taken = named.tunable.taken(text);
    taken.ok_or_else(|| refused(&named.to_string(), named.tunable, text))
}

fn refused(name: &str, tunable: &Tunable, value: &str) -> SettingError {
    SettingError::Value {
        name: shown(name),
        value: shown(value),
        expected: tunable.values,
    }
}
