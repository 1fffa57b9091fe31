//! A text that holds settings, with its lines at hand.

use super::read::Form;

/// A text, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its path, as it is shown.
    pub path: String,
    /// Its text.
    pub text: String,
    /// How it is read.
    pub form: Form,
    /// Whether its settings are read at boot: `false` for a file that no loader looks at.
    pub is_read: bool,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl Text {
    /// A text that is read at boot.
    pub fn new(path: impl Into<String>, text: impl Into<String>, form: Form) -> Self {
        let text = text.into();
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self {
            path: path.into(),
            text,
            form,
            is_read: form != Form::Image,
            starts,
        }
    }

    /// A line without its end, from 1; empty where there is none.
    pub fn line(&self, number: usize) -> &str {
        let start = number.checked_sub(1).and_then(|at| self.starts.get(at));
        let end = self.starts.get(number).copied();
        let line = start.and_then(|&start| self.text.get(start..end.unwrap_or(self.text.len())));
        line.unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Whether a package brings it, and not the administrator.
    pub fn is_vendors(&self) -> bool {
        let path = self.path.trim_start_matches('/');
        path.starts_with("lib/") || path.contains("usr/lib/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_1() {
        let text = Text::new("a", "one\r\n\nthree", Form::Sysctl);
        let lines = [0, 1, 2, 3, 4].map(|number| text.line(number));
        assert_eq!(lines, ["", "one", "", "three", ""]);
        assert_eq!(text.lines(), 3);
    }
}
