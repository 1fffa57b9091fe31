//! The score that the model must keep: one line a study and kernel, committed beside the records.

use serde::{Deserialize, Serialize};

/// The file's name, in the folder of the records.
pub const FILE: &str = "score.toml";

/// What the file says about itself.
const HEAD: &str = "\
# How far the model is off the committed records; `plimsoll fidelity` shows the same in full.
# Written by `cargo xtask score`; a test fails when the model gets worse than this.
";

/// Two values of tau that differ by less are the same.
const SAME_TAU: f64 = 1e-9;

/// How far the model is off, on one study and kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// The study's name.
    pub study: String,
    /// The kernel for people: "Linux 6.1".
    pub kernel: String,
    /// How many records it is made of.
    pub records: usize,
    /// Figures that hold.
    pub held: usize,
    /// Of how many.
    pub figures: usize,
    /// Pairs of arms, over all measures, that the kernel tells apart.
    pub pairs: usize,
    /// Kendall's tau over them; absent where there are none.
    pub tau: Option<f64>,
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// By study and kernel.
    #[serde(default)]
    pub score: Vec<Total>,
}

/// What the scores of today say to the committed ones, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What must not be.
    pub worse: Vec<String>,
    /// What the file should be raised to.
    pub better: Vec<String>,
}

impl Totals {
    /// Reads the file's text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("{FILE}: {error}"))
    }

    /// The file's text.
    ///
    /// # Errors
    /// A number that TOML cannot hold.
    pub fn to_text(&self) -> Result<String, String> {
        let text = toml::to_string(self).map_err(|error| format!("{FILE}: {error}"))?;
        Ok(format!("{HEAD}\n{text}"))
    }

    /// How `now` compares with these, the committed ones.
    #[must_use]
    pub fn change(&self, now: &Self) -> Change {
        let mut change = Change::default();
        for committed in &self.score {
            match now.score.iter().find(|score| committed.is_of_same(score)) {
                Some(score) => committed.against(score, &mut change),
                None => change.worse.push(format!(
                    "{}: its {} records have vanished",
                    committed.name(),
                    committed.records
                )),
            }
        }
        for score in &now.score {
            if !self.score.iter().any(|other| other.is_of_same(score)) {
                let name = score.name();
                change
                    .worse
                    .push(format!("{name}: records without a line in {FILE}"));
            }
        }
        change
    }
}

impl Total {
    fn is_of_same(&self, other: &Self) -> bool {
        (&self.study, &self.kernel) == (&other.study, &other.kernel)
    }

    fn name(&self) -> String {
        format!("{} on {}", self.study, self.kernel)
    }

    /// How `now` compares with this, the committed one.
    fn against(&self, now: &Self, change: &mut Change) {
        let mut say = |what: &str, worse: bool, was: String, is: String| {
            let line = format!("{}: {what} {is}, not {was}", self.name());
            match worse {
                true => change.worse.push(line),
                false => change.better.push(line),
            }
        };
        if self.records != now.records || self.pairs != now.pairs {
            let made_of = |s: &Self| format!("{} records, {} pairs of arms", s.records, s.pairs);
            say("made of", true, made_of(self), made_of(now));
        }
        let held = |s: &Self| format!("{} of {} figures", s.held, s.figures);
        let (was, is) = (self.figures - self.held, now.figures - now.held);
        if now.held < self.held || is > was {
            say("holds", true, held(self), held(now));
        } else if now.held > self.held || is < was {
            say("holds", false, held(self), held(now));
        }
        let tau = |s: &Self| {
            s.tau
                .map_or_else(|| "none".to_owned(), |tau| format!("{tau:.4}"))
        };
        let gain = now.tau.unwrap_or(-1.0) - self.tau.unwrap_or(-1.0);
        if gain.abs() > SAME_TAU {
            say("tau", gain < 0.0, tau(self), tau(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(held: usize, figures: usize, tau: f64) -> Total {
        Total {
            study: "s".to_owned(),
            kernel: "Linux 6.1".to_owned(),
            records: 10,
            held,
            figures,
            pairs: 8,
            tau: Some(tau),
        }
    }

    fn change(now: &[Total]) -> Change {
        let committed = Totals {
            score: vec![score(20, 28, 0.75)],
        };
        committed.change(&Totals {
            score: now.to_vec(),
        })
    }

    fn worse(now: &[Total]) -> String {
        let Change { worse, better } = change(now);
        assert!(better.is_empty(), "{better:?}");
        worse.join("\n")
    }

    #[test]
    fn the_same_is_neither_worse_nor_better() {
        assert_eq!(change(&[score(20, 28, 0.75)]), Change::default());
    }

    #[test]
    fn fewer_figures_or_a_lower_tau_are_worse() {
        let fewer = "s on Linux 6.1: holds 19 of 28 figures, not 20 of 28 figures";
        assert_eq!(worse(&[score(19, 28, 0.75)]), fewer);
        assert!(worse(&[score(20, 29, 0.75)]).contains("20 of 29 figures"));
        let lower = "s on Linux 6.1: tau 0.5000, not 0.7500";
        assert_eq!(worse(&[score(20, 28, 0.5)]), lower);
    }

    #[test]
    fn records_that_vanish_are_worse_whatever_holds() {
        assert_eq!(worse(&[]), "s on Linux 6.1: its 10 records have vanished");
        let mut fewer = score(20, 28, 0.75);
        fewer.records = 9;
        assert!(worse(&[fewer]).contains("made of 9 records"));
        let mut pairs = score(20, 28, 0.75);
        pairs.pairs = 7;
        assert!(worse(&[pairs]).contains("7 pairs of arms"));
    }

    #[test]
    fn records_of_a_new_kernel_want_their_line() {
        let mut other = score(1, 1, 1.0);
        other.kernel = "Linux 6.12".to_owned();
        let line = "s on Linux 6.12: records without a line in score.toml";
        assert_eq!(worse(&[score(20, 28, 0.75), other]), line);
    }

    #[test]
    fn what_is_better_asks_to_be_kept() {
        for now in [score(21, 28, 0.75), score(20, 27, 0.75), score(20, 28, 0.9)] {
            let Change { worse, better } = change(std::slice::from_ref(&now));
            assert_eq!((worse.len(), better.len()), (0, 1), "{now:?}");
        }
    }

    #[test]
    fn the_file_comes_back_as_it_was() {
        let mut without = score(1, 2, 0.0);
        without.tau = None;
        let scores = Totals {
            score: vec![score(20, 28, 0.75), without],
        };
        let text = scores.to_text().unwrap();
        assert_eq!(Totals::parse(&text).unwrap(), scores);
        assert!(Totals::parse("[[score]]\nstudy = 1").is_err());
        assert_eq!(Totals::parse("").unwrap(), Totals::default());
    }
}
