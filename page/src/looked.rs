//! What a text shows that somebody holds of a machine: `inspect`, `explain` and `lint` of it.

use evidence::{Reading, clean, gather};
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
use mm::capture::{self, Capture, Frame};
use mm::catalogue;
use mm::settings::Setting;
use mm::snapshot::Snapshot;
use serde::Deserialize;
use serde_json::{Value, json as object};

/// A text, and what is asked of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Look {
    /// The file's name, which says what its lines do not.
    name: String,
    text: String,
    /// Settings to be judged for its machine, `TUNABLE=VALUE` each.
    #[serde(default)]
    set: Vec<String>,
    /// Columns of the text that comes back.
    width: usize,
}

/// Pages of text, as JSON: what is wrong, what differs from the kernel's choice, what the settings
/// would change; or what is wrong with a file of settings.
pub(crate) fn looked(look: &Look) -> Result<String, String> {
    let form = read::form(&look.name, &look.text);
    let is_output = |text: &str| {
        text.lines()
            .any(|line| line.starts_with("kernel.osrelease"))
    };
    if let Some(form) = form.filter(|_| !is_output(&look.text)) {
        let text = Text::new(look.name.clone(), look.text.clone(), form);
        let machine = Machine::default();
        return linted(Scope::of(vec![text], Part::Part, &machine));
    }
    let capture = capture_of(look)?;
    let view = View::of(&capture, None).map_err(|why| why.to_string())?;
    let frame = View::frame(&capture, None).map_err(|why| why.to_string())?;
    let snapshot = Snapshot::parse(frame);
    let canvas = Canvas {
        width: look.width.clamp(40, 120),
        charset: Charset::Unicode,
    };
    let overview = Overview::of(frame, &snapshot, Vec::new()).text(canvas);
    let mut pages = vec![
        page(
            "What it shows",
            &view.of_evidence().text(canvas, &Extent::Screen),
        ),
        page("What differs from the kernel's own choice", &overview),
    ];
    if !look.set.is_empty() {
        let settings = look.set.iter().map(|text| setting(text, &snapshot));
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        let proposed = Proposed::of(frame, &snapshot, settings);
        let name = "What the settings would change there";
        pages.push(page(name, &proposed.text(canvas, "EVIDENCE")));
    }
    Ok(object!({ "pages": pages }).to_string())
}

fn page(name: &str, text: &str) -> Value {
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

/// The capture that a text is, or that is made of it.
fn capture_of(look: &Look) -> Result<Capture, String> {
    let (text, strange) = clean::decode(look.text.as_bytes());
    if text.starts_with(capture::MAGIC) {
        let recovered = Capture::recover(&text).map_err(|why| why.to_string())?;
        return Ok(recovered.capture);
    }
    let mut reading = evidence::split(&text, &look.name);
    reading.source.clone_from(&look.name);
    strange.into_iter().for_each(|why| reading.pass(why));
    let readings = [reading];
    let mut frames: Vec<Frame> = gather::frames(&readings);
    if frames.is_empty() {
        return Err(nothing(&readings));
    }
    gather::add_note(&mut frames, &gather::note(&look.name, &readings));
    Ok(Capture { frames })
}

fn nothing(readings: &[Reading]) -> String {
    let passed = readings.iter().flat_map(|reading| &reading.passed).next();
    let why = passed.map_or("no file of memory and no log", |passed| &passed.why);
    format!(
        "nothing here is known: {why}; known are captures, texts of files of /proc and /sys, \
         kernel logs, and files of settings"
    )
}
