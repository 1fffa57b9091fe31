//! A change of a text that is certain to be right.

use super::read::Form;

/// What becomes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// It goes.
    Remove {
        /// The line, from 1.
        line: usize,
    },
    /// It becomes another one.
    Replace {
        /// The line, from 1.
        line: usize,
        /// What stands there then.
        with: String,
    },
}

impl Fix {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Remove { line } | Self::Replace { line, .. } => *line,
        }
    }

    /// Whether a line of such a text is a setting of its own.
    pub fn fits(&self, form: Form) -> bool {
        match form {
            Form::Sysctl | Form::Tmpfiles => true,
            Form::Yaml => self.with().is_some(),
            Form::Udev | Form::Tuned | Form::Script | Form::Image | Form::Told | Form::Live => {
                false
            }
        }
    }

    /// What stands there then; `None` where the line goes.
    pub fn with(&self) -> Option<&str> {
        match self {
            Self::Remove { .. } => None,
            Self::Replace { with, .. } => Some(with),
        }
    }
}

/// The text with every change made. Of two for one line the first counts.
pub fn fixed(text: &str, fixes: &[&Fix]) -> String {
    let lines = text.split_inclusive('\n').zip(1..);
    let line = |(line, number): (&str, usize)| {
        let fix = fixes.iter().find(|fix| fix.line() == number);
        match fix.map(|fix| fix.with()) {
            None => line.to_owned(),
            Some(None) => String::new(),
            Some(Some(with)) => format!(
                "{with}{}",
                &line[line.trim_end_matches(['\r', '\n']).len()..]
            ),
        }
    };
    lines.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_or_becomes_another_and_the_rest_stays() {
        let remove = Fix::Remove { line: 1 };
        let replace = Fix::Replace {
            line: 3,
            with: "c = 2".to_owned(),
        };
        let text = "a = 1\nb = 1\r\nc = 1 # x\r\nd = 1";
        assert_eq!(fixed(text, &[&remove, &replace]), "b = 1\r\nc = 2\r\nd = 1");
        assert_eq!(fixed(text, &[]), text);
    }
}
