//! The styles of a text for people, and how they reach a terminal: nothing else in a text may act
//! on it. Nothing is told by a style alone.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use mm::text::harmless;

/// The parameters of the styles that we use.
const STYLES: [&str; 5] = ["0m", "1m", "2m", "31m", "32m"];

/// What a style of ours begins with until it is printed: a number that this process drew, which no
/// text of others can have.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let drawn = RandomState::new().hash_one(0);
    format!("\x1b[{drawn};")
});

/// A text in one of the house's styles.
#[derive(Clone, Copy, Debug)]
pub struct Styled<T>(&'static str, T);

/// A heading, or what the eye should find first.
pub fn bold<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("1m", text)
}

/// What may be passed over.
pub fn dim<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("2m", text)
}

/// What is as it should be.
pub fn good<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("32m", text)
}

/// What needs attention.
pub fn bad<T: fmt::Display>(text: T) -> Styled<T> {
    Styled("31m", text)
}

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (begin, text) = (self.0, &self.1);
        write!(f, "{}{begin}{text}{}0m", *STYLE, *STYLE)
    }
}

/// A text without our styles.
pub fn plain(text: &str) -> String {
    let without = |text: String, style: &&str| text.replace(&format!("{}{style}", *STYLE), "");
    STYLES.iter().fold(text.to_owned(), without)
}

/// Bytes as a terminal may have them: our own styles become those of the terminal, and what would
/// act becomes text.
pub fn shown(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for (part, number) in chunk.valid().split(STYLE.as_str()).zip(0..) {
            let style = STYLES
                .iter()
                .find(|style| number > 0 && part.starts_with(**style));
            let style = style.copied().unwrap_or_default();
            if !style.is_empty() {
                shown += &format!("\x1b[{style}");
            }
            shown += &harmless(&part[style.len()..]);
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            _ = write!(shown, "\\u{byte:04x}");
        }
    }
    shown
}
