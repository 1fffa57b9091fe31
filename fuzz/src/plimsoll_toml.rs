//! A repository's plimsoll.toml.

use look::lint::settings::Settings;

use crate::take::take;

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    if let Err(error) = Settings::parse(text) {
        assert!(error.line <= text.lines().count() + 1);
    }
}
