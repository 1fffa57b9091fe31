//! Outcomes of the model that are kept under the hash of what they hang on: no run is made twice,
//! and two folders of them are one when their files are copied together.
//!
//! A file is `DIR/HA/HASH.capture.gz`, and holds a capture without the names that a study gives.
//! The same run has the same bytes wherever it was made.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use answer::bench::{Bench, BenchError, Progress, Run};
use answer::model_bench::ModelBench;
use files::{Attributes, Lasts, named, output};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mm::capture::Capture;
use scenario::Scenario;
use study::record::MOST_BYTES;

/// A folder of outcomes.
#[derive(Clone, Debug)]
pub struct Outcomes {
    root: PathBuf,
}

/// The model, asked only for what is not kept yet.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The model.
    pub model: &'a ModelBench,
    /// What is kept.
    pub outcomes: &'a Outcomes,
}

impl Outcomes {
    /// Those below `root`; the folder is made when the first one is kept.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The outcome of this key; none where there is no file, or one that was cut short: it is made
    /// again.
    ///
    /// # Errors
    /// There is a file that cannot be read.
    pub fn find(&self, key: &str) -> Result<Option<Capture>, BenchError> {
        let path = self.folder(key).join(name(key));
        match named::read(&path, MOST_BYTES) {
            Ok(bytes) => Ok(unpacked(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Keeps what [`packed`] made of the outcome of this key. What is there already is replaced.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be written.
    pub fn keep(&self, key: &str, bytes: &[u8]) -> Result<(), BenchError> {
        let put = || {
            let folder = output::folder(&self.folder(key))?;
            let name = name(key);
            folder.replace(
                OsStr::new(&name),
                bytes,
                Attributes::new_file(),
                Lasts::Process,
            )
        };
        put().map_err(|error| self.refused(&error))
    }

    /// Files in one folder would be too many.
    fn folder(&self, key: &str) -> PathBuf {
        self.root.join(key.get(..2).unwrap_or_default())
    }

    fn refused(&self, error: &io::Error) -> BenchError {
        BenchError::Unavailable(format!(
            "{}: {error}; what is kept there stays; name another folder with --store, or free \
             space, and run it again: it resumes",
            self.root.display()
        ))
    }
}

fn name(key: &str) -> String {
    format!("{key}.capture.gz")
}

/// An outcome as it is kept.
///
/// # Errors
/// None that memory does not have.
pub fn packed(capture: &Capture) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(capture.to_text().as_bytes())?;
    gzip.finish()
}

fn unpacked(bytes: &[u8]) -> Option<Capture> {
    let mut text = String::new();
    let mut gzip = GzDecoder::new(bytes).take(MOST_BYTES);
    gzip.read_to_string(&mut text).ok()?;
    Capture::parse(&text).ok()
}

impl Bench for Kept<'_> {
    fn describe(&self) -> String {
        self.model.describe()
    }

    fn kernel(&self) -> String {
        self.model.kernel()
    }

    fn details(&self, scenario: &Scenario) -> Vec<(String, String)> {
        self.model.details(scenario)
    }

    fn run(&self, run: Run<'_>, _: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
        let (nameless, names) = run.scenario.nameless();
        let key = self.model.key(&nameless);
        let mut capture = match self.outcomes.find(&key)? {
            Some(capture) => capture,
            None => {
                let named = |why| match why {
                    BenchError::Failed(why) => BenchError::Failed(names.in_text(&why)),
                    stop => stop,
                };
                let capture = self.model.run_nameless(&nameless).map_err(named)?;
                let bytes = packed(&capture).map_err(|error| self.outcomes.refused(&error))?;
                self.outcomes.keep(&key, &bytes)?;
                capture
            }
        };
        names.give_back(&mut capture);
        Ok(capture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::Study;

    fn capture(bench: &dyn Bench, study: &Study) -> Capture {
        let scenario = study.scenario("default", 1).unwrap();
        bench
            .run(
                Run {
                    scenario: &scenario,
                },
                &mut |_| (),
            )
            .unwrap()
    }

    fn study(name: &str) -> Study {
        let text = format!(
            "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"256 MiB\"\n\
             [[arm]]\nname = \"default\"\n[[process]]\nname = \"{name}\"\n\
             steps = [{{ label = \"l\", sleep = \"1 s\" }}]\n\
             [[measure]]\nname = \"m\"\nstep = \"l\"\ntake = \"duration\"\n"
        );
        Study::parse(&text, "s").unwrap()
    }

    fn files(outcomes: &Outcomes) -> Vec<PathBuf> {
        let below = |path: PathBuf| {
            std::fs::read_dir(path)
                .unwrap()
                .map(|it| it.unwrap().path())
        };
        below(outcomes.root.clone()).flat_map(below).collect()
    }

    #[test]
    fn what_is_kept_is_what_the_model_says_and_names_make_no_other_run() {
        let folder = tempfile::tempdir().unwrap();
        let (model, outcomes) = (
            ModelBench::of_kernel("6.1").unwrap(),
            Outcomes::new(folder.path()),
        );
        let kept = Kept {
            model: &model,
            outcomes: &outcomes,
        };
        for name in ["reader", "writer", "reader"] {
            let study = study(name);
            assert_eq!(capture(&kept, &study), capture(&model, &study), "{name}");
        }
        assert_eq!(files(&outcomes).len(), 1);
    }

    #[test]
    fn a_file_that_was_cut_short_is_made_again_to_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (model, outcomes) = (
            ModelBench::of_kernel("6.1").unwrap(),
            Outcomes::new(folder.path()),
        );
        let kept = Kept {
            model: &model,
            outcomes: &outcomes,
        };
        let first = capture(&kept, &study("p"));
        let path = files(&outcomes).remove(0);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(capture(&kept, &study("p")), first);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn what_a_run_hangs_on_makes_it_another_run() {
        let scenario = study("p").scenario("default", 1).unwrap();
        let key = |kernel: &str, scale| {
            let model = ModelBench::of_kernel(kernel).unwrap().at_scale(scale);
            model.key(&scenario.nameless().0)
        };
        let all = [key("6.1", None), key("6.12", None), key("6.1", Some(2))];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), 3);
        assert_eq!(key("6.1", None), key("6.1", Some(1)), "auto is 1 here");
    }
}
