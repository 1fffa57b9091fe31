//! Order statistics.

/// The arithmetic mean; `None` of nothing.
#[must_use]
pub fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The quantile `q` (0 to 1) of sorted numbers, between neighbours in proportion (type 7 of
/// Hyndman and Fan 1996, the default of R and NumPy); `None` of nothing.
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    let share = at - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * share)
}

/// The middle of numbers in any order; `None` of nothing.
#[must_use]
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// The smallest and the largest; `None` of nothing.
#[must_use]
pub fn spread(numbers: &[f64]) -> Option<(f64, f64)> {
    let min = numbers.iter().copied().min_by(f64::total_cmp)?;
    let max = numbers.iter().copied().max_by(f64::total_cmp)?;
    Some((min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `numpy.quantile([1, 2, 3, 4, 10], q)`.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let sorted = [1.0, 2.0, 3.0, 4.0, 10.0];
        for (q, expected) in [(0.0, 1.0), (0.25, 2.0), (0.5, 3.0), (0.9, 7.6), (1.0, 10.0)] {
            let found = quantile(&sorted, q).unwrap();
            assert!((found - expected).abs() < 1e-12, "{q}: {found}");
        }
    }

    #[test]
    fn nothing_has_no_middle() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(mean(&[]), None);
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(spread(&[3.0, 1.0]), Some((1.0, 3.0)));
    }
}
