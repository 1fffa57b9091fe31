//! Why there is no answer.

use study::{ArmError, NoSuchArm};

use crate::bench::BenchError;
use crate::calibration::CalibrationError;

/// Why there is no answer: one line, what and where, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Refused {
    /// The same, after where it is: an arm, an option.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl From<NoSuchArm> for Refused {
    fn from(why: NoSuchArm) -> Self {
        Self(why.to_string())
    }
}

impl From<ArmError> for Refused {
    fn from(why: ArmError) -> Self {
        Self(why.to_string())
    }
}

impl From<CalibrationError> for Refused {
    fn from(why: CalibrationError) -> Self {
        Self(why.to_string())
    }
}

impl From<BenchError> for Refused {
    fn from(why: BenchError) -> Self {
        Self(why.to_string())
    }
}
