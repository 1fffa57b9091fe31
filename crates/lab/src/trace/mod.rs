//! Traces of accesses, from libCacheSim's `oracleGeneral` files, from `vscsiStats` or from CSV.
//!
//! Object ids become dense page indices, numbered in the order of their first access: one object is
//! one page. The file is read once from end to end, which also finds its faults before any work is
//! done. The indices of a trace stay in memory, four bytes an access, unless they are too many:
//! then the numbering stays, and the file is read again when it is replayed.

mod csv;
mod format;
mod input;
mod miss_ratio;
mod oracle_general;
mod problem;
mod records;
mod vscsi;

use std::io::BufReader;
use std::path::{Path, PathBuf};

use records::BATCH;
use study::numbers::Numbers;

pub use csv::Column;
pub use format::Format;
pub use miss_ratio::{MissRatio, miss_ratios};
pub use oracle_general::write as write_oracle_general;
pub use problem::{PAGES_MAX, Problem};

/// Most accesses whose indices stay in memory: they take 1 GiB.
const KEPT_MAX: u64 = 1 << 28;

/// How a trace is to be read; what is not said is found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// How it is written.
    pub format: Option<Format>,
    /// The object's column, of a CSV file.
    pub object: Option<Column>,
}

impl From<Format> for Layout {
    fn from(format: Format) -> Self {
        Self {
            format: Some(format),
            object: None,
        }
    }
}

/// A trace file whose pages are numbered.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    layout: Layout,
    column: Option<String>,
    pages: u32,
    accesses: u64,
    skipped: u64,
    kept: Kept,
}

/// What stays in memory of a trace.
#[derive(Debug)]
enum Kept {
    /// The page index of each access.
    Indices(Vec<u32>),
    /// The table that gives each object its index.
    Numbers(Numbers),
}

/// A file that cannot be read as a trace.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct TraceError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

impl Trace {
    /// Reads the file once and numbers its pages.
    ///
    /// # Errors
    /// A [`TraceError`] with the record or line where the file stops being a trace.
    pub fn open(path: &Path, layout: impl Into<Layout>) -> Result<Self, TraceError> {
        Self::keeping(KEPT_MAX, path, layout.into())
    }

    fn keeping(kept_max: u64, path: &Path, layout: Layout) -> Result<Self, TraceError> {
        Self::number_pages(kept_max, path, layout).map_err(|problem| TraceError {
            path: path.to_owned(),
            problem,
        })
    }

    fn number_pages(kept_max: u64, path: &Path, layout: Layout) -> Result<Self, Problem> {
        let (mut numbers, mut indices) = (Numbers::default(), Vec::new());
        let mut accesses = 0;
        let Passed { skipped, column } = read(path, &layout, |objects| {
            if accesses > kept_max {
                indices.clear();
            }
            numbers.number(objects, &mut indices);
            accesses += objects.len() as u64;
            match numbers.len() {
                0..=PAGES_MAX => Ok(()),
                _ => Err(Problem::TooManyPages),
            }
        })?;
        match (accesses, skipped) {
            (0, 0) => return Err(Problem::Empty),
            (0, skipped) => return Err(Problem::NoSize { skipped }),
            _ => {}
        }
        Ok(Self {
            path: path.to_owned(),
            layout,
            column,
            pages: numbers.len(),
            accesses,
            skipped,
            kept: match accesses {
                few if few <= kept_max => Kept::Indices(indices),
                _ => Kept::Numbers(numbers),
            },
        })
    }

    /// The name of the object's column, where a CSV file's header has one.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// Distinct pages; indices are below it.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Accesses in all.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Records that were passed over because their object has no size, as libCacheSim does.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Hands over the page indices, batch by batch.
    ///
    /// # Errors
    /// The file had to be read again, and could not be, or it changed.
    pub fn replay(&mut self, mut each: impl FnMut(&[u32])) -> Result<(), TraceError> {
        let numbers = match &mut self.kept {
            Kept::Indices(indices) => {
                indices.chunks(BATCH).for_each(each);
                return Ok(());
            }
            Kept::Numbers(numbers) => numbers,
        };
        let mut indices = Vec::with_capacity(BATCH);
        let result = read(&self.path, &self.layout, |objects| {
            indices.clear();
            numbers.number(objects, &mut indices);
            if numbers.len() > self.pages {
                return Err(Problem::Changed);
            }
            each(&indices);
            Ok(())
        });
        result.map(drop).map_err(|problem| TraceError {
            path: self.path.clone(),
            problem,
        })
    }
}

