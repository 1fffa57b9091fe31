//! No circle of more than three files: somebody who changes one of them has to know all of them.
//!
//! An arrow goes from a file to each file whose items it names. A parent that only declares its
//! children or hands on what is theirs has no arrow to them.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Modules, Place, Use};
use super::tokens::is_name;
use super::violation::Violation;
use crate::tree::Source;

/// The most files that a circle may have.
const FILES_MAX: usize = 3;

/// From a file to another, by the names that it takes from it.
type Arrows = BTreeMap<(usize, usize), BTreeSet<String>>;

/// Files that all lead to each other.
pub(super) struct Circle {
    /// The crate.
    name: String,
    /// Paths from the root of the checkout.
    files: Vec<String>,
    /// What ties them: `a -> b: names`.
    ties: Vec<String>,
}

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let broken = all(sources).into_iter();
    broken
        .filter(|circle| circle.files.len() > FILES_MAX)
        .map(|circle| Violation::of(&circle.files[0], circle.to_string()))
        .collect()
}

/// Every circle, the largest first.
pub(super) fn all(sources: &[Source]) -> Vec<Circle> {
    let crates = Modules::of_all(sources);
    let mut found: Vec<Circle> = crates.iter().flat_map(of_crate).collect();
    found.sort_by(|a, b| {
        b.files
            .len()
            .cmp(&a.files.len())
            .then(a.files.cmp(&b.files))
    });
    found
}

fn of_crate(modules: &Modules) -> Vec<Circle> {
    let arrows = arrows(modules);
    let reached: Vec<BTreeSet<usize>> = (0..modules.all.len())
        .map(|from| reached(from, &arrows))
        .collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for at in 0..modules.all.len() {
        let back = |other: &&usize| reached[**other].contains(&at);
        let members: BTreeSet<usize> = reached[at].iter().filter(back).copied().collect();
        if members.len() > 1 && seen.insert(members.clone()) {
            found.push(circle(modules, &members, &arrows));
        }
    }
    found
}

fn circle(modules: &Modules, members: &BTreeSet<usize>, arrows: &Arrows) -> Circle {
    let file = |at: usize| modules.all[at].file.clone();
    let inside = |(from, to): &(usize, usize)| members.contains(from) && members.contains(to);
    let ties = arrows.iter().filter(|(arrow, _)| inside(arrow));
    let tie = |((from, to), names): (&(usize, usize), &BTreeSet<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{} -> {}: {}", file(*from), file(*to), names.join(", "))
    };
    Circle {
        name: modules.name.clone(),
        files: members.iter().map(|at| file(*at)).collect(),
        ties: ties.map(tie).collect(),
    }
}

/// The files that one leads to, over any number of arrows.
fn reached(from: usize, arrows: &Arrows) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        let onward = arrows
            .range((at, 0)..=(at, usize::MAX))
            .map(|((_, to), _)| *to);
        next.extend(onward.filter(|to| reached.insert(*to)));
    }
    reached
}

fn arrows(modules: &Modules) -> Arrows {
    let mut arrows = Arrows::new();
    for from in 0..modules.all.len() {
        for Place { module, item } in named(modules, from) {
            if let Some(item) = item.filter(|_| module != from) {
                arrows.entry((from, module)).or_default().insert(item);
            }
        }
    }
    arrows
}

/// Every item that a file names.
fn named(modules: &Modules, from: usize) -> BTreeSet<Place> {
    let module = &modules.all[from];
    let words: BTreeSet<&str> = module.body.iter().map(String::as_str).collect();
    let mut found: BTreeSet<Place> = paths(&module.body)
        .filter_map(|path| modules.resolve(from, &path))
        .collect();
    for used in &module.uses {
        if used.name == "*" {
            found.extend(through_glob(modules, from, used, &words));
        } else if let Some(place) = modules.resolve(from, &used.path) {
            let handed_on = used.public && modules.below(place.module, from);
            if !handed_on || words.contains(used.name.as_str()) {
                found.insert(place);
            }
        }
    }
    found
}

/// What a file takes out of all the names of a module.
fn through_glob(modules: &Modules, from: usize, used: &Use, words: &BTreeSet<&str>) -> Vec<Place> {
    let Some(Place { module, item: None }) = modules.resolve(from, &used.path) else {
        return Vec::new();
    };
    words
        .iter()
        .filter(|word| is_name(word))
        .filter_map(|word| modules.name(module, word))
        .collect()
}

