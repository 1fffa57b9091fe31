//! The verbs, one a file: `#[derive(clap::Args)] struct Args` and
//! `fn run(args: Args) -> anyhow::Result<ExitCode>`.

pub(crate) mod calibrate;
pub(crate) mod fidelity;
pub(crate) mod inspect;
pub(crate) mod ksm;
pub(crate) mod predict;
pub(crate) mod prove;
pub(crate) mod replay;
pub(crate) mod report;
