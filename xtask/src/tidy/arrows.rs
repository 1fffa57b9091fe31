//! Crate arrows point down only, and the pure crates cannot reach outside.

use toml::Table;

use super::violation::Violation;
use crate::tree::Source;

/// A crate of the house.
struct Crate {
    /// Its folder below `crates/`, which is also its name in code.
    name: &'static str,
    /// The crates of ours that it may use; each stands before it in the table.
    may_use: &'static [&'static str],
    reach: Reach,
}

/// What a crate may use beside the crates of ours.
enum Reach {
    /// Nothing that knows a file, a clock, a thread or random state: these packages only.
    Pure(&'static [&'static str]),
    /// Whatever the workspace has, but not these.
    Without(&'static [&'static str]),
}

/// From the bottom up. The heavy libraries of the edge stay out of the crates that run as PID 1. No
/// crate may use `testkit`: tests do, and they may look anywhere.
const CRATES: &[Crate] = &[
    Crate {
        name: "files",
        may_use: &[],
        reach: Reach::Without(EDGE),
    },
    Crate {
        name: "mm",
        may_use: &[],
        reach: Reach::Pure(&["libm", "thiserror"]),
    },
    Crate {
        name: "testkit",
        may_use: &["mm"],
        reach: Reach::Without(EDGE),
    },
    Crate {
        name: "scenario",
        may_use: &["mm"],
        reach: Reach::Pure(&["crc32fast", "libm", "thiserror"]),
    },
    Crate {
        name: "guard",
        may_use: &["mm"],
        reach: Reach::Pure(&["libm", "thiserror", "toml"]),
    },
    Crate {
        name: "sim",
        may_use: &["mm", "scenario", "guard"],
        reach: Reach::Pure(&["libm", "thiserror"]),
    },
    Crate {
        name: "conf",
        may_use: &["mm"],
        reach: Reach::Pure(&["libm", "thiserror"]),
    },
    Crate {
        name: "change",
        may_use: &["mm", "conf"],
        reach: Reach::Pure(&["crc32fast", "thiserror"]),
    },
    Crate {
        name: "evidence",
        may_use: &["mm"],
        reach: Reach::Pure(&["serde", "serde_json"]),
    },
    Crate {
        name: "shapes",
        may_use: &[],
        reach: Reach::Pure(&["schemars", "serde", "serde_json"]),
    },
    Crate {
        name: "look",
        may_use: &["mm", "shapes", "evidence", "conf"],
        reach: Reach::Without(&["clap", "anyhow"]),
    },
    Crate {
        name: "host",
        may_use: &["files", "mm", "change", "conf"],
        reach: Reach::Without(EDGE),
    },
    Crate {
        name: "recorder",
        may_use: &["mm", "scenario"],
        reach: Reach::Without(EDGE),
    },
    Crate {
        name: "plimsoll-guard",
        may_use: &["files", "mm", "guard", "host", "change", "conf"],
        reach: Reach::Without(&["clap", "anyhow", "serde_json"]),
    },
    Crate {
        name: "guest",
        may_use: &["mm", "scenario", "guard", "host"],
        reach: Reach::Without(EDGE),
    },
    Crate {
        name: "study",
        may_use: &["mm", "scenario", "guard", "sim"],
        reach: Reach::Without(&["clap", "anyhow", "rayon", "rustix", "tempfile"]),
    },
    Crate {
        name: "answer",
        may_use: &["mm", "shapes", "scenario", "sim", "study"],
        reach: Reach::Without(&["clap", "anyhow", "rayon", "rustix", "tempfile"]),
    },
    Crate {
        name: "unpack",
        may_use: &["mm", "scenario", "evidence"],
        reach: Reach::Without(&[
            "clap",
            "anyhow",
            "rayon",
            "rustix",
            "serde",
            "serde_json",
            "tempfile",
            "toml",
        ]),
    },
    Crate {
        name: "lab",
        may_use: &[
            "files", "mm", "shapes", "scenario", "guard", "sim", "evidence", "look", "study",
            "answer", "unpack",
        ],
        reach: Reach::Without(&["clap", "anyhow"]),
    },
    Crate {
        name: "causes",
        may_use: &["mm", "scenario", "host", "answer", "lab"],
        reach: Reach::Without(&["clap"]),
    },
    Crate {
        name: "plimsoll",
        may_use: &[
            "files", "mm", "shapes", "scenario", "guard", "sim", "change", "conf", "evidence",
            "look", "host", "recorder", "guest", "study", "answer", "lab",
        ],
        reach: Reach::Without(&[]),
    },
];

const EDGE: &[&str] = &["clap", "anyhow", "serde", "serde_json", "toml"];

