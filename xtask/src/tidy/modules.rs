//! The files of a crate as modules, and which item of which file a path leads to.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{is_name, tokens};
use crate::tree::Source;

/// A crate as its modules, the root first. What only tests see is not part of it.
pub(super) struct Modules {
    pub(super) name: String,
    pub(super) all: Vec<Module>,
}

/// A file.
#[derive(Default)]
pub(super) struct Module {
    /// Its path from the root of the checkout.
    pub(super) file: String,
    /// Its path from the root of the crate.
    pub(super) path: Vec<String>,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What it defines by name; what a macro makes is not among it.
    items: BTreeSet<String>,
    pub(super) uses: Vec<Use>,
    /// Its code without the `use`s.
    pub(super) body: Vec<String>,
}

/// A name brought into a file.
pub(super) struct Use {
    pub(super) path: Vec<String>,
    /// The name here; `*` for all names.
    pub(super) name: String,
    /// Whether it is handed on.
    pub(super) public: bool,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) module: usize,
    /// `None` where it leads to the module itself.
    pub(super) item: Option<String>,
}

/// A path through more names than this runs in a circle.
const HOPS_MAX: usize = 16;

impl Modules {
    /// Every crate of the checkout.
    pub(super) fn of_all(sources: &[Source]) -> Vec<Self> {
        let roots = sources.iter().filter_map(|source| {
            let (folder, file) = source.path.split_once("/src/")?;
            let root = file == "lib.rs" || file == "main.rs";
            root.then(|| Self::new(folder.trim_start_matches("crates/"), source, sources))
        });
        roots.collect()
    }

    fn new(name: &str, root: &Source, sources: &[Source]) -> Self {
        let mut modules = Self {
            name: name.to_owned(),
            all: Vec::new(),
        };
        modules.add(root, None, Vec::new(), sources);
        modules
    }

    fn add(
        &mut self,
        source: &Source,
        parent: Option<usize>,
        path: Vec<String>,
        sources: &[Source],
    ) -> usize {
        let here = self.all.len();
        let (mut module, declared) = read(&tokens(&source.text));
        module.file.clone_from(&source.path);
        module.path.clone_from(&path);
        module.parent = parent;
        self.all.push(module);
        for name in declared {
            let files = child_files(&source.path, &name);
            let Some(child) = sources.iter().find(|source| files.contains(&source.path)) else {
                continue;
            };
            let path = path.iter().cloned().chain([name.clone()]).collect();
            let child = self.add(child, Some(here), path, sources);
            self.all[here].children.insert(name, child);
        }
        here
    }

    /// Where the path leads, read in this module; `None` outside the crate.
    pub(super) fn resolve(&self, from: usize, path: &[String]) -> Option<Place> {
        self.lead(from, path, HOPS_MAX)
    }

    fn lead(&self, from: usize, path: &[String], hops: usize) -> Option<Place> {
        let mut rest = path;
        let mut at = from;
        let mut inside = false;
        while let [first, after @ ..] = rest {
            at = match first.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.all[at].parent?,
                _ => break,
            };
            inside = true;
            rest = after;
        }
        for (nth, name) in rest.iter().enumerate() {
            let last = nth + 1 == rest.len();
            match self.step(at, name, last, hops.checked_sub(1)?) {
                Some(Place { module, item: None }) => at = module,
                Some(place) => return Some(place),
                // Made by a macro, as far as one can see.
                None if inside || nth > 0 => return Some(Place::item(at, name)),
                None => return None,
            }
        }
        let module = at;
        Some(Place { module, item: None })
    }

    /// What a name means in a module.
    fn step(&self, at: usize, name: &str, last: bool, hops: usize) -> Option<Place> {
        let module = &self.all[at];
        let child = module.children.get(name).map(|child| Place {
            module: *child,
            item: None,
        });
        let item = (module.items.contains(name)).then(|| Place::item(at, name));
        let own = if last { item.or(child) } else { child.or(item) };
        own.or_else(|| {
            let brought = module.uses.iter().filter(|u| u.name == name);
            brought.filter_map(|u| self.lead(at, &u.path, hops)).next()
        })
        .or_else(|| {
            let all = module.uses.iter().filter(|u| u.name == "*");
            let from = all.filter_map(|u| self.lead(at, &u.path, hops));
            from.filter(|place| place.module != at)
                .find_map(|place| self.step(place.module, name, last, hops.checked_sub(1)?))
        })
    }

    /// What a name that stands alone means in a module.
    pub(super) fn name(&self, at: usize, name: &str) -> Option<Place> {
        self.step(at, name, true, HOPS_MAX)
    }

    /// Whether the module lies below the other.
    pub(super) fn below(&self, module: usize, other: usize) -> bool {
        let above = std::iter::successors(self.all[module].parent, |at| self.all[*at].parent);
        above.into_iter().any(|at| at == other)
    }
}

