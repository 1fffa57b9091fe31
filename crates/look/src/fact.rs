//! A fact about a machine, or what would show it.
//!
//! What is concluded from facts takes them by `?`: a fact that the evidence lacks ends in the name
//! of what is missing, and never in a value that stands for it.

/// A fact, or what would show it.
pub type Fact<T> = Result<T, Missing>;

/// A fact that is not there: the file, the item or the program that would show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing(pub &'static str);

/// A phrase, or nothing where a fact that it takes is not there.
pub fn or_unsaid(phrase: Option<String>) -> String {
    phrase.unwrap_or_default()
}
