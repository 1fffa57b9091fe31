//! What a study asks to be shown first: charts along its arms, and distributions. The kernels stand
//! beside each other, on one scale.

use std::collections::BTreeSet;

use scenario::outcome::Status;

use super::chart::{BAND, Dot, Ink, Strip, Strips, Sweep, Words, both, one};
use super::html::Escaped;
use super::legend::{bar, broad, key, legend, line};
use super::pair::Pair;
use super::prose;
use crate::csv;
use study::compare::{Figure, Row, row_of};
use study::likely_error;
use study::measure::Unit;
use study::record::Record;
use study::stats;
use study::{Chart, Distribution, Study};

/// A kernel's runs and its figures.
pub(super) type OfKernel<'a> = (&'a Pair, &'a [Row]);

/// The charts and distributions of all kernels.
pub(super) fn shown(study: &Study, kernels: &[OfKernel<'_>]) -> String {
    let charts = study.shown.charts.iter().enumerate();
    let charts = charts.map(|(index, asked)| {
        let id = format!("chart-{index}");
        chart(asked, kernels, band(study, asked, kernels), &id)
    });
    let charts: String = charts.collect();
    let distributions = study.shown.distributions.iter().enumerate();
    let distributions = distributions.map(|(index, asked)| {
        let id = format!("distribution-{index}");
        distribution(asked, study, kernels, &id)
    });
    charts + &distributions.collect::<String>()
}

/// Between which multiples of a prediction a kernel is likely to come out, where none was run.
fn band(study: &Study, asked: &Chart, kernels: &[OfKernel<'_>]) -> Option<(f64, f64)> {
    let is_known =
        |(pair, _): &OfKernel<'_>| !pair.is_proved() && likely_error::is_of_kernel(&pair.release);
    let are_known = kernels.iter().all(is_known);
    let mut measures = study.measures.iter().filter(|_| are_known);
    let measure = measures.find(|measure| measure.name == asked.measure)?;
    let known = likely_error::interval(study, measure)?;
    Some((known.least, known.most))
}

fn chart(asked: &Chart, kernels: &[OfKernel<'_>], band: Option<(f64, f64)>, id: &str) -> String {
    let all = kernels.iter().flat_map(|(_, rows)| of_chart(asked, rows));
    let all: Vec<(usize, &Row)> = all.collect();
    // One point is no curve; a terminal leaves such a chart out too.
    let has_figure = |it: &&(usize, &Row)| it.1.figure().median().is_some();
    let places: BTreeSet<usize> = all.iter().filter(has_figure).map(|it| it.0).collect();
    let Some((_, first)) = all.first().filter(|_| places.len() > 1) else {
        return String::new();
    };
    let values = |row: &Row| {
        [
            stats::spread(row.model.values()),
            stats::spread(row.kernel.values()),
        ]
    };
    let highest = all.iter().flat_map(|(_, row)| values(row)).flatten();
    let published = all
        .iter()
        .filter_map(|(_, row)| Some(row.published.as_ref()?.amount));
    let most_of_it = band.map_or(1.0, |(_, most)| most);
    let highest = highest
        .map(|(_, most)| most * most_of_it)
        .chain(published)
        .fold(0.0, f64::max);
    let heights = heights(highest, first.unit);
    let figures = kernels.iter().enumerate().map(|(index, (pair, rows))| {
        let points = of_chart(asked, rows).collect::<Vec<_>>();
        let scale = Scale {
            heights: &heights,
            band,
        };
        sweep(asked, pair, &points, scale, &format!("{id}-{index}"))
    });
    let figures: String = figures.collect();
    let is_proved = kernels.iter().any(|(pair, _)| pair.is_proved());
    let is_published = all.iter().any(|(_, row)| row.published.is_some());
    let mut figures_of = all.iter().flat_map(|(_, row)| [&row.model, &row.kernel]);
    let is_split = figures_of.any(|figure| figure.two_outcomes().is_some());
    format!(
        "<h2>{}</h2>\n{}<div class=\"beside\">\n{figures}</div>\n{}",
        Escaped(&asked.title),
        sweep_legend(is_proved, is_published, is_split, band),
        reported(asked.published.as_deref())
    )
}

/// The chart's points with the rows that they show.
fn of_chart<'a>(asked: &'a Chart, rows: &'a [Row]) -> impl Iterator<Item = (usize, &'a Row)> {
    let points = asked.points.iter().enumerate();
    points.filter_map(|(place, (arm, _))| Some((place, row_of(rows, &asked.measure, arm)?)))
}

/// What the charts of all kernels have in common.
#[derive(Clone, Copy)]
struct Scale<'a> {
    heights: &'a [(f64, String)],
    band: Option<(f64, f64)>,
}

fn sweep(
    asked: &Chart,
    pair: &Pair,
    points: &[(usize, &Row)],
    scale: Scale<'_>,
    id: &str,
) -> String {
    let dots = |figure: fn(&Row) -> &Figure| -> Vec<Dot> {
        let dot = |(place, row): &(usize, &Row)| dot(*place, figure(row));
        points.iter().filter_map(dot).collect()
    };
    let published = |(place, row): &(usize, &Row)| Some((*place, row.published.as_ref()?.amount));
    let published: Vec<_> = points.iter().filter_map(published).collect();
    let places: Vec<String> = asked.points.iter().map(|(_, at)| at.to_string()).collect();
    let hover = hover(asked, points);
    let at: Vec<f64> = asked.points.iter().map(|(_, at)| *at).collect();
    let svg = Sweep {
        at: &at,
        hover: &hover,
        model: &dots(|row| &row.model),
        band: scale.band,
        kernel: &dots(|row| &row.kernel),
        published: &published,
        places: &places,
        along: &asked.along,
        heights: scale.heights,
    };
    let words = Words {
        id,
        title: &format!("{}, {}", asked.title, pair.kernel),
        description: &described(asked, points, pair.is_proved()),
    };
    let (kernel, svg) = (Escaped(&pair.kernel), one(words, &svg.draw()));
    let measure = y_axis(asked, points);
    let data = data(&csv_of_points(asked, points));
    format!(
        "<figure>\n<h3>{kernel}</h3>\n<p class=\"note\">{}</p>\n{svg}{data}</figure>\n",
        Escaped(measure)
    )
}

/// A figure at its place; that of two outcomes is the one that more runs have, and the other.
fn dot(place: usize, figure: &Figure) -> Option<Dot> {
    let range = stats::spread(figure.values())?;
    let (median, other) = match figure.two_outcomes() {
        Some(two) if two.high.runs > two.low.runs => (two.high.median, Some(two.low.median)),
        Some(two) => (two.low.median, Some(two.high.median)),
        None => (figure.median()?, None),
    };
    Some(Dot {
        place,
        median,
        other,
        range,
    })
}

/// What the heights are: "kept (%), by vm.swappiness", as a terminal has it.
fn y_axis(asked: &Chart, points: &[(usize, &Row)]) -> String {
    let word = points.first().map_or("", |(_, row)| row.unit.word());
    let unit = match word {
        "" => String::new(),
        word => format!(" ({word})"),
    };
    format!("{}{unit}, by {}", asked.measure, asked.along)
}

/// The figures of each point in words, at the heights where they are drawn.
fn hover(asked: &Chart, points: &[(usize, &Row)]) -> Vec<(usize, f64, String)> {
    let mut spots = Vec::new();
    for (place, row) in points {
        for (figure, kind) in [(&row.model, "predicted"), (&row.kernel, "measured")] {
            let Some(dot) = dot(*place, figure) else {
                continue;
            };
            let range = figure.range(row.unit);
            let range = range.map_or_else(String::new, |range| format!(", {range}"));
            let (at, shown) = (asked.points[*place].1, figure.show(row.unit));
            let words = format!("{} at {at}: {kind} {shown}{range}", row.arm);
            spots.push((*place, dot.median, words));
        }
    }
    spots
}

/// A line for each point: where it stands, and the median, least and most of each kind of run.
fn csv_of_points(asked: &Chart, points: &[(usize, &Row)]) -> String {
    let head = [
        &asked.along as &str,
        "arm",
        "unit",
        "predicted_median",
        "predicted_min",
        "predicted_max",
        "measured_median",
        "measured_min",
        "measured_max",
    ];
    let mut text = csv::line(&head);
    for (place, row) in points {
        let unit = match row.unit.word() {
            "" => "count",
            word => word,
        };
        let at = asked.points[*place].1.to_string();
        let mut cells = vec![at, row.arm.clone(), unit.to_owned()];
        for figure in [&row.model, &row.kernel] {
            let range = stats::spread(figure.values());
            let median = figure.median().filter(|_| figure.two_outcomes().is_none());
            let numbers = [median, range.map(|it| it.0), range.map(|it| it.1)];
            let numbers = numbers.map(|it| it.map_or_else(String::new, |it| it.to_string()));
            cells.extend(numbers);
        }
        text += &csv::line(&cells);
    }
    text
}

/// A chart's data, folded away below it.
fn data(csv: &str) -> String {
    let csv = Escaped(csv);
    format!("<details><summary>The data as CSV</summary>\n<pre>{csv}</pre>\n</details>\n")
}

/// The figures in words, for those who do not see the chart.
fn described(asked: &Chart, points: &[(usize, &Row)], is_proved: bool) -> String {
    let point = |(place, row): &(usize, &Row)| {
        let (at, predicted) = (asked.points[*place].1, row.model.show(row.unit));
        match is_proved {
            true => format!(
                "at {at} {} (predicted {predicted})",
                row.kernel.show(row.unit)
            ),
            false => format!("at {at} {predicted}"),
        }
    };
    let points: Vec<String> = points.iter().map(point).collect();
    let kind = if is_proved { "Measured" } else { "Predicted" };
    let (measure, along) = (&asked.measure, &asked.along);
    format!("{kind} “{measure}” by {along}: {}.", points.join(", "))
}

/// Round numbers from zero to `highest`, or the next one above it.
fn heights(highest: f64, unit: Unit) -> Vec<(f64, String)> {
    // A share of 100.02 % needs no line at 120 %.
    let enough = highest * 0.995;
    let mut step = 1e-9;
    for factor in [2.0, 2.5, 2.0].into_iter().cycle().take(90) {
        if enough <= step * 5.0 {
            break;
        }
        step *= factor;
    }
    let lines = (0..=5_u8).map(|count| f64::from(count) * step);
    let below = lines.clone().filter(|height| *height < enough).count();
    let word = unit.word();
    let shown = |height: f64| format!("{} {word}", super::chart::tick(&height));
    lines
        .take(below + 1)
        .map(|height| (height, shown(height).trim_end().to_owned()))
        .collect()
}

fn sweep_legend(
    is_proved: bool,
    is_published: bool,
    is_split: bool,
    band: Option<(f64, f64)>,
) -> String {
    let mut keys = vec![key(&line(Ink::Free, 2, ""), "predicted")];
    if is_proved {
        keys.push(key(&broad(Ink::Kernel, 1.0), "measured"));
    }
    let upright = |ink: Ink| {
        let ink = ink.hex();
        format!(
            "<line x1=\"17\" x2=\"17\" y1=\"0\" y2=\"12\" stroke=\"{ink}\" stroke-width=\"3\"/>"
        )
    };
    keys.push(key(
        &upright(Ink::Free),
        "from the least to the most of the runs",
    ));
    let hollow = format!(
        "<circle cx=\"17\" cy=\"6\" r=\"4\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
        Ink::Free.hex()
    );
    keys.extend(is_split.then(|| key(&hollow, "hollow: the outcome that fewer runs have")));
    let of_band = |(least, most)| {
        let words = format!(
            "likely error: a kernel had {least:.2} to {most:.2} times the predicted in nine of \
             ten figures"
        );
        key(&broad(Ink::Free, BAND), &words)
    };
    keys.extend(band.map(of_band));
    keys.extend(is_published.then(|| key(&line(Ink::Published, 3, ""), "published")));
    legend(&keys)
}

fn reported(words: Option<&str>) -> String {
    let line = |words| {
        let words = Escaped(prose::unbroken(words));
        format!("<p class=\"note\">Published: {words}.</p>\n")
    };
    words.map(line).unwrap_or_default()
}

fn distribution(asked: &Distribution, study: &Study, kernels: &[OfKernel<'_>], id: &str) -> String {
    let of_kernel = |(pair, _): &OfKernel<'_>| -> Vec<Strip> {
        let arms = study.arms.iter();
        arms.map(|arm| strip(&arm.name, &asked.step, pair))
            .collect()
    };
    let strips: Vec<Vec<Strip>> = kernels.iter().map(of_kernel).collect();
    let all = strips.iter().flatten();
    let all = all.flat_map(|strip| strip.model.iter().chain(&strip.kernel));
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(least, most), seconds| {
        (least.min(*seconds), most.max(*seconds))
    });
    if most <= 0.0 {
        return String::new();
    }
    let low = least.max(1e-6).log10().floor() as i32;
    let powers = (low, (most.log10().ceil() as i32).max(low + 1));
    let figures = kernels.iter().zip(&strips).enumerate();
    let figures = figures.map(|(index, ((pair, _), strips))| {
        let id = format!("{id}-{index}");
        figure_of_strips(asked, pair, &Strips { strips, powers }, &id)
    });
    let figures: String = figures.collect();
    let is_proved = kernels.iter().any(|(pair, _)| pair.is_proved());
    format!(
        "<h2>{}</h2>\n{}{figures}{}",
        Escaped(&asked.title),
        strips_legend(is_proved),
        reported(asked.published.as_deref())
    )
}

