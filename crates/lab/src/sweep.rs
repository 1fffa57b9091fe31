//! A sweep: a study at every point of a space of settings, each an arm beside the study's first.

use std::fmt;

use answer::own::check_anonymous;
use answer::refused::Refused;
use answer::run::RunId;
use mm::catalogue;
use mm::settings::{Setting, Settings};
use mm::units::PageSize;
use study::Study;

/// More points than a table has rows for.
const MOST_POINTS: usize = 100_000;
/// Characters that an arm's name may have.
const LONGEST_NAME: usize = 80;

/// Tunables, and the values that each of them takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space(Vec<Vec<Setting>>);

/// Which part of the runs is wanted: the `number`th of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Space {
    /// The space of these tunables and values, as they are typed.
    ///
    /// # Errors
    /// What is no setting; a tunable without a value, or of which another one's value is a part;
    /// more than 100000 points.
    pub fn of(axes: &[(String, Vec<String>)]) -> Result<Self, Refused> {
        let mut axes: Vec<Vec<Setting>> = axes.iter().map(axis).collect::<Result<_, _>>()?;
        // However a name is spelled: a scenario has its settings in order, and its hash follows.
        axes.sort_by(|a, b| a[0].tunable.cmp(&b[0].tunable));
        let names: Vec<&str> = axes.iter().map(|it| it[0].tunable.as_str()).collect();
        for (index, name) in names.iter().enumerate() {
            let partner = catalogue::find(name).and_then(|it| it.partner);
            let before = &names[..index];
            if before.contains(name) || partner.is_some_and(|it| before.contains(&it)) {
                let partner = partner.unwrap_or(name);
                let what = format!("{name}: it and {partner} set the same; give one of them");
                return Err(Refused(what));
            }
        }
        let points = axes
            .iter()
            .try_fold(1_usize, |all, it| all.checked_mul(it.len()));
        match points {
            _ if axes.is_empty() => Err(Refused("it names no tunable".to_owned())),
            Some(points) if points <= MOST_POINTS => Ok(Self(axes)),
            _ => Err(Refused(format!(
                "more than {MOST_POINTS} points; give fewer values"
            ))),
        }
    }

    /// Reads a text of TOML: `"vm.swappiness" = [1, 60]`, a line for each tunable.
    ///
    /// # Errors
    /// As [`Self::of`], and where it is no such text.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| Refused(format!("not TOML: {}", error.message())))?;
        let axes = table.iter().map(|(name, values)| {
            let values = values
                .as_array()
                .ok_or_else(|| Refused(format!("{name}: give a list of values, as in [1, 60]")))?;
            Ok((name.clone(), values.iter().map(typed).collect()))
        });
        Self::of(&axes.collect::<Result<Vec<_>, Refused>>()?)
    }

    /// Every point, the last tunable's values next to each other.
    pub fn points(&self) -> impl Iterator<Item = Settings> {
        let count = self.0.iter().map(Vec::len).product();
        (0..count).map(|point| self.point(point))
    }

    fn point(&self, mut number: usize) -> Settings {
        let mut settings = Vec::new();
        for axis in self.0.iter().rev() {
            settings.push(axis[number % axis.len()].clone());
            number /= axis.len();
        }
        settings.reverse();
        Settings(settings)
    }

    /// The study with an arm for every point, named by what it sets, and the arms that are run: its
    /// own first, which the others are held against, and those.
    ///
    /// # Errors
    /// A setting that the study's machine lacks.
    pub fn arms_of(&self, study: &Study) -> Result<(Study, Vec<String>), Refused> {
        let points = (1..).zip(self.points());
        let points: Vec<(String, Settings)> = points.map(|(at, it)| (name(at, &it), it)).collect();
        let arms = points.iter().map(|(name, it)| (name.as_str(), it));
        for (_, settings) in &points {
            check_anonymous(study, &settings.0)?;
        }
        let with_arms = study.with_arms(arms)?;
        let is_new = |name: &&String| study.arms.iter().all(|arm| arm.name != **name);
        let names = with_arms.arms.iter().map(|arm| &arm.name);
        let first = names.clone().take(1);
        let names: Vec<String> = first.chain(names.filter(is_new)).cloned().collect();
        Ok((with_arms, names))
    }
}

