//! Fisher's exact test: how often would dealing the same runs into two groups at random give shares
//! at least as unlikely as these?

/// Up to this many tables are counted; beyond, each category is tested against all the others.
const MOST_TABLES: f64 = 1e6;
/// Two tables whose probabilities differ by less are equally likely; as R's `fisher.test` has it.
const SLACK: f64 = 1e-7;

/// The p-value of two groups' counts in the same categories (Freeman and Halton 1951; with two
/// categories it is Fisher's test, two-sided). 1 where there is nothing to tell apart.
#[must_use]
pub fn fisher_p(left: &[u32], right: &[u32]) -> f64 {
    let columns: Vec<(u32, u32)> = left.iter().copied().zip(right.iter().copied()).collect();
    let tables: f64 = columns.iter().map(|(l, r)| f64::from(l + r + 1)).product();
    match tables <= MOST_TABLES {
        true => Tables::new(&columns).p(),
        false => each_alone(&columns),
    }
}

/// The smallest p-value of one category against all others, times their number (Bonferroni).
fn each_alone(columns: &[(u32, u32)]) -> f64 {
    let sum = |of: fn(&(u32, u32)) -> u32| columns.iter().map(of).sum::<u32>();
    let (left, right) = (sum(|c| c.0), sum(|c| c.1));
    let alone = |c: &(u32, u32)| Tables::new(&[*c, (left - c.0, right - c.1)]).p();
    let least = columns.iter().map(alone).fold(1.0, f64::min);
    (least * columns.len() as f64).min(1.0)
}

/// All tables with the margins of one.
struct Tables {
    /// The sums of the columns.
    margins: Vec<u32>,
    /// The sum of the left row.
    left: u32,
    /// Logarithms of the factorials.
    factorials: Vec<f64>,
    observed: f64,
}

impl Tables {
    fn new(columns: &[(u32, u32)]) -> Self {
        let margins: Vec<u32> = columns.iter().map(|(l, r)| l + r).collect();
        let mut factorials = vec![0.0];
        for n in 1..=margins.iter().sum::<u32>() {
            factorials.push(factorials[n as usize - 1] + f64::from(n).ln());
        }
        let mut tables = Self {
            left: columns.iter().map(|(l, _)| l).sum(),
            margins,
            factorials,
            observed: 0.0,
        };
        let ways = columns.iter().map(|(l, r)| tables.ways(l + r, *l));
        tables.observed = ways.sum();
        tables
    }

    /// The logarithm of the ways to choose `taken` of `of`.
    fn ways(&self, of: u32, taken: u32) -> f64 {
        let [of, taken, rest] = [of, taken, of - taken].map(|n| self.factorials[n as usize]);
        of - taken - rest
    }

    fn p(&self) -> f64 {
        let all: u32 = self.margins.iter().sum();
        let total = self.ways(all, self.left);
        self.as_unlikely(0, self.left, 0.0, total).min(1.0)
    }

    /// The share of tables at most as likely as the observed one, the columns before `column`
    /// being filled in `ways` and `rest` runs of the left row being left.
    fn as_unlikely(&self, column: usize, rest: u32, ways: f64, total: f64) -> f64 {
        let Some(&margin) = self.margins.get(column) else {
            let counts = rest == 0 && ways <= self.observed + SLACK;
            return if counts { (ways - total).exp() } else { 0.0 };
        };
        let taken = 0..=margin.min(rest);
        let share = |taken| {
            let ways = ways + self.ways(margin, taken);
            self.as_unlikely(column + 1, rest - taken, ways, total)
        };
        taken.map(share).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// Counted by hand over C(10, 5) = 252 dealings: all killed against none is two of them, five
    /// against one twelve more.
    #[test]
    fn five_seeds_against_five() {
        close(fisher_p(&[5, 0], &[0, 5]), 2.0 / 252.0);
        close(fisher_p(&[5, 0], &[1, 4]), 12.0 / 252.0);
        close(fisher_p(&[5, 0], &[2, 3]), 42.0 / 252.0);
        close(fisher_p(&[3, 2], &[3, 2]), 1.0);
    }

    /// Fisher's tea: `fisher.test(matrix(c(3, 1, 1, 3), 2))` of R gives 0.4857.
    #[test]
    fn the_tea_is_not_told_apart() {
        close(fisher_p(&[3, 1], &[1, 3]), 34.0 / 70.0);
    }

    /// Counted by hand: of the C(6, 3) = 20 dealings of 2, 2 and 2, those that put a whole pair and
    /// one more to the left have 2 ways each and there are 6 of them, so 12 of 20; one of each has
    /// 8.
    #[test]
    fn more_than_two_modes() {
        close(fisher_p(&[2, 1, 0], &[0, 1, 2]), 12.0 / 20.0);
        close(fisher_p(&[1, 1, 1], &[1, 1, 1]), 1.0);
    }

    #[test]
    fn nothing_cannot_be_told_apart() {
        close(fisher_p(&[], &[]), 1.0);
        close(fisher_p(&[5], &[5]), 1.0);
        close(fisher_p(&[0, 0], &[3, 2]), 1.0);
    }

    #[test]
    fn many_runs_are_tested_category_by_category() {
        let (left, right) = ([40, 0, 30, 30, 30, 30], [0, 40, 30, 30, 30, 30]);
        assert!(fisher_p(&left, &right) < 1e-6);
        close(fisher_p(&left, &left), 1.0);
    }
}
