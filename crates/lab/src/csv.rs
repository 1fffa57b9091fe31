//! Tables as CSV (RFC 4180), with a dot in decimals and one unit a column, named in its head.

use std::fmt::Write as _;

/// A line: cells with a comma, a quote or a line break are quoted.
#[must_use]
pub fn line<T: AsRef<str>>(cells: &[T]) -> String {
    let mut line = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(line, "{comma}{}", quoted(cell.as_ref()));
    }
    line + "\n"
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_a_line_is_quoted() {
        assert_eq!(
            line(&["a", "b, c", "say \"no\""]),
            "a,\"b, c\",\"say \"\"no\"\"\"\n"
        );
        assert_eq!(line::<&str>(&[]), "\n");
    }
}
