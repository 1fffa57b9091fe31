//! The charts of a report and their captions.

use mm::units::Nanos;
use scenario::outcome::Outcome;
use scenario::workload::{Action, Step, Target};

use super::chart::{Bar, Bars, Ink, LoadLineChart, Words, both};
use super::html::Escaped;
use super::legend::{bar, broad, key, legend, line};
use super::pair::{Pair, first};
use super::series::{self, LoadLine, Span};
use study::measure::{Source, Take};
use study::record::Record;
use study::stats;
use study::{Arm, Study};

/// The load line of every arm.
pub(super) fn load_lines(study: &Study, pair: &Pair, prefix: &str) -> String {
    let figures = study.arms.iter().enumerate().map(|(index, arm)| {
        let id = format!("{prefix}-load-{index}");
        load_line(arm, pair, &id).unwrap_or_default()
    });
    load_line_legend(pair) + &figures.collect::<String>()
}

fn load_line(arm: &Arm, pair: &Pair, id: &str) -> Option<String> {
    let (model, kernel) = (
        first(&pair.model, &arm.name),
        first(&pair.proofs, &arm.name),
    );
    let (name, about) = (Escaped(&arm.name), Escaped(&arm.about));
    let lacking = kernel
        .or(model)
        .filter(|record| !record.outcome.is_available());
    if let Some(record) = lacking {
        let what = record.outcome.unavailable().collect::<Vec<_>>().join(", ");
        let what = Escaped(&what);
        return Some(format!(
            "<figure>\n<h4>Arm {name}</h4>\n<p class=\"note\">{about}</p>\n\
             <p>Not available here: {what}.</p>\n</figure>\n"
        ));
    }
    let lines = |record: &Record| LoadLine::of(&record.outcome.capture);
    let (model_lines, kernel_lines) = (model.map(lines), kernel.map(lines));
    let spans = series::spans(&kernel.or(model)?.outcome);
    let chart = LoadLineChart {
        model: model_lines.as_ref(),
        kernel: kernel_lines.as_ref(),
        spans: &spans,
    };
    let title = format!("Memory over time, arm {}, {}", arm.name, pair.kernel);
    let description = describe(kernel_lines.as_ref().or(model_lines.as_ref())?);
    let words = Words {
        id,
        title: &title,
        description: &description,
    };
    let svg = both(words, |width| chart.draw(width));
    let caption = numbered(&spans);
    Some(format!(
        "<figure>\n<h4>Arm {name}</h4>\n<p class=\"note\">{about}</p>\n{svg}\
         <figcaption>{caption}</figcaption>\n</figure>\n"
    ))
}

/// What a reader who does not see the chart should know.
fn describe(lines: &LoadLine) -> String {
    let range = |points: &series::Points| {
        let values = points.iter().map(|&(_, value)| value);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        format!("from {least:.2} to {:.2} GiB", values.fold(0.0, f64::max))
    };
    format!(
        "Over {:.0} seconds, free memory ranges {}, the page cache {}, available memory {}, \
         and the low watermark {}.",
        lines.end(),
        range(&lines.free),
        range(&lines.cached),
        range(&lines.available),
        range(&lines.low)
    )
}

fn numbered(spans: &[Span]) -> String {
    if spans.is_empty() {
        return "No step with a label was finished.".to_owned();
    }
    let name =
        |(index, span): (usize, &Span)| format!("<b>{}</b> {}", index + 1, Escaped(&span.label));
    let names: Vec<String> = spans.iter().enumerate().map(name).collect();
    format!("Steps in the strip above the chart: {}.", names.join(", "))
}

fn load_line_legend(pair: &Pair) -> String {
    let mut keys = vec![
        key(&line(Ink::Free, 2, ""), "free"),
        key(&line(Ink::Cached, 2, ""), "page cache"),
        key(&line(Ink::Available, 2, ""), "available"),
        key(&band(), "from the min to the high watermark"),
        key(&line(Ink::Watermark, 2, "5 3"), "low watermark"),
    ];
    if pair.is_proved() {
        let broad = format!("{}{}", broad(Ink::Free, 0.3), line(Ink::Free, 2, ""));
        keys.push(key(&broad, "thin: the model; broad and pale: the kernel"));
    }
    legend(&keys)
}

fn band() -> String {
    let color = Ink::Watermark.hex();
    format!("<rect width=\"34\" height=\"12\" fill=\"{color}\" opacity=\"0.16\"/>")
}

