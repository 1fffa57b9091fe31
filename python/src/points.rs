//! Points of a space of settings: arms of a sweep, runs that go to other machines, and the figures
//! of many points at once, which a search asks for.

use answer::bench::{Bench, BenchError, Run};
use answer::model_bench::ModelBench;
use answer::run;
use lab::experiment::{cpus, side_by_side};
use lab::kept::{Outcomes, packed};
use mm::settings::{Setting, Settings};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scenario::Scenario;
use study::measure::Measure;

use crate::ask::Question;
use crate::attended::attended;
use crate::refused::refused;
use crate::study::{Pairs, Study, settings};

/// Tunables and the values that each takes.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Space(lab::sweep::Space);

#[pymethods]
impl Space {
    #[new]
    fn new(axes: Vec<(String, Vec<String>)>) -> PyResult<Self> {
        lab::sweep::Space::of(&axes).map(Self).map_err(refused)
    }

    /// The study with an arm for every point, and the arms that are run.
    fn arms_of(&self, study: &Study) -> PyResult<(Study, Vec<String>)> {
        let (study, arms) = self.0.arms_of(&study.0).map_err(refused)?;
        Ok((Study(study), arms))
    }
}

/// Runs what [`Question::lacking`] named, anywhere: the outcome's name and what is kept of it.
/// Nothing is kept of a run that has no outcome; the driver's own attempt says why.
#[pyfunction]
pub(crate) fn outcome<'py>(
    py: Python<'py>,
    task: &[u8],
    kernel: String,
    scale: String,
) -> PyResult<(String, Option<Bound<'py, PyBytes>>)> {
    let task = task.to_vec();
    let (key, bytes) = attended(py, move |_| outcome_of(&task, &kernel, &scale))?;
    Ok((key, bytes.map(|bytes| PyBytes::new(py, &bytes))))
}

fn outcome_of(task: &[u8], kernel: &str, scale: &str) -> Result<(String, Option<Vec<u8>>), String> {
    let scenario = Scenario::from_bytes(task);
    let scenario = scenario.ok_or("no run of this version of plimsoll")?;
    let scale = answer::scale::Scale::parse(scale)?.pages();
    let model = ModelBench::of_kernel(kernel).map_err(|why| why.to_string())?;
    let model = model.at_scale(scale);
    let bytes = match model.run_nameless(&scenario) {
        Ok(capture) => Some(packed(&capture).map_err(|why| why.to_string())?),
        Err(_) => None,
    };
    Ok((model.key(&scenario), bytes))
}

/// Keeps an outcome that came from elsewhere.
#[pyfunction]
pub(crate) fn keep(store: String, key: &str, bytes: &[u8]) -> PyResult<()> {
    Outcomes::new(store).keep(key, bytes).map_err(refused)
}

/// A measure of the study's first arm with these settings in place of its own, one run a point; a
/// point that cannot be run has none, and says why.
#[pyfunction]
pub(crate) fn measured(
    py: Python<'_>,
    question: &Question,
    measure: &str,
    points: Vec<Pairs>,
    seed: u64,
) -> PyResult<Vec<(Option<f64>, String)>> {
    let points = points.iter().map(settings).collect::<PyResult<Vec<_>>>()?;
    let study = &question.asked.study;
    let measure = study.measures.iter().find(|it| it.name == measure);
    let measure = measure.ok_or_else(|| refused("the study has no such measure"))?;
    let base = question.asked.arms.first();
    let base = base.ok_or_else(|| refused("there is no arm"))?;
    let base = study.scenario(base, seed).map_err(refused)?;
    let (measure, model) = (measure.clone(), question.model.clone());
    attended(py, move |stop| {
        let one = |settings: &Vec<Setting>| {
            stop.check()?;
            let read = read(&base, settings, &measure, &model);
            Ok(read.map_or_else(|why| (None, why), |value| (Some(value), String::new())))
        };
        let read = side_by_side(&points, cpus().get(), one);
        read.map_err(|why: BenchError| why.to_string())
    })
}

/// What a measure is with these settings.
fn read(
    base: &Scenario,
    settings: &[Setting],
    measure: &Measure,
    model: &ModelBench,
) -> Result<f64, String> {
    let mut scenario = base.clone();
    scenario.arm_settings = Settings(settings.to_vec());
    let run = Run {
        scenario: &scenario,
    };
    let outcome = run::outcome(model as &dyn Bench, run, &mut |_| ());
    let outcome = outcome.map_err(|why| why.to_string())?;
    measure.read(&outcome).map_err(|why| why.to_string())
}
