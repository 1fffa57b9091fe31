//! Where fetched kernels, built modules and the files of running VMs lie.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tempfile::TempDir;

use super::failed::failed;
use answer::bench::BenchError;

/// The cache directory, made if it is not there.
pub(super) fn directory(named: Option<&Path>) -> Result<PathBuf, BenchError> {
    let path = named
        .map(Path::to_owned)
        .or_else(of_the_user)
        .ok_or_else(|| {
            let text = "no directory for the kernels: set XDG_CACHE_HOME or HOME";
            BenchError::Unavailable(text.into())
        })?;
    fs::create_dir_all(&path).map_err(|error| {
        let way_out = "name a folder that you can write with XDG_CACHE_HOME";
        BenchError::Unavailable(format!("{}: {error}; {way_out}", path.display()))
    })?;
    Ok(path)
}

/// A fresh directory for one VM; it is removed when dropped. What a killed process left is removed
/// here.
pub(super) fn run_directory(cache: &Path) -> Result<TempDir, BenchError> {
    let runs = cache.join("run");
    fs::create_dir_all(&runs).map_err(|error| failed(&runs, &error))?;
    remove_orphans(&runs);
    tempfile::Builder::new()
        .prefix(&format!("{}-", std::process::id()))
        .tempdir_in(&runs)
        .map_err(|error| failed(&runs, &error))
}

fn of_the_user() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(base?.join("plimsoll"))
}

/// Directories are named after the process that made them. One that cannot be removed is only room
/// lost, so errors are of no interest.
fn remove_orphans(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.split('-').next());
        let alive = process.is_none_or(|id| Path::new("/proc").join(id).exists());
        if !alive {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_directory_goes_with_its_owner_and_orphans_go_at_the_next_run() {
        let cache = tempfile::tempdir().unwrap();
        let orphan = cache.path().join("run/4194305-left");
        fs::create_dir_all(&orphan).unwrap();
        let run = run_directory(cache.path()).unwrap();
        let path = run.path().to_owned();
        assert!(path.exists() && !orphan.exists());
        let second = run_directory(cache.path()).unwrap();
        assert!(
            path.exists(),
            "another run of this process is not an orphan"
        );
        drop((run, second));
        assert!(!path.exists());
    }
}