fn figure_of_strips(asked: &Distribution, pair: &Pair, strips: &Strips<'_>, id: &str) -> String {
    let said = |strip: &Strip| format!("{}: {}", strip.label, strip.values.join("; "));
    let said: Vec<String> = strips.strips.iter().map(said).collect();
    let words = Words {
        id,
        title: &format!("{}, {}", asked.title, pair.kernel),
        description: &said.join("; "),
    };
    let (kernel, svg) = (
        Escaped(&pair.kernel),
        both(words, |width| strips.draw(width)),
    );
    let data = data(&csv_of_strips(strips.strips));
    format!("<figure>\n<h3>{kernel}</h3>\n{svg}{data}</figure>\n")
}

/// A line for each round of each run.
fn csv_of_strips(strips: &[Strip]) -> String {
    let mut text = csv::line(&["arm", "kind", "seconds"]);
    for strip in strips {
        for (kind, rounds) in [("predicted", &strip.model), ("measured", &strip.kernel)] {
            let line = |seconds: &f64| csv::line(&[&strip.label, kind, &seconds.to_string()]);
            text += &rounds.iter().map(line).collect::<String>();
        }
    }
    text
}

fn strips_legend(is_proved: bool) -> String {
    let mut keys = Vec::new();
    if is_proved {
        keys.push(key(
            &bar(Ink::Cached, 12),
            "measured: one mark a round, all runs",
        ));
    }
    keys.push(key(&bar(Ink::Free, 12), "predicted"));
    legend(&keys)
}