/// How long each step took that reads or writes a file, arm by arm; `None` where there is none.
pub(super) fn times(study: &Study, pair: &Pair, prefix: &str) -> Option<String> {
    let groups: Vec<(&Arm, Vec<Bar>)> = study
        .arms
        .iter()
        .map(|arm| (arm, bars(study, arm, pair)))
        .collect();
    let values = groups.iter().flat_map(|(_, bars)| bars);
    let values = values
        .flat_map(|bar| [bar.model, bar.kernel, bar.published])
        .flatten();
    let full = values.fold(0.0, f64::max);
    if full <= 0.0 {
        return None;
    }
    let is_published = |bar: &Bar| bar.published.is_some();
    let published = groups.iter().flat_map(|(_, bars)| bars).any(is_published);
    let mut text = times_legend(pair, published.then_some(Ink::Published));
    for (index, (arm, bars)) in groups
        .iter()
        .enumerate()
        .filter(|(_, (_, bars))| !bars.is_empty())
    {
        let title = format!("Duration of each step, arm {}, {}", arm.name, pair.kernel);
        let rows: Vec<String> = bars
            .iter()
            .map(|b| format!("{}: {}", b.label, b.values))
            .collect();
        let description = rows.join("; ");
        let id = format!("{prefix}-times-{index}");
        let words = Words {
            id: &id,
            title: &title,
            description: &description,
        };
        let svg = both(words, |width| Bars { bars, full }.draw(width));
        text += &format!(
            "<figure>\n<h4>Arm {}</h4>\n{svg}</figure>\n",
            Escaped(&arm.name)
        );
    }
    Some(text)
}

/// `published` is the ink of the mark, where there is one.
fn times_legend(pair: &Pair, published: Option<Ink>) -> String {
    let mark = |ink: Ink| {
        let color = ink.hex();
        format!("<rect x=\"16\" width=\"3\" height=\"12\" fill=\"{color}\"/>")
    };
    let mut keys = vec![key(&bar(Ink::Free, 6), "predicted")];
    if pair.is_proved() {
        keys.push(key(&bar(Ink::Kernel, 12), "measured"));
    }
    keys.extend(published.map(|ink| key(&mark(ink), "published")));
    legend(&keys)
}

fn bars(study: &Study, arm: &Arm, pair: &Pair) -> Vec<Bar> {
    let mut labels = Vec::new();
    for process in &arm.workload.processes {
        file_steps(&process.steps, &mut labels);
    }
    let bar = |label: &str| {
        let model = duration(&pair.model, &arm.name, label);
        let kernel = duration(&pair.proofs, &arm.name, label);
        let published = published(study, &arm.name, label);
        let parts = [
            model.map(|seconds| format!("predicted {}", shown(seconds))),
            kernel.map(|seconds| format!("measured {}", shown(seconds))),
            published
                .as_ref()
                .map(|(text, _)| format!("published {text}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Bar {
            label: label.to_owned(),
            values: parts.join(", "),
            model,
            kernel,
            published: published.map(|(_, seconds)| seconds),
        }
    };
    let bars = labels.into_iter().map(bar);
    bars.filter(|bar| bar.model.is_some() || bar.kernel.is_some())
        .collect()
}

/// The labels of the steps that access a file, in order.
fn file_steps<'a>(steps: &'a [Step], labels: &mut Vec<&'a str>) {
    for step in steps {
        match (&step.action, step.label.as_deref()) {
            (Action::Access(access), Some(label))
                if matches!(access.target, Target::File(_)) && !labels.contains(&label) =>
            {
                labels.push(label);
            }
            (Action::Repeat { steps, .. }, _) => file_steps(steps, labels),
            _ => {}
        }
    }
}

/// The median duration in seconds over all runs of an arm.
fn duration(records: &[Record], arm: &str, label: &str) -> Option<f64> {
    let records = records.iter().filter(|record| record.provenance.arm == arm);
    let durations = records.filter_map(|record| of_outcome(&record.outcome, label));
    let values: Vec<f64> = durations.collect();
    stats::median(&values)
}

fn of_outcome(outcome: &Outcome, label: &str) -> Option<f64> {
    let durations: Vec<f64> = outcome
        .labelled(label)
        .map(|step| step.duration().seconds())
        .collect();
    stats::median(&durations)
}

fn published(study: &Study, arm: &str, label: &str) -> Option<(String, f64)> {
    let duration = |source: &Source| match source {
        Source::Step {
            label: of, take, ..
        } => of == label && *take == Take::Duration,
        _ => false,
    };
    let measure = study
        .measures
        .iter()
        .find(|measure| duration(&measure.source))?;
    let published = measure.published.get(arm)?;
    let nanos = published.amount * measure.unit.worth();
    Some((published.text.clone(), nanos / Nanos::SECOND.0 as f64))
}

fn shown(seconds: f64) -> String {
    study::measure::Unit::Seconds.show(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_finished_no_step_says_so() {
        assert_eq!(numbered(&[]), "No step with a label was finished.");
    }
}
