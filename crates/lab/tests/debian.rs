//! A Debian with a real systemd: what it sets while it boots, and what survives in it.
//!
//! Each test boots machines in virtual time, Debian 12 on Linux 6.1 and Debian 13 on 6.12.
//! `cargo xtask debian` runs more of everything: boots of generated configurations, power cuts.

#[path = "debian/catalogue.rs"]
mod catalogue;
#[path = "debian/changes.rs"]
mod changes;
#[path = "debian/curve.rs"]
mod curve;
#[path = "debian/cuts.rs"]
mod cuts;
#[path = "debian/guard_cuts.rs"]
mod guard_cuts;
#[path = "debian/harness.rs"]
mod harness;
#[path = "vm/machine.rs"]
mod machine;
#[path = "debian/package.rs"]
mod package;
#[path = "loaders/pick.rs"]
mod pick;
#[path = "debian/plans.rs"]
mod plans;
#[path = "debian/record.rs"]
mod record;
#[path = "debian/trees.rs"]
mod trees;
#[path = "debian/trials.rs"]
mod trials;
#[path = "../../plimsoll/tests/plans/values.rs"]
mod values;

use std::path::Path;
use std::time::Duration;

use plimsoll_lab::vm::debian::{Answers, Boot, Debian};
use plimsoll_lab::vm::{Release, VmOptions};

/// A machine, or `None` once it has been said why there is none.
fn debian(release: Release) -> Option<Debian> {
    debian_within(release, Duration::from_secs(600))
}

/// The same, each boot of which may take that long.
fn debian_within(release: Release, deadline: Duration) -> Option<Debian> {
    let name = match release {
        Release::Debian12 => "6.1",
        Release::Debian13 => "6.12",
    };
    let Ok(kernel) = name.parse();
    machine::unless_skipped(|| {
        let options = VmOptions {
            kernel,
            deadline,
            binary: Some(machine::plimsoll().to_owned()),
            ..VmOptions::default()
        };
        Debian::new(release, &options, &mut machine::show)
    })
}

/// Boots; what went wrong fails the test.
fn boot(debian: &Debian, boot: &Boot) -> Answers {
    let start = std::time::Instant::now();
    let answers = debian.boot(boot, &mut machine::show);
    let answers = answers.unwrap_or_else(|error| panic!("{error}"));
    println!("booted for {:.1} s", start.elapsed().as_secs_f64());
    answers
}

/// An empty disk in a directory.
fn disk(debian: &Debian, directory: &Path) -> std::path::PathBuf {
    debian.make_disk(directory).expect("a disk can be made")
}
