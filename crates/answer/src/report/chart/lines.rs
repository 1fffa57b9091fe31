//! The load line: free, page cache and available over time, against the watermarks.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::types::RangedCoordf64;
use plotters::element::{EmptyElement, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::{Cartesian2d, SVGBackend, ShapeStyle};
use plotters::series::DashedLineSeries;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::{Canvas, Drawn, Ink, TEXT, Width, fine, on_canvas, text, text_width, tick};
use crate::report::series::{LoadLine, Points, Span};

/// What a load-line chart shows: one arm, as the model and as a kernel ran it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadLineChart<'a> {
    /// As the model ran it.
    pub(crate) model: Option<&'a LoadLine>,
    /// As the kernel ran it.
    pub(crate) kernel: Option<&'a LoadLine>,
    /// The labelled steps, for the strip above; numbered from 1 in this order.
    pub(crate) spans: &'a [Span],
}

type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Height of the strip of steps, in pixels.
const STRIP: i32 = 20;
/// Room for the names of the lines, right of the plot.
const NAMES: i32 = 104;
/// Least distance between two names.
const NAME_HEIGHT: i32 = 16;

impl LoadLineChart<'_> {
    /// Draws it.
    pub(crate) fn draw(&self, width: Width) -> String {
        let size = match width {
            Width::Wide => (900, 380),
            Width::Narrow => (380, 330),
        };
        on_canvas(size, |canvas| self.draw_on(canvas, width))
    }

    fn draw_on(&self, canvas: &Canvas<'_>, width: Width) -> Drawn {
        let mut plane = ChartBuilder::on(canvas)
            .margin_top(fine(STRIP + 12))
            .margin_right(fine(NAMES))
            .x_label_area_size(fine(40))
            .y_label_area_size(fine(44))
            .build_cartesian_2d(0.0..self.end(), 0.0..self.top())?;
        draw_axes(&mut plane, width)?;
        self.draw_watermarks(&mut plane)?;
        self.draw_lines(&mut plane)?;
        self.draw_strip(canvas, &plane)?;
        self.draw_names(canvas, &plane)
    }

    fn runs(&self) -> impl Iterator<Item = &LoadLine> {
        [self.kernel, self.model].into_iter().flatten()
    }

    fn end(&self) -> f64 {
        self.runs().map(LoadLine::end).fold(1.0, f64::max)
    }

    fn top(&self) -> f64 {
        let highest = |lines: &LoadLine| {
            let all = [&lines.free, &lines.cached, &lines.available, &lines.high];
            all.into_iter()
                .flatten()
                .map(|&(_, value)| value)
                .fold(0.0, f64::max)
        };
        self.runs().map(highest).fold(0.1, f64::max) * 1.03
    }

    /// The band from min to high, and the low watermark as a line in it.
    fn draw_watermarks(&self, plane: &mut Plane<'_, '_>) -> Drawn {
        let Some(lines) = self.model.or(self.kernel) else {
            return Ok(());
        };
        let ink = Ink::Watermark.color();
        let mut band = steps(&lines.high);
        band.extend(steps(&lines.min).into_iter().rev());
        if !band.is_empty() {
            plane.draw_series([Polygon::new(band, ink.mix(0.16).filled())])?;
        }
        if let (Some(_), Some(kernel)) = (self.model, self.kernel) {
            plane.draw_series([PathElement::new(steps(&kernel.low), broad(Ink::Watermark))])?;
        }
        let (dash, gap) = (fine(7), fine(4));
        let line = DashedLineSeries::new(steps(&lines.low), dash, gap, thin(Ink::Watermark));
        plane.draw_series(line)?;
        draw_mark_names(plane, lines)
    }

    fn draw_lines(&self, plane: &mut Plane<'_, '_>) -> Drawn {
        let draw = |lines: &LoadLine, style: fn(Ink) -> ShapeStyle, plane: &mut Plane<'_, '_>| {
            for (points, ink) in [
                (&lines.available, Ink::Available),
                (&lines.cached, Ink::Cached),
                (&lines.free, Ink::Free),
            ] {
                plane.draw_series([PathElement::new(points.clone(), style(ink))])?;
            }
            Ok(())
        };
        match (self.model, self.kernel) {
            (Some(model), Some(kernel)) => {
                draw(kernel, broad, plane)?;
                draw(model, thin, plane)
            }
            (only, other) => only
                .or(other)
                .map_or(Ok(()), |lines| draw(lines, thin, plane)),
        }
    }

    fn draw_strip(&self, canvas: &Canvas<'_>, plane: &Plane<'_, '_>) -> Drawn {
        for (index, span) in self.spans.iter().enumerate() {
            let (left, _) = plane.backend_coord(&(span.start, 0.0));
            let (right, _) = plane.backend_coord(&(span.end, 0.0));
            // A pixel less, so that steps that follow each other can be told apart.
            let right = (right - fine(1)).max(left + fine(1));
            let bottom = fine(STRIP + 4);
            let box_ = Rectangle::new(
                [(left, fine(4)), (right, bottom)],
                Ink::Faint.color().filled(),
            );
            canvas.draw(&box_)?;
            let room = (right - left) / fine(1) - 4;
            let full = format!("{} {}", index + 1, span.label);
            let number = (index + 1).to_string();
            if let Some(name) = [full, number]
                .into_iter()
                .find(|t| text_width(t, TEXT - 2) <= room)
            {
                let at = (i32::midpoint(left, right), fine(5 + STRIP / 2));
                let style = text(Ink::Text, TEXT - 2, HPos::Center, VPos::Center);
                canvas.draw(&Text::new(name, at, style))?;
            }
        }
        Ok(())
    }

    /// The names of the lines where they end, pushed apart where they would overlap.
    fn draw_names(&self, canvas: &Canvas<'_>, plane: &Plane<'_, '_>) -> Drawn {
        let Some(lines) = self.model.or(self.kernel) else {
            return Ok(());
        };
        let mut names = names(lines, plane);
        let (plot_x, plot_y) = plane.plotting_area().get_pixel_range();
        spread(&mut names, plot_y.end);
        for Name { word, ink, y } in names {
            let left = plot_x.end + fine(6);
            let swatch = PathElement::new([(left, y), (left + fine(14), y)], thin(ink));
            canvas.draw(&swatch)?;
            let style = text(Ink::Text, TEXT - 1, HPos::Left, VPos::Center);
            canvas.draw(&Text::new(word, (left + fine(18), y), style))?;
        }
        Ok(())
    }
}

