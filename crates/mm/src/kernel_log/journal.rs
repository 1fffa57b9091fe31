//! `journalctl -o json`: one object a line, of which a few members count.

use alloc::string::String;
use alloc::vec::Vec;

use crate::units::Nanos;

/// What counts of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The message.
    pub(super) message: String,
    /// Which program: "kernel", "systemd-oomd".
    pub(super) identifier: String,
    /// The host.
    pub(super) host: String,
    /// Since boot where the entry says so, else since 1970.
    pub(super) at: Nanos,
}

/// The entry of a line; `None` where it is no object with a message.
pub(super) fn entry(line: &str) -> Option<Entry> {
    if let Some(message) = line.strip_prefix("MESSAGE=") {
        return Some(Entry {
            message: message.into(),
            ..Entry::default()
        });
    }
    if !line.starts_with('{') || !line.contains("\"MESSAGE\"") {
        return None;
    }
    let mut reader = Reader {
        bytes: line.as_bytes(),
        at: 1,
    };
    let mut entry = Entry::default();
    let mut clocks = [0_u64; 3];
    let mut found = false;
    while let Some((key, value)) = reader.member() {
        let micros = || value.parse::<u64>().unwrap_or(0);
        match key.as_str() {
            "MESSAGE" => (entry.message, found) = (value, true),
            "SYSLOG_IDENTIFIER" => entry.identifier = value,
            "_TRANSPORT" if value == "kernel" => entry.identifier = value,
            "_HOSTNAME" => entry.host = value,
            "_SOURCE_MONOTONIC_TIMESTAMP" => clocks[0] = micros(),
            "__MONOTONIC_TIMESTAMP" => clocks[1] = micros(),
            "__REALTIME_TIMESTAMP" => clocks[2] = micros(),
            _ => {}
        }
    }
    let micros = clocks.into_iter().find(|&clock| clock > 0).unwrap_or(0);
    entry.at = Nanos(micros.saturating_mul(1000));
    found.then_some(entry)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next member of the object; numbers and words are read as they stand, an array as bytes.
    fn member(&mut self) -> Option<(String, String)> {
        self.skip(b", ");
        let key = self.string()?;
        self.skip(b": ");
        let value = match self.peek()? {
            b'"' => self.string()?,
            b'[' => self.array()?,
            _ => self.word(),
        };
        Some((key, value))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, bytes: &[u8]) {
        while self.peek().is_some_and(|byte| bytes.contains(&byte)) {
            self.at += 1;
        }
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|byte| !b",}] ".contains(&byte)) {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()
    }

    /// A message that is no text in UTF-8 is written as the numbers of its bytes.
    fn array(&mut self) -> Option<String> {
        self.next()?;
        let mut bytes = Vec::new();
        loop {
            self.skip(b", ");
            match self.peek()? {
                b']' => break,
                b'"' => bytes.extend(self.string()?.bytes()),
                _ => bytes.push(self.number()?),
            }
        }
        self.next()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn number(&mut self) -> Option<u8> {
        let word = self.word();
        // Signed in some versions.
        word.parse::<i16>()
            .ok()
            .map(|number| number.rem_euclid(256) as u8)
    }

    fn string(&mut self) -> Option<String> {
        if self.next()? != b'"' {
            return None;
        }
        let mut bytes = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => self.escaped(&mut bytes)?,
                byte => bytes.push(byte),
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn escaped(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        match self.next()? {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'u' => {
                let hex = self.bytes.get(self.at..self.at + 4)?;
                self.at += 4;
                let code = core::str::from_utf8(hex).ok()?;
                let code = u32::from_str_radix(code, 16).ok()?;
                let character = char::from_u32(code).unwrap_or('\u{fffd}');
                bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
            }
            byte => bytes.push(byte),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_text_or_as_bytes() {
        let line = "{\"__REALTIME_TIMESTAMP\":\"1704067200000000\",\"PRIORITY\":4,\
                    \"_SOURCE_MONOTONIC_TIMESTAMP\":\"5\",\"_HOSTNAME\":\"a\",\
                    \"SYSLOG_IDENTIFIER\":\"kernel\",\"MESSAGE\":\"a \\\"b\\\"\\u00e9\"}";
        let read = entry(line).expect("an entry");
        assert_eq!(read.message, "a \"b\"é");
        assert_eq!((read.identifier.as_str(), read.at), ("kernel", Nanos(5000)));
        let bytes = "{ \"MESSAGE\" : [72, 105], \"x\" : null }";
        assert_eq!(entry(bytes).map(|entry| entry.message), Some("Hi".into()));
        assert_eq!(entry("{\"MESSAGE\":\"cut"), None);
        assert_eq!(entry("{\"a\":\"MESSAGE\"}"), None);
    }
}
