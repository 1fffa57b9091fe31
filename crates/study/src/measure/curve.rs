//! A measure over time: what it is at every moment of a span, and how far two such curves lie
//! apart.

use crate::stats;

/// Numbers by seconds since the span began, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(pub Vec<(f64, f64)>);

/// At how many moments curves are compared: more than a span of a minute has samples.
const MOMENTS: usize = 240;

impl Curve {
    /// When the last sample was taken, in seconds.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.0.last().map_or(0.0, |&(at, _)| at)
    }

    /// The number at a moment, on the straight line between the samples around it; the first or
    /// last one outside of them, and `None` without samples.
    #[must_use]
    pub fn at(&self, moment: f64) -> Option<f64> {
        let after = self.0.partition_point(|&(at, _)| at < moment);
        let (Some(&(late, there)), Some(&(early, here))) = (
            self.0.get(after),
            after.checked_sub(1).and_then(|it| self.0.get(it)),
        ) else {
            let outside = if after == 0 {
                self.0.first()
            } else {
                self.0.last()
            };
            return outside.map(|&(_, value)| value);
        };
        let part = (moment - early) / (late - early);
        Some(here + (there - here) * part)
    }

    /// The mean over time; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let area: f64 = self
            .0
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1))
            .sum();
        let (&(start, first), &(end, _)) = (self.0.first()?, self.0.last()?);
        Some(if end > start {
            area / (end - start)
        } else {
            first
        })
    }

    /// When it first is at this share of its last number, on the straight line between two samples;
    /// `None` where that number is not above zero.
    #[must_use]
    pub fn reaches(&self, share: f64) -> Option<f64> {
        let &(_, last) = self.0.last().filter(|(_, last)| *last > 0.0)?;
        let goal = last * share;
        let index = self.0.iter().position(|&(_, value)| value >= goal)?;
        let (late, there) = self.0[index];
        let Some(&(early, here)) = index.checked_sub(1).and_then(|it| self.0.get(it)) else {
            return Some(late);
        };
        Some(early + (late - early) * (goal - here) / (there - here))
    }

    /// The mean of several runs at each moment, as long as the shortest of them; `None` of none.
    #[must_use]
    pub fn mean_of(runs: &[Self]) -> Option<Self> {
        let end = runs.iter().map(Self::end).min_by(f64::total_cmp)?;
        let value = |moment: f64| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| run.at(moment)).collect();
            Some((moment, stats::mean(&values?)?))
        };
        moments(end).map(value).collect::<Option<_>>().map(Self)
    }

    /// The root of the mean square of the difference, over what both cover.
    #[must_use]
    pub fn distance(&self, other: &Self) -> Option<f64> {
        let end = self.end().min(other.end());
        let square = |moment: f64| Some((self.at(moment)? - other.at(moment)?).powi(2));
        let squares: Option<Vec<f64>> = moments(end).map(square).collect();
        stats::mean(&squares?).map(f64::sqrt)
    }

    /// The largest number in size.
    #[must_use]
    pub fn peak(&self) -> f64 {
        let sizes = self.0.iter().map(|(_, value)| value.abs());
        sizes.fold(0.0, f64::max)
    }
}

/// Moments from zero to `end`, equally far apart.
fn moments(end: f64) -> impl Iterator<Item = f64> {
    (0..=MOMENTS).map(move |moment| end * moment as f64 / MOMENTS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_samples_a_curve_is_straight_and_outside_it_stays() {
        let curve = Curve(vec![(1.0, 10.0), (3.0, 30.0), (4.0, 0.0)]);
        let at = [0.0, 1.0, 2.0, 3.5, 9.0].map(|moment| curve.at(moment).unwrap());
        assert_eq!(at, [10.0, 10.0, 20.0, 15.0, 0.0]);
        assert_eq!(curve.mean(), Some(55.0 / 3.0));
        assert_eq!((curve.peak(), curve.end()), (30.0, 4.0));
        assert_eq!(Curve(vec![(2.0, 7.0)]).mean(), Some(7.0), "one sample");
        let none = Curve(vec![]);
        assert_eq!((none.at(1.0), none.mean()), (None, None));
    }

    #[test]
    fn a_share_of_the_last_number_is_reached_between_two_samples() {
        let curve = Curve(vec![
            (0.0, 0.0),
            (1.0, 0.0),
            (3.0, 8.0),
            (4.0, 12.0),
            (9.0, 10.0),
        ]);
        assert_eq!(
            curve.reaches(0.9),
            Some(3.25),
            "9 of 10, though it was 12 once"
        );
        assert_eq!(curve.reaches(0.4), Some(2.0));
        assert_eq!(Curve(vec![(2.0, 5.0), (4.0, 5.0)]).reaches(0.9), Some(2.0));
        assert_eq!(Curve(vec![(0.0, 3.0), (4.0, 0.0)]).reaches(0.9), None);
        assert_eq!(Curve(vec![]).reaches(0.9), None);
    }

    #[test]
    fn the_mean_of_runs_is_as_long_as_the_shortest() {
        let rising = Curve(vec![(0.0, 0.0), (10.0, 10.0)]);
        let flat = Curve(vec![(0.0, 4.0), (8.0, 4.0)]);
        let mean = Curve::mean_of(&[rising.clone(), flat.clone()]).unwrap();
        assert_eq!(mean.end(), 8.0);
        assert!((mean.at(4.0).unwrap() - 4.0).abs() < 1e-9);
        assert_eq!(Curve::mean_of(&[]), None);
        assert_eq!(flat.distance(&flat), Some(0.0));
        let above = Curve(vec![(0.0, 7.0), (20.0, 7.0)]);
        assert_eq!(flat.distance(&above), Some(3.0));
    }
}
