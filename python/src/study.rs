//! A study, as Python holds it.

use answer::own::{OWN_ARM, with_settings};
use mm::catalogue;
use mm::settings::Setting;
use mm::units::PageSize;
use pyo3::prelude::*;

use crate::refused::refused;

/// Settings as Python hands them over: names and values, in order.
pub(crate) type Pairs = Vec<(String, String)>;

/// The settings that these pairs are, in the kernel's units.
///
/// # Errors
/// What is no setting.
pub(crate) fn settings(pairs: &Pairs) -> PyResult<Vec<Setting>> {
    let typed = |(key, value): &(String, String)| {
        catalogue::typed_of(key, value, PageSize::FOUR_KIB).map_err(refused)
    };
    pairs.iter().map(typed).collect()
}

/// A machine, a workload, arms and measures.
#[pyclass(frozen, module = "plimsoll")]
#[derive(Clone)]
pub(crate) struct Study(pub(crate) study::Study);

#[pymethods]
impl Study {
    /// The built-in study of this name, or the one in the file at this path.
    #[staticmethod]
    fn find(name: &str) -> PyResult<Self> {
        lab::find::find(name).map(Self).map_err(refused)
    }

    /// The study of this text; `file` is what errors call it.
    #[staticmethod]
    fn parse(text: &str, file: &str) -> PyResult<Self> {
        study::Study::parse(text, file).map(Self).map_err(refused)
    }

    /// The study with one more arm that has these settings.
    fn with_arm(&self, name: Option<&str>, pairs: Pairs) -> PyResult<Self> {
        let settings = settings(&pairs)?;
        let study = match name {
            None => with_settings(self.0.clone(), &settings).map_err(refused)?,
            Some(name) => {
                let settings = mm::settings::Settings(settings);
                self.0.with_arm(name, &settings).map_err(refused)?
            }
        };
        Ok(Self(study))
    }

    #[classattr]
    const OWN_ARM: &'static str = OWN_ARM;

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn question(&self) -> &str {
        &self.0.question
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// Its arms and what each sets.
    #[getter]
    fn arms(&self) -> Vec<(String, Pairs)> {
        let pairs = |arm: &study::Arm| {
            let pairs = arm.settings.0.iter();
            pairs
                .map(|it| (it.tunable.clone(), it.value.clone()))
                .collect()
        };
        let arms = self.0.arms.iter();
        arms.map(|arm| (arm.name.clone(), pairs(arm))).collect()
    }

    /// Its measures: name, unit, and whether "lower" or "higher" is better.
    #[getter]
    fn measures(&self) -> Vec<(String, String, Option<&'static str>)> {
        let measures = self.0.measures.iter();
        let better = |it: &study::measure::Measure| it.better.map(better);
        measures
            .map(|it| (it.name.clone(), it.unit.word().to_owned(), better(it)))
            .collect()
    }

    /// The measures that the answer rests on, in order.
    #[getter]
    fn headline(&self) -> Vec<String> {
        let headline = self.0.headline().into_iter();
        headline.map(|it| it.name.clone()).collect()
    }
}

fn better(better: study::measure::Better) -> &'static str {
    match better {
        study::measure::Better::Lower => "lower",
        study::measure::Better::Higher => "higher",
    }
}

/// The names of the built-in studies.
#[pyfunction]
pub(crate) fn studies() -> Vec<&'static str> {
    study::BUILT_IN.iter().map(|(name, _)| *name).collect()
}
