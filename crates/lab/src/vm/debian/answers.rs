//! What came back from the guest.

use answer::bench::BenchError;

/// What one command did.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its exit status; 128 and the signal where it was killed.
    pub status: i32,
    /// What it printed, errors included.
    pub output: String,
    /// When it began, in seconds of the guest's `CLOCK_BOOTTIME`.
    pub from: f64,
    /// When it had ended.
    pub to: f64,
}

/// The answers in the text of the second serial port, and the lines between them, which commands
/// wrote to the port themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// In the order of the commands.
    pub answers: Vec<Answer>,
    /// Lines that commands wrote to the port, in their order.
    pub notes: Vec<String>,
}

impl Answers {
    /// Reads what the guest said before its end; the last answer may be cut short, and is left out
    /// then.
    pub(super) fn parse(mut text: &[u8]) -> Result<Self, BenchError> {
        let mut all = Self::default();
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&text[..end]);
            text = &text[end + 1..];
            let Some(header) = line.strip_prefix("answer ") else {
                all.notes.push(line.trim_end().to_owned());
                continue;
            };
            let unknown = || BenchError::Failed(format!("the guest's answer: \"{line}\""));
            let (answer, length) = read(header).ok_or_else(unknown)?;
            let Some(output) = text.get(..length) else {
                break;
            };
            let output = String::from_utf8_lossy(output).into_owned();
            all.answers.push(Answer { output, ..answer });
            text = &text[length..];
        }
        Ok(all)
    }
}

/// `STATUS FROM TO BYTES`.
fn read(header: &str) -> Option<(Answer, usize)> {
    let words: Vec<&str> = header.split_whitespace().collect();
    let [status, from, to, length] = words[..] else {
        return None;
    };
    let answer = Answer {
        status: status.parse().ok()?,
        output: String::new(),
        from: from.parse().ok()?,
        to: to.parse().ok()?,
    };
    Some((answer, length.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_notes_and_a_cut_one_is_left_out() {
        let text = b"round 1\nanswer 0 2.50 2.51 6\na\nnoteround 2\nanswer 137 3.00 4.00 0\n\
                     answer 1 5.00 6.00 10\nhalf";
        let all = Answers::parse(text).unwrap();
        assert_eq!(all.notes, ["round 1", "round 2"]);
        let [first, second] = &all.answers[..] else {
            panic!("{all:?}");
        };
        assert_eq!((first.status, first.output.as_str()), (0, "a\nnote"));
        assert_eq!((second.status, second.from, second.to), (137, 3.0, 4.0));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let error = Answers::parse(b"answer 0 now then 1\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the guest's answer: \"answer 0 now then 1\""
        );
    }
}
