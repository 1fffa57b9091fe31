//! The page: its sections in order.

use super::html::{Escaped, paragraphs};
use super::pair::{Pair, Report};
use super::{arms, curves, figures, kernels, repeat, shown, survivors, table};
use study::Study;
use study::compare::Row;
use study::template;
use study::verdicts::{self, ArmVerdict};

/// The page's style sheet.
pub(super) const STYLE: &str = include_str!("style.css");

/// Most arms whose figures are shown unfolded.
const UNFOLDED: usize = 6;

/// A kernel's runs, with all figures and verdicts read once.
struct Read<'a> {
    pair: &'a Pair,
    rows: Vec<Row>,
    verdicts: Vec<ArmVerdict>,
    /// Why nothing is ranked, where the study's pressure was not reached.
    missed: Option<String>,
}

impl<'a> Read<'a> {
    fn of(study: &Study, pair: &'a Pair) -> Self {
        Self {
            pair,
            rows: pair.rows(study),
            verdicts: pair.verdicts(study),
            missed: pair.missed_pressure(study),
        }
    }
}

/// Writes the page.
pub(super) fn page(report: &Report<'_>) -> String {
    let study = report.study;
    let read: Vec<Read<'_>> = report
        .pairs
        .iter()
        .map(|pair| Read::of(study, pair))
        .collect();
    // The answer speaks of the first kernel that was really run, as `Report::spoken_of` has it.
    let proved = read.iter().find(|read| read.pair.is_proved());
    let spoken_of = proved.or_else(|| read.first());
    let sections = [
        head(study),
        missed(&read),
        unlike_boot(study, &read),
        notes(&report.notes),
        answer(study, &read, spoken_of),
        limits_of_arms(study),
        unproved(report),
        problems(report),
        first_of_all(study, &read),
        read.iter()
            .enumerate()
            .map(|(index, read)| kernel(study, read, index))
            .collect(),
        verdicts(study, &read),
        published(study, spoken_of),
        why(study, &read, spoken_of),
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

/// The kernels on which nothing can be ranked.
fn missed(read: &[Read<'_>]) -> String {
    let line = |read: &Read<'_>| {
        let (kernel, why) = (Escaped(&read.pair.kernel), Escaped(read.missed.as_ref()?));
        Some(format!(
            "<section class=\"warning\">\n<p><strong>{kernel}:</strong> {why}.</p>\n</section>\n"
        ))
    };
    read.iter().filter_map(line).collect()
}

/// The kernels that the study does not run as they boot.
fn unlike_boot(study: &Study, read: &[Read<'_>]) -> String {
    let line = |read: &Read<'_>| {
        let what = read.pair.unlike_boot(study)?;
        let (kernel, what) = (Escaped(&read.pair.kernel), Escaped(what));
        Some(format!("<p class=\"note\">{kernel}: {what}.</p>\n"))
    };
    read.iter().filter_map(line).collect()
}

/// Of which machine and kernel the page is.
fn notes(notes: &[String]) -> String {
    let note = |note: &String| format!("<p class=\"note\">{}.</p>\n", Escaped(note));
    notes.iter().map(note).collect()
}

/// The author's answer with the numbers of the kernel that is spoken of; those of the others are
/// folded away behind it.
fn answer(study: &Study, read: &[Read<'_>], spoken_of: Option<&Read<'_>>) -> String {
    let Some(first) = spoken_of else {
        return String::new();
    };
    let Some(text) = &study.answer else {
        return spoken(study, read);
    };
    if !template::is_whole(text, &first.rows) || first.missed.is_some() {
        return String::new();
    }
    let of_kernel = |read: &Read<'_>| paragraphs(&filled(text, &read.rows));
    let kernel = Escaped(&first.pair.kernel);
    let whence = match first.pair.is_proved() {
        true => format!("The numbers were measured on {kernel}."),
        false => format!("The numbers are the model's, for {kernel}; no kernel was run."),
    };
    format!(
        "<section class=\"answer\" aria-label=\"The answer\">\n{}<p class=\"note\">{whence}</p>\n{}\
         </section>\n",
        of_kernel(first),
        on_the_others(study, read, first, of_kernel)
    )
}

/// The verdicts in sentences, where the author has no answer.
fn spoken(study: &Study, read: &[Read<'_>]) -> String {
    let of_kernel = |read: &Read<'_>| {
        let lines = verdicts::spoken(study, &read.verdicts);
        let lines = lines
            .iter()
            .map(|line| format!("<p>{}</p>\n", Escaped(line)));
        let whence = if read.pair.is_proved() {
            "measured"
        } else {
            "predicted"
        };
        let lines = lines.collect::<String>();
        let kernel = Escaped(&read.pair.kernel);
        match lines.is_empty() || read.missed.is_some() {
            true => String::new(),
            false => format!("{lines}<p class=\"note\">{kernel}, {whence}.</p>\n"),
        }
    };
    let texts: String = read.iter().map(of_kernel).collect();
    match texts.is_empty() {
        true => texts,
        false => {
            format!("<section class=\"answer\" aria-label=\"The verdict\">\n{texts}</section>\n")
        }
    }
}

/// The same words for every other kernel that was run, or predicted where none was: folded where
/// the figures are the same, and in the open, with what differs before them, where they are not.
fn on_the_others(
    study: &Study,
    read: &[Read<'_>],
    first: &Read<'_>,
    words: impl Fn(&Read<'_>) -> String,
) -> String {
    let alike = |other: &&Read<'_>| {
        !std::ptr::eq(*other, first) && other.pair.is_proved() == first.pair.is_proved()
    };
    let one = |other: &Read<'_>| {
        let (kernel, words) = (Escaped(&other.pair.kernel), words(other));
        let differing = kernels::differing(study, &first.rows, &other.rows);
        if differing.is_empty() {
            return format!(
                "<details><summary>The same on {kernel}</summary>\n{words}</details>\n"
            );
        }
        let (differing, own) = (Escaped(differing.join("; ")), Escaped(&first.pair.kernel));
        format!("<p><strong>{kernel} differs from {own}:</strong> {differing}.</p>\n{words}")
    };
    read.iter().filter(alike).map(one).collect()
}

/// The author's text with the pair's numbers; a mistake in it is shown in its place.
fn filled(text: &str, rows: &[Row]) -> String {
    template::fill(text, rows).unwrap_or_else(|error| error.to_string())
}

/// What the study asks to be shown before all figures: its charts and its table of arms.
fn first_of_all(study: &Study, read: &[Read<'_>]) -> String {
    let kernels = read.iter().map(|read| (read.pair, read.rows.as_slice()));
    let mut text = shown::shown(study, &kernels.collect::<Vec<_>>());
    let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    for read in read {
        let (pair, verdicts) = (read.pair, &read.verdicts);
        if let Some(table) = arms::arms(study, &names, pair, &read.rows, verdicts) {
            let (title, kernel) = (Escaped(&table.title), Escaped(&pair.kernel));
            text += &format!("<h2>{title}: {kernel}</h2>\n{}", table.to_html());
        }
    }
    text
}

/// Folds away what is too much to be read in a row.
fn folded(study: &Study, what: &str, text: String) -> String {
    match study.arms.len() <= UNFOLDED {
        true => text,
        false => format!(
            "<details><summary>{} of all {} arms</summary>\n{text}</details>\n",
            Escaped(what),
            study.arms.len()
        ),
    }
}

/// The limits that are not what they say.
fn limits_of_arms(study: &Study) -> String {
    let lines = study.limits();
    let line = |(arm, what): &(String, String)| {
        let (arm, what) = (Escaped(arm), Escaped(what));
        format!("<p class=\"note\">Arm {arm}: {what}.</p>\n")
    };
    lines.iter().map(line).collect()
}

fn unproved(report: &Report<'_>) -> String {
    if report.pairs.iter().any(Pair::is_proved) {
        return String::new();
    }
    if report.study.is_for_the_model() {
        return "<section class=\"warning\">\n<p><strong>For the model only.</strong> All figures \
                below are predictions; the study has no arm that a real kernel could run here, so \
                the calibration error is unknown.</p>\n</section>\n"
            .to_owned();
    }
    let asked = format!("{}{}", report.study.file, report.arguments);
    let (name, asked) = (Escaped(&report.study.file), Escaped(&asked));
    let looked = match (&report.no_record, report.arguments.is_empty()) {
        (Some(why), _) => format!(
            "<strong>Nothing was proved yet.</strong> All figures below are predictions of the \
             model: {}, so the calibration error is unknown.",
            Escaped(why)
        ),
        (None, true) => format!(
            "<strong>Predictions of the model.</strong> No record of a real kernel was looked for; \
             <code>plimsoll report {name}</code> puts those that there are beside them."
        ),
        // A record is of the study's own machine.
        (None, false) => "<strong>Predictions of the model</strong> for a machine that is not the \
                          study's own, of which there are no records."
            .to_owned(),
    };
    format!(
        "<section class=\"warning\">\n<p>{looked} To run the same study on a real kernel in a \
         throwaway VM:</p>\n<pre>plimsoll prove {asked}</pre>\n</section>\n"
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
fn kernel(study: &Study, read: &Read<'_>, index: usize) -> String {
    let Read { pair, rows, .. } = read;
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
        let summary = Escaped(table::calibration_summary(rows));
        text += &format!("<p><strong>Calibration error:</strong> {summary}</p>\n");
    }
    let figures = table::comparison(rows, study.arms.len(), pair);
    text += &folded(study, "The figures", figures);
    text += &format!("<h3>{name}: the load line</h3>\n");
    let lines = figures::load_lines(study, pair, &prefix);
    text += &folded(study, "The load lines", lines);
    for (what, charts) in curves::curves(study, pair, rows, &prefix) {
        let charts = folded(study, "The charts", charts);
        text += &format!("<h3>{name}: {} over time</h3>\n{charts}", Escaped(&what));
    }
    if let Some(times) = figures::times(study, pair, &prefix) {
        let times = folded(study, "The times", times);
        text += &format!("<h3>{name}: times</h3>\n{times}");
    }
    if let Some(survivors) = survivors::survivors(study, pair) {
        let survivors = folded(study, "The processes", survivors);
        text += &format!("<h3>{name}: who survived</h3>\n{survivors}");
    }
    text
}

fn verdicts(study: &Study, read: &[Read<'_>]) -> String {
    let tables = read.iter().filter_map(|read| {
        let Read {
            pair,
            rows,
            verdicts,
            ..
        } = read;
        let table = super::verdicts::verdicts(study, pair, rows, verdicts)?;
        let whence = if pair.is_proved() {
            "measured"
        } else {
            "predicted"
        };
        Some(format!(
            "<h3>{}, {whence}</h3>\n{}",
            Escaped(&pair.kernel),
            folded(study, "The verdicts", table)
        ))
    });
    match tables.collect::<String>() {
        none if none.is_empty() => none,
        tables => format!("<h2>Verdicts: each arm against the first</h2>\n{tables}"),
    }
}

fn published(study: &Study, spoken_of: Option<&Read<'_>>) -> String {
    let Some(Read { pair, rows, .. }) = spoken_of else {
        return String::new();
    };
    table::published(study, pair, rows).map_or_else(String::new, |table| {
        format!("<h2>The published experiment beside ours</h2>\n{table}")
    })
}

fn why(study: &Study, read: &[Read<'_>], spoken_of: Option<&Read<'_>>) -> String {
    let Some(first) = spoken_of else {
        return String::new();
    };
    let of_kernel = |read: &Read<'_>| -> String {
        let reasons = study.measures.iter().filter_map(|measure| {
            let why = measure.why.as_ref();
            let why = why.filter(|why| template::is_whole(why, &read.rows))?;
            let text = filled(why, &read.rows);
            let (name, text) = (Escaped(&measure.name), paragraphs(&text));
            Some(format!("<h3>{name}</h3>\n{text}"))
        });
        reasons.collect()
    };
    match of_kernel(first) {
        none if none.is_empty() => none,
        reasons => format!(
            "<h2>Why the numbers are what they are</h2>\n<p class=\"note\">{}</p>\n{reasons}{}",
            Escaped(&first.pair.kernel),
            on_the_others(study, read, first, of_kernel)
        ),
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
