//! A question to the model: a study, on which machine, on which kernel, which of its runs.

use mm::settings::Setting;
use mm::units::Bytes;
use scenario::Scenario;
use scenario::calibration::Calibration;
use scenario::outcome::Outcome;
use study::coverage;
use study::likely_error;
use study::record::Record;
use study::{Beside, Limit, Study};

use crate::bench::{BenchError, Run};
use crate::calibration;
use crate::cpus::Cpus;
use crate::lacks;
use crate::machine::{self, Machine, Placed};
use crate::model_bench::ModelBench;
use crate::own::{check_anonymous, own_arms, with_limits, with_settings};
use crate::ranged::Ranged;
use crate::recorded;
use crate::refused::Refused;
use crate::report::{Pair, Report};
use crate::room::with_room;
use crate::run::{self, RunId};
use crate::runs::Runs;
use crate::scale::Scale;

/// A question to the model.
#[derive(Clone, Debug)]
pub struct Question {
    /// The study as it was made.
    pub study: Study,
    /// The machine in place of its own.
    pub machine: Machine,
    /// The settings of an arm more, [`crate::own::OWN_ARM`]; none for no such arm.
    pub settings: Vec<Setting>,
    /// What runs beside the load, each in an arm more.
    pub beside: Vec<(Beside, Bytes)>,
    /// Limits of control groups in that arm.
    pub limits: Vec<Limit>,
    /// Whose costs.
    pub costs: Costs,
    /// The arms, by name; none for all of them.
    pub arms: Vec<String>,
    /// Runs of each arm; `None` for as many as the study says.
    pub repetitions: Option<u32>,
    /// The seed of the first run of each arm.
    pub first_seed: u64,
    /// Real pages that a simulated one stands for.
    pub scale: Scale,
}

/// Which kernel's costs the model takes.
#[derive(Clone, Debug, Default)]
pub enum Costs {
    /// Those of the kernel that is nearest to the machine's, or of the default one.
    #[default]
    Nearest,
    /// Those built in of this kernel.
    Kernel(String),
    /// These, from the named folder.
    Of(Box<Calibration>, String),
}

/// A question whose machine, kernel and arms are settled; nothing was run.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The study on its machine, with the arm of one's own.
    pub study: Study,
    /// The costs.
    pub calibration: Calibration,
    /// The arms that are run, in the study's order.
    pub arms: Vec<String>,
    /// Runs of each.
    pub repetitions: u32,
    /// The seed of the first.
    pub first_seed: u64,
    /// Real pages that a simulated one stands for.
    pub scale: Scale,
    /// Whether it is on the machine that it was made for.
    pub is_as_made: bool,
    /// What asked for another machine and an arm more, as it is typed; each argument begins with a
    /// blank.
    pub arguments: String,
    /// The kernel, and the machine.
    notes: Vec<String>,
    /// Why no answer holds, where the model is far from a recording.
    far: Option<String>,
    /// The study as it was made.
    as_made: Study,
}

/// Runs with an outcome, and those without one, and why.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// The runs that have an outcome, by arm in the study's order and by seed.
    pub records: Vec<Record>,
    /// The runs that have none, and why.
    pub failures: Vec<(RunId, String)>,
    /// How often the runs may have been looked at to decide whether more are needed; 1 where their
    /// number was fixed.
    pub looks: u32,
}

impl Question {
    /// The whole study as it was made, from seed 1.
    #[must_use]
    pub fn new(study: Study) -> Self {
        Self {
            study,
            machine: Machine::default(),
            settings: Vec::new(),
            beside: Vec::new(),
            limits: Vec::new(),
            costs: Costs::default(),
            arms: Vec::new(),
            repetitions: None,
            first_seed: 1,
            scale: Scale::Auto,
        }
    }

    /// The study on its machine, with the arm of one's own.
    ///
    /// # Errors
    /// The study cannot be put on the machine, or a setting is not one.
    pub fn placed(&self, cpus: Cpus) -> Result<Placed, Refused> {
        check_anonymous(&self.study, &self.settings)?;
        let mut placed = self.machine.place(self.study.clone(), cpus)?;
        let study = with_settings(placed.study, &self.settings)?;
        let (mut study, notes) = with_limits(study, &self.limits)?;
        placed.notes.extend(notes);
        check_once(&self.beside)?;
        check_fits(&study, &self.beside)?;
        for (beside, size) in &self.beside {
            let more = study.beside(*beside, *size);
            study = more.map_err(|why| Refused::from(why).at("--add"))?;
        }
        Ok(Placed { study, ..placed })
    }

    /// The arms that are wanted of the placed study, by name; none for all of them. An arm of
    /// one's own takes part where only some of the others do.
    #[must_use]
    pub fn wanted(&self, placed: &Study) -> Vec<String> {
        let mut arms = self.arms.clone();
        if arms.is_empty() {
            return arms;
        }
        if !self.settings.is_empty() || !self.limits.is_empty() {
            arms.extend(own_arms(placed));
        }
        arms.extend(self.beside.iter().map(|(beside, _)| beside.arm()));
        arms
    }

