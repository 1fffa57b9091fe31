//! Points of a space of settings: arms of a sweep, runs that go to other machines, and the figures
//! of many points at once, which a search asks for.

use answer::bench::{Bench, Run};
use answer::model_bench::ModelBench;
use answer::run;
use lab::kept::{Outcomes, packed};
use mm::settings::Settings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use scenario::Scenario;

use crate::ask::{Question, Task};
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
#[pyfunction]
pub(crate) fn outcome<'py>(
    py: Python<'py>,
    task: &[u8],
    kernel: &str,
    scale: &str,
) -> PyResult<Task<'py>> {
    let done = py.detach(|| outcome_of(task, kernel, scale));
    let (key, bytes) = done.map_err(PyValueError::new_err)?;
    Ok((key, PyBytes::new(py, &bytes)))
}

fn outcome_of(task: &[u8], kernel: &str, scale: &str) -> Result<(String, Vec<u8>), String> {
    let scenario = Scenario::from_bytes(task);
    let scenario = scenario.ok_or("no run of this version of plimsoll")?;
    let scale = answer::scale::Scale::parse(scale)?.pages();
    let model = ModelBench::of_kernel(kernel).map_err(|why| why.to_string())?;
    let model = model.at_scale(scale);
    let capture = model
        .run_nameless(&scenario)
        .map_err(|why| why.to_string())?;
    let bytes = packed(&capture).map_err(|why| why.to_string())?;
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
    let index = study.measures.iter().position(|it| it.name == measure);
    let index = index.ok_or_else(|| refused(format!("the study has no measure `{measure}`")))?;
    let base = question
        .asked
        .arms
        .first()
        .ok_or_else(|| refused("there is no arm"))?;
    let base = study.scenario(base, seed).map_err(refused)?;
    let one = |settings: Vec<mm::settings::Setting>| {
        let mut scenario = base.clone();
        scenario.arm_settings = Settings(settings);
        let run = Run {
            scenario: &scenario,
        };
        let outcome = run::outcome(&question.model as &dyn Bench, run, &mut |_| ());
        let value = outcome.map_err(|why| why.to_string()).and_then(|outcome| {
            study.measures[index]
                .read(&outcome)
                .map_err(|why| why.to_string())
        });
        value.map_or_else(|why| (None, why), |value| (Some(value), String::new()))
    };
    Ok(py.detach(|| points.into_par_iter().map(one).collect()))
}
