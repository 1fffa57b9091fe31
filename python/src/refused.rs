//! An error of the library as Python raises it: the command's words.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

/// A ValueError that says why.
pub(crate) fn refused(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}
