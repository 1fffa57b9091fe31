//! `cargo xtask python`: the wheel, with the module and the command in it.
//!
//! The module is linked dynamically and the command statically, so each has a target folder of its
//! own: the flags of one would have cargo build all of the other again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::{binary, process, tree};

/// What maturin builds with. The environment's flags replace those of `.cargo/config.toml`, which a
/// further flag there cannot.
const FLAGS: &str = "-C target-feature=-crt-static";
/// Python packages that the build takes, and the tests.
const BUILDS: &[&str] = &["maturin==1.16.0"];
const TESTS: &[&str] = &[
    "ipykernel",
    "mypy",
    "nbclient",
    "optuna==5.0.0",
    "pandas",
    "polars",
    "pyarrow",
    "ray==2.60.0",
    "uv",
];

/// `cargo xtask python [--test]`: prints where the wheel lies, or tests it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => println!("{}", make(&binary::release()?)?.display()),
        [flag] if flag == "--test" => test(&make(&binary::release()?)?)?,
        _ => bail!("python takes --test or nothing"),
    }
    Ok(())
}

/// Makes the wheel around the command, which was built.
fn make(plimsoll: &Path) -> Result<PathBuf> {
    let scripts = tree::root().join("python/plimsoll.data/scripts");
    fs::create_dir_all(&scripts)?;
    let command = scripts.join("plimsoll");
    let mut strip = process::program("strip");
    process::succeed(strip.arg("-o").arg(&command).arg(plimsoll))?;
    let environment = environment("build", BUILDS)?;
    let wheels = tree::root().join("target/wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let mut maturin = process::program(environment.join("bin/maturin"));
    maturin.args([
        "build",
        "--release",
        "--quiet",
        "--manifest-path",
        "python/Cargo.toml",
    ]);
    maturin.arg("--out").arg(&wheels);
    maturin.env("RUSTFLAGS", FLAGS);
    maturin.env("CARGO_TARGET_DIR", tree::root().join("target/python"));
    process::succeed(maturin.stdout(Stdio::null()))?;
    let wheel = fs::read_dir(&wheels)?
        .next()
        .context("maturin made no wheel")??;
    Ok(wheel.path())
}

/// Installs the wheel as a user does, and runs the package's tests, stubtest and the notebook with
/// it.
fn test(wheel: &Path) -> Result<()> {
    let environment = environment("test", TESTS)?;
    let mut pip = process::program(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--force-reinstall", "--no-deps"]);
    process::succeed(pip.arg(wheel))?;
    let python = environment.join("bin/python");
    let mut tests = process::program(&python);
    tests.args([
        "-m",
        "unittest",
        "discover",
        "--start-directory",
        "python/tests",
    ]);
    process::succeed(tests.env("PLIMSOLL_WHEEL", wheel))?;
    let mut stubs = process::program(&python);
    process::succeed(stubs.args(["-m", "mypy.stubtest", "plimsoll._native"]))?;
    let mut types = process::program(&python);
    types.args(["-m", "mypy", "--strict", "--package", "plimsoll"]);
    process::succeed(types.args(["--config-file", "python/pyproject.toml"]))?;
    let mut notebook = process::program(environment.join("bin/jupyter-execute"));
    process::succeed(notebook.arg("docs/python.ipynb"))
}

/// A virtual environment below `target/python` with these packages.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let place = tree::root().join("target/python/environment").join(name);
    if !place.join("bin/pip").exists() {
        let mut venv = process::program("python3");
        process::succeed(venv.args(["-m", "venv"]).arg(&place))?;
    }
    let mut pip = process::program(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    process::succeed(pip.args(packages))?;
    Ok(place)
}
