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
    /// Its arms, the one that is recorded first.
    pub(crate) arms: &'static [Arm],
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
        arms: &ARMS,
    },
    Program {
        name: "tar",
        prepare: "",
        begin: "",
        load: include_str!("load/tar.sh"),
        arms: &ARMS,
    },
    Program {
        name: "nginx",
        prepare: include_str!("load/nginx.prepare.sh"),
        begin: include_str!("load/nginx.begin.sh"),
        load: include_str!("load/nginx.sh"),
        arms: &ARMS,
    },
    Program {
        name: "postgresql",
        prepare: include_str!("load/postgresql.prepare.sh"),
        begin: include_str!("load/postgresql.begin.sh"),
        load: include_str!("load/postgresql.sh"),
        arms: &ARMS,
    },
    Program {
        name: "gcc",
        prepare: include_str!("load/gcc.prepare.sh"),
        begin: "",
        load: include_str!("load/gcc.sh"),
        arms: &ARMS,
    },
    Program {
        name: "rates",
        prepare: include_str!("load/rates.prepare.sh"),
        begin: include_str!("load/rates.begin.sh"),
        load: include_str!("load/rates.sh"),
        arms: &SWAPPING,
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
    /// Swap in compressed memory.
    pub(crate) zram_mib: Option<u64>,
    /// What a backup reads of the disk in order meanwhile.
    pub(crate) backup_mib: Option<u64>,
}

/// As it is recorded.
const RECORDED: Arm = Arm {
    name: "recorded",
    memory_mib: 512,
    settings: &[],
    limit_mib: None,
    zram_mib: None,
    backup_mib: None,
};

/// All, the one that is recorded first.
pub(crate) const ARMS: [Arm; 8] = [
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
    Arm {
        name: "classic lru",
        settings: &[("lru_gen.enabled", "0")],
        ..RECORDED
    },
    Arm {
        name: "backup",
        backup_mib: Some(4096),
        ..RECORDED
    },
];

/// Of what has anonymous memory: less memory, and swap.
pub(crate) const SWAPPING: [Arm; 4] = [
    RECORDED,
    Arm {
        name: "half, swappiness 10",
        settings: &[("vm.swappiness", "10")],
        ..HALF_WITH_SWAP
    },
    Arm {
        name: "half, swappiness 60",
        settings: &[("vm.swappiness", "60")],
        ..HALF_WITH_SWAP
    },
    Arm {
        name: "half, swappiness 200",
        settings: &[("vm.swappiness", "200")],
        ..HALF_WITH_SWAP
    },
];

const HALF_WITH_SWAP: Arm = Arm {
    name: "half",
    memory_mib: 256,
    zram_mib: Some(512),
    ..RECORDED
};

impl Arm {
    pub(crate) fn named(name: &str) -> Result<&'static Self> {
        let all = || ARMS.iter().chain(&SWAPPING);
        let names: Vec<&str> = all().map(|it| it.name).collect();
        let arm = all().find(|it| it.name == name);
        arm.with_context(|| format!("no arm {name}; there are {}", names.join(", ")))
    }
}
