//! A row of what a tunable is here.

use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::page::Page;

/// One line.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Row {
    name: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    about: String,
}

impl Row {
    /// An amount.
    pub(super) fn amount(name: impl Into<String>, bytes: Bytes, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: bytes.to_string(),
            bytes: Some(bytes.0),
            about: about.into(),
        }
    }

    /// Something else.
    pub(super) fn word(
        name: impl Into<String>,
        value: impl ToString,
        about: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            value: value.to_string(),
            bytes: None,
            about: about.into(),
        }
    }

    /// Writes it.
    pub(crate) fn write(&self, page: &mut Page) {
        page.row(&self.name, &self.value, &self.about);
    }
}
