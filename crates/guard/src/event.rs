//! What the guard did or said, as a line of its file of events: words `KEY=VALUE`, a value that has
//! spaces in quotation marks.

use alloc::format;
use alloc::string::String;
use core::fmt;

use mm::units::Bytes;

/// One thing that was done or said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// When, in milliseconds since 1970 (UTC).
    pub at: u64,
    /// Which policy; empty where it is the daemon itself.
    pub policy: String,
    /// What was done in one word: `lock`, `reclaim`; empty where something was only said.
    pub action: String,
    /// Whether that failed.
    pub is_failed: bool,
    /// Which file, as file system and inode number; empty where it is none.
    pub file: String,
    /// How much memory it was about.
    pub bytes: Bytes,
    /// What was done, in words.
    pub what: String,
    /// Why, with the figure.
    pub why: String,
}

impl Event {
    /// The event of a line; what is no word of ours is passed over. `None` for a line without a
    /// time or without anything said.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut event = Self::default();
        let mut rest = line.trim();
        while let Some((key, value)) = rest.split_once('=') {
            let (text, behind) = unquote(value)?;
            match key.trim_start() {
                "time" => event.at = text.parse().ok()?,
                "policy" => event.policy = text,
                "action" => event.action = text,
                "failed" => event.is_failed = text == "yes",
                "file" => event.file = text,
                "bytes" => event.bytes = Bytes(text.parse().ok()?),
                "what" => event.what = text,
                "why" => event.why = text,
                _ => {}
            }
            rest = behind;
        }
        (event.at > 0 && !event.what.is_empty()).then_some(event)
    }

    /// What was done and why, as it is said: `floor: lock 12 MiB of file 1/2: named`.
    #[must_use]
    pub fn said(&self) -> String {
        let parts = [&self.policy, &self.what, &self.why];
        let mut said = String::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            said += if said.is_empty() { "" } else { ": " };
            said += part;
        }
        said
    }
}

/// As a line of the file, without its end.
impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "time={}", self.at)?;
        let bytes = match self.bytes {
            Bytes::ZERO => String::new(),
            Bytes(bytes) => format!("{bytes}"),
        };
        let failed = if self.is_failed { "yes" } else { "" };
        for (key, value) in [
            ("policy", self.policy.as_str()),
            ("action", &self.action),
            ("failed", failed),
            ("file", &self.file),
            ("bytes", &bytes),
            ("what", &self.what),
            ("why", &self.why),
        ] {
            if !value.is_empty() {
                write!(to, " {key}={}", Quoted(value))?;
            }
        }
        Ok(())
    }
}

/// A value, in quotation marks where it needs them; what would break a line is a space.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '=');
        if self.0.chars().all(is_plain) {
            return to.write_str(self.0);
        }
        to.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => to.write_fmt(format_args!("\\{c}"))?,
                c if c.is_control() => to.write_char(' ')?,
                c => to.write_char(c)?,
            }
        }
        to.write_char('"')
    }
}

/// The value at the beginning, and what is behind it; `None` where its quotation mark is missing.
fn unquote(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, behind) = text.split_once(' ').unwrap_or((text, ""));
        return Some((value.into(), behind));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn an_event_is_one_line_and_is_read_back() {
        let event = Event {
            at: 1_764_235_319_123,
            policy: "floor".into(),
            action: "lock".into(),
            is_failed: true,
            file: "00ab/12".into(),
            bytes: Bytes(12 << 20),
            what: "lock \"a\\b\" = c".into(),
            why: String::new(),
        };
        let line = event.to_string();
        assert_eq!(
            line,
            "time=1764235319123 policy=floor action=lock failed=yes file=00ab/12 bytes=12582912 \
             what=\"lock \\\"a\\\\b\\\" = c\""
        );
        assert_eq!(Event::parse(&line), Some(event.clone()));
        assert_eq!(event.said(), "floor: lock \"a\\b\" = c");
        let broken = Event {
            what: "a\nb".into(),
            ..event
        };
        assert_eq!(broken.to_string().lines().count(), 1);
    }

    #[test]
    fn a_line_cut_short_is_no_event_or_one_with_less() {
        let line = "time=5 what=\"a b\" why=c other=d";
        let whole = Event::parse(line).unwrap();
        assert_eq!((whole.what.as_str(), whole.why.as_str()), ("a b", "c"));
        for end in 0..line.len() {
            if let Some(event) = Event::parse(&line[..end]) {
                assert_eq!(event.what, "a b", "{end}");
            }
        }
        assert_eq!(Event::parse("what=a"), None);
    }
}
