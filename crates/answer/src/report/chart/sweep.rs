//! A measure along something that the arms differ in: the kernel broad and pale, the model thin,
//! bars from the smallest to the largest of an arm's runs, and what others published.

use plotters::element::{Circle, PathElement, Polygon, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::super::html::Escaped;
use super::axis::Axis;
use super::{Canvas, Drawn, Ink, TEXT, fine, on_canvas, text, text_width};

/// One arm's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dot {
    /// At which of the places, from 0.
    pub(crate) place: usize,
    /// The median; of the outcome that more runs have where they have two.
    pub(crate) median: f64,
    /// The median of the other outcome.
    pub(crate) other: Option<f64>,
    /// The smallest and the largest.
    pub(crate) range: (f64, f64),
}

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Sweep<'a> {
    /// The model's, from left to right.
    pub(crate) model: &'a [Dot],
    /// The kernel's.
    pub(crate) kernel: &'a [Dot],
    /// Between which multiples of the model's a kernel is likely to come out, where that is known.
    pub(crate) band: Option<(f64, f64)>,
    /// What others reported, by place.
    pub(crate) published: &'a [(usize, f64)],
    /// What stands below each place, also below one without a figure.
    pub(crate) places: &'a [String],
    /// Where the places stand, from left to right; as many as there are words.
    pub(crate) at: &'a [f64],
    /// What the places are.
    pub(crate) along: &'a str,
    /// What stands at the heights of the vertical axis.
    pub(crate) heights: &'a [(f64, String)],
    /// What is said where the pointer rests: at a place, at a height.
    pub(crate) hover: &'a [(usize, f64, String)],
}

/// How opaque the band is.
pub(crate) const BAND: f64 = 0.2;

/// In pixels: one size for desk and phone, since two of them stand beside each other on a desk.
const SIZE: (i32, i32) = (440, 270);
/// Room for the heights at least, and between their words and the axis.
const LEFT: i32 = 56;
const GAP: i32 = 6;
const RIGHT: i32 = 8;
const TOP: i32 = 10;
const BOTTOM: i32 = 44;
/// How near the pointer has to come.
const SPOT: i32 = 10;
/// From the axis to the first place, and from the last place to the end.
const MARGIN: i32 = 18;