fn draw_axes(plane: &mut Plane<'_, '_>, width: Width) -> Drawn {
    plane
        .configure_mesh()
        .x_labels(match width {
            Width::Wide => 10,
            Width::Narrow => 5,
        })
        .y_labels(8)
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .x_desc("seconds")
        .y_desc("GiB")
        .axis_style(thin(Ink::Faint))
        .bold_line_style(Ink::Faint.color().stroke_width(fine(1).unsigned_abs()))
        .light_line_style(Ink::Faint.color().mix(0.0))
        .label_style(text(Ink::Text, TEXT, HPos::Center, VPos::Center))
        .draw()
}

/// Names the watermarks in the plot, where they first stand far enough apart to be told.
fn draw_mark_names(plane: &mut Plane<'_, '_>, lines: &LoadLine) -> Drawn {
    let marks = [
        ("high", &lines.high, -8),
        ("low", &lines.low, -8),
        ("min", &lines.min, 9),
    ];
    let height = |points: &Points, index: usize, plane: &Plane<'_, '_>| {
        points.get(index).map(|&at| plane.backend_coord(&at).1)
    };
    let apart = |index: &usize| {
        let (min, high) = (
            height(&lines.min, *index, plane),
            height(&lines.high, *index, plane),
        );
        min.zip(high)
            .is_some_and(|(min, high)| min - high >= fine(2 * NAME_HEIGHT))
    };
    let Some(index) = (0..lines.low.len()).find(apart) else {
        return Ok(());
    };
    for (word, points, shift) in marks {
        let style = text(Ink::Watermark, TEXT - 1, HPos::Left, VPos::Center);
        let shifted =
            EmptyElement::at(points[index]) + Text::new(word, (fine(24), fine(shift)), style);
        plane.draw_series([shifted])?;
    }
    Ok(())
}

struct Name {
    word: &'static str,
    ink: Ink,
    y: i32,
}

fn names(lines: &LoadLine, plane: &Plane<'_, '_>) -> Vec<Name> {
    let height = |points: &Points| points.last().map(|&at| plane.backend_coord(&at).1);
    let name = |word, ink, points| height(points).map(|y| Name { word, ink, y });
    let mut names: Vec<Name> = [
        name("free", Ink::Free, &lines.free),
        name("page cache", Ink::Cached, &lines.cached),
        name("available", Ink::Available, &lines.available),
    ]
    .into_iter()
    .flatten()
    .collect();
    names.extend(name("low mark", Ink::Watermark, &lines.low));
    names
}

/// Moves names apart, up from `bottom`, keeping their order from the lowest to the highest.
fn spread(names: &mut [Name], bottom: i32) {
    names.sort_by_key(|name| -name.y);
    let mut limit = bottom;
    for name in names {
        name.y = name.y.min(limit);
        limit = name.y - fine(NAME_HEIGHT);
    }
}

/// Points of a value that holds until the next one.
fn steps(points: &Points) -> Points {
    let mut out: Points = Vec::with_capacity(points.len());
    for &(at, value) in points {
        if let Some(&(_, before)) = out.last()
            && (before - value).abs() > f64::EPSILON
        {
            out.push((at, before));
        }
        out.push((at, value));
    }
    out
}

fn thin(ink: Ink) -> ShapeStyle {
    ink.color().stroke_width(fine(2).unsigned_abs())
}

fn broad(ink: Ink) -> ShapeStyle {
    ink.color().mix(0.3).stroke_width(fine(7).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watermark_holds_until_it_is_changed() {
        let points = vec![(0.0, 1.0), (1.0, 1.0), (2.0, 3.0)];
        assert_eq!(
            steps(&points),
            [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 3.0)]
        );
    }

    #[test]
    fn names_that_would_overlap_move_up_in_order() {
        let name = |word, y| Name {
            word,
            ink: Ink::Text,
            y,
        };
        let mut names = vec![name("a", 100), name("b", 990), name("c", 1000)];
        spread(&mut names, 980);
        let places: Vec<_> = names.iter().map(|n| (n.word, n.y)).collect();
        assert_eq!(
            places,
            [("c", 980), ("b", 980 - fine(NAME_HEIGHT)), ("a", 100)]
        );
    }
}
