//! Advice on a load: the changes of settings that matter, by asking the model each of them, and the
//! memory that would do.
//!
//! Each candidate is an arm beside the machine as it is. What changes a measure that the study
//! answers with by less than [`MATTERS`] is within what the model misses real programs by, and is
//! left out. Those that are left are tried together, and each is taken away once: what makes no
//! difference then is left out too.

use mm::settings::{Setting, Settings};
use mm::units::Bytes;
use scenario::outcome::Outcome;
use study::Study;
use study::measure::{Better, Measure, Unit};
use study::record::Record;
use study::stats::median;

use crate::cpus::Cpus;
use crate::machine::Memory;
use crate::model_bench::ModelBench;
use crate::own::check_anonymous;
use crate::question::{Asked, Question, Ran};
use crate::refused::Refused;

/// The least relative change of a measure that is advised for, or warned of.
pub const MATTERS: f64 = 0.05;
/// The most changes that are advised.
const MOST: usize = 3;
/// Memory is tried in this many parts of what the machine has.
const PARTS: u64 = 16;

/// What is tried, each value by itself.
const CANDIDATES: [(&str, &[&str]); 7] = [
    ("vm.watermark_scale_factor", &["10", "100", "500"]),
    ("vm.dirty_background_ratio", &["2", "10", "30"]),
    ("vm.dirty_ratio", &["10", "20", "50"]),
    ("vm.dirty_expire_centisecs", &["500", "3000"]),
    ("vm.swappiness", &["1", "60", "100", "180"]),
    ("vm.page-cluster", &["0", "3"]),
    ("lru_gen.enabled", &["0", "7"]),
];

/// One measure of an arm, as it is and as it would be.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The measure's name.
    pub measure: String,
    /// Its unit.
    pub unit: Unit,
    /// As it is, the median of the runs.
    pub now: f64,
    /// As it would be; infinite or zero, whichever is worse, where no run comes to it.
    pub then: f64,
    /// Whether less of it is better.
    pub is_lower_better: bool,
}

impl Effect {
    /// The relative change: 0.1 is a tenth more.
    #[must_use]
    pub fn change(&self) -> f64 {
        match self.now == 0.0 {
            true if self.then == 0.0 => 0.0,
            true => f64::INFINITY,
            false => self.then / self.now - 1.0,
        }
    }

    /// The same, above zero where it is better.
    #[must_use]
    pub fn gain(&self) -> f64 {
        match self.is_lower_better {
            true => -self.change(),
            false => self.change(),
        }
    }
}

/// A change that matters by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The setting.
    pub setting: Setting,
    /// What each measure becomes.
    pub effects: Vec<Effect>,
}

/// The memory with which the load does as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Enough {
    /// What the machine has.
    pub has: Bytes,
    /// The least tried with which no measure gets worse by [`MATTERS`].
    pub enough: Bytes,
    /// What each measure becomes with it.
    pub effects: Vec<Effect>,
    /// The most tried with which one does, and what they become; `None` where the load does not fit
    /// into less.
    pub too_little: Option<(Bytes, Vec<Effect>)>,
}

/// The advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// At most three, the one that gains most first.
    pub changes: Vec<Change>,
    /// What all of them come to together, where there are several.
    pub together: Vec<Effect>,
    /// Settings that were tried, each value counted.
    pub tried: usize,
    /// The memory that would do; `None` where the study's load grows with the memory.
    pub memory: Option<Enough>,
    /// What is to be said of the answer.
    pub notes: Vec<String>,
}

/// Runs all of a question's runs; the command does it on all CPUs.
pub type Runner<'a> = &'a mut dyn FnMut(&Asked, &ModelBench) -> Result<Ran, Refused>;

