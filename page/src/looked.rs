//! What somebody holds of a machine: `inspect`, `explain` and `lint` of it.

use look::explain::overview::Overview;
use look::explain::proposed::Proposed;
use look::lint::machine::Machine;
use look::lint::scope::Extent as Part;
use look::lint::text::Text;
use look::lint::{Choice, Report, Scope, json, read};
use look::page::{Canvas, Charset};
use look::sections::Extent;
use look::style;
use look::view::View;
use mm::capture::Capture;
use mm::catalogue;
use mm::settings::Setting;
use mm::snapshot::Snapshot;
use serde::Deserialize;
use serde_json::{Value, json as object};

/// A file, and what is asked of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Look {
    /// The file's name, which says what its lines do not.
    name: String,
    /// Settings to be judged for its machine, `TUNABLE=VALUE` each.
    #[serde(default)]
    set: Vec<String>,
    /// Columns of the text that comes back.
    width: usize,
}

/// The longest capture that is handed back with its pages, in bytes: the page keeps it, to compare
/// it or to ask the studies for its machine.
const KEPT: usize = 8 << 20;

/// Pages of text, as JSON: what is wrong, what differs from the kernel's choice, what the settings
/// would change; or what is wrong with a file of settings.
pub(crate) fn looked(look: &Look, file: &[u8]) -> Result<String, String> {
    if let Some(text) = settings(look, file) {
        let machine = Machine::default();
        return linted(Scope::of(vec![text], Part::Part, &machine));
    }
    let found = unpack::read(file, &look.name).map_err(|why| why.to_string())?;
    let capture = Capture {
        frames: found.frames,
    };
    let pages = pages(look, &capture)?;
    let capture = Some(capture.to_text()).filter(|text| text.len() <= KEPT);
    Ok(object!({ "pages": pages, "capture": capture }).to_string())
}

/// A file of settings, by its name and its lines; what `sysctl -a` printed is none.
fn settings(look: &Look, file: &[u8]) -> Option<Text> {
    let text = std::str::from_utf8(file).ok()?;
    let form = read::form(&look.name, text)?;
    let mut lines = text.lines();
    let is_output = lines.any(|line| line.starts_with("kernel.osrelease"));
    (!is_output).then(|| Text::new(look.name.clone(), text.to_owned(), form))
}

fn pages(look: &Look, capture: &Capture) -> Result<Vec<Value>, String> {
    let view = View::of(capture, None).map_err(|why| why.to_string())?;
    let frame = View::frame(capture, None).map_err(|why| why.to_string())?;
    let snapshot = Snapshot::parse(frame);
    let canvas = canvas(look.width);
    let shown = view.of_evidence().text(canvas, &Extent::Screen);
    let overview = Overview::of(frame, &snapshot, Vec::new()).text(canvas);
    let mut pages = vec![
        page("What it shows", &shown),
        page("What differs from the kernel's own choice", &overview),
    ];
    if !look.set.is_empty() {
        let settings = look.set.iter().map(|text| setting(text, &snapshot));
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        let proposed = Proposed::of(frame, &snapshot, settings);
        let name = "What the settings would change there";
        pages.push(page(name, &proposed.text(canvas, "EVIDENCE")));
    }
    Ok(pages)
}

pub(crate) fn canvas(width: usize) -> Canvas {
    Canvas {
        width: width.clamp(40, 120),
        charset: Charset::Unicode,
    }
}

pub(crate) fn page(name: &str, text: &str) -> Value {
    object!({ "name": name, "text": style::plain(text) })
}

fn linted(scope: Scope<'_>) -> Result<String, String> {
    let report = Report::of(&[scope], &Choice::default());
    let report = json::text(&report, None, &[]);
    let report: Value = serde_json::from_str(&report).map_err(|why| why.to_string())?;
    Ok(object!({ "lint": report }).to_string())
}

fn setting(text: &str, snapshot: &Snapshot) -> Result<Setting, String> {
    catalogue::typed(text, snapshot.page).map_err(|why| why.to_string())
}
