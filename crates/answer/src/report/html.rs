//! An author's text as HTML.

use super::prose;

pub(crate) use mm::html::Escaped;

/// An author's text as paragraphs: an empty line ends one, backticks enclose what is typed.
pub(super) fn paragraphs(text: &str) -> String {
    let paragraph = |words: &Vec<String>| {
        let text = prose::unbroken(&words.join(" "));
        format!("<p>{}</p>\n", code(&text))
    };
    prose::paragraphs(text).iter().map(paragraph).collect()
}

/// Every second piece between backticks is code; an odd last backtick stays what it is.
pub(super) fn code(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let last = pieces.len() - 1;
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let escaped = Escaped(piece);
        out += &match index % 2 {
            1 if index < last => format!("<code>{escaped}</code>"),
            1 => format!("`{escaped}"),
            _ => escaped.to_string(),
        };
    }
    out
}
