//! What an earlier state of the source does, beside what this one does: `bench --against REV` and
//! `outcomes --against REV`.
//!
//! The revision is checked out into a worktree of its own below `target/` and built there. What is
//! asked of both states is this one's: its benchmark, its studies and its example are put into the
//! other's tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{binary, process, tree};

/// The files that ask, and what cargo needs to know of them.
const ASKS: [&str; 7] = [
    "crates/lab/examples/outcomes.rs",
    "crates/lab/benches/clock/mod.rs",
    "crates/lab/benches/model.rs",
    "crates/lab/benches/model/resident.toml",
    "crates/lab/benches/model/stream.toml",
    "crates/lab/benches/model/swap.toml",
    "crates/lab/benches/model/tasks.toml",
];

/// A state of the source.
pub(crate) struct State {
    root: PathBuf,
    /// Where cargo builds it; its usual place for this state.
    target: Option<PathBuf>,
}

/// What cargo can build of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// The command.
    Plimsoll,
    /// The benchmark of the whole model.
    Model,
    /// The hashes of the outcomes.
    Outcomes,
}

impl Program {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Plimsoll => &["--package", "plimsoll", "--bin", "plimsoll"],
            Self::Model => &["--package", "plimsoll-lab", "--bench", "model"],
            Self::Outcomes => &["--package", "plimsoll-lab", "--example", "outcomes"],
        }
    }
}

impl State {
    /// That of this checkout.
    pub(crate) fn now() -> Self {
        Self {
            root: tree::root().to_owned(),
            target: None,
        }
    }

    /// That of a revision, in a worktree which goes with the value.
    pub(crate) fn of(revision: &str) -> Result<Self> {
        let folder = tree::root().join("target/against");
        let state = Self {
            root: folder.join("tree"),
            target: Some(folder.join("build")),
        };
        state.remove();
        let add = ["worktree", "add", "--quiet", "--force", "--detach"];
        let mut git = process::program("git");
        process::succeed(git.args(add).arg(&state.root).arg(revision))?;
        for path in ASKS {
            let to = state.root.join(path);
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(tree::root().join(path), &to).with_context(|| path.to_owned())?;
        }
        Ok(state)
    }

    /// Builds a program for use and says where it lies. An earlier state may lack what this one's
    /// questions call; then it is asked by its own.
    pub(crate) fn build(&self, program: Program) -> Result<PathBuf> {
        match self.build_as_it_is(program) {
            Err(why) if self.target.is_some() => {
                eprintln!("{why:#}; the other state's own is built in its place");
                self.give_back_own()?;
                self.build_as_it_is(program)
            }
            built => built,
        }
    }

    /// Puts what this state asks with out of the other's tree.
    fn give_back_own(&self) -> Result<()> {
        let mut git = process::program("git");
        process::succeed(
            git.args(["checkout", "--quiet", "."])
                .current_dir(&self.root),
        )
    }

    fn build_as_it_is(&self, program: Program) -> Result<PathBuf> {
        let mut cargo = process::cargo();
        cargo.args(["build", "--release"]).args(program.arguments());
        if let Some(target) = &self.target {
            cargo.arg("--target-dir").arg(target);
        }
        binary::built(cargo.current_dir(&self.root))
    }

    fn remove(&self) {
        if self.target.is_some() && self.root.exists() {
            let mut git = process::program("git");
            let remove = ["worktree", "remove", "--force"];
            // What stays is in the way of the next run, which says so.
            let _ = git.args(remove).arg(&self.root).status();
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.remove();
    }
}

/// What a program prints.
pub(crate) fn printed(program: &Path, arguments: &[String]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(tree::root());
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| process::describe(&command))?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(&command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The revision of `--against`, and the arguments beside it.
pub(crate) fn revision(arguments: &[String]) -> Result<(Option<String>, Vec<String>)> {
    let Some(at) = arguments
        .iter()
        .position(|argument| argument == "--against")
    else {
        return Ok((None, arguments.to_vec()));
    };
    let Some(revision) = arguments.get(at + 1).filter(|it| !it.starts_with('-')) else {
        bail!("--against takes a revision, as in --against HEAD~1");
    };
    let (before, behind) = (&arguments[..at], &arguments[at + 2..]);
    Ok((Some(revision.clone()), [before, behind].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_is_taken_out_of_the_arguments() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (revision_of, rest) = revision(&words("ksm --against HEAD~1 writeback")).unwrap();
        assert_eq!(revision_of.as_deref(), Some("HEAD~1"));
        assert_eq!(rest, words("ksm writeback"));
        assert_eq!(revision(&words("ksm")).unwrap(), (None, words("ksm")));
        for lacking in ["--against", "--against --rounds 3"] {
            let why = revision(&words(lacking)).unwrap_err().to_string();
            assert!(why.contains("takes a revision"), "{why}");
        }
    }

    #[test]
    fn what_asks_is_there() {
        for path in ASKS {
            assert!(tree::root().join(path).exists(), "{path}");
        }
    }
}
