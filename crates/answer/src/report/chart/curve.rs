//! A measure over time: the kernel's runs and their mean, and the mean of the model's.

use plotters::chart::ChartBuilder;
use plotters::element::{PathElement, Polygon};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::{Canvas, Drawn, Ink, TEXT, Width, fine, on_canvas, text, tick};
use study::measure::Curve;

/// What a chart over time shows: one measure on one arm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverTime<'a> {
    /// The mean of the model's runs.
    pub(crate) model: Option<&'a Curve>,
    /// Each run of the kernel.
    pub(crate) kernel: &'a [Curve],
    /// The unit's word.
    pub(crate) unit: &'a str,
    /// The highest number that all charts of the measure have room for.
    pub(crate) top: f64,
}

impl OverTime<'_> {
    /// Draws it.
    pub(crate) fn draw(&self, width: Width) -> String {
        let size = match width {
            Width::Wide => (900, 240),
            Width::Narrow => (380, 220),
        };
        on_canvas(size, |canvas| self.draw_on(canvas, width))
    }

    fn draw_on(&self, canvas: &Canvas<'_>, width: Width) -> Drawn {
        let mut plane = ChartBuilder::on(canvas)
            .margin_top(fine(8))
            .margin_right(fine(16))
            .x_label_area_size(fine(40))
            .y_label_area_size(fine(52))
            .build_cartesian_2d(0.0..self.end(), 0.0..self.top.max(1e-9))?;
        plane
            .configure_mesh()
            .x_labels(match width {
                Width::Wide => 10,
                Width::Narrow => 5,
            })
            .y_labels(5)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .x_desc("seconds")
            .y_desc(self.unit)
            .axis_style(Ink::Faint.color().stroke_width(fine(2).unsigned_abs()))
            .bold_line_style(Ink::Faint.color().stroke_width(fine(1).unsigned_abs()))
            .light_line_style(Ink::Faint.color().mix(0.0))
            .label_style(text(Ink::Text, TEXT, HPos::Center, VPos::Center))
            .draw()?;
        let band = band(self.kernel);
        if !band.is_empty() {
            plane.draw_series([Polygon::new(band, Ink::Kernel.color().mix(0.45).filled())])?;
        }
        let broad = Ink::Kernel.color().stroke_width(fine(5).unsigned_abs());
        let thin = Ink::Free.color().stroke_width(fine(2).unsigned_abs());
        let kernel = Curve::mean_of(self.kernel);
        for (curve, style) in [(kernel.as_ref(), broad), (self.model, thin)] {
            if let Some(Curve(points)) = curve {
                plane.draw_series([PathElement::new(points.clone(), style)])?;
            }
        }
        Ok(())
    }

    fn end(&self) -> f64 {
        let all = self.kernel.iter().chain(self.model);
        all.map(Curve::end).fold(1.0, f64::max)
    }
}

/// From the least to the most of the runs at each moment of their mean; empty of a single run.
fn band(runs: &[Curve]) -> Vec<(f64, f64)> {
    let Some(Curve(mean)) = Curve::mean_of(runs).filter(|_| runs.len() > 1) else {
        return Vec::new();
    };
    let edge = |fold: fn(f64, f64) -> f64, from: f64| {
        mean.iter().map(move |&(moment, _)| {
            let values = runs.iter().filter_map(|run| run.at(moment));
            (moment, values.fold(from, fold))
        })
    };
    let most = edge(f64::max, f64::NEG_INFINITY);
    let least: Vec<_> = edge(f64::min, f64::INFINITY).collect();
    most.chain(least.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_goes_round_all_runs_and_one_run_has_none() {
        let flat = |height: f64| Curve(vec![(0.0, height), (10.0, height)]);
        let band = band(&[flat(3.0), flat(1.0), flat(2.0)]);
        assert_eq!((band[0], band[band.len() - 1]), ((0.0, 3.0), (0.0, 1.0)));
        assert!(super::band(&[flat(3.0)]).is_empty());
    }

    #[test]
    fn a_chart_without_a_kernel_or_without_a_model_is_drawn() {
        let curve = Curve(vec![(0.0, 1.0), (10.0, 2.0)]);
        let kernel = [curve.clone(), curve.clone()];
        let draw = |model, kernel| {
            let (unit, top) = ("MiB", 2.0);
            let chart = OverTime {
                model,
                kernel,
                unit,
                top,
            };
            chart.draw(Width::Narrow)
        };
        let lines = |svg: String| svg.matches("<polyline").count();
        let (both, alone) = (draw(Some(&curve), &kernel), draw(Some(&curve), &[]));
        assert_eq!(lines(both), lines(alone.clone()) + 1);
        assert_eq!(lines(draw(None, &[])), lines(alone) - 1);
    }
}
