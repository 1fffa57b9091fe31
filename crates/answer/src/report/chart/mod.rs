//! Charts as inline SVG: the canvas, the inks and what both kinds of chart share.
//!
//! The same input gives the same bytes. Every chart is drawn twice, wide for a desk or paper and
//! narrow for a phone, and the style sheet shows one of them. Colours are plain attributes, so that
//! a chart that is cut out of its page keeps them; the style sheet replaces each for dark screens.

mod axis;
mod bars;
mod curve;
mod lines;
mod strips;
mod sweep;

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, RGBColor, SVGBackend, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont};

use super::html::Escaped;

pub(crate) use bars::{Bar, Bars};
pub(crate) use curve::OverTime;
pub(crate) use lines::LoadLineChart;
pub(crate) use strips::{Strip, Strips};
pub(crate) use sweep::{BAND, Dot, Sweep};

/// Drawing goes into a string and cannot fail; the type is the backend's.
type Drawn = Result<(), plotters::drawing::DrawingAreaErrorKind<std::io::Error>>;

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Units of the view box per pixel at full size: the backend draws at whole units only.
const FINE: i32 = 4;

/// Text size in pixels at full size.
const TEXT: i32 = 13;

/// For which screen a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// A desk or paper.
    Wide,
    /// A phone.
    Narrow,
}

/// What something is drawn with. Light enough apart to be told in grey as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Text and axes.
    Text,
    /// What recedes: the grid.
    Faint,
    /// MemFree, and the model's bars.
    Free,
    /// Page cache.
    Cached,
    /// MemAvailable.
    Available,
    /// Watermarks.
    Watermark,
    /// The kernel's bars.
    Kernel,
    /// What others published.
    Published,
}

impl Ink {
    /// All of them; the style sheet has a dark colour for each.
    #[cfg(test)]
    const ALL: [Self; 8] = [
        Self::Text,
        Self::Faint,
        Self::Free,
        Self::Cached,
        Self::Available,
        Self::Watermark,
        Self::Kernel,
        Self::Published,
    ];

    /// The colour on a light ground.
    pub(crate) const fn color(self) -> RGBColor {
        match self {
            Self::Text => RGBColor(0x24, 0x29, 0x2F),
            Self::Faint => RGBColor(0xD5, 0xDA, 0xE0),
            Self::Free => RGBColor(0x0B, 0x3C, 0x6F),
            Self::Cached => RGBColor(0xE0, 0x8A, 0x00),
            Self::Available => RGBColor(0xB0, 0x30, 0x7A),
            Self::Watermark => RGBColor(0x5B, 0x65, 0x70),
            Self::Kernel => RGBColor(0xA9, 0xC4, 0xE2),
            Self::Published => RGBColor(0xC0, 0x1C, 0x28),
        }
    }

    /// The colour as the backend writes it.
    pub(crate) fn hex(self) -> String {
        let RGBColor(red, green, blue) = self.color();
        format!("#{red:02X}{green:02X}{blue:02X}")
    }
}

/// The words that a chart carries for those who do not see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    /// Unique in the page.
    pub(crate) id: &'a str,
    /// What it is.
    pub(crate) title: &'a str,
    /// What it shows, in a sentence or two.
    pub(crate) description: &'a str,
}

/// Draws a chart wide and narrow, in one figure-sized piece of HTML.
pub(crate) fn both(words: Words<'_>, mut draw: impl FnMut(Width) -> String) -> String {
    let wide = labelled(&draw(Width::Wide), "wide", words);
    let narrow = labelled(&draw(Width::Narrow), "narrow", words);
    wide + &narrow
}

/// The same for a chart that is drawn alike for both.
pub(crate) fn one(words: Words<'_>, svg: &str) -> String {
    labelled(svg, "any", words)
}

