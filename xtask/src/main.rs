//! Developer commands. `cargo xtask` lists them.
//!
//! This package knows how the project is checked and generated, and nothing about memory.

mod against;
mod bench;
mod binary;
mod causes;
mod debian;
mod deny;
mod docs;
mod fuzz;
mod fuzz_evidence;
mod hostile;
mod loaders;
mod numbers;
mod outcomes;
mod package;
mod packages;
mod page;
mod process;
mod python;
mod records;
mod relations;
mod sbom;
mod score;
mod tally;
mod test;
mod tidy;
mod tools;
mod tree;
mod truth;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// A developer command: its name, what it does in one line, and the function.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        about: "every check and test, those that boot a real kernel included (--no-skips)",
        run: test::run,
    },
    Command {
        name: "tidy",
        about: "the house rules; the largest circle of files and struct (--circles: all circles)",
        run: tidy::run,
    },
    Command {
        name: "docs",
        about: "rewrite the man pages and references",
        run: docs::run,
    },
    Command {
        name: "deny",
        about: "licences, duplicates and sources of the crates that are built in",
        run: deny::run,
    },
    Command {
        name: "records",
        about: "prove studies on both kernels and replace records/ (STUDY..., --jobs N); resumes",
        run: records::run,
    },
    Command {
        name: "score",
        about: "compare the model with the records and write records/score.toml; a worse one with \
                --even-so",
        run: score::run,
    },
    Command {
        name: "truth",
        about: "drawn studies on both benches: wrong decisions first (--seeds A..B, --starts N, \
                --recorded; --shrink SEED; --errors; --text SEED)",
        run: truth::run,
    },
    Command {
        name: "fuzz",
        about: "the fuzz targets, 60 seconds each, and a canary that must die (--seconds S, \
                TARGET...)",
        run: fuzz::run,
    },
    Command {
        name: "causes",
        about: "troubles made in VMs, and what inspect says of them (--make, --judge, \
                --seeds A..B, --cause NAME, --kernel K, --show DIR)",
        run: causes::run,
    },
    Command {
        name: "fuzz-evidence",
        about: "damaged evidence, 100000 inputs a kind (--inputs N, --seconds S a kind)",
        run: fuzz_evidence::run,
    },
    Command {
        name: "hostile",
        about: "a hostile user, repository, image and disk against the programs (--binary DIR, \
                ATTACK...)",
        run: hostile::run,
    },
    Command {
        name: "loaders",
        about: "the models of boot-time loaders against the real programs (--trees N, --seed S)",
        run: loaders::run,
    },
    Command {
        name: "debian",
        about: "a Debian with systemd: booted trees, plans, power cuts (--trees N, --plans N, \
                --cuts N, --seed S)",
        run: debian::run,
    },
    Command {
        name: "guard-cuts",
        about: "the guard killed and its machine's power cut (--kills N, --cuts N, --seed S)",
        run: debian::guard_cuts,
    },
    Command {
        name: "trials",
        about: "trials of a known effect, and trials that are killed, in VMs (--seeds N, \
                --kills N, --seed S)",
        run: debian::trials,
    },
    Command {
        name: "guard-ksm",
        about: "the guard's samepage merging beside Debian's ksmtuned and the kernel's advisor",
        run: debian::guard_ksm,
    },
    Command {
        name: "package",
        about: "the Debian package of the command and the guard, and what it is built from; prints \
                where it lies",
        run: package::run,
    },
    Command {
        name: "page",
        about: "the model in a browser, as one file; prints where it lies (--test: its answers \
                beside the command's, by Node; --browser: used in Chromium)",
        run: page::run,
    },
    Command {
        name: "python",
        about: "the wheel of the Python package and the command; prints where it lies (--test: \
                installs and tests it)",
        run: python::run,
    },
    Command {
        name: "relations",
        about: "pairs of drawn studies whose outcomes must be the same or in a known order \
                (--seeds A..B, RELATION...)",
        run: relations::run,
    },
    Command {
        name: "bench",
        about: "measure speed and write docs/benchmarks.md (--python: beside libCacheSim); with \
                --try one round that writes nothing, with --against REV how many times as fast \
                it is (--rounds N)",
        run: bench::run,
    },
    Command {
        name: "outcomes",
        about: "a hash of every run of the model (STUDY...); --against REV: the runs that differ",
        run: outcomes::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", usage());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", usage());
        return Ok(());
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => bail!("no command \"{name}\"\n\n{}", usage()),
    }
}

fn usage() -> String {
    let mut text = String::from("Usage: cargo xtask COMMAND\n\n");
    for command in COMMANDS {
        text += &format!("  {:8} {}\n", command.name, command.about);
    }
    text
}
