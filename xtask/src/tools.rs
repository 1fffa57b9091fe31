//! Cargo's own tools, installed below `target/tools`.

use std::path::PathBuf;

use anyhow::Result;

use crate::{process, tree};

/// A crate that brings a program of its name, and the version that is installed.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Features that it is built with; none of the usual ones.
    pub(crate) features: &'static [&'static str],
}

impl Tool {
    /// Where it lies; installed unless it is there. With little optimisation and few features it is
    /// there in a fraction of the time.
    pub(crate) fn installed(&self) -> Result<PathBuf> {
        let Self { name, version, .. } = self;
        let place = tree::root().join("target/tools");
        let own = place.join(format!("{name}-{version}"));
        let program = own.join("bin").join(name);
        if !program.exists() {
            let mut cargo = process::cargo();
            cargo.args(["install", "--quiet", "--locked", "--debug", name]);
            cargo.args(["--version", version, "--no-default-features"]);
            cargo.args(["--features", &self.features.join(",")]);
            cargo.arg("--root").arg(own);
            // Their dependencies are much the same.
            cargo.arg("--target-dir").arg(place.join("build"));
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
            process::succeed(cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1"))?;
        }
        Ok(program)
    }
}