/// What one reading found beside the objects.
struct Passed {
    /// Records that were passed over.
    skipped: u64,
    /// The name of the object's column.
    column: Option<String>,
}

/// Gives the objects of the accesses to `each`, batch by batch.
fn read(
    path: &Path,
    layout: &Layout,
    each: impl FnMut(&[u64]) -> Result<(), Problem>,
) -> Result<Passed, Problem> {
    let input = input::open(path)?;
    let (head, bytes) = (input.head.as_slice(), input.bytes);
    if head.is_empty() {
        return Err(Problem::Empty);
    }
    let format = match (layout.format, &layout.object) {
        (Some(format), _) => format,
        (None, Some(_)) => Format::Csv,
        (None, None) => Format::of(path, head)?,
    };
    let skipped = match format {
        _ if format != Format::Csv && layout.object.is_some() => return Err(Problem::NoColumns),
        Format::OracleGeneral => oracle_general::read(bytes, each)?,
        Format::Vscsi => vscsi::read(head, bytes, each)?,
        Format::Csv => {
            let lines = BufReader::with_capacity(1 << 20, bytes);
            let column = csv::read(lines, layout.object.as_ref(), each)?;
            return Ok(Passed { skipped: 0, column });
        }
    };
    Ok(Passed {
        skipped,
        column: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        File::create(&path).unwrap().write_all(content).unwrap();
        (folder, path)
    }

    fn indices(trace: &mut Trace) -> Vec<u32> {
        let mut all = Vec::new();
        trace.replay(|batch| all.extend_from_slice(batch)).unwrap();
        all
    }

    #[test]
    fn pages_are_numbered_by_their_first_access() {
        let (_folder, path) = file("a.csv", b"900\n7\n900\n18446744073709551615\n7\n");
        let mut trace = Trace::open(&path, Format::of_name(&path)).unwrap();
        assert_eq!(indices(&mut trace), [0, 1, 0, 2, 1]);
        assert_eq!(
            (trace.pages(), trace.accesses(), trace.skipped()),
            (3, 5, 0)
        );
    }

    #[test]
    fn both_formats_give_the_same_pages_however_large_the_file() {
        let objects: Vec<u64> = (0..200_000).map(|n| (n * n) % 70_001 * 4096).collect();
        let mut binary = Vec::new();
        write_oracle_general(&mut binary, objects.iter().copied()).unwrap();
        let text: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let (_one, binary) = file("a.bin", &binary);
        let (_two, text) = file("a.csv", text.as_bytes());
        let open =
            |path, kept_max| Trace::keeping(kept_max, path, Format::of_name(path).into()).unwrap();
        let kept = indices(&mut open(&binary, KEPT_MAX));
        assert_eq!(kept.len(), objects.len());
        assert_eq!(kept, indices(&mut open(&text, KEPT_MAX)));
        assert_eq!(kept, indices(&mut open(&binary, 1000)), "read again");
        assert_eq!(kept, indices(&mut open(&text, 1000)), "read again");
    }

    #[test]
    fn what_cannot_be_read_says_so() {
        let error = |path: &Path| {
            let error = Trace::open(path, Format::of_name(path)).unwrap_err();
            let text = error.to_string();
            text.rsplit_once('/')
                .map_or(text.clone(), |(_, rest)| rest.to_owned())
        };
        let (_folder, path) = file("empty.bin", b"");
        assert_eq!(error(&path), "empty.bin: the trace is empty");
        let (_folder, path) = file("a.bin.zst", b"x");
        assert_eq!(
            error(&path),
            "a.bin.zst: the trace is compressed; unpack it first (`unzstd FILE`)"
        );
        assert!(error(Path::new("/none.bin")).starts_with("none.bin: No such file"));
    }

    #[test]
    fn a_file_that_changed_between_the_readings_is_refused() {
        let (_folder, path) = file("a.csv", b"1\n2\n");
        let mut trace = Trace::keeping(1, &path, Format::Csv.into()).unwrap();
        std::fs::write(&path, "3\n").unwrap();
        let error = trace.replay(|_| ()).unwrap_err();
        assert!(matches!(error.problem, Problem::Changed));
    }
}
