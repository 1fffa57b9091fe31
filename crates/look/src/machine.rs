//! Which machine this is, and from where it is seen.

use mm::capture::Frame;
use mm::notes::COVERED;
use mm::notes::{FACTS, Facts, Place, Platform};
use mm::release::Span;
use mm::snapshot::{PageSource, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// The machine and the moment.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Machine {
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    page_size: u64,
    page_size_is: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_by_items: Option<String>,
    at_nanoseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    up_seconds: Option<u64>,
    platform: &'static str,
    place: &'static str,
    reader: &'static str,
    /// Kernel files that a mount lies over, with its file system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    covered: Vec<Covered>,
    #[serde(skip)]
    facts: Facts,
}

/// A kernel file or folder, and the file system that is mounted over it.
#[derive(Debug, JsonSchema, Serialize)]
struct Covered {
    path: String,
    file_system: String,
}

impl Machine {
    /// What the frame says.
    pub(crate) fn of(snapshot: &Snapshot, frame: &Frame) -> Self {
        let facts = Facts::from_text(frame.file(FACTS).unwrap_or(""));
        let uptime = frame
            .file("proc/uptime")
            .and_then(|text| text.split(['.', ' ']).next());
        Self {
            kernel: snapshot.release.clone(),
            page_size: snapshot.page.bytes(),
            page_size_is: word(snapshot.page_source),
            kernel_by_items: by_items(snapshot),
            at_nanoseconds: snapshot.at.0,
            label: snapshot.label.clone(),
            up_seconds: uptime.and_then(|seconds| seconds.parse().ok()),
            platform: facts.platform.word(),
            place: facts.place.word(),
            reader: facts.reader.word(),
            covered: covered(frame.file(COVERED).unwrap_or("")),
            facts,
        }
    }

    /// Writes the first lines of the page.
    pub(crate) fn write(&self, page: &mut Page) {
        page.title(&self.title(page.either(" · ", ", ")));
        self.write_place(page);
    }

    /// Kernel, page size and time since boot, with this between them.
    pub(crate) fn title(&self, dot: &str) -> String {
        let kernel = match (&self.kernel, &self.kernel_by_items) {
            (Some(kernel), _) => format!("Linux {kernel}"),
            (None, Some(bounds)) => format!("Linux (unknown; by its items {bounds})"),
            (None, None) => "Linux (unknown)".to_owned(),
        };
        let size = self.page_size / 1024;
        let pages = match self.page_size_is {
            TOLD => format!("{size} KiB pages"),
            INFERRED => format!("{size} KiB pages, by the amounts"),
            _ => format!("{size} KiB pages, assumed"),
        };
        let mut words = vec![kernel, pages];
        if let Some(seconds) = self.up_seconds {
            words.push(format!("up {}", span(seconds)));
        }
        if self.facts.platform == Platform::Vm {
            words.push("VM".to_owned());
        }
        if let Some(label) = &self.label {
            words.push(format!("at \"{label}\""));
        }
        words.join(dot)
    }

    fn write_place(&self, page: &mut Page) {
        if self.facts.place == Place::Container {
            page.paragraph(
                2,
                "Seen from inside a container: the numbers are the whole machine's, and \
                what a container may use is set by its control groups.",
            );
        }
        for covered in &self.covered {
            let text = format!(
                "/{} is covered by {}: what it shows is not the kernel's, or not the machine's.",
                covered.path, covered.file_system
            );
            page.paragraph(2, &text);
        }
    }
}

fn covered(note: &str) -> Vec<Covered> {
    let lines = note.lines().filter_map(|line| line.split_once('\t'));
    let covered = lines.map(|(path, file_system)| Covered {
        path: path.to_owned(),
        file_system: file_system.to_owned(),
    });
    covered.collect()
}

const TOLD: &str = "told";
const INFERRED: &str = "inferred";

fn word(source: PageSource) -> &'static str {
    match source {
        PageSource::Told => TOLD,
        PageSource::Inferred => INFERRED,
        PageSource::Assumed => "assumed",
    }
}

/// The releases that the files' items allow, where none is told.
fn by_items(snapshot: &Snapshot) -> Option<String> {
    let span = snapshot.span();
    (!snapshot.knows_release() && span != Span::ALL).then(|| span.to_string())
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86400, seconds % 86400 / 3600),
    }
}
