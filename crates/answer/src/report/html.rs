//! Text that is safe inside HTML and SVG.

use std::fmt::{self, Display, Write as _};

use super::prose;

/// Shows a value with the five characters escaped that mean something in HTML and in attributes.
pub(crate) struct Escaped<T>(pub(crate) T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper(f), "{}", self.0)
    }
}

struct Escaper<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| match c {
            '&' => self.0.write_str("&amp;"),
            '<' => self.0.write_str("&lt;"),
            '>' => self.0.write_str("&gt;"),
            '"' => self.0.write_str("&quot;"),
            '\'' => self.0.write_str("&#39;"),
            other => self.0.write_char(other),
        })
    }
}

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

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        let hostile = r#"<script>alert('a & "b"')</script>"#;
        let shown = Escaped(hostile).to_string();
        assert_eq!(
            shown,
            "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;"
        );
    }
}
