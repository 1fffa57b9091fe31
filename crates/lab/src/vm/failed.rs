//! What could not be done with a file of the host's.

use std::path::Path;

use answer::bench::BenchError;

/// What could not be done with a file of the host's.
pub(super) fn failed(path: &Path, error: &std::io::Error) -> BenchError {
    BenchError::Failed(format!("{}: {error}", path.display()))
}