/// The paths of two names and more.
fn paths(body: &[String]) -> impl Iterator<Item = Vec<String>> + '_ {
    let begins = |at: &usize| {
        let before = at.checked_sub(1).map(|before| body[before].as_str());
        let led_to = matches!(before, Some("::" | "."));
        is_name(&body[*at]) && !led_to && body.get(at + 1).is_some_and(|sign| sign == "::")
    };
    (0..body.len()).filter(begins).map(|at| {
        let names = body[at..].chunks(2).take_while(|pair| is_name(&pair[0]));
        let mut path = Vec::new();
        for pair in names {
            path.push(pair[0].clone());
            if pair.get(1).is_none_or(|sign| sign != "::") {
                break;
            }
        }
        path
    })
}

impl Circle {
    /// One line for somebody who only wants to know how large it is.
    pub(super) fn summary(&self) -> String {
        format!(
            "largest circle: {} files in {}",
            self.files.len(),
            self.name
        )
    }
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a circle of {} files", self.files.len())?;
        self.ties
            .iter()
            .try_for_each(|tie| write!(f, "\n    {tie}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    const ROOT: &str = "crates/a/src/lib.rs";

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        all(&sources)
            .into_iter()
            .map(|circle| circle.files)
            .collect()
    }

    fn pair(root: &str, child: &str) -> usize {
        circles(&[(ROOT, root), ("crates/a/src/b.rs", child)]).len()
    }

    #[test]
    fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
        let child = "use super::Item;\npub fn f(i: Item) {}";
        assert_eq!(
            pair("mod b;\nstruct Item;\nfn g() { b::f(Item) }", child),
            1
        );
        assert_eq!(
            pair("mod b;\nuse b::f;\nstruct Item;\nfn g() { f(Item) }", child),
            1
        );
        assert_eq!(
            pair(
                "mod b;\nstruct Item;\nfn g() { b::f(Item) }",
                "pub fn f() {}"
            ),
            0
        );
        let inline = "pub fn f(i: crate::Item) {}";
        assert_eq!(
            pair("mod b;\nstruct Item;\nfn g() { b::f(Item) }", inline),
            1
        );
        let all = "use super::*;\npub fn f(i: Item) {}";
        assert_eq!(pair("mod b;\nstruct Item;\nfn g() { b::f(Item) }", all), 1);
    }

    #[test]
    fn declaring_and_handing_on_are_no_arrows() {
        let child = "use super::Item;\npub fn f(i: Item) {}";
        assert_eq!(pair("mod b;\nstruct Item;", child), 0);
        assert_eq!(pair("mod b;\npub use b::f;\nstruct Item;", child), 0);
        let namesake = "use super::Item;\npub fn b(i: Item) {}";
        assert_eq!(pair("mod b;\npub use b::b;\nstruct Item;", namesake), 0);
        assert_eq!(
            pair(
                "mod b;\npub use b::f;\nstruct Item;\nfn g() { f(Item) }",
                child
            ),
            1
        );
    }

    #[test]
    fn what_only_tests_see_does_not_count() {
        let child = "pub fn f() {}\n#[cfg(test)]\nmod tests { use crate::Item; }";
        assert_eq!(pair("mod b;\nstruct Item;\nfn g() { b::f() }", child), 0);
    }

    #[test]
    fn a_path_leads_to_the_file_that_defines() {
        let files = [
            (ROOT, "mod b;\nmod c;\npub use b::B;"),
            ("crates/a/src/b.rs", "use crate::c::C;\npub struct B(C);"),
            (
                "crates/a/src/c.rs",
                "use crate::B;\npub struct C;\nfn f(b: B) {}",
            ),
        ];
        assert_eq!(
            circles(&files),
            [["crates/a/src/b.rs", "crates/a/src/c.rs"]]
        );
    }

    #[test]
    fn a_large_circle_is_named_with_its_ties() {
        let file = |next: char| format!("use crate::{next}::N;\npub type N = u8;\n");
        let (b, c, d, e) = (file('c'), file('d'), file('e'), file('b'));
        let files = [
            (ROOT, "mod b;\nmod c;\nmod d;\nmod e;"),
            ("crates/a/src/b.rs", &b),
            ("crates/a/src/c.rs", &c),
            ("crates/a/src/d.rs", &d),
            ("crates/a/src/e.rs", &e),
        ];
        let said = run(check, &files).concat();
        assert!(
            said.starts_with("crates/a/src/b.rs: a circle of 4 files"),
            "{said}"
        );
        assert!(
            said.contains("crates/a/src/e.rs -> crates/a/src/b.rs: N"),
            "{said}"
        );
        let open = "pub type N = u8;";
        let files = [files[0], files[1], files[2], files[3], (files[4].0, open)];
        assert!(run(check, &files).is_empty());
    }
}
