//! Distributions: one row an arm, a mark for each round of a step, on a logarithmic axis; above the
//! kernel's rounds, below the model's.

use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::{Canvas, Drawn, Ink, TEXT, Width, fine, on_canvas, text};

/// One arm's rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Strip {
    /// The arm's name.
    pub(crate) label: String,
    /// What is said of it: median and largest, or why there is none.
    pub(crate) values: Vec<String>,
    /// By the model, in seconds, in ascending order.
    pub(crate) model: Vec<f64>,
    /// By the kernel.
    pub(crate) kernel: Vec<f64>,
}

/// Strips with a common axis, from a power of ten of seconds to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strips<'a> {
    /// From top to bottom.
    pub(crate) strips: &'a [Strip],
    /// The powers: -2 is 10 ms.
    pub(crate) powers: (i32, i32),
}

/// Height of a lane in pixels.
const LANE: i32 = 14;
const LINE: i32 = 20;
const AXIS: i32 = 26;
const SIDE: i32 = 26;

impl Strips<'_> {
    /// Draws them.
    pub(crate) fn draw(&self, width: Width) -> String {
        let (across, lines) = match width {
            Width::Wide => (900, 1),
            Width::Narrow => (380, 3),
        };
        let of_kernel = self.strips.iter().any(|strip| !strip.kernel.is_empty());
        let second = if of_kernel { LANE + 2 } else { 0 };
        let row = lines * LINE + second + LANE + 12;
        let rows = i32::try_from(self.strips.len()).expect("a study has few arms");
        on_canvas((across, rows * row + AXIS), |canvas| {
            self.draw_axis(canvas, across, rows * row)?;
            let mut top = 0;
            self.strips.iter().try_for_each(|strip| {
                draw_words(canvas, strip, top, across, lines)?;
                let lane = top + lines * LINE + 2;
                self.draw_grid(canvas, (lane - 2, top + row - 6), across)?;
                self.draw_lane(canvas, &strip.kernel, Ink::Cached, lane, across)?;
                self.draw_lane(canvas, &strip.model, Ink::Free, lane + second, across)?;
                top += row;
                Ok(())
            })
        })
    }

    fn x(&self, seconds: f64, across: i32) -> i32 {
        let (low, high) = (f64::from(self.powers.0), f64::from(self.powers.1));
        let share = (seconds.max(1e-9).log10() - low) / (high - low).max(1.0);
        let room = f64::from(fine(across - 2 * SIDE));
        fine(SIDE) + (share.clamp(0.0, 1.0) * room).round() as i32
    }

    fn draw_axis(&self, canvas: &Canvas<'_>, across: i32, down: i32) -> Drawn {
        (self.powers.0..=self.powers.1).try_for_each(|power| {
            let words = match power {
                ..0 => format!("{} ms", 10_f64.powi(power + 3)),
                _ => format!("{} s", 10_f64.powi(power)),
            };
            let style = text(Ink::Text, TEXT, HPos::Center, VPos::Center);
            let at = (self.x(10_f64.powi(power), across), fine(down + AXIS / 2));
            canvas.draw(&Text::new(words, at, style))
        })
    }

    /// Upright lines behind the marks of one arm, and not behind its words.
    fn draw_grid(&self, canvas: &Canvas<'_>, from_to: (i32, i32), across: i32) -> Drawn {
        (self.powers.0..=self.powers.1).try_for_each(|power| {
            let x = self.x(10_f64.powi(power), across);
            let line = vec![(x, fine(from_to.0)), (x, fine(from_to.1))];
            let style = Ink::Faint.color().stroke_width(fine(1).unsigned_abs());
            canvas.draw(&PathElement::new(line, style))
        })
    }

    /// A pale mark each, so that many on one place are darker.
    fn draw_lane(
        &self,
        canvas: &Canvas<'_>,
        seconds: &[f64],
        ink: Ink,
        top: i32,
        across: i32,
    ) -> Drawn {
        for value in seconds {
            let x = self.x(*value, across);
            let corners = [(x - fine(2), fine(top)), (x + fine(2), fine(top + LANE))];
            canvas.draw(&Rectangle::new(corners, ink.color().mix(0.35).filled()))?;
        }
        Ok(())
    }
}

/// The arm's name, and what is said of it: beside it, or below it line by line.
fn draw_words(canvas: &Canvas<'_>, strip: &Strip, top: i32, across: i32, lines: i32) -> Drawn {
    let write = |words: String, at: (i32, i32), horizontal| {
        let style = text(Ink::Text, TEXT, horizontal, VPos::Center);
        canvas.draw(&Text::new(words, at, style))
    };
    let y = |line: i32| fine(top + line * LINE + LINE / 2);
    write(strip.label.clone(), (0, y(0)), HPos::Left)?;
    if lines == 1 {
        return write(
            strip.values.join("; "),
            (fine(across - 4), y(0)),
            HPos::Right,
        );
    }
    (1..lines)
        .zip(&strip.values)
        .try_for_each(|(line, words)| write(words.clone(), (0, y(line)), HPos::Left))
}
