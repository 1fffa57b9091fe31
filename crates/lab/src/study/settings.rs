//! Settings in a study: tunable names and the values that are written.

use mm::settings::{Setting, Settings};

use super::node::Node;
use super::source::StudyError;

/// Reads `{ "vm.swappiness" = "10", … }`, in the order of the text.
pub(super) fn settings(node: &Node<'_>) -> Result<Settings, StudyError> {
    let mut settings = Vec::new();
    for (tunable, value) in node.entries()? {
        settings.push(Setting {
            tunable,
            value: value.written()?,
        });
    }
    Ok(Settings(settings))
}

/// The file of a tunable, without the leading slash.
pub(super) fn tunable_file(node: &Node<'_>) -> Result<String, StudyError> {
    let name = node.text()?;
    Ok(format!("proc/sys/{}", name.replace('.', "/")))
}
