//! A question to the model, and the answer.

use answer::bench::Bench;
use answer::machine::{self, Machine};
use answer::model_bench::ModelBench;
use answer::question::{Asked, Costs, Ran};
use answer::report::{Report, data};
use answer::scale::Scale;
use host::{Root, facts};
use lab::experiment::{AtATime, Experiment, cpus};
use lab::kept::{Kept, Outcomes};
use mm::units::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scenario::Scenario;

use crate::attended::{Stop, Stoppable, attended};
use crate::refused::refused;
use crate::study::{Pairs, Study, settings};

/// A run as it is sent: the name of its outcome, and the scenario as bytes.
pub(crate) type Task<'py> = (String, Bound<'py, PyBytes>);

/// A question whose machine, kernel and arms are settled.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Question {
    pub(crate) asked: Asked,
    pub(crate) model: ModelBench,
}

/// What it came to.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Answer {
    asked: Asked,
    ran: Ran,
    /// One line of JSON with its end: the command's.
    #[pyo3(get)]
    json: String,
    /// Why runs have no outcome, in one line; absent where all have one.
    #[pyo3(get)]
    failure: Option<String>,
}

#[pymethods]
impl Answer {
    /// The page with charts.
    #[getter]
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        let page = || report(&self.asked, &self.ran).map(|it| it.to_html());
        py.detach(page).map_err(PyValueError::new_err)
    }
}

/// The machine and what else is chosen, as the command's options say it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    memory: Option<String>,
    cpus: Option<u32>,
    disk: Option<String>,
    kernel: Option<String>,
    settings: Pairs,
    arms: Vec<String>,
    repetitions: Option<u32>,
    seed: u64,
    scale: String,
}

#[pymethods]
impl Question {
    /// Settles the machine, the kernel and the arms.
    #[new]
    fn new(study: &Study, options: Options) -> PyResult<Self> {
        let question = answer::question::Question {
            machine: machine(&options)?,
            settings: settings(&options.settings)?,
            costs: options.kernel.map_or(Costs::Nearest, Costs::Kernel),
            arms: options.arms,
            repetitions: options.repetitions,
            first_seed: options.seed,
            scale: Scale::parse(&options.scale).map_err(|why| refused(format!("scale: {why}")))?,
            ..answer::question::Question::new(study.0.clone())
        };
        let asked = question.asked().map_err(refused)?;
        let model = asked.bench();
        Ok(Self { asked, model })
    }

    /// Refuses what would take more than 5 minutes, or more memory than there is.
    fn check(&self) -> PyResult<()> {
        let (arms, at_a_time) = (self.asked.arms(), cpus().get() as u64);
        let (study, scale) = (&self.asked.study, self.asked.scale);
        scale
            .check(study, &arms, at_a_time, available())
            .map_err(refused)?;
        let runs = self.asked.runs(&arms, at_a_time);
        runs.check(available()).map_err(refused)
    }

    /// The kernel whose costs the model takes.
    #[getter]
    fn kernel(&self) -> &str {
        &self.asked.calibration.kernel
    }

    /// The runs whose outcomes the store lacks.
    fn lacking<'py>(&self, py: Python<'py>, store: String) -> PyResult<Vec<Task<'py>>> {
        let outcomes = Outcomes::new(store);
        let mut tasks = Vec::new();
        for scenario in self.scenarios()? {
            let (nameless, _) = scenario.nameless();
            let key = self.model.key(&nameless);
            if outcomes.find(&key).map_err(refused)?.is_none() {
                tasks.push((key, PyBytes::new(py, &nameless.to_bytes())));
            }
        }
        Ok(tasks)
    }

    /// Runs it on every CPU and says what it came to. With a store, only what that lacks is run.
    fn answer(&self, py: Python<'_>, store: Option<String>) -> PyResult<Answer> {
        let (asked, model) = (self.asked.clone(), self.model.clone());
        attended(py, move |stop| answered(asked, &model, store, stop))
    }
}

impl Question {
    /// The scenario of every run.
    fn scenarios(&self) -> PyResult<Vec<Scenario>> {
        let asked = &self.asked;
        let seeds = 0..u64::from(asked.repetitions);
        let runs = seeds.flat_map(|it| asked.arms.iter().map(move |arm| (arm, it)));
        let scenario = |(arm, repetition): (&String, u64)| {
            let seed = asked.first_seed.wrapping_add(repetition);
            asked.study.scenario(arm, seed).map_err(refused)
        };
        runs.map(scenario).collect()
    }
}

fn answered(
    asked: Asked,
    model: &ModelBench,
    store: Option<String>,
    stop: &Stop,
) -> Result<Answer, String> {
    let asked = asked.noted(model, available());
    let asked = asked.map_err(|why| why.to_string())?;
    let outcomes = store.map(Outcomes::new);
    let kept = outcomes.as_ref().map(|outcomes| Kept { model, outcomes });
    let bench: &(dyn Bench + Sync) = match &kept {
        None => model,
        Some(kept) => kept,
    };
    let ran = ran(&asked, &Stoppable { bench, stop })?;
    let failure = failure(&ran);
    if let (true, Some(failure)) = (ran.records.is_empty(), &failure) {
        return Err(failure.clone());
    }
    let report = report(&asked, &ran)?;
    let (notes, problems) = (&report.notes, &report.problems);
    let json = data::json(report.study, &report.pairs, notes, problems) + "\n";
    Ok(Answer {
        asked,
        ran,
        json,
        failure,
    })
}

fn report<'a>(asked: &'a Asked, ran: &Ran) -> Result<Report<'a>, String> {
    let report = asked.report(ran.clone(), None);
    report.map_err(|why| why.to_string())
}

fn ran(asked: &Asked, bench: &(dyn Bench + Sync)) -> Result<Ran, String> {
    let experiment = Experiment {
        arms: asked.arms.clone(),
        repetitions: asked.repetitions,
        first_seed: asked.first_seed,
        at_a_time: AtATime::EveryCpu,
        ..Experiment::new(&asked.study)
    };
    let results = experiment.run(bench, None, &|_| ());
    let results = results.map_err(|why| why.to_string())?;
    Ok(Ran {
        records: results.records,
        failures: results.failures,
        looks: 1,
    })
}

fn failure(ran: &Ran) -> Option<String> {
    let (id, why) = ran.failures.first()?;
    Some(format!("arm `{}` with seed {}: {why}", id.arm, id.seed))
}

fn machine(options: &Options) -> PyResult<Machine> {
    let memory = option("memory", options.memory.as_deref(), machine::memory)?;
    Ok(Machine {
        memory,
        cpus: options.cpus,
        disk: option("disk", options.disk.as_deref(), machine::disk)?,
        ..Machine::default()
    })
}

/// What an option says, with its name before what is wrong with it.
fn option<T>(
    name: &str,
    text: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> PyResult<Option<T>> {
    let read = |text| read(text).map_err(|why| refused(format!("{name}: {why}")));
    text.map(read).transpose()
}

/// `MemAvailable` of this machine; no limit where it cannot be read.
fn available() -> Bytes {
    facts::available(&Root::default()).unwrap_or(Bytes(u64::MAX))
}