/// Advises on the load of the question's study, on its machine.
///
/// # Errors
/// The study cannot be asked, or has no measure that says which direction is better.
pub fn advise(question: &Question, available: Bytes, run: Runner<'_>) -> Result<Advice, Refused> {
    let placed = question.placed(Cpus::Any)?.study;
    let base = first_arm_alone(question, &placed)?;
    let asked = base.clone().asked()?;
    let bench = asked.bench();
    let asked = asked.noted(&bench, available)?;
    if asked.study.headline().is_empty() {
        let why = "no measure says which direction is better: `better = \"lower\"`";
        return Err(Refused(format!("{}: {why}", asked.study.file)));
    }
    if let Some(why) = asked.far() {
        return Err(Refused(format!("no advice: {why}")));
    }
    let now = run(&asked, &bench)?;
    if let Some((id, why)) = now.failures.first() {
        return Err(Refused(why.clone()).at(&format!("arm `{}`", id.arm)));
    }
    let candidates = candidates(&asked, &bench);
    let (changes, together) = changes(&base, &candidates, &now, run)?;
    let memory = match placed.observed {
        Some(_) => Some(enough(question, &asked, &now, run)?),
        None => None,
    };
    Ok(Advice {
        changes,
        together,
        tried: candidates.len(),
        memory,
        notes: asked.notes().to_vec(),
    })
}

/// The question of the study's first arm, which is the machine as it is.
fn first_arm_alone(question: &Question, placed: &Study) -> Result<Question, Refused> {
    let first = placed.arms.first();
    let first = first.ok_or_else(|| Refused("the study has no arm".to_owned()))?;
    Ok(Question {
        arms: vec![first.name.clone()],
        settings: Vec::new(),
        limits: Vec::new(),
        beside: Vec::new(),
        ..question.clone()
    })
}

/// The settings that the model has, that are not as they are already, and that the study is about.
fn candidates(asked: &Asked, bench: &ModelBench) -> Vec<Setting> {
    let study = &asked.study;
    let all = CANDIDATES.iter().flat_map(|(tunable, values)| {
        values.iter().map(|value| Setting {
            tunable: (*tunable).to_owned(),
            value: (*value).to_owned(),
        })
    });
    let has_swap = study.arms.iter().any(|arm| !arm.machine.swaps.is_empty());
    let booted = booted(asked);
    let is_wanted = |setting: &Setting| {
        let about_swap = ["vm.swappiness", "vm.page-cluster"].contains(&setting.tunable.as_str());
        (has_swap || !about_swap)
            && booted(&setting.tunable).as_deref() != Some(setting.value.as_str())
            && check_anonymous(study, std::slice::from_ref(setting)).is_ok()
            && is_modelled(asked, bench, setting)
    };
    all.filter(is_wanted).collect()
}

/// What a tunable is in the first arm when its run begins.
fn booted(asked: &Asked) -> impl Fn(&str) -> Option<String> {
    let arm = asked.study.arms.first();
    let own = arm.map(|arm| (arm.settings.clone(), arm.base.clone()));
    let boot = asked.calibration.boots.first();
    let frame = boot.and_then(|boot| boot.capture.frames.first()).cloned();
    move |tunable| {
        let (settings, base) = own.as_ref()?;
        let own = settings.get(tunable).or_else(|| base.get(tunable));
        let boot = || {
            let snapshot = mm::snapshot::Snapshot::parse(frame.as_ref()?);
            snapshot.tunables.get(tunable).cloned()
        };
        own.map(str::to_owned).or_else(boot)
    }
}

fn is_modelled(asked: &Asked, bench: &ModelBench, setting: &Setting) -> bool {
    let Some(arm) = asked.study.arms.first() else {
        return false;
    };
    let scenario = asked.study.scenario(&arm.name, asked.first_seed);
    scenario.is_ok_and(|mut scenario| {
        scenario.arm_settings = Settings(vec![setting.clone()]);
        bench.check(&scenario).is_ok()
    })
}

