//! Records: one file a run, with the raw samples and all that is needed to repeat it.
//!
//! A record is gzip over one line of JSON (what was run, on what) and the capture's text, so
//! `zcat RECORD | head -1` shows its provenance. It appears under its name at once and whole, or
//! not at all. The name is made from what was run; a run whose record is there is not run again.

mod date;
mod machine;

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mm::capture::{Capture, CaptureError};
use scenario::Scenario;
use scenario::outcome::{Outcome, OutcomeError};
use serde::{Deserialize, Serialize};

use crate::hash::sha256;
use crate::verdict::Repeatability;

pub use date::utc;
pub use machine::MachineView;

/// The detail that says how much memory the program has in the VM, whatever its own size.
pub const ROOM: &str = "program-room";
/// The detail that names the tracepoints of a run that was traced: it is no record.
pub const TRACED: &str = "traced";
/// The version of the record's JSON; a reader refuses others.
pub const SCHEMA: u32 = 1;
/// A record is refused beyond this size, unpacked or not: a broken or hostile file must not fill
/// the memory. The largest that was ever made has 1.4 MiB.
pub const MOST_BYTES: u64 = 64 << 20;
/// The same of its first line, which holds a study's text.
const MOST_FIRST: u64 = 4 << 20;

/// One run: what was run, on what, and what came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where it comes from.
    pub provenance: Provenance,
    /// What came out.
    pub outcome: Outcome,
}

/// All that is needed to repeat a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Provenance {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// The arm's name.
    pub arm: String,
    /// What fixes every random choice.
    pub seed: u64,
    /// The bench in its own words, clock included.
    pub bench: String,
    /// The kernel release that was run or modelled.
    pub kernel: String,
    /// The kernel's command line, where there is one.
    pub command_line: Option<String>,
    /// The machine that was asked for.
    pub machine: MachineView,
    /// The arm's settings, in order.
    pub settings: Vec<(String, String)>,
    /// The settings of every arm, in order.
    pub base: Vec<(String, String)>,
    /// What else the bench has to say: the calibration's hash, QEMU's version.
    pub details: Vec<(String, String)>,
    /// The program's version.
    pub version: String,
    /// SHA-256 of the executable.
    pub program: String,
    /// SHA-256 of the study's text.
    pub study_sha256: String,
    /// The study's text.
    pub study_text: String,
    /// When the run ended, UTC.
    pub date: String,
}

/// Why bytes are no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// They are not compressed as a record is.
    #[error("no record: not gzip")]
    NotGzip,
    /// They cannot be decompressed to their end.
    #[error("damaged or cut off: {0}")]
    Gzip(std::io::Error),
    /// They are of something else.
    #[error("gzip, but no record of plimsoll: {0}")]
    Foreign(&'static str),
    /// They unpack to more than any record has.
    #[error("no record: more than {} MiB when unpacked", MOST_BYTES >> 20)]
    TooLarge,
    /// The first line is no provenance of this schema.
    #[error("its first line is not what schema {SCHEMA} says: {0}")]
    Json(serde_json::Error),
    /// It was written by another version.
    #[error("schema {schema} is not understood; this program reads schema {SCHEMA}")]
    Schema {
        /// The schema that it has.
        schema: u32,
    },
    /// The rest is no capture.
    #[error("after line 1: {0}")]
    Capture(#[from] CaptureError),
    /// The capture holds no outcome.
    #[error("{0}")]
    Outcome(#[from] OutcomeError),
}

impl RecordError {
    /// What to do about the file.
    #[must_use]
    pub fn way_out(&self) -> &'static str {
        match self {
            Self::Foreign(_) | Self::TooLarge => "move the file out of the records' folder",
            Self::Schema { .. } => {
                "read it with the version that wrote it, or name another folder with --records"
            }
            _ => "delete the file to have its run repeated",
        }
    }
}

impl Record {
    /// Whether it says how much memory the program had in the VM.
    pub fn names_its_room(&self) -> bool {
        let mut details = self.provenance.details.iter();
        details.any(|(name, _)| name == ROOM)
    }

    /// The tracepoints of a run that was traced. Tracing takes time and memory, so what came out is
    /// no figure of the study.
    #[must_use]
    pub fn traced(&self) -> Option<&str> {
        let mut details = self.provenance.details.iter();
        details
            .find(|(name, _)| name == TRACED)
            .map(|(_, events)| events.as_str())
    }

    /// The record's bytes.
    ///
    /// # Errors
    /// Memory is the only place they are written to; still, the encoder may refuse.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer(&mut gzip, &self.provenance)?;
        gzip.write_all(b"\n")?;
        gzip.write_all(self.outcome.capture.to_text().as_bytes())?;
        gzip.finish()
    }

    /// Reads a record's bytes. Of what is no record only the first line is unpacked.
    ///
    /// # Errors
    /// A [`RecordError`] that says where the bytes stop being a record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut gzip = BufReader::new(GzDecoder::new(bytes));
        let mut first = Vec::new();
        let mut head = gzip.by_ref().take(MOST_FIRST);
        head.read_until(b'\n', &mut first).map_err(unpacking)?;
        let provenance = provenance(&first)?;
        let mut rest = String::new();
        let mut text = gzip.take(MOST_BYTES);
        text.read_to_string(&mut rest).map_err(unpacking)?;
        match text.limit() {
            0 => Err(RecordError::TooLarge),
            _ => Ok(Self {
                provenance,
                outcome: Outcome::from_capture(Capture::parse(&rest)?)?,
            }),
        }
    }
}