/// Draws on a fresh canvas of a size in pixels.
fn on_canvas(size: (i32, i32), draw: impl FnOnce(&Canvas<'_>) -> Drawn) -> String {
    let units = |pixels: i32| u32::try_from(fine(pixels)).expect("sizes are positive constants");
    let mut svg = String::new();
    let canvas =
        SVGBackend::with_string(&mut svg, (units(size.0), units(size.1))).into_drawing_area();
    draw(&canvas).expect("a string takes every byte");
    canvas.present().expect("a string takes every byte");
    drop(canvas);
    svg
}

/// Replaces the backend's opening tag: no fixed size, and words for those who do not see the chart.
fn labelled(svg: &str, class: &str, words: Words<'_>) -> String {
    let (opening, content) = svg.split_once('\n').unwrap_or((svg, ""));
    let view_box = opening.split('"').nth(5).unwrap_or_default();
    let (id, title, description) = (words.id, Escaped(words.title), Escaped(words.description));
    format!(
        "<svg class=\"{class}\" viewBox=\"{view_box}\" xmlns=\"http://www.w3.org/2000/svg\" \
         role=\"img\" \
         aria-labelledby=\"{id}-{class}-title {id}-{class}-desc\">\n\
         <title id=\"{id}-{class}-title\">{title}</title>\n\
         <desc id=\"{id}-{class}-desc\">{description}</desc>\n{content}"
    )
}

/// Pixels at full size in units of the view box.
const fn fine(pixels: i32) -> i32 {
    pixels * FINE
}

/// A text style; `size` in pixels.
fn text(ink: Ink, size: i32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    // The backend divides the size by 1.24 and writes the quotient.
    ("system-ui, sans-serif", f64::from(fine(size)) * 1.24)
        .into_font()
        .color(&ink.color().to_rgba())
        .pos(Pos::new(horizontal, vertical))
}

/// About how wide a text comes out, in pixels.
fn text_width(text: &str, size: i32) -> i32 {
    i32::try_from(text.chars().count())
        .map_or(i32::MAX, |count| count.saturating_mul(size) * 11 / 20)
}

/// A number on an axis: no decimals that say nothing.
pub(crate) fn tick(value: &f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;
    use crate::report::series::{LoadLine, Span};

    #[test]
    fn the_style_sheet_has_a_dark_colour_for_every_ink() {
        for ink in Ink::ALL {
            for attribute in ["fill", "stroke"] {
                let selector = format!("[{attribute}=\"{}\"]", ink.hex());
                let styled = crate::report::page::STYLE.contains(&selector);
                assert!(styled, "{ink:?}: style.css has no rule for {selector}");
            }
        }
    }

    /// What changes in a chart is looked at before it is accepted: `UPDATE_EXPECT=1 cargo test`.
    #[test]
    fn a_small_load_line_is_drawn_as_before() {
        let lines = LoadLine {
            free: vec![(0.0, 1.0), (10.0, 0.25)],
            cached: vec![(0.0, 0.0), (10.0, 0.75)],
            available: vec![(0.0, 0.9), (10.0, 0.9)],
            min: vec![(0.0, 0.4), (10.0, 0.4)],
            low: vec![(0.0, 0.5), (10.0, 0.5)],
            high: vec![(0.0, 0.6), (10.0, 0.6)],
        };
        let spans = [Span {
            label: "read <it>".to_owned(),
            start: 0.0,
            end: 8.0,
        }];
        let chart = LoadLineChart {
            model: Some(&lines),
            kernel: Some(&lines),
            spans: &spans,
        };
        let golden = expect_file!["../../../tests/golden/load-line.svg"];
        golden.assert_eq(&chart.draw(Width::Narrow));
    }

    #[test]
    fn a_small_group_of_bars_is_drawn_as_before() {
        let bar = |model, kernel, published| Bar {
            label: "read".to_owned(),
            values: "predicted 1 s".to_owned(),
            model,
            kernel,
            published,
        };
        let bars = [
            bar(Some(1.0), Some(2.0), Some(4.0)),
            bar(None, Some(0.0), None),
        ];
        let golden = expect_file!["../../../tests/golden/bars.svg"];
        golden.assert_eq(
            &Bars {
                bars: &bars,
                full: 4.0,
            }
            .draw(Width::Wide),
        );
    }

    #[test]
    fn a_chart_of_nothing_is_still_a_chart() {
        let chart = LoadLineChart {
            model: None,
            kernel: Some(&LoadLine::default()),
            spans: &[],
        };
        assert!(chart.draw(Width::Wide).contains("seconds"));
        assert!(
            Bars {
                bars: &[],
                full: 0.0
            }
            .draw(Width::Wide)
            .starts_with("<svg")
        );
    }

    #[test]
    fn ticks_have_no_idle_decimals() {
        let ticks = [0.0, 0.5, 2.0, 30.000_000_000_000_004, 100.0].map(|value| tick(&value));
        assert_eq!(ticks, ["0", "0.5", "2", "30", "100"]);
    }
}