/// The changes that matter, and what they come to together.
fn changes(
    base: &Question,
    candidates: &[Setting],
    now: &Ran,
    run: Runner<'_>,
) -> Result<(Vec<Change>, Vec<Effect>), Refused> {
    let mut found: Vec<Change> = Vec::new();
    for setting in candidates {
        let effects = effects_of(base, std::slice::from_ref(setting), now, run)?;
        let change = Change {
            setting: setting.clone(),
            effects,
        };
        if !is_better(&change.effects) {
            continue;
        }
        let same = found
            .iter_mut()
            .find(|it| it.setting.tunable == setting.tunable);
        match same {
            Some(other) if gain(&other.effects) >= gain(&change.effects) => {}
            Some(other) => *other = change,
            None => found.push(change),
        }
    }
    found.sort_by(|a, b| gain(&b.effects).total_cmp(&gain(&a.effects)));
    found.truncate(MOST);
    ablated(base, found, now, run)
}

/// Takes each away once: what the others do as well without is left out.
fn ablated(
    base: &Question,
    mut found: Vec<Change>,
    now: &Ran,
    run: Runner<'_>,
) -> Result<(Vec<Change>, Vec<Effect>), Refused> {
    while found.len() > 1 {
        let all: Vec<Setting> = found.iter().map(|it| it.setting.clone()).collect();
        let together = effects_of(base, &all, now, run)?;
        let mut idle = None;
        for at in (0..found.len()).rev() {
            let mut others = all.clone();
            others.remove(at);
            let without = effects_of(base, &others, now, run)?;
            if gain(&together) - gain(&without) < MATTERS / 2.0 {
                idle = Some(at);
                break;
            }
        }
        match idle {
            Some(at) => drop(found.remove(at)),
            None => return Ok((found, together)),
        }
    }
    Ok((found, Vec::new()))
}

/// What the answering measures become with these settings.
fn effects_of(
    base: &Question,
    settings: &[Setting],
    now: &Ran,
    run: Runner<'_>,
) -> Result<Vec<Effect>, Refused> {
    let asked = Question {
        settings: settings.to_vec(),
        arms: vec![crate::own::OWN_ARM.to_owned()],
        ..base.clone()
    };
    let asked = asked.asked()?;
    let then = run(&asked, &asked.bench())?;
    Ok(effects(&asked.study, now, &then))
}

fn effects(study: &Study, now: &Ran, then: &Ran) -> Vec<Effect> {
    let measures = study.headline().into_iter();
    let effect = |measure: &Measure| {
        let is_lower_better = measure.better == Some(Better::Lower);
        // A process that was killed, or a run that was cut off, has lost its figure.
        let worst = if is_lower_better { f64::INFINITY } else { 0.0 };
        Some(Effect {
            measure: measure.name.clone(),
            unit: measure.unit,
            now: middle(measure, &now.records)?,
            then: middle(measure, &then.records).unwrap_or(worst),
            is_lower_better,
        })
    };
    measures.filter_map(effect).collect()
}

fn middle(measure: &Measure, records: &[Record]) -> Option<f64> {
    let read = |outcome: &Outcome| measure.read(outcome).ok();
    let values = records.iter().filter_map(|record| read(&record.outcome));
    median(&values.collect::<Vec<f64>>())
}

/// Whether some measure gains what matters, and none loses it.
fn is_better(effects: &[Effect]) -> bool {
    let gains = || effects.iter().map(Effect::gain);
    gains().any(|gain| gain >= MATTERS) && gains().all(|gain| gain > -MATTERS)
}

/// The gain of all measures together, each at most its whole.
fn gain(effects: &[Effect]) -> f64 {
    effects.iter().map(|it| it.gain().clamp(-1.0, 1.0)).sum()
}

/// The least memory that would do, in sixteenths of what there is.
fn enough(
    question: &Question,
    asked: &Asked,
    now: &Ran,
    run: Runner<'_>,
) -> Result<Enough, Refused> {
    let arm = asked.study.arms.first();
    let has = arm.map_or(Bytes(0), |arm| arm.machine.memory);
    let mut found = Enough {
        has,
        enough: has,
        effects: effects(&asked.study, now, now),
        too_little: None,
    };
    let (mut fails, mut does) = (0, PARTS);
    while does - fails > 1 {
        let part = fails.midpoint(does);
        let memory = Bytes(has.0 / PARTS * part);
        match with_memory(question, asked, memory, now, run)? {
            Some(effects) if effects.iter().all(|it| it.gain() > -MATTERS) => {
                does = part;
                (found.enough, found.effects) = (memory, effects);
            }
            Some(effects) => {
                fails = part;
                found.too_little = Some((memory, effects));
            }
            None => fails = part,
        }
    }
    Ok(found)
}