fn unpacking(error: std::io::Error) -> RecordError {
    match error.kind() {
        ErrorKind::InvalidInput => RecordError::NotGzip,
        ErrorKind::InvalidData => RecordError::Foreign("what is in it is no text"),
        _ => RecordError::Gzip(error),
    }
}

/// The first line, if it is that of a record of this schema.
fn provenance(line: &[u8]) -> Result<Provenance, RecordError> {
    let head: serde_json::Value = serde_json::from_slice(line)
        .map_err(|_| RecordError::Foreign("its first line is not JSON"))?;
    let number = |name| head.get(name).and_then(serde_json::Value::as_u64);
    let is_named = |name| head.get(name).is_some_and(serde_json::Value::is_string);
    let schema = number("schema").filter(|_| is_named("study") && is_named("arm"));
    let schema = schema.and_then(|schema| u32::try_from(schema).ok());
    match schema {
        None => Err(RecordError::Foreign(
            "its first line has not `schema`, `study` and `arm`",
        )),
        Some(SCHEMA) => serde_json::from_value(head).map_err(RecordError::Json),
        Some(schema) => Err(RecordError::Schema { schema }),
    }
}

impl Provenance {
    /// What makes a run the same run: what the study asks of this arm, seed, kernel, bench with its
    /// details, program. The study's words, measures and other arms do not.
    #[must_use]
    pub fn key(&self) -> String {
        let mut text = format!(
            "{}\n{}\n{}\n{}\n{}\n{}\n",
            self.asked(),
            self.arm,
            self.seed,
            self.kernel,
            self.bench,
            self.program
        );
        for (name, value) in &self.details {
            text += &format!("{name}={value}\n");
        }
        sha256(text.as_bytes())[..16].to_owned()
    }

    /// SHA-256 of what the study asked of this arm (see [`crate::asked`]). It is found again in the
    /// study's text, so that all records have it, whenever they were made. Of a text that cannot be
    /// read any more it is that of the text.
    #[must_use]
    pub fn asked(&self) -> String {
        crate::asked(&self.study_text, &self.arm).unwrap_or_else(|| self.study_sha256.clone())
    }

    /// Whether the run gives the same numbers each time: on the model, and in virtual time.
    #[must_use]
    pub fn repeatability(&self) -> Repeatability {
        match self.bench.starts_with("model") || self.bench.ends_with("virtual time") {
            true => Repeatability::Exact,
            false => Repeatability::Noisy,
        }
    }

    /// The record's file name: arm and seed for people, the key for the rest.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}-{}-{}.record.gz", slug(&self.arm), self.seed, self.key())
    }
}

/// A provenance's settings.
pub fn pairs(settings: &mm::settings::Settings) -> Vec<(String, String)> {
    settings
        .0
        .iter()
        .map(|setting| (setting.tunable.clone(), setting.value.clone()))
        .collect()
}