impl Sweep<'_> {
    /// Draws it.
    pub(crate) fn draw(&self) -> String {
        let svg = on_canvas(SIZE, |canvas| {
            self.draw_axes(canvas)?;
            self.draw_band(canvas)?;
            self.draw_line(canvas, self.kernel, Ink::Kernel, 7)?;
            self.draw_ranges(canvas, self.kernel, Ink::Kernel, 4)?;
            self.draw_published(canvas)?;
            self.draw_ranges(canvas, self.model, Ink::Free, -4)?;
            self.draw_line(canvas, self.model, Ink::Free, 2)
        });
        let hover: String = self.hover.iter().map(|it| self.spot(it)).collect();
        match svg.rfind("</svg>") {
            Some(end) => format!("{}{hover}{}", &svg[..end], &svg[end..]),
            None => svg,
        }
    }

    /// An invisible spot with a title, which browsers show where the pointer rests.
    fn spot(&self, (place, value, words): &(usize, f64, String)) -> String {
        format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"transparent\">\
             <title>{}</title></circle>\n",
            fine(self.x(*place)),
            fine(self.y(*value)),
            fine(SPOT),
            Escaped(words)
        )
    }

    /// Where the axis begins: behind the longest of the heights' words.
    fn left(&self) -> i32 {
        let words = self
            .heights
            .iter()
            .map(|(_, words)| text_width(words, TEXT));
        words.fold(LEFT, |left, width| left.max(width + 2 * GAP))
    }

    fn x(&self, place: usize) -> i32 {
        let room = f64::from(SIZE.0 - self.left() - RIGHT - 2 * MARGIN);
        let share = Axis::of(self.at).shares.get(place).copied();
        self.left() + MARGIN + (share.unwrap_or_default() * room).round() as i32
    }

    fn y(&self, value: f64) -> i32 {
        let full = self.heights.last().map_or(1.0, |(height, _)| *height);
        let room = f64::from(SIZE.1 - TOP - BOTTOM);
        let share = (value / full.max(f64::MIN_POSITIVE)).clamp(0.0, 1.05);
        SIZE.1 - BOTTOM - (share * room).round() as i32
    }

    fn draw_axes(&self, canvas: &Canvas<'_>) -> Drawn {
        let (left, faint) = (
            self.left(),
            Ink::Faint.color().stroke_width(fine(1).unsigned_abs()),
        );
        for (height, words) in self.heights {
            let y = self.y(*height);
            let line = vec![(fine(left), fine(y)), (fine(SIZE.0 - RIGHT), fine(y))];
            canvas.draw(&PathElement::new(line, faint))?;
            write(canvas, words, (left - GAP, y), HPos::Right)?;
        }
        let (below, mut free) = (SIZE.1 - BOTTOM, i32::MIN);
        for (place, words) in self.places.iter().enumerate() {
            let (x, half) = (self.x(place), text_width(words, TEXT) / 2);
            let mark = vec![(fine(x), fine(below)), (fine(x), fine(below + 4))];
            canvas.draw(&PathElement::new(mark, Ink::Text.color().stroke_width(4)))?;
            if x - half > free {
                write(canvas, words, (x, below + 13), HPos::Center)?;
                free = x + half + 3;
            }
        }
        let middle = i32::midpoint(left, SIZE.0 - RIGHT);
        let along = format!("{}{}", self.along, Axis::of(self.at).kind);
        write(canvas, &along, (middle, SIZE.1 - 10), HPos::Center)
    }

    /// The band around the model's medians in which a kernel is likely to come out.
    fn draw_band(&self, canvas: &Canvas<'_>) -> Drawn {
        let Some((least, most)) = self.band else {
            return Ok(());
        };
        let side = |times: f64| {
            let at = move |dot: &Dot| (fine(self.x(dot.place)), fine(self.y(dot.median * times)));
            self.model.iter().map(at)
        };
        let round: Vec<_> = side(most).chain(side(least).rev()).collect();
        canvas.draw(&Polygon::new(round, Ink::Free.color().mix(BAND)))
    }

    /// A line through the medians.
    fn draw_line(&self, canvas: &Canvas<'_>, dots: &[Dot], ink: Ink, broad: i32) -> Drawn {
        let at = |dot: &Dot| (fine(self.x(dot.place)), fine(self.y(dot.median)));
        let style = ink.color().stroke_width(fine(broad).unsigned_abs());
        let line: Vec<_> = dots.iter().map(at).collect();
        canvas.draw(&PathElement::new(line, style))?;
        dots.iter().try_for_each(|dot| {
            let round = fine(broad.max(4) - 1);
            canvas.draw(&Circle::new(at(dot), round, ink.color().filled()))?;
            match dot.other {
                None => Ok(()),
                // Hollow, and no line leads there.
                Some(other) => {
                    let place = (fine(self.x(dot.place)), fine(self.y(other)));
                    let rim = ink.color().stroke_width(fine(2).unsigned_abs());
                    canvas.draw(&Circle::new(place, round + fine(1), rim))
                }
            }
        })
    }

    /// A bar from the smallest to the largest run, a little aside of each place.
    fn draw_ranges(&self, canvas: &Canvas<'_>, dots: &[Dot], ink: Ink, aside: i32) -> Drawn {
        let style = ink.color().stroke_width(fine(3).unsigned_abs());
        dots.iter().try_for_each(|dot| {
            let x = fine(self.x(dot.place) + aside);
            let ends = [dot.range.0, dot.range.1].map(|value| (x, fine(self.y(value))));
            canvas.draw(&PathElement::new(ends.to_vec(), style))
        })
    }

    fn draw_published(&self, canvas: &Canvas<'_>) -> Drawn {
        let style = Ink::Published.color().stroke_width(fine(3).unsigned_abs());
        self.published.iter().try_for_each(|(place, value)| {
            let (x, y) = (self.x(*place), fine(self.y(*value)));
            let line = vec![(fine(x - 12), y), (fine(x + 12), y)];
            canvas.draw(&PathElement::new(line, style))
        })
    }
}

fn write(canvas: &Canvas<'_>, words: &str, at: (i32, i32), horizontal: HPos) -> Drawn {
    let style = text(Ink::Text, TEXT, horizontal, VPos::Center);
    let at = (fine(at.0), fine(at.1));
    canvas.draw(&Text::new(words.to_owned(), at, style))
}
