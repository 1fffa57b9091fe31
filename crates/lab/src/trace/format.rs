//! How a trace is written: by what was said, its content and its name.

use std::path::Path;

use super::problem::Problem;
use super::{oracle_general, vscsi};

/// How a trace file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// libCacheSim's binary records of 24 bytes.
    OracleGeneral,
    /// Lines of values with a separator between them.
    Csv,
    /// VMware's `vscsiStats` records, version 1 or 2.
    Vscsi,
}

/// How a LCS file of libCacheSim begins: its magic number, little endian.
const LCS: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();

/// Endings of libCacheSim's other binary formats, in lower case.
const OTHERS: [&str; 12] = [
    "lcs",
    "twr",
    "twrns",
    "oracletwr",
    "oracletwrns",
    "oraclesystwrns",
    "oracleakamai",
    "oraclecf1",
    "oraclewiki",
    "oraclegeneralopns",
    "valpin",
    "akamai",
];

impl Format {
    /// The format that a file's name suggests: CSV for `.csv`, `.tsv` and `.txt`, `vscsiStats` for
    /// `.vscsi`, else `oracleGeneral`.
    #[must_use]
    pub fn of_name(path: &Path) -> Self {
        match ending(path).as_deref() {
            Some("csv" | "txt" | "tsv") => Self::Csv,
            Some("vscsi" | "vscsi1" | "vscsi2") => Self::Vscsi,
            _ => Self::OracleGeneral,
        }
    }

    /// The format of a file of which nothing is known but its name and how it begins.
    ///
    /// # Errors
    /// It is of another format, or no trace: any bytes whose number is a multiple of a record's
    /// would pass for an oracleGeneral trace.
    pub(super) fn of(path: &Path, head: &[u8]) -> Result<Self, Problem> {
        if let Some(name) = other(path, head) {
            return Err(Problem::OtherFormat { name });
        }
        if vscsi::is_recognised(head) {
            return Ok(Self::Vscsi);
        }
        let format = Self::of_name(path);
        match format {
            Self::OracleGeneral if is_text(head) => match head.contains(&b'\n') {
                true => Ok(Self::Csv),
                false => Err(Problem::Text),
            },
            Self::OracleGeneral => match oracle_general::contradiction(head) {
                Some(what) => Err(Problem::NoTrace { what }),
                None => Ok(format),
            },
            Self::Csv | Self::Vscsi => Ok(format),
        }
    }
}

fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    Some(ending.to_ascii_lowercase())
}

/// The name of a format of libCacheSim's that is not read.
fn other(path: &Path, head: &[u8]) -> Option<&'static str> {
    let ending = ending(path);
    let by_name = OTHERS.iter().find(|name| Some(**name) == ending.as_deref());
    match head.starts_with(&LCS) {
        true => Some("lcs"),
        false => by_name.copied(),
    }
}

/// Whether the beginning of a file is printable ASCII.
fn is_text(head: &[u8]) -> bool {
    let printable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    !head.is_empty() && head.iter().all(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_is_not_read_is_refused_by_its_name() {
        let of = |name: &str, head: &[u8]| Format::of(Path::new(name), head);
        let named = |name, head: &[u8]| of(name, head).unwrap_err().to_string();
        assert!(named("a.twrNS", &[0; 48]).starts_with("it is a twrns trace"));
        assert!(named("a.bin", &[LCS, [0; 8]].concat()).starts_with("it is a lcs trace"));
        assert_eq!(of("a.bin", &[0; 48]).unwrap(), Format::OracleGeneral);
    }

    #[test]
    fn the_name_counts_where_the_content_does_not_say() {
        let of = |name| Format::of_name(Path::new(name));
        assert_eq!(of("a.CSV"), Format::Csv);
        assert_eq!(of("a.vscsi"), Format::Vscsi);
        assert_eq!(of("a.oracleGeneral"), Format::OracleGeneral);
    }

    #[test]
    fn lines_of_text_are_csv_whatever_the_name() {
        let of = |head: &[u8]| Format::of(Path::new("/dev/stdin"), head);
        assert_eq!(of(b"time,lbn\n1,2\n").unwrap(), Format::Csv);
        assert!(matches!(
            of(b"777777777777777777777777"),
            Err(Problem::Text)
        ));
    }

    #[test]
    fn bytes_whose_times_go_back_are_no_trace() {
        let head: Vec<u8> = (0..=255).rev().collect();
        let error = Format::of(Path::new("/bin/true"), &head).unwrap_err();
        assert!(error.to_string().contains("earlier than"), "{error}");
    }
}
