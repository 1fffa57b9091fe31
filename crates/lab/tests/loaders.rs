//! The models of boot-time loaders against the real programs, on generated trees.
//!
//! The programs are those of Debian 12 and 13, fetched once and run in a mount namespace of their
//! own: a tmpfs is their root and another one their `/proc/sys`, so nothing of this machine
//! changes. What they write is seen with strace: values and order must equal the model's.
//! `PLIMSOLL_TREES` says how many trees each test tries, `PLIMSOLL_SEED` with which the first one
//! is made; a failure names the seed of its tree. Where the programs cannot be had or run, the test
//! says `skipped: WHY`.

#[path = "loaders/compare.rs"]
mod compare;
#[path = "loaders/pick.rs"]
mod pick;
#[path = "loaders/sandbox.rs"]
mod sandbox;
#[path = "loaders/sysctl.rs"]
mod sysctl;
#[path = "loaders/tmpfiles.rs"]
mod tmpfiles;

use conf::sysctl_d::Loader;
use plimsoll_lab::vm::Release;

/// Trees of a test where nobody says how many.
const TREES: u64 = 200;

#[test]
fn systemd_252_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian12,
        "systemd_252_writes_what_the_model_writes",
        |it| {
            sysctl::hold(it, Loader::Systemd, TREES);
        },
    );
}

#[test]
fn systemd_257_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian13,
        "systemd_257_writes_what_the_model_writes",
        |it| {
            sysctl::hold(it, Loader::Systemd, TREES);
        },
    );
}

#[test]
fn procps_4_0_2_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian12,
        "procps_4_0_2_writes_what_the_model_writes",
        |it| {
            sysctl::hold(it, Loader::Procps, TREES);
        },
    );
}

#[test]
fn procps_4_0_4_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian13,
        "procps_4_0_4_writes_what_the_model_writes",
        |it| {
            sysctl::hold(it, Loader::Procps, TREES);
        },
    );
}

#[test]
fn busybox_1_35_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian12,
        "busybox_1_35_writes_what_the_model_writes",
        |it| {
            sysctl::hold(it, Loader::Alpine, TREES);
        },
    );
}

#[test]
fn tmpfiles_252_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian12,
        "tmpfiles_252_writes_what_the_model_writes",
        |it| {
            tmpfiles::hold(it, TREES);
        },
    );
}

#[test]
fn tmpfiles_257_writes_what_the_model_writes() {
    sandbox::inside(
        Release::Debian13,
        "tmpfiles_257_writes_what_the_model_writes",
        |it| {
            tmpfiles::hold(it, TREES);
        },
    );
}
