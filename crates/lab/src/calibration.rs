//! Calibrations in folders; what is in the files is said in [`answer::calibration`].

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use answer::calibration::{CalibrationError, MOST_BYTES, from_files, to_files};
use files::{Attributes, Folder, Lasts, output};
use scenario::calibration::Calibration;

/// Reads the calibration in a folder.
///
/// # Errors
/// A file is missing or does not hold what it should.
pub fn read(folder: &Path) -> Result<Calibration, CalibrationError> {
    let below = Folder::at(folder).map_err(io_error(folder))?;
    from_files(&folder.display().to_string(), |file| {
        below.read(file, MOST_BYTES)
    })
}

/// Writes a calibration into a folder, which is made if need be.
///
/// # Errors
/// The file system refuses.
pub fn write(folder: &Path, calibration: &Calibration) -> Result<(), CalibrationError> {
    let below = output::folder(folder).map_err(io_error(folder))?;
    for (name, bytes) in to_files(calibration).map_err(io_error(folder))? {
        let put = below.replace(
            OsStr::new(&name),
            &bytes,
            Attributes::new_file(),
            Lasts::PowerCut,
        );
        put.map_err(io_error(&folder.join(name)))?;
    }
    Ok(())
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> CalibrationError {
    let path = path.display().to_string();
    move |source| CalibrationError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use answer::calibration::{FILE, built_in};
    use std::fs;

    #[test]
    fn a_calibration_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &built_in("6.1").unwrap()).unwrap();
        assert_eq!(read(folder.path()).unwrap(), built_in("6.1").unwrap());
    }

    #[test]
    fn a_broken_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = || read(folder.path()).unwrap_err().to_string();
        assert!(
            error().contains("calibration.toml: No such file"),
            "{}",
            error()
        );
        write(folder.path(), &built_in("6.1").unwrap()).unwrap();
        let toml = fs::read_to_string(folder.path().join(FILE)).unwrap();
        fs::write(folder.path().join(FILE), toml.replace("touch", "tuch")).unwrap();
        assert!(
            error().contains("calibration.toml: unknown field `tuch`"),
            "{}",
            error()
        );
        fs::write(folder.path().join(FILE), toml).unwrap();
        fs::write(folder.path().join("boot-512-MiB.capture.gz"), b"no").unwrap();
        assert!(error().contains("boot-512-MiB.capture.gz"), "{}", error());
    }
}
