//! What the programs are built from, as a CycloneDX document, which `cargo xtask package` writes
//! beside the package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::{process, tree};

/// The programs of the package.
const PROGRAMS: [&str; 2] = ["plimsoll", "plimsoll-guard"];

/// Writes what is linked into the programs for a target.
pub(crate) fn write(to: &Path, triple: &str) -> Result<()> {
    let text = std::fs::read_to_string(tree::root().join("Cargo.lock"))?;
    let document = document(&metadata(triple)?, &checksums(&text)?)?;
    let text = serde_json::to_string_pretty(&document)? + "\n";
    std::fs::write(to, text).with_context(|| to.display().to_string())
}

fn metadata(triple: &str) -> Result<Value> {
    let mut cargo = process::cargo();
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    let output = cargo.args(["--filter-platform", triple]).output()?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(&cargo), output.status);
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata")
}

/// By name and version; ours have none.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(lock).context("Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let row = |package: &toml::Value| {
        let text = |key| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    let packages = packages.context("Cargo.lock has packages")?;
    Ok(packages.iter().filter_map(row).collect())
}

fn document(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let packages = metadata["packages"].as_array().context("packages")?;
    let linked = linked(metadata, packages)?;
    let ours = |package: &&Value| linked.contains(text(package, "id"));
    let components = packages.iter().filter(ours).map(|package| {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let purl = format!("pkg:cargo/{name}@{version}");
        let mut component = json!({
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "licenses": [{ "expression": text(package, "license").replace('/', " OR ") }],
        });
        if let Some(sum) = checksums.get(&(name.to_owned(), version.to_owned())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    });
    let program = packages.iter().find(|it| text(it, "name") == PROGRAMS[0]);
    let version = text(program.context("the command")?, "version");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "name": PROGRAMS[0], "version": version,
        } },
        "components": components.collect::<Vec<_>>(),
    }))
}

/// The packages below the programs, without those for tests and for building.
fn linked<'a>(metadata: &'a Value, packages: &'a [Value]) -> Result<BTreeSet<&'a str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("nodes")?;
    let programs = packages
        .iter()
        .filter(|it| PROGRAMS.contains(&text(it, "name")));
    let mut waiting: Vec<&str> = programs.map(|it| text(it, "id")).collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !linked.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| text(node, "id") == id);
        let below = node.and_then(|node| node["deps"].as_array());
        let below = below.into_iter().flatten();
        let is_linked = |dep: &&Value| {
            let kinds = dep["dep_kinds"].as_array().into_iter().flatten();
            kinds.into_iter().any(|kind| kind["kind"].is_null())
        };
        waiting.extend(below.filter(is_linked).map(|dep| text(dep, "pkg")));
    }
    Ok(linked)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_told_with_its_licence_and_hash() {
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("plimsoll"), package("plimsoll-guard"), package("a"), package("b")],
            "resolve": { "nodes": [
                { "id": "plimsoll", "deps": [dep("a", Value::Null), dep("b", json!("dev"))] },
                { "id": "a", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12ab\"\n";
        let document = document(&metadata, &checksums(lock).unwrap()).unwrap();
        let components = document["components"].as_array().unwrap();
        let names: Vec<&str> = components.iter().map(|it| text(it, "name")).collect();
        assert_eq!(names, ["plimsoll", "plimsoll-guard", "a"]);
        assert_eq!(
            components[2]["licenses"][0]["expression"],
            "MIT OR Apache-2.0"
        );
        assert_eq!(components[2]["hashes"][0]["content"], "12ab");
    }
}