impl Place {
    fn item(module: usize, name: &str) -> Self {
        let item = Some(name.to_owned());
        Self { module, item }
    }
}

/// Where `mod name;` of a file is looked for.
fn child_files(file: &str, name: &str) -> [String; 2] {
    let (folder, own) = file.rsplit_once('/').unwrap_or(("", file));
    let base = match own {
        "lib.rs" | "main.rs" | "mod.rs" => folder,
        _ => file.trim_end_matches(".rs"),
    };
    [format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")]
}

/// A file's items and uses, and the modules that it declares.
fn read(tokens: &[String]) -> (Module, Vec<String>) {
    let mut module = Module::default();
    let mut declared = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens.get(at + 1).map_or("", String::as_str);
        match tokens[at].as_str() {
            "use" if is_name(next) || next == "{" => {
                let public = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | ")");
                at += used(&tokens[at + 1..], public, &mut module.uses);
            }
            "mod" if tokens.get(at + 2).is_some_and(|sign| sign == ";") => {
                declared.push(next.to_owned());
                // To declare a name is not to use it.
                at += 2;
            }
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            word if depth == 0 => module.items.extend(defined(word, &tokens[at + 1..])),
            _ => {}
        }
        module.body.extend(tokens.get(at).cloned());
        at += 1;
    }
    (module, declared)
}

/// The name that a definition gives.
fn defined(word: &str, rest: &[String]) -> Option<String> {
    let name = match word {
        "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" => rest.first()?,
        "macro_rules" => rest.get(1)?,
        _ => return None,
    };
    (is_name(name) && name != "fn").then(|| name.clone())
}

/// Reads what stands behind `use`, and says how many tokens it took.
fn used(tokens: &[String], public: bool, uses: &mut Vec<Use>) -> usize {
    let length = tokens.iter().position(|token| token == ";");
    let length = length.unwrap_or(tokens.len());
    for path in branches(&tokens[..length]) {
        let (path, name) = match path.iter().position(|word| word == "as") {
            Some(at) => (path[..at].to_vec(), path[at + 1..].concat()),
            None => (path.clone(), path.last().cloned().unwrap_or_default()),
        };
        let whole = path.iter().take_while(|word| *word != "*").cloned();
        uses.push(Use {
            path: whole.collect(),
            name,
            public,
        });
    }
    length + 1
}

/// The paths of a tree of `use`, each with its ` as name`.
fn branches(tokens: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for token in tokens {
        match token.as_str() {
            "::" => {}
            "{" => open.push(path.len()),
            "}" | "," => {
                let base = open.last().copied().unwrap_or(0);
                if path.len() > base {
                    found.push(branch(&path));
                }
                path.truncate(base);
                if token == "}" {
                    open.pop();
                }
            }
            _ => path.push(token.clone()),
        }
        if token == "}" {
            path.truncate(open.last().copied().unwrap_or(0));
        }
    }
    if !path.is_empty() {
        found.push(branch(&path));
    }
    found
}

/// `a::{self}` is `a`.
fn branch(path: &[String]) -> Vec<String> {
    let mut path = path.to_vec();
    if path.len() > 1 {
        path.retain(|word| word != "self");
    }
    path
}
