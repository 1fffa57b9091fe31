//! The native half of the Python package: a study asked of the model.
//!
//! What is asked of this machine or of evidence of another goes through the command, which lies in
//! the same wheel (`plimsoll/_command.py`).

use pyo3::prelude::*;

mod ask;
mod attended;
mod points;
mod refused;
mod study;
mod tunables;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::ask::{Answer, Question};
    #[pymodule_export]
    use crate::points::{Space, keep, measured, outcome};
    #[pymodule_export]
    use crate::study::{Study, studies};
    #[pymodule_export]
    use crate::tunables::tunables;

    /// A relative difference below this says nothing.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let thresholds = ::study::verdict::Thresholds::default();
        module.add("NOISE_FLOOR", thresholds.noise_floor)
    }
}
