//! The verbs, one a file: `#[derive(clap::Args)] struct Args` and
//! `fn run(args: Args) -> anyhow::Result<ExitCode>`.

pub(crate) mod inspect;
pub(crate) mod replay;
