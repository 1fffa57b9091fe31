//! Whether a setting can be.

use alloc::string::String;

use super::spelling::meant;
use super::{Named, Values, named, nearest};
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

/// Whether a setting can be: its tunable exists and takes its value. Which kernel has the tunable,
/// and whether the value is wise, is asked elsewhere.
///
/// # Errors
/// One line that says which, with the nearest name or the values it takes.
pub fn check(setting: &Setting) -> Result<Named<'_>, SettingError> {
    let unknown = || SettingError::Unknown {
        name: shown(&setting.tunable),
        suggestion: nearest(&setting.tunable),
    };
    let named = named(&setting.tunable).ok_or_else(unknown)?;
    let values = named.tunable.values;
    match values.contain(&setting.value) {
        true => Ok(named),
        false => Err(SettingError::Value {
            name: shown(&setting.tunable),
            value: shown(&setting.value),
            expected: values,
        }),
    }
}
