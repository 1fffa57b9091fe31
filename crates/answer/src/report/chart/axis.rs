//! Where the places of a sweep stand: to scale, so that a step of ten is not drawn as one of one.

/// A step of less than this part of the axis is hard to see.
const SMALL: f64 = 0.04;

/// The places of a sweep along its axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// From 0 at the left to 1 at the right, in the order of the places.
    pub(crate) shares: Vec<f64>,
    /// What the steps are, where they are not linear; for behind the axis' words.
    pub(crate) kind: &'static str,
}

impl Axis {
    /// That of places in ascending order, none of them below zero; it is logarithmic where most
    /// steps would be too small to see otherwise.
    pub(crate) fn of(places: &[f64]) -> Self {
        let linear = spread(places);
        let steps = linear.windows(2).map(|ends| ends[1] - ends[0]);
        let small = steps.filter(|step| *step < SMALL).count();
        let mut positive = places.iter().copied().filter(|at| *at > 0.0);
        match positive.next().zip(places.last()) {
            Some((first, &last)) if 2 * small > places.len().saturating_sub(1) => {
                logarithmic(places, first, last)
            }
            _ => Self {
                shares: linear,
                kind: "",
            },
        }
    }
}

/// Zero, which a logarithmic axis has no place for, stands an average step before the first other.
fn logarithmic(places: &[f64], first: f64, last: f64) -> Axis {
    let steps = places.iter().filter(|at| **at > first).count().max(1);
    let step = (last / first).ln() / steps as f64;
    let log = |at: &f64| {
        if *at > 0.0 {
            at.ln()
        } else {
            first.ln() - step
        }
    };
    let has_zero = places.first().is_some_and(|at| *at <= 0.0);
    Axis {
        shares: spread(&places.iter().map(log).collect::<Vec<_>>()),
        kind: if has_zero {
            " (logarithmic beyond 0)"
        } else {
            " (logarithmic)"
        },
    }
}

fn spread(places: &[f64]) -> Vec<f64> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return Vec::new();
    };
    let room = (last - first).max(f64::MIN_POSITIVE);
    places.iter().map(|at| (at - first) / room).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(places: &[f64]) -> Vec<f64> {
        let shares = Axis::of(places).shares.into_iter();
        shares
            .map(|share| (share * 1000.0).round() / 1000.0)
            .collect()
    }

    #[test]
    fn steps_are_drawn_to_scale() {
        assert_eq!(
            shares(&[0.0, 10.0, 30.0, 60.0, 100.0]),
            [0.0, 0.1, 0.3, 0.6, 1.0]
        );
        assert_eq!(Axis::of(&[2.0, 5.0, 10.0]).kind, "");
        assert_eq!(shares(&[5.0]), [0.0]);
    }

    #[test]
    fn a_wide_range_is_logarithmic_and_zero_stands_before_it() {
        let places = [1.0, 10.0, 100.0, 10_000.0];
        assert_eq!(shares(&places), [0.0, 0.25, 0.5, 1.0]);
        assert_eq!(Axis::of(&places).kind, " (logarithmic)");
        let with_zero = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0];
        assert_eq!(Axis::of(&with_zero).kind, "", "most steps can be seen");
        let backups = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0];
        assert_eq!(Axis::of(&backups).kind, " (logarithmic beyond 0)");
        assert!(shares(&backups)[1] > 0.1, "zero stands apart");
    }
}
