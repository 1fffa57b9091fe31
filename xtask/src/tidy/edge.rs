//! What one place does for all: printing, so that no text of others acts on a terminal, and writing
//! files, so that nobody else leads it elsewhere.

use super::modules::{Module, Modules};
use super::tokens::is_name;
use super::violation::Violation;
use crate::tree::Source;

/// Something that code does not do by itself.
struct Edge {
    /// As it stands in the code, a word or sign a piece.
    code: &'static [&'static [&'static str]],
    /// The crates of which it is asked; all where there are none.
    of: &'static [&'static str],
    /// The files in which it is at home, or the folders, and why.
    at_home: &'static [(&'static str, &'static str)],
    instead: &'static str,
}

const EDGES: &[Edge] = &[
    Edge {
        code: &[
            &["println", "!"],
            &["print", "!"],
            &["eprintln", "!"],
            &["eprint", "!"],
            &["io", "::", "stdout", "("],
            &["io", "::", "stderr", "("],
            &["anstream"],
        ],
        of: &[],
        at_home: &[
            ("crates/plimsoll/src/term.rs", "it makes texts harmless"),
            ("crates/plimsoll-guard/src/log.rs", "the daemon answers"),
            ("crates/plimsoll-guard/src/stderr.rs", "it must not wait"),
            (
                "crates/guest/src/recorder.rs",
                "process 1 of a VM has nothing but its console",
            ),
            ("xtask/", "it prints what developers see of their own"),
            ("crates/causes/src/main.rs", "the same"),
            ("crates/testkit/src/programs.rs", "tests say what they skip"),
        ],
        instead: "return it, or print it through term",
    },
    Edge {
        code: &[
            &["tempfile"],
            &["OpenOptions"],
            &["DirBuilder"],
            &["File", "::", "create"],
            &["File", "::", "create_new"],
            &["File", "::", "options"],
            &["fs", "::", "write"],
            &["fs", "::", "rename"],
            &["fs", "::", "copy"],
            &["fs", "::", "hard_link"],
            &["fs", "::", "set_permissions"],
            &["fs", "::", "create_dir"],
            &["fs", "::", "create_dir_all"],
            &["fs", "::", "remove_file"],
            &["fs", "::", "remove_dir_all"],
            &["symlink"],
            &["chown"],
        ],
        of: &["plimsoll", "host", "plimsoll-guard"],
        at_home: &[
            (
                "crates/host/src/write.rs",
                "a tunable, at a path of the kernel's",
            ),
            ("crates/host/src/ages.rs", "a request, at the same"),
            ("crates/host/src/reclaim.rs", "the same"),
            ("crates/plimsoll-guard/src/reclaim.rs", "the same"),
            (
                "crates/plimsoll-guard/src/process.rs",
                "its own oom_score_adj",
            ),
        ],
        instead: "write it through the crate files",
    },
];

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let crates = Modules::of_all(sources).into_iter();
    let modules = crates.flat_map(|of| {
        let name = of.name;
        of.all.into_iter().map(move |module| (name.clone(), module))
    });
    modules
        .flat_map(|(name, module)| {
            let edges = EDGES.iter().filter(|edge| edge.is_asked_of(&name, &module));
            let found: Vec<Violation> = edges.filter_map(|edge| edge.broken_by(&module)).collect();
            found
        })
        .collect()
}

impl Edge {
    fn is_asked_of(&self, name: &str, module: &Module) -> bool {
        let at_home = |(home, _): &(&str, &str)| module.file.starts_with(home);
        let is_asked = self.of.is_empty() || self.of.contains(&name);
        is_asked && !is_for_tests(module) && !self.at_home.iter().any(at_home)
    }

    fn broken_by(&self, module: &Module) -> Option<Violation> {
        let stands = |text: &[String], code: &[&str]| text.windows(code.len()).any(|it| it == code);
        let mut code = self.code.iter();
        let code = code.find(|code| {
            let names: Vec<&str> = code.iter().copied().filter(|it| is_name(it)).collect();
            let mut uses = module.uses.iter();
            stands(&module.body, code) || uses.any(|it| stands(&it.path, &names))
        })?;
        let what = format!("{} is not for here: {}", code.concat(), self.instead);
        Some(Violation::of(&module.file, what))
    }
}

/// Whether all of a file is.
fn is_for_tests(module: &Module) -> bool {
    let begins = ["#", "!", "[", "cfg", "(", "test", ")", "]"];
    module.body.len() >= begins.len() && module.body.iter().zip(begins).all(|(one, it)| one == it)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    fn in_file(path: &str, code: &str) -> usize {
        let (folder, name) = path.rsplit_once('/').expect("a folder");
        let root = format!("{folder}/lib.rs");
        let declared = format!("mod {};", name.trim_end_matches(".rs"));
        run(check, &[(&root, &declared), (path, code)]).len()
    }

    #[test]
    fn one_place_prints() {
        let at = "crates/plimsoll/src/a.rs";
        for code in [
            "fn a() { println!(\"\") }",
            "fn a() { eprintln!(\"\") }",
            "fn a() { writeln!(std::io::stdout(), \"\") }",
            "fn a() { anstream::stderr() }",
            "use anstream::eprintln as say;",
            "use std::io::{self, stdout};",
        ] {
            assert_eq!(in_file(at, code), 1, "{code}");
            assert_eq!(in_file("crates/lab/src/a.rs", code), 1, "{code}");
            assert_eq!(in_file("crates/plimsoll/src/term.rs", code), 0, "{code}");
        }
        for code in [
            "// println!() is not for here",
            "fn a() { f(\"println!(\\\"\\\")\") }",
            "fn a() { command.stdout(Stdio::null()) }",
            "#[cfg(test)]\nmod tests { fn a() { println!(\"\") } }",
            "#![cfg(test)]\nfn a() { println!(\"\") }",
        ] {
            assert_eq!(in_file(at, code), 0, "{code}");
        }
    }

    #[test]
    fn one_crate_writes_files() {
        for code in [
            "fn a() { std::fs::write(a, b) }",
            "fn a() { File::create(a) }",
            "use std::fs::OpenOptions;",
            "use std::os::unix::fs::{chown, symlink};",
            "fn a() { tempfile::tempfile() }",
        ] {
            assert_eq!(in_file("crates/host/src/a.rs", code), 1, "{code}");
            assert_eq!(in_file("crates/lab/src/a.rs", code), 0, "{code}");
            assert_eq!(in_file("crates/host/src/write.rs", code), 0, "{code}");
        }
        assert_eq!(in_file("crates/host/src/a.rs", "fn a() { fs::read(a) }"), 0);
    }
}