    /// What asked for another machine and an arm more, as it is typed.
    #[must_use]
    pub fn arguments(&self) -> String {
        let set = |it: &Setting| format!(" --set {}={}", it.tunable, it.value);
        let add = |(beside, size): &(Beside, Bytes)| {
            format!(" --add {}:{}K", beside.word(), size.0 >> 10)
        };
        let sets: String = self.settings.iter().map(set).collect();
        let adds: String = self.beside.iter().map(add).collect();
        let limit = |it: &Limit| format!(" --limit {}={}K", it.group, it.memory.0 >> 10);
        let limits: String = self.limits.iter().map(limit).collect();
        self.machine.arguments() + &sets + &limits + &adds
    }

    /// Settles machine, kernel and arms.
    ///
    /// # Errors
    /// As [`Self::placed`]; no such kernel or arm.
    pub fn asked(self) -> Result<Asked, Refused> {
        let Placed {
            study,
            release,
            mut notes,
        } = self.placed(Cpus::Any)?;
        let is_as_made = notes.is_empty();
        let (arms, arguments) = (arms(&study, &self.wanted(&study))?, self.arguments());
        let of_the_machine = matches!(self.costs, Costs::Nearest);
        let (calibration, which) = self.costs.calibration(release.as_deref())?;
        let release = release.filter(|_| of_the_machine);
        let release = release.as_deref().unwrap_or(&calibration.kernel);
        let machines = study.arms.iter().map(|arm| &arm.machine);
        let lacking = lacks::notes(release, &calibration.kernel, machines);
        notes.splice(..0, [which].into_iter().chain(lacking));
        let bench = ModelBench::new(calibration.clone());
        let (study, room) = with_room(study, &bench)?;
        let (as_made, _) = with_room(self.study, &bench)?;
        notes.extend(room);
        Ok(Asked {
            calibration,
            arms,
            repetitions: self.repetitions.unwrap_or(study.repetitions),
            first_seed: self.first_seed,
            scale: self.scale,
            is_as_made,
            arguments,
            notes,
            far: None,
            study,
            as_made,
        })
    }
}

/// Refuses two loads of a kind beside the study's: each kind has one arm.
fn check_once(beside: &[(Beside, Bytes)]) -> Result<(), Refused> {
    let is_again = |at: &usize| beside[..*at].iter().any(|(it, _)| *it == beside[*at].0);
    match (0..beside.len()).find(is_again) {
        None => Ok(()),
        Some(at) => Err(Refused(format!(
            "--add: {} is there twice; ask once with each size",
            beside[at].0.word()
        ))),
    }
}

/// Refuses what runs beside a load and would be killed at once: that it does no harm then is no
/// answer.
fn check_fits(study: &Study, beside: &[(Beside, Bytes)]) -> Result<(), Refused> {
    let machine = study.arms.first().map(|arm| &arm.machine);
    let Some(machine) = machine else {
        return Ok(());
    };
    let swap: Bytes = machine.swaps.iter().map(|swap| swap.size).sum();
    let room = machine.available.unwrap_or(machine.memory);
    let room = Bytes(room.0.saturating_add(swap.0));
    let is_hog = |(what, size): &&(Beside, Bytes)| *what == Beside::Hog && size.0 > room.0;
    match beside.iter().find(is_hog) {
        None => Ok(()),
        Some((_, size)) => Err(Refused(format!(
            "--add: a hog of {size} does not fit into the {room} that are available, and would be \
             killed at once; give a smaller one"
        ))),
    }
}

/// The arms that take part, in the study's order: all where none is wanted by name.
fn arms(study: &Study, wanted: &[String]) -> Result<Vec<String>, Refused> {
    for arm in wanted {
        study.arm(arm)?;
    }
    let names = study.arms.iter().map(|arm| &arm.name);
    let takes_part = |name: &&String| wanted.is_empty() || wanted.contains(name);
    Ok(names.filter(takes_part).cloned().collect())
}

impl Costs {
    /// The costs that the model takes, and in words which and why.
    fn calibration(self, release: Option<&str>) -> Result<(Calibration, String), Refused> {
        let asked = match self {
            Self::Of(calibration, folder) => {
                return Ok((*calibration, format!("by the calibration in {folder}")));
            }
            Self::Kernel(kernel) => Some(kernel),
            Self::Nearest => None,
        };
        let (name, why) = machine::kernel(asked.as_deref(), release);
        let calibration = calibration::built_in(&name)?;
        let which = format!("kernel: {}, {why}", calibration.kernel);
        Ok((calibration, which))
    }
}

impl Asked {
    /// The model that is asked.
    #[must_use]
    pub fn bench(&self) -> ModelBench {
        ModelBench::new(self.calibration.clone()).at_scale(self.scale.pages())
    }

    /// Its arms' names.
    #[must_use]
    pub fn arms(&self) -> Vec<&str> {
        self.arms.iter().map(String::as_str).collect()
    }

