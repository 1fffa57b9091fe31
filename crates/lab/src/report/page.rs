//! The page: its sections in order.

use super::html::Escaped;
use super::{Pair, Report, STYLE, figures, repeat, survivors, table, template, verdicts};
use crate::study::Study;

/// Writes the page.
pub(super) fn page(report: &Report<'_>) -> String {
    let study = report.study;
    let sections = [
        head(study),
        answer(report),
        unproved(report),
        problems(report),
        report
            .pairs
            .iter()
            .enumerate()
            .map(|(index, pair)| kernel(study, pair, index))
            .collect(),
        verdicts(report),
        published(report),
        why(report),
        repeat::repeat(report),
        limits(),
        foot(report),
    ];
    sections.concat()
}

fn head(study: &Study) -> String {
    let (title, question) = (Escaped(&study.title), Escaped(&study.question));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<h1>{title}</h1>\n<p class=\"question\">{question}</p>\n"
    )
}

fn answer(report: &Report<'_>) -> String {
    let (Some(text), Some(pair)) = (&report.study.answer, report.spoken_of()) else {
        return String::new();
    };
    let text = filled(text, report.study, pair);
    let whence = match pair.is_proved() {
        true => format!("The numbers were measured on {}.", pair.kernel),
        false => format!(
            "The numbers are the model's, for {}; no kernel was run.",
            pair.kernel
        ),
    };
    format!(
        "<section class=\"answer\" aria-label=\"The answer\">\n{}<p class=\"note\">{}</p>\n\
         </section>\n",
        paragraphs(&text),
        Escaped(whence)
    )
}

/// The author's text with the pair's numbers; a mistake in it is shown in its place.
fn filled(text: &str, study: &Study, pair: &Pair) -> String {
    template::fill(text, &pair.rows(study)).unwrap_or_else(|error| error.to_string())
}

fn unproved(report: &Report<'_>) -> String {
    if report.pairs.iter().any(Pair::is_proved) {
        return String::new();
    }
    let name = Escaped(&report.study.file);
    format!(
        "<section class=\"warning\">\n<p><strong>Nothing was proved yet.</strong> All figures \
         below are predictions of the model; there is no record of a real kernel, so the \
         calibration error is unknown. To run the same study on a real kernel in a throwaway \
         VM, and to write this report again:</p>\n\
         <pre>plimsoll prove {name}\nplimsoll report {name}</pre>\n</section>\n"
    )
}

fn problems(report: &Report<'_>) -> String {
    if report.problems.is_empty() {
        return String::new();
    }
    let line = |problem: &String| format!("<li>{}</li>\n", Escaped(problem));
    let lines: String = report.problems.iter().map(line).collect();
    format!("<section class=\"warning\">\n<p>Not used:</p>\n<ul>\n{lines}</ul>\n</section>\n")
}

/// Everything about one kernel.
fn kernel(study: &Study, pair: &Pair, index: usize) -> String {
    let rows = pair.rows(study);
    let prefix = format!("kernel-{index}");
    let name = Escaped(&pair.kernel);
    let what = if pair.is_proved() {
        "predicted and measured"
    } else {
        "predicted"
    };
    let mut text = format!("<h2>{name}: {what}</h2>\n");
    if pair.is_proved() {
        let (release, bench) = (Escaped(&pair.release), Escaped(&pair.bench));
        text += &format!("<p class=\"note\">{release}, {bench}</p>\n");
        let summary = Escaped(table::calibration_summary(&rows));
        text += &format!("<p><strong>Calibration error:</strong> {summary}</p>\n");
    }
    text += &table::comparison(&rows, study.arms.len(), pair);
    text += &format!("<h3>{name}: the load line</h3>\n");
    text += &figures::load_lines(study, pair, &prefix);
    if let Some(times) = figures::times(study, pair, &prefix) {
        text += &format!("<h3>{name}: times</h3>\n{times}");
    }
    if let Some(survivors) = survivors::survivors(study, pair) {
        text += &format!("<h3>{name}: who survived</h3>\n{survivors}");
    }
    text
}

fn verdicts(report: &Report<'_>) -> String {
    let tables = report.pairs.iter().filter_map(|pair| {
        let table = verdicts::verdicts(report.study, pair, &pair.rows(report.study))?;
        let whence = if pair.is_proved() {
            "measured"
        } else {
            "predicted"
        };
        Some(format!(
            "<h3>{}, {whence}</h3>\n{table}",
            Escaped(&pair.kernel)
        ))
    });
    match tables.collect::<String>() {
        none if none.is_empty() => none,
        tables => format!("<h2>Verdicts: each arm against the first</h2>\n{tables}"),
    }
}

fn published(report: &Report<'_>) -> String {
    let Some(pair) = report.spoken_of() else {
        return String::new();
    };
    let rows = pair.rows(report.study);
    table::published(report.study, pair, &rows).map_or_else(String::new, |table| {
        format!("<h2>The published experiment beside ours</h2>\n{table}")
    })
}

fn why(report: &Report<'_>) -> String {
    let Some(pair) = report.spoken_of() else {
        return String::new();
    };
    let reasons = report.study.measures.iter().filter_map(|measure| {
        let text = filled(measure.why.as_ref()?, report.study, pair);
        Some(format!(
            "<h3>{}</h3>\n{}",
            Escaped(&measure.name),
            paragraphs(&text)
        ))
    });
    match reasons.collect::<String>() {
        none if none.is_empty() => none,
        reasons => format!("<h2>Why the numbers are what they are</h2>\n{reasons}"),
    }
}

fn limits() -> String {
    "<h2>Limits</h2>\n\
     <p>The model computes watermarks, reserves and MemAvailable as the kernel does, and takes the \
     cost of a fault, a copy or a disk request from a calibration of the machine. What it leaves \
     out or approximates, and which test shows how far off that is, stands in \
     <code>docs/model.md</code>. A prediction holds for the machine and the workload of this \
     study; the calibration error says how far it was off where a kernel was run.</p>\n"
        .to_owned()
}

fn foot(report: &Report<'_>) -> String {
    let version = Escaped(&report.version);
    format!("<footer>Written by plimsoll {version}.</footer>\n</main>\n</body>\n</html>\n")
}

/// An author's text as paragraphs: an empty line ends one, backticks enclose what is typed.
pub(super) fn paragraphs(text: &str) -> String {
    let paragraph = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("<p>{}</p>\n", code(&words))
    };
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    blocks.map(paragraph).collect()
}

/// Every second piece between backticks is code; an odd last backtick stays what it is.
fn code(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let last = pieces.len() - 1;
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let escaped = Escaped(piece);
        out += &match index % 2 {
            1 if index < last => format!("<code>{escaped}</code>"),
            1 => format!("`{escaped}"),
            _ => escaped.to_string(),
        };
    }
    out
}