fn strip(arm: &str, step: &str, pair: &Pair) -> Strip {
    let (model, kernel) = (
        rounds(&pair.model, arm, step),
        rounds(&pair.proofs, arm, step),
    );
    let said = |seconds: &[f64], word: &str| {
        let (median, most) = (stats::quantile(seconds, 0.5)?, seconds.last()?);
        let (median, most) = (Unit::Seconds.show(median), Unit::Seconds.show(*most));
        Some(format!("{word} {median}, at most {most}"))
    };
    let mut parts = vec![said(&kernel, "measured"), said(&model, "predicted")];
    if kernel.is_empty() && pair.is_proved() {
        parts.insert(0, Some(lacks(arm, pair)));
    }
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Strip {
        label: arm.to_owned(),
        values: parts,
        model,
        kernel,
    }
}

/// Why the kernel has no round of an arm.
fn lacks(arm: &str, pair: &Pair) -> String {
    let mut of_arm = pair
        .proofs
        .iter()
        .filter(|record| record.provenance.arm == arm);
    let what = of_arm.find_map(|record| record.outcome.unavailable().next().map(str::to_owned));
    what.map_or("not run".to_owned(), |what| {
        format!("not available here: {what}")
    })
}

/// How long each finished round took, in seconds, in ascending order.
fn rounds(records: &[Record], arm: &str, step: &str) -> Vec<f64> {
    let of_arm = records.iter().filter(|record| record.provenance.arm == arm);
    let steps = of_arm.flat_map(|record| record.outcome.labelled(step));
    let done = steps.filter(|step| step.status == Status::Done);
    let mut seconds: Vec<f64> = done.map(|step| step.duration().seconds()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_round_and_reach_the_highest() {
        let shown = |highest, unit| -> String {
            let heights = heights(highest, unit).into_iter().map(|(_, words)| words);
            heights.collect::<Vec<_>>().join(", ")
        };
        let percent = "0 %, 20 %, 40 %, 60 %, 80 %, 100 %";
        assert_eq!(shown(97.0, Unit::Percent), percent);
        assert_eq!(shown(100.02, Unit::Percent), percent);
        assert_eq!(shown(1.47, Unit::Seconds), "0 s, 0.5 s, 1 s, 1.5 s");
        assert_eq!(shown(0.0, Unit::Count), "0");
    }
}
