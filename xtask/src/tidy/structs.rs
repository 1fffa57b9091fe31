//! The largest struct: whatever belongs to everything is changed by everybody.

use std::collections::BTreeMap;

use super::modules::{Modules, Place};
use super::tokens::is_name;
use crate::tree::Source;

/// A struct's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    fields: usize,
    /// In every `impl` of its own, wherever it stands.
    methods: usize,
}

/// The struct with the most fields and methods, in one line.
pub(super) fn largest(sources: &[Source]) -> Option<String> {
    let crates = Modules::of_all(sources);
    let sizes = crates.iter().flat_map(sizes);
    let (name, Size { fields, methods }) =
        sizes.max_by_key(|(_, size)| size.fields + size.methods)?;
    Some(format!(
        "largest struct: {name}, {fields} fields, {methods} methods"
    ))
}

/// The structs of a crate, by path.
fn sizes(modules: &Modules) -> BTreeMap<String, Size> {
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
    let path = |place: Place| {
        let path = modules.all[place.module].path.iter().map(String::as_str);
        let name = place.item.unwrap_or_default();
        let path: Vec<&str> = [modules.name.as_str()].into_iter().chain(path).collect();
        format!("{}::{name}", path.join("::"))
    };
    sizes
        .into_iter()
        .map(|(place, size)| (path(place), size))
        .collect()
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
    use super::*;

    #[test]
    fn fields_and_methods_count_wherever_they_stand() {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let root = "mod b;\npub struct A<T> {\n#[doc = \"a\"]\npub a: Vec<(T, u8)>,\nb: [u8; 2],\n}\n\
                    impl<T> A<T> where T: Copy { fn a() {} const fn b() { fn c() {} 1 < 2; } }\n\
                    impl<T> Drop for A<T> { fn drop(&mut self) {} }";
        let child = "use crate::A;\npub struct B { a: u8 }\nimpl A<u8> { fn d() {} }";
        let sources = [
            source("crates/x/src/lib.rs", root),
            source("crates/x/src/b.rs", child),
        ];
        let said = "largest struct: x::A, 2 fields, 3 methods";
        assert_eq!(largest(&sources).as_deref(), Some(said));
    }
}
