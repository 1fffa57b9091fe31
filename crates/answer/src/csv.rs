//! Tables as CSV (RFC 4180), with a dot in decimals and one unit a column, named in its head.
//!
//! A cell that a spreadsheet would compute, because it begins as a formula does and is no figure,
//! has an apostrophe before it.

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
    let mark = if computes(cell) { "'" } else { "" };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{mark}{}\"", cell.replace('"', "\"\"")),
        false => format!("{mark}{cell}"),
    }
}

fn computes(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
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

    #[test]
    fn no_cell_computes_and_figures_stay_figures() {
        assert_eq!(
            line(&["=1+1", "+a", "-a", "@a", "\ta", "\ra", "=\"a\",b"]),
            "'=1+1,'+a,'-a,'@a,'\ta,\"'\ra\",\"'=\"\"a\"\",b\"\n"
        );
        assert_eq!(line(&["-1", "+2.5", "-1e-9", "a=b"]), "-1,+2.5,-1e-9,a=b\n");
    }
}
