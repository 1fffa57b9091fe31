//! No struct of very many methods: whatever belongs to everything is changed by everybody.

use std::collections::BTreeMap;

use super::modules::{Modules, Place};
use super::tokens::is_name;
use super::violation::Violation;
use crate::tree::Source;

/// The most methods that a struct may have.
const METHODS_MAX: usize = 100;

/// Structs with a limit of their own.
const OWN_LIMITS: &[(&str, usize)] = &[
    // It composes: what a step does belongs to the parts that it touches.
    ("sim::machine::system::System", 50),
    // An allocation may reclaim, and reclaim touches every part of memory.
    ("sim::mm::parts::Memory", 130),
];

struct Struct {
    /// Its path from the name of its crate.
    name: String,
    /// Where it is defined.
    file: String,
    size: Size,
}

/// A struct's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    fields: usize,
    /// In every `impl` of its own, wherever it stands.
    methods: usize,
}

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let above = structs(sources).into_iter().filter_map(|found| {
        let own = OWN_LIMITS.iter().find(|(name, _)| *name == found.name);
        let most = own.map_or(METHODS_MAX, |(_, most)| *most);
        let Struct { name, file, size } = found;
        let what = format!(
            "{name} has {} methods, {most} at most: a function takes the parts that it needs",
            size.methods
        );
        (size.methods > most).then(|| Violation::of(&file, what))
    });
    above.collect()
}

/// The struct with the most fields and methods, in one line.
pub(super) fn largest(sources: &[Source]) -> Option<String> {
    let largest = structs(sources)
        .into_iter()
        .max_by_key(|Struct { size, .. }| size.fields + size.methods)?;
    let Size { fields, methods } = largest.size;
    let name = largest.name;
    Some(format!(
        "largest struct: {name}, {fields} fields, {methods} methods"
    ))
}

/// Every struct of the checkout.
fn structs(sources: &[Source]) -> Vec<Struct> {
    let crates = Modules::of_all(sources);
    crates.iter().flat_map(of_crate).collect()
}

fn of_crate(modules: &Modules) -> Vec<Struct> {
    let mut sizes: BTreeMap<Place, Size> = BTreeMap::new();
    for (at, module) in modules.all.iter().enumerate() {
        for (path, size) in parts(&module.body) {
            let Some(place) = modules
                .resolve(at, &path)
                .or_else(|| modules.name(at, &path[0]))
            else {
                continue;
            };
            let known = sizes.entry(place).or_default();
            known.fields += size.fields;
            known.methods += size.methods;
        }
    }
    let named = |(place, size): (Place, Size)| {
        let module = &modules.all[place.module];
        let path = module.path.iter().map(String::as_str);
        let path: Vec<&str> = [modules.name.as_str()].into_iter().chain(path).collect();
        Struct {
            name: format!("{}::{}", path.join("::"), place.item.unwrap_or_default()),
            file: module.file.clone(),
            size,
        }
    };
    sizes.into_iter().map(named).collect()
}

/// Each struct and each `impl` of a struct's own, by the path that names it.
fn parts(body: &[String]) -> Vec<(Vec<String>, Size)> {
    let mut found = Vec::new();
    let mut depth = 0;
    for (at, token) in body.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "struct" if depth == 0 => found.extend(fields(&body[at + 1..])),
            "impl" if depth == 0 => found.extend(methods(&body[at + 1..])),
            _ => {}
        }
    }
    found
}

/// Fields of a struct with names for them.
fn fields(rest: &[String]) -> Option<(Vec<String>, Size)> {
    let name = rest.first()?.clone();
    let opens = rest.iter().position(|token| token == "{" || token == ";")?;
    let mut depth = 0;
    let mut fields = 0;
    for pair in rest[opens..].windows(2) {
        depth += step(&pair[0]);
        if depth == 0 {
            break;
        }
        let named = is_name(&pair[0]) && pair[1] == ":";
        fields += usize::from(depth == 1 && named);
    }
    let size = Size { fields, methods: 0 };
    Some((vec![name], size))
}

/// Functions of an `impl` that is for no trait.
fn methods(rest: &[String]) -> Option<(Vec<String>, Size)> {
    let opens = rest.iter().position(|token| token == "{")?;
    let head = &rest[..opens];
    if head.iter().any(|token| token == "for") {
        return None;
    }
    let mut angles = 0;
    let outside = head.iter().filter(|token| {
        let outside = angles == 0 && *token != "<";
        angles += i32::from(*token == "<") - i32::from(*token == ">");
        outside
    });
    let path = outside.take_while(|token| *token != "where");
    let path: Vec<String> = path.filter(|token| is_name(token)).cloned().collect();
    let mut depth = 0;
    let mut methods = 0;
    for token in &rest[opens..] {
        // Not angles: in code they compare.
        depth += i32::from(token == "{") - i32::from(token == "}");
        if depth == 0 {
            break;
        }
        methods += usize::from(depth == 1 && token == "fn");
    }
    let size = Size { fields: 0, methods };
    (!path.is_empty()).then_some((path, size))
}

fn step(token: &str) -> i32 {
    match token {
        "{" | "(" | "[" | "<" => 1,
        "}" | ")" | "]" | ">" => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as over;
    use super::*;
    use crate::tree;

    const ROOT: &str = "mod b;\npub struct A<T> {\n#[doc = \"a\"]\npub a: Vec<(T, u8)>,\nb: [u8; 2],\n}\n\
                        impl<T> A<T> where T: Copy { fn a() {} const fn b() { fn c() {} 1 < 2; } }\n\
                        impl<T> Drop for A<T> { fn drop(&mut self) {} }";

    #[test]
    fn fields_and_methods_count_wherever_they_stand() {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let child = "use crate::A;\npub struct B { a: u8 }\nimpl A<u8> { fn d() {} }";
        let sources = [
            source("crates/x/src/lib.rs", ROOT),
            source("crates/x/src/b.rs", child),
        ];
        let said = "largest struct: x::A, 2 fields, 3 methods";
        assert_eq!(largest(&sources).as_deref(), Some(said));
    }

    #[test]
    fn methods_are_limited_wherever_they_stand() {
        let child = |methods: usize| {
            let methods: String = (0..methods).map(|at| format!("fn f{at}() {{}} ")).collect();
            format!("use crate::A;\nimpl A<u8> {{ {methods} }}")
        };
        let said = |methods| {
            let child = child(methods);
            over(
                check,
                &[
                    ("crates/x/src/lib.rs", ROOT),
                    ("crates/x/src/b.rs", child.as_str()),
                ],
            )
        };
        assert!(said(METHODS_MAX - 2).is_empty());
        assert_eq!(
            said(METHODS_MAX - 1),
            ["crates/x/src/lib.rs: x::A has 101 methods, 100 at most: \
                 a function takes the parts that it needs"]
        );
    }

    /// A limit that is not met by ten methods has to come down.
    #[test]
    fn a_limit_of_its_own_is_what_a_struct_has_come_down_to() {
        let structs = structs(&tree::sources(&["rs"]).unwrap());
        for (name, most) in OWN_LIMITS {
            let found = structs.iter().find(|found| found.name == *name);
            let methods = found.map(|found| found.size.methods);
            assert_eq!(
                methods.map(|methods| methods.next_multiple_of(10)),
                Some(*most),
                "{name}"
            );
        }
    }
}
