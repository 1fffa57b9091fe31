//! The programs, and the arms under which they run.

use anyhow::{Context as _, Result};

/// A program of Debian's with its load. The scripts run in the root of its packages.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Makes what it works on.
    pub(crate) prepare: &'static str,
    /// What runs before caches are dropped, such as a server.
    pub(crate) begin: &'static str,
    /// What is measured.
    pub(crate) load: &'static str,
}

/// What all programs and their scripts need.
pub(crate) const PACKAGES: &[&str] = &[
    "bash",
    "coreutils",
    "dash",
    "gawk",
    "gcc",
    "grep",
    "libc6-dev",
    "nginx-light",
    "perl-base",
    "postgresql",
    "procps",
    "redis-server",
    "sed",
    "sqlite3",
    "tar",
];

/// All.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "sqlite",
        prepare: include_str!("load/sqlite.prepare.sh"),
        begin: "",
        load: include_str!("load/sqlite.sh"),
    },
    Program {
        name: "tar",
        prepare: "",
        begin: "",
        load: include_str!("load/tar.sh"),
    },
    Program {
        name: "nginx",
        prepare: include_str!("load/nginx.prepare.sh"),
        begin: include_str!("load/nginx.begin.sh"),
        load: include_str!("load/nginx.sh"),
    },
    Program {
        name: "postgresql",
        prepare: include_str!("load/postgresql.prepare.sh"),
        begin: include_str!("load/postgresql.begin.sh"),
        load: include_str!("load/postgresql.sh"),
    },
    Program {
        name: "gcc",
        prepare: include_str!("load/gcc.prepare.sh"),
        begin: "",
        load: include_str!("load/gcc.sh"),
    },
];

/// A machine and its settings.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) name: &'static str,
    pub(crate) memory_mib: u64,
    pub(crate) settings: &'static [(&'static str, &'static str)],
    /// `memory.max` of the group that the program runs in.
    pub(crate) limit_mib: Option<u64>,
}

/// As it is recorded.
const RECORDED: Arm = Arm {
    name: "recorded",
    memory_mib: 512,
    settings: &[],
    limit_mib: None,
};

/// All, the one that is recorded first.
pub(crate) const ARMS: [Arm; 6] = [
    RECORDED,
    Arm {
        name: "half",
        memory_mib: 256,
        ..RECORDED
    },
    Arm {
        name: "double",
        memory_mib: 1024,
        ..RECORDED
    },
    Arm {
        name: "limit",
        limit_mib: Some(128),
        ..RECORDED
    },
    Arm {
        name: "watermarks",
        settings: &[("vm.watermark_scale_factor", "1000")],
        ..RECORDED
    },
    Arm {
        name: "dirty",
        settings: &[
            ("vm.dirty_background_bytes", "1048576"),
            ("vm.dirty_bytes", "4194304"),
        ],
        ..RECORDED
    },
];

impl Arm {
    pub(crate) fn named(name: &str) -> Result<&'static Self> {
        let names: Vec<&str> = ARMS.iter().map(|it| it.name).collect();
        let arm = ARMS.iter().find(|it| it.name == name);
        arm.with_context(|| format!("no arm {name}; there are {}", names.join(", ")))
    }
}
