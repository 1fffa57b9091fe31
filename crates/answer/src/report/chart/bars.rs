//! Bars of times: the kernel broad and pale, the model thin in it, the published value as a mark.

use plotters::element::{Rectangle, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::{Canvas, Drawn, Ink, TEXT, Width, fine, on_canvas, text};

/// A group of bars with a common scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bars<'a> {
    /// From top to bottom.
    pub(crate) bars: &'a [Bar],
    /// The value that fills the width; the same for groups that are compared.
    pub(crate) full: f64,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// What was timed.
    pub(crate) label: String,
    /// The values as text.
    pub(crate) values: String,
    /// By the model, in seconds.
    pub(crate) model: Option<f64>,
    /// By the kernel.
    pub(crate) kernel: Option<f64>,
    /// By others.
    pub(crate) published: Option<f64>,
}

/// Height of a bar in pixels.
const BAR: i32 = 16;
/// Height of a line of text.
const LINE: i32 = 20;

impl Bars<'_> {
    /// Draws them.
    pub(crate) fn draw(&self, width: Width) -> String {
        let (across, lines) = match width {
            Width::Wide => (900, 1),
            Width::Narrow => (380, 2),
        };
        let row = lines * LINE + BAR + 10;
        let rows = i32::try_from(self.bars.len()).expect("a study has few steps");
        on_canvas((across, (rows * row).max(1)), |canvas| {
            let mut top = 0;
            self.bars.iter().try_for_each(|bar| {
                self.draw_bar(canvas, bar, Place { top, across, lines })?;
                top += row;
                Ok(())
            })
        })
    }

    fn draw_bar(&self, canvas: &Canvas<'_>, bar: &Bar, place: Place) -> Drawn {
        draw_words(canvas, bar, place)?;
        let top = place.top + place.lines * LINE;
        let right = |value: f64| {
            let share = (value / self.full).clamp(0.0, 1.0);
            let width = f64::from(fine(place.across - 4)) * share;
            (width.round() as i32).max(fine(2))
        };
        let bars = [
            (bar.kernel, Ink::Kernel, 0),
            (bar.model, Ink::Free, BAR / 2 - 3),
        ];
        for (value, ink, inset) in bars {
            if let Some(value) = value {
                let corners = [
                    (0, fine(top + inset)),
                    (right(value), fine(top + BAR - inset)),
                ];
                canvas.draw(&Rectangle::new(corners, ink.color().filled()))?;
            }
        }
        if let Some(value) = bar.published {
            let x = right(value);
            let corners = [
                (x - fine(1), fine(top - 3)),
                (x + fine(2), fine(top + BAR + 3)),
            ];
            canvas.draw(&Rectangle::new(corners, Ink::Published.color().filled()))?;
        }
        Ok(())
    }
}

/// Where a row goes, in pixels.
#[derive(Clone, Copy)]
struct Place {
    top: i32,
    across: i32,
    lines: i32,
}

fn draw_words(canvas: &Canvas<'_>, bar: &Bar, place: Place) -> Drawn {
    let y = fine(place.top + LINE / 2);
    let label = text(Ink::Text, TEXT, HPos::Left, VPos::Center);
    canvas.draw(&Text::new(bar.label.clone(), (0, y), label))?;
    let values = |at, horizontal| {
        let style = text(Ink::Text, TEXT, horizontal, VPos::Center);
        canvas.draw(&Text::new(bar.values.clone(), at, style))
    };
    match place.lines {
        1 => values((fine(place.across - 4), y), HPos::Right),
        _ => values((0, y + fine(LINE)), HPos::Left),
    }
}
