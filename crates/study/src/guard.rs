//! The configuration of the guard, as a step has it.

use guard::Config;

use super::node::Node;
use super::source::StudyError;

/// Keys and texts, which are a configuration.
pub(super) fn guard(node: &Node<'_>) -> Result<Vec<(String, String)>, StudyError> {
    let texts = node.texts()?;
    let pairs = texts
        .iter()
        .map(|(key, text)| (key.as_str(), text.as_str()));
    match Config::read(pairs) {
        Ok(_) => Ok(texts),
        Err(error) => Err(node.error(error.to_string(), "docs/guard.md lists the keys")),
    }
}
