//! What is to be said of the number of runs where not every arm has as many as were asked for.

use std::collections::BTreeMap;

use super::Results;
use study::Study;

impl Results {
    /// "runs: 20 of default, stick 5 %; 10 of guard; 5 of each other arm, ...", and which arms are
    /// open still; `None` where every verdict was settled by the runs that were asked for.
    #[must_use]
    pub fn said(&self, study: &Study) -> Option<String> {
        let mut by_runs: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for arm in &study.arms {
            match self.runs_of(&arm.name) {
                0 => {}
                runs => by_runs.entry(runs).or_default().push(&arm.name),
            }
        }
        let (fewest, _) = by_runs.pop_first()?;
        let more = by_runs.iter().rev();
        let more = more.map(|(runs, arms)| format!("{runs} of {}", arms.join(", ")));
        let mut parts: Vec<String> = more.collect();
        let others = if parts.is_empty() { "arm" } else { "other arm" };
        parts.push(format!("{fewest} of each {others}"));
        let (was_open, is_open) = (parts.len() > 1, self.still_open());
        if was_open {
            parts.push("the others' verdicts were settled".to_owned());
        }
        parts.extend(is_open.clone());
        (was_open || is_open.is_some()).then(|| format!("runs: {}", parts.join("; ")))
    }

    fn runs_of(&self, arm: &str) -> usize {
        let recorded = self.records.iter();
        recorded.filter(|it| it.provenance.arm == arm).count()
    }

    fn still_open(&self) -> Option<String> {
        let open = self.repeats.open.join(", ");
        match self.repeats.is_cut {
            _ if open.is_empty() => None,
            true => Some(format!(
                "--time ended it while verdicts were open ({open}); a faster machine may come to \
                 more runs"
            )),
            false => Some(format!("verdicts are open still ({open})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Repeats;
    use super::*;
    use study::testing::record;

    fn said(runs: [u64; 3], open: &[&str], is_cut: bool) -> Option<String> {
        let study = crate::find::find("min-free-kbytes").unwrap();
        let arms = ["default", "raised", "guard"].into_iter().zip(runs);
        let records = arms.flat_map(|(arm, runs)| (1..=runs).map(move |seed| record(arm, seed)));
        let results = Results {
            records: records.collect(),
            repeats: Repeats {
                looks: 4,
                open: open.iter().map(|&arm| arm.to_owned()).collect(),
                is_cut,
            },
            ..Results::default()
        };
        results.said(&study)
    }

    #[test]
    fn the_numbers_of_runs_are_said_where_they_differ() {
        let found = said([20, 20, 5], &[], false);
        let expected =
            "runs: 20 of default, raised; 5 of each other arm; the others' verdicts were settled";
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(said([5, 5, 5], &[], false), None);
        assert_eq!(said([0, 0, 0], &[], false), None);
    }

    #[test]
    fn what_is_open_still_is_said_and_why() {
        let cut = said([5, 5, 5], &["default", "raised"], true).unwrap();
        let expected = "runs: 5 of each arm; --time ended it while verdicts were open (default, \
                        raised); a faster machine may come to more runs";
        assert_eq!(cut, expected);
        let open = said([40, 40, 5], &["default", "raised"], false).unwrap();
        assert!(
            open.ends_with("; verdicts are open still (default, raised)"),
            "{open}"
        );
    }
}