/// Cargo's tables of dependencies that end up in the crate. Tests may look anywhere.
const TABLES: &[&str] = &["dependencies", "build-dependencies"];

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let manifests = sources.iter().filter_map(|source| {
        let folder = source.path.strip_prefix("crates/")?;
        Some((folder.strip_suffix("/Cargo.toml")?, source))
    });
    manifests
        .flat_map(|(name, manifest)| check_manifest(name, manifest))
        .chain(sources.iter().filter_map(check_purity))
        .collect()
}

fn check_manifest(name: &str, manifest: &Source) -> Vec<Violation> {
    let violation = |what: String| Violation::of(&manifest.path, what);
    let Some(entry) = CRATES.iter().find(|entry| entry.name == name) else {
        let what = format!("{name} has no place in the house: add it to xtask's tidy/arrows.rs");
        return vec![violation(what)];
    };
    let table: Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![violation(error.to_string())],
    };
    TABLES
        .iter()
        .filter_map(|key| table.get(*key)?.as_table())
        .flat_map(Table::keys)
        .filter_map(|dependency| entry.objection(dependency))
        .map(violation)
        .collect()
}

impl Crate {
    fn objection(&self, dependency: &str) -> Option<String> {
        let name = self.name;
        if CRATES.iter().any(|entry| entry.name == dependency) {
            return (!self.may_use.contains(&dependency))
                .then(|| format!("{name} must not use {dependency}: arrows point down only"));
        }
        match self.reach {
            Reach::Pure(allowed) => (!allowed.contains(&dependency))
                .then(|| format!("{name} is pure and must not use {dependency}, only {allowed:?}")),
            Reach::Without(banned) => banned
                .contains(&dependency)
                .then(|| format!("{name} must not use {dependency}: it belongs to the edge")),
        }
    }
}

/// The root of a pure crate says so itself.
fn check_purity(source: &Source) -> Option<Violation> {
    let name = source
        .path
        .strip_prefix("crates/")?
        .strip_suffix("/src/lib.rs")?;
    let entry = CRATES.iter().find(|entry| entry.name == name)?;
    let missing = ["#![no_std]", "#![forbid(unsafe_code)]"]
        .into_iter()
        .find(|attribute| !source.text.lines().any(|line| line == *attribute))?;
    matches!(entry.reach, Reach::Pure(_))
        .then(|| Violation::of(&source.path, format!("a pure crate must say {missing}")))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    #[test]
    fn the_table_itself_points_down() {
        for (at, entry) in CRATES.iter().enumerate() {
            let below = &CRATES[..at];
            for used in entry.may_use {
                assert!(below.iter().any(|b| b.name == *used), "{}", entry.name);
            }
        }
    }

    #[test]
    fn an_arrow_up_is_found() {
        let manifest = "[dependencies]\nlab.workspace = true\nmm.workspace = true\n";
        assert_eq!(
            run(check, &[("crates/sim/Cargo.toml", manifest)]),
            ["crates/sim/Cargo.toml: sim must not use lab: arrows point down only"]
        );
        assert_eq!(run(check, &[("crates/lab/Cargo.toml", manifest)]).len(), 1);
        let allowed = "[dependencies]\nmm.workspace = true\n[dev-dependencies]\nlab = \"1\"\n";
        assert!(run(check, &[("crates/sim/Cargo.toml", allowed)]).is_empty());
    }

    #[test]
    fn a_pure_crate_reaches_nowhere() {
        let manifest = "[build-dependencies]\nrand = \"1\"\nthiserror = \"2\"\n";
        assert_eq!(run(check, &[("crates/mm/Cargo.toml", manifest)]).len(), 1);
        assert!(run(check, &[("crates/lab/Cargo.toml", manifest)]).is_empty());
        let clap = "[dependencies]\nclap = \"4\"\n";
        assert_eq!(run(check, &[("crates/guest/Cargo.toml", clap)]).len(), 1);
    }

    #[test]
    fn a_pure_crate_says_so() {
        let pure = "//! Doc.\n#![no_std]\n#![forbid(unsafe_code)]\n";
        assert!(run(check, &[("crates/sim/src/lib.rs", pure)]).is_empty());
        let silent = "//! Doc.\n#![no_std]\n";
        assert_eq!(run(check, &[("crates/sim/src/lib.rs", silent)]).len(), 1);
        assert!(run(check, &[("crates/lab/src/lib.rs", silent)]).is_empty());
    }

    #[test]
    fn an_unknown_crate_and_a_broken_manifest_are_found() {
        assert_eq!(run(check, &[("crates/util/Cargo.toml", "")]).len(), 1);
        assert_eq!(run(check, &[("crates/mm/Cargo.toml", "[")]).len(), 1);
    }
}