/// What the measures become with this memory; `None` where the load does not fit into it.
fn with_memory(
    question: &Question,
    asked: &Asked,
    memory: Bytes,
    now: &Ran,
    run: Runner<'_>,
) -> Result<Option<Vec<Effect>>, Refused> {
    let mut smaller = Question {
        arms: asked.arms.clone(),
        settings: Vec::new(),
        limits: Vec::new(),
        beside: Vec::new(),
        ..question.clone()
    };
    smaller.machine.memory = Some(Memory::Size(memory));
    let Ok(smaller) = smaller.asked() else {
        return Ok(None);
    };
    let then = run(&smaller, &smaller.bench())?;
    Ok(match then.failures.is_empty() {
        true => Some(effects(&asked.study, now, &then)),
        false => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of a file that the cache nearly holds, on a machine that keeps a tenth of its memory
    /// free.
    const TEXT: &str = r#"
name = "s"
title = "s"
question = "s"
[machine]
memory = "256 MiB"
[[machine.disk]]
name = "d"
size = "1 GiB"
bandwidth = "1 GB/s"
latency = "100 us"
[[machine.file]]
name = "f"
disk = "d"
size = "180 MiB"
[base]
"vm.watermark_scale_factor" = "1000"
[[arm]]
name = "as it is"
[[process]]
name = "p"
steps = [
  { snapshot = "begin" },
  { label = "l", read = { file = "f", pattern = "random", amount = "600 MiB" } },
  { snapshot = "end" },
]
[[measure]]
name = "read"
between = ["begin", "end"]
vmstat = "pgpgin"
better = "lower"
"#;

    fn advised(text: &str) -> Advice {
        let study = Study::parse(text, "s").unwrap();
        let mut run = |asked: &Asked, bench: &ModelBench| asked.run(bench);
        advise(&Question::new(study), Bytes(8 << 30), &mut run).unwrap()
    }

    #[test]
    fn a_setting_that_wastes_memory_is_found_and_nothing_else() {
        let advice = advised(TEXT);
        let [change] = &advice.changes[..] else {
            panic!("one change: {:?}", advice.changes);
        };
        let setting = &change.setting;
        assert_eq!(
            (&*setting.tunable, &*setting.value),
            ("vm.watermark_scale_factor", "10")
        );
        assert!(change.effects[0].gain() >= MATTERS, "{change:?}");
        assert!(
            advice.memory.is_none(),
            "its load would grow with the memory"
        );
    }

    #[test]
    fn a_machine_that_does_well_is_left_as_it_is() {
        let advice = advised(&TEXT.replace("\"1000\"", "\"10\""));
        assert_eq!(advice.changes, []);
        assert!(advice.tried > 4, "{}", advice.tried);
    }

    #[test]
    fn a_study_without_a_direction_is_refused() {
        let study = Study::parse(&TEXT.replace("better = \"lower\"", ""), "s").unwrap();
        let mut run = |asked: &Asked, bench: &ModelBench| asked.run(bench);
        let why = advise(&Question::new(study), Bytes(8 << 30), &mut run).unwrap_err();
        assert!(why.to_string().contains("no measure says"), "{why}");
    }

    #[test]
    fn a_gain_is_above_zero_in_the_direction_that_is_better() {
        let effect = |now, then, is_lower_better| Effect {
            measure: "m".to_owned(),
            unit: Unit::Pages,
            now,
            then,
            is_lower_better,
        };
        assert_eq!(effect(10.0, 5.0, true).gain(), 0.5);
        assert_eq!(effect(10.0, 5.0, false).gain(), -0.5);
        assert_eq!(effect(0.0, 0.0, true).gain(), 0.0);
        assert!(effect(0.0, 1.0, true).gain().is_infinite());
    }
}