/// A tunable's values.
fn axis((tunable, values): &(String, Vec<String>)) -> Result<Vec<Setting>, Refused> {
    let setting = |value: &String| {
        let typed = catalogue::typed_of(tunable, value, PageSize::FOUR_KIB);
        typed.map_err(|why| Refused(why.to_string()))
    };
    let mut settings: Vec<Setting> = Vec::new();
    for value in values {
        let setting = setting(value)?;
        if settings.contains(&setting) {
            return Err(Refused(format!("{tunable}: {value} is in it twice")));
        }
        settings.push(setting);
    }
    match settings.is_empty() {
        true => Err(Refused(format!("{tunable}: give a value"))),
        false => Ok(settings),
    }
}

fn typed(value: &toml::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// "dirty_bytes=67108864, swappiness=1"; "point 7" where that is longer than an arm's name may be.
fn name(number: usize, settings: &Settings) -> String {
    let short = |it: &Setting| match it.tunable.strip_prefix("vm.") {
        Some(name) => format!("{name}={}", it.value),
        None => format!("{}={}", it.tunable, it.value),
    };
    let all: Vec<String> = settings.0.iter().map(short).collect();
    let name = all.join(", ");
    match name.len() <= LONGEST_NAME && !name.contains('/') {
        true => name,
        false => format!("point {number}"),
    }
}

impl Shard {
    /// Reads `I/N`, with I from 1 to N.
    ///
    /// # Errors
    /// It is not that.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let number = |text: &str| text.parse::<usize>().ok();
        let parts = parts.and_then(|(one, all)| Some((number(one)?, number(all)?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("give I/N with I from 1 to N, as in 1/4".to_owned()),
        }
    }

    /// Its part of these runs.
    #[must_use]
    pub fn of(self, runs: Vec<RunId>) -> Vec<RunId> {
        let runs = runs.into_iter().skip(self.number - 1);
        runs.step_by(self.of).collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_has_a_point_for_every_combination_and_an_arm_for_each() {
        let text = "\"vm.swappiness\" = [1, 60]\n\"vm.dirty_bytes\" = [\"64M\", \"1 GiB\"]\n";
        let study = Study::built_in("usb-copy").unwrap();
        let (swept, arms) = Space::parse(text).unwrap().arms_of(&study).unwrap();
        assert_eq!(
            arms,
            [
                study.arms[0].name.as_str(),
                "dirty_bytes=67108864, swappiness=1",
                "dirty_bytes=67108864, swappiness=60",
                "dirty_bytes=1073741824, swappiness=1",
                "dirty_bytes=1073741824, swappiness=60",
            ]
        );
        let scenario = swept.scenario(&arms[4], 1).unwrap();
        assert_eq!(scenario.arm_settings.get("vm.swappiness"), Some("60"));
    }

    #[test]
    fn what_is_no_space_is_one_line() {
        let why = |text: &str| Space::parse(text).unwrap_err().to_string();
        assert_eq!(why(""), "it names no tunable");
        assert_eq!(
            why("\"vm.swappiness\" = 1"),
            "vm.swappiness: give a list of values, as in [1, 60]"
        );
        assert_eq!(why("\"vm.swappiness\" = []"), "vm.swappiness: give a value");
        assert_eq!(
            why("\"vm.swappiness\" = [1, \"1\"]"),
            "vm.swappiness: 1 is in it twice"
        );
        assert!(why("\"vm.swapiness\" = [1]").contains("did you mean vm.swappiness?"));
        let partners = why("\"vm.dirty_bytes\" = [8192]\n\"vm.dirty_ratio\" = [1]");
        assert!(
            partners.ends_with("set the same; give one of them"),
            "{partners}"
        );
        let values: Vec<String> = (0..400).map(|it| it.to_string()).collect();
        let axis = |name: &str| (name.to_owned(), values.clone());
        let large = Space::of(&[
            axis("vm.dirty_expire_centisecs"),
            axis("vm.dirty_writeback_centisecs"),
        ]);
        assert!(
            large
                .unwrap_err()
                .to_string()
                .starts_with("more than 100000 points")
        );
    }

    #[test]
    fn shards_have_each_run_once() {
        let runs: Vec<RunId> = (1..=7)
            .map(|seed| RunId {
                arm: "a".to_owned(),
                seed,
            })
            .collect();
        let seeds = |text: &str| -> Vec<u64> {
            let part = Shard::parse(text).unwrap().of(runs.clone());
            part.into_iter().map(|run| run.seed).collect()
        };
        assert_eq!(
            (seeds("1/3"), seeds("2/3"), seeds("3/3")),
            (vec![1, 4, 7], vec![2, 5], vec![3, 6])
        );
        assert_eq!(seeds("1/1").len(), 7);
        for text in ["0/3", "4/3", "1/0", "1", "a/b", ""] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
    }
}