    /// Its runs, that many at a time, to be refused where they take too long or too much.
    #[must_use]
    pub fn runs<'a>(&'a self, arms: &'a [&'a str], at_a_time: u64) -> Runs<'a> {
        Runs {
            study: &self.study,
            arms,
            repetitions: self.repetitions,
            at_a_time,
            scale: self.scale,
        }
    }

    /// What is to be said of the answer, one line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Why no answer holds, where that is known.
    #[must_use]
    pub fn far(&self) -> Option<&str> {
        self.far.as_deref()
    }

    /// Adds what is to be said of the answer before it is there: how far the model misses a
    /// recording, and what of the prediction is extrapolated, distorted by the scale, or about what
    /// no model machine has. `available` is this machine's `MemAvailable`.
    ///
    /// # Errors
    /// An arm asks for what the model lacks.
    pub fn noted(mut self, bench: &ModelBench, available: Bytes) -> Result<Self, Refused> {
        let arms = self.arms.iter();
        let scenarios = arms.map(|arm| self.study.scenario(arm, 1));
        let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
        let mut notes = coverage::notes(&scenarios, &self.calibration, self.scale.pages());
        notes.extend(without_dentries(&scenarios));
        if likely_error::is_of(&self.study) {
            let release = &self.calibration.kernel;
            notes.push(likely_error::note(&self.study, &scenarios, release));
        }
        for scenario in &scenarios {
            let place = format!("arm `{}`", scenario.arm);
            bench
                .check(scenario)
                .map_err(|why| Refused::from(why).at(&place))?;
        }
        let at_own_scale = ModelBench::new(self.calibration.clone());
        let of_it = recorded::notes(&self.as_made, &at_own_scale, available)?;
        self.notes.splice(..0, of_it.notes);
        self.far = of_it.far;
        self.notes.extend(notes);
        Ok(self)
    }

    /// Runs all, one after the other: by seed, then by arm.
    ///
    /// # Errors
    /// An arm that the study lacks.
    pub fn run(&self, bench: &ModelBench) -> Result<Ran, Refused> {
        self.run_by(bench, &mut |scenario| {
            run::outcome(bench, Run { scenario }, &mut |_| ())
        })
    }

    /// As [`Self::run`], where the caller may know an outcome already.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_by(
        &self,
        bench: &ModelBench,
        outcome: &mut dyn FnMut(&Scenario) -> Result<Outcome, BenchError>,
    ) -> Result<Ran, Refused> {
        let mut ran = Ran {
            looks: 1,
            ..Ran::default()
        };
        for arm in &self.arms {
            for repetition in 0..u64::from(self.repetitions) {
                let seed = self.first_seed.wrapping_add(repetition);
                let scenario = self.study.scenario(arm, seed)?;
                let provenance = run::provenance(&self.study, &scenario, bench, "");
                match outcome(&scenario) {
                    Ok(outcome) => ran.records.push(Record {
                        provenance,
                        outcome,
                    }),
                    Err(why) => {
                        let arm = arm.clone();
                        ran.failures.push((RunId { arm, seed }, why.to_string()));
                    }
                }
            }
        }
        Ok(ran)
    }

    /// Between what the figures of a recording lie.
    fn ranges(&self, ran: &Ran) -> Result<Vec<String>, Refused> {
        let ranged = Ranged {
            recorded: &self.as_made,
            study: &self.study,
            bench: &self.bench(),
            scale: self.scale,
        };
        ranged.lines(&self.arms, &ran.records)
    }

    /// The answer; `more` is what else is to be said of the runs.
    ///
    /// # Errors
    /// An arm that the study lacks.
    pub fn report(&self, ran: Ran, more: Option<String>) -> Result<Report<'_>, Refused> {
        let ranges = self.ranges(&ran)?;
        let sampled = self.scale.describe(&self.study, &self.arms())?;
        let kernel = &self.calibration.kernel;
        let problems = ran.failures.iter();
        let problems = problems.map(|(id, why)| format!("{}: {why}", id.arm));
        Ok(Report {
            study: &self.study,
            problems: problems.collect(),
            pairs: vec![Pair {
                kernel: format!("Linux {kernel}{sampled}"),
                release: kernel.clone(),
                bench: String::new(),
                looks: ran.looks.max(1),
                model: ran.records,
                proofs: Vec::new(),
            }],
            notes: [self.notes.clone(), Vec::from_iter(more), ranges].concat(),
            arguments: self.arguments.clone(),
            no_record: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// An arm that is about dentries and inodes has hardly any here, where a host may have GiB of them.
fn without_dentries(scenarios: &[Scenario]) -> Option<String> {
    let mut settings = scenarios.iter().flat_map(|it| &it.arm_settings.0);
    let found = settings.find(|it| it.tunable.starts_with("vm.vfs_cache_pressure"))?;
    Some(format!(
        "not covered: {} is about unused dentries and inodes; the model's machine has none, a VM \
         that has just booted 0.1 MiB, and a host may have GiB of them",
        found.tunable
    ))
}