/// The parts of a provenance that the scenario holds.
pub fn machine_of(scenario: &Scenario) -> MachineView {
    MachineView::of(&scenario.machine)
}

/// Letters and digits, the rest as single hyphens.
fn slug(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let parts: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    #[test]
    fn a_record_comes_back_as_it_was() {
        let record = record("raised", 3);
        let bytes = record.to_bytes().unwrap();
        assert_eq!(Record::from_bytes(&bytes).unwrap(), record);
    }

    #[test]
    fn what_was_run_decides_the_name() {
        let name = |arm, seed| record(arm, seed).provenance.file_name();
        assert!(
            name("set to 90 %", 1).starts_with("set-to-90-1-"),
            "{}",
            name("set to 90 %", 1)
        );
        assert_ne!(name("a", 1), name("a", 2));
        let mut other = record("a", 1);
        other.provenance.date = "2027-01-01T00:00:00Z".to_owned();
        assert_eq!(
            other.provenance.file_name(),
            name("a", 1),
            "the date is no part of the run"
        );
        other.provenance.details[0].1 = "def".to_owned();
        assert_ne!(other.provenance.file_name(), name("a", 1));
    }

    #[test]
    fn a_record_of_a_text_that_is_no_study_any_more_is_that_of_its_text() {
        let mut old = record("raised", 1);
        let asked = old.provenance.asked();
        assert_ne!(asked, old.provenance.study_sha256);
        old.provenance.study_text += "\n[[measure]]\nodd = \"as measures were once\"\n";
        assert_eq!(
            old.provenance.asked(),
            asked,
            "a measure is no part of the run"
        );
        old.provenance.study_text = "[machine]\nmemory = 4\n".to_owned();
        assert_eq!(old.provenance.asked(), old.provenance.study_sha256);
    }

    #[test]
    fn a_cut_record_is_refused_at_every_length() {
        let bytes = record("a", 1).to_bytes().unwrap();
        for length in 0..bytes.len() {
            assert!(
                Record::from_bytes(&bytes[..length]).is_err(),
                "{length} bytes"
            );
        }
    }

    #[test]
    fn another_schema_says_which() {
        let mut record = record("a", 1);
        record.provenance.schema = 2;
        let error = Record::from_bytes(&record.to_bytes().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "schema 2 is not understood; this program reads schema 1"
        );
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn what_is_no_record_is_said_to_be_none_and_not_to_be_repeated() {
        let said = |bytes: &[u8]| {
            let error = Record::from_bytes(bytes).unwrap_err();
            format!("{error}; {}", error.way_out())
        };
        let foreign = "gzip, but no record of plimsoll: its first line ";
        assert!(said(&gzip(b"hello\n")).starts_with(&format!("{foreign}is not JSON; move")));
        let other = said(&gzip(b"{\"schema\": 1, \"tool\": \"fio\"}\n"));
        assert!(
            other.starts_with(&format!("{foreign}has not `schema`")),
            "{other}"
        );
        assert!(said(&gzip(b"")).starts_with(foreign));
        assert!(said(b"PK\x03\x04 a zip file").starts_with("no record: not gzip; delete"));
        let newer = gzip(b"{\"schema\": 9, \"study\": \"s\", \"arm\": \"a\"}\n");
        assert!(said(&newer).contains("read it with the version that wrote it"));
    }

    #[test]
    fn a_bomb_is_refused_after_its_first_line_or_at_the_bound() {
        let zeros = gzip(&vec![0; 32 << 20]);
        let error = Record::from_bytes(&zeros).unwrap_err();
        assert!(matches!(error, RecordError::Foreign(_)), "{error}");
        let mut text = serde_json::to_vec(&record("a", 1).provenance).unwrap();
        text.push(b'\n');
        text.resize(usize::try_from(MOST_BYTES).unwrap() + (1 << 20), b'\n');
        let error = Record::from_bytes(&gzip(&text)).unwrap_err();
        assert!(matches!(error, RecordError::TooLarge), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_the_reader(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let _ = Record::from_bytes(&bytes);
        }
    }
}
