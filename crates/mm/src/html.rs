//! Text that is safe inside HTML and SVG.

use core::fmt::{self, Display, Write as _};

/// Shows a value with the five characters escaped that mean something in HTML and in attributes.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(pub T);

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

#[cfg(test)]
mod tests {
    use super::Escaped;
    use alloc::string::ToString as _;

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
