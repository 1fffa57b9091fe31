//! `--scale`: how many real pages a simulated one stands for.

use mm::units::Bytes;
use scenario::Scenario;
use study::Study;

use crate::refused::Refused;

/// What `--scale` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By the size of each arm's machine.
    Auto,
    /// This many.
    Pages(u64),
}

impl Scale {
    /// Reads the option's value.
    ///
    /// # Errors
    /// It is neither, with what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scale = match text {
            "auto" => return Ok(Self::Auto),
            number => number.parse::<u64>().ok(),
        };
        let usable = scale.filter(|&n| n.is_power_of_two() && n <= sim::sampling::LARGEST);
        let usable = usable.map(Self::Pages);
        usable.ok_or_else(|| "give auto, or a power of two from 1 to 65536".to_owned())
    }

    /// The number, unless each run chooses its own.
    #[must_use]
    pub fn pages(self) -> Option<u64> {
        match self {
            Self::Auto => None,
            Self::Pages(pages) => Some(pages),
        }
    }

    /// What of the arms is simulated, where that is not every page.
    ///
    /// # Errors
    /// An arm that the study lacks.
    pub fn describe(self, study: &Study, arms: &[&str]) -> Result<String, Refused> {
        let scales = arms
            .iter()
            .map(|arm| study.scenario(arm, 1).map(|it| self.of(&it)));
        let scales: Vec<u64> = scales.collect::<Result<_, _>>()?;
        Ok(match scales.iter().max() {
            Some(&most) if most > 1 => format!(", one page in {most} simulated"),
            _ => String::new(),
        })
    }

    /// Refuses runs whose page state does not fit into what this machine has available.
    ///
    /// # Errors
    /// They do not, with a scale at which they do.
    pub fn check(
        self,
        study: &Study,
        arms: &[&str],
        at_a_time: u64,
        available: Bytes,
    ) -> Result<(), Refused> {
        for arm in arms {
            self.check_arm(&study.scenario(arm, 1)?, available, at_a_time)?;
        }
        Ok(())
    }

    fn check_arm(
        self,
        scenario: &Scenario,
        available: Bytes,
        at_a_time: u64,
    ) -> Result<(), Refused> {
        let scale = self.of(scenario);
        let state = |scale| sim::sampling::state_size(scenario, scale);
        let needed = |scale| state(scale).0.saturating_mul(at_a_time);
        if needed(scale) <= available.0 {
            return Ok(());
        }
        let larger = |scale: &u64| needed(*scale) <= available.0;
        let powers = (0..=16).map(|bit| 1 << bit);
        let way_out = match powers.into_iter().find(larger) {
            Some(enough) => format!("give --scale {enough} or leave the option out"),
            None if scale == sim::sampling::LARGEST => {
                "no scale is coarser: the study's memory and files must be smaller".to_owned()
            }
            None => format!(
                "even the coarsest, --scale {}, needs {}: the study's memory and files must be \
                 smaller",
                sim::sampling::LARGEST,
                Bytes(needed(sim::sampling::LARGEST)),
            ),
        };
        Err(Refused(format!(
            "arm `{}` at --scale {scale} needs {} for its pages and this machine has {available} \
             available; {way_out}",
            scenario.arm,
            Bytes(needed(scale)),
        )))
    }

    /// The number of a run.
    #[must_use]
    pub fn of(self, scenario: &Scenario) -> u64 {
        self.pages()
            .unwrap_or_else(|| study::coverage::automatic(scenario))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_a_power_of_two_or_auto() {
        assert_eq!(Scale::parse("auto"), Ok(Scale::Auto));
        assert_eq!(Scale::parse("512"), Ok(Scale::Pages(512)));
        for text in ["0", "3", "131072", "-1", "", "x"] {
            assert!(Scale::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_run_that_does_not_fit_is_one_line_with_the_way_out() {
        let study = Study::built_in("min-free-kbytes").unwrap();
        let scenario = study.scenario("default", 1).unwrap();
        let check = |mib: u64| Scale::Pages(1).check_arm(&scenario, Bytes(mib << 20), 2);
        assert!(check(64).is_ok());
        let why = check(8).unwrap_err().to_string();
        assert!(why.contains("this machine has 8 MiB available"), "{why}");
        assert!(
            why.ends_with("give --scale 8 or leave the option out"),
            "{why}"
        );
        assert_eq!(why.lines().count(), 1);
        for (scale, way_out) in [
            (1, "; even the coarsest, --scale 65536, needs "),
            (65536, "; no scale is coarser: "),
        ] {
            let why = Scale::Pages(scale).check_arm(&scenario, Bytes(8), 2);
            let why = why.unwrap_err().to_string();
            assert!(why.contains(way_out), "{why}");
            assert!(!why.contains("give --scale"), "{why}");
        }
    }
}
