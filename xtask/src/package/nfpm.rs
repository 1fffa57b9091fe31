//! The packages for rpm, apk and pacman, by nFPM, which the Go module proxy has.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::date;
use super::list::{List, UNIT};
use super::place::Place;
use crate::{process, tree};

const VERSION: &str = "2.45.2";
const MODULE: &str = "github.com/goreleaser/nfpm/v2/cmd/nfpm";

/// Makes them; where each lies.
pub(super) fn make(list: &List, place: &Place) -> Result<Vec<PathBuf>> {
    let program = installed()?;
    let packages = ["rpm", "apk", "archlinux"].iter().map(|packager| {
        let config = place.folder.join(format!("{packager}.nfpm.json"));
        // JSON is YAML, which it reads.
        fs::write(
            &config,
            serde_json::to_string_pretty(&described(list, packager, place.revision)?)?,
        )?;
        let mut nfpm = process::program(&program);
        nfpm.args(["package", "--packager", packager, "--config"]);
        nfpm.arg(&config).arg("--target").arg(place.folder.join(""));
        nfpm.env("SOURCE_DATE_EPOCH", date::epoch()?.to_string());
        let output = nfpm.stderr(Stdio::inherit()).output();
        let output = output.with_context(|| process::describe(&nfpm))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{}: {}{said}", process::describe(&nfpm), output.status);
        }
        fs::remove_file(config)?;
        let path = said
            .lines()
            .find_map(|line| line.strip_prefix("created package: "));
        let path = path.with_context(|| format!("nFPM names no package: {said}"))?;
        Ok(PathBuf::from(path.trim()))
    });
    packages.collect()
}

/// Where it lies; installed unless it is there.
fn installed() -> Result<PathBuf> {
    let place = tree::root().join(format!("target/tools/nfpm-{VERSION}/bin"));
    let program = place.join("nfpm");
    if !program.exists() {
        fs::create_dir_all(&place)?;
        let mut go = process::program("go");
        go.arg("install").arg(format!("{MODULE}@v{VERSION}"));
        process::succeed(go.env("GOBIN", &place).env("GOFLAGS", "-trimpath"))
            .context("nFPM is built with Go: apt-get install golang, or https://go.dev")?;
    }
    Ok(program)
}

fn described(list: &List, packager: &str, revision: &str) -> Result<Value> {
    let has_systemd = packager != "apk";
    let files = list
        .files
        .iter()
        .filter(|file| has_systemd || file.to != UNIT);
    // It refuses a path with ".." in it.
    let contents = files.map(|file| {
        Ok::<_, std::io::Error>(json!({
            "src": fs::canonicalize(&file.source)?,
            "dst": format!("/{}", file.to),
            "file_info": { "mode": file.mode, "owner": "root", "group": "root" },
        }))
    });
    let contents: Result<Vec<Value>, _> = contents.collect();
    let mut described = json!({
        "name": "plimsoll",
        "arch": std::env::consts::ARCH.replace("x86_64", "amd64").replace("aarch64", "arm64"),
        "platform": "linux",
        "version": list.version,
        "release": revision,
        "maintainer": list.maintainer,
        "description": format!("{}\n{}", list.summary, list.description),
        "license": list.licence,
        "rpm": { "summary": list.summary, "buildhost": "localhost" },
        "contents": contents?,
    });
    if has_systemd {
        let scripts = fs::canonicalize(tree::root().join("packaging/scripts/systemd"))?;
        let script = |name: &str| scripts.join(name);
        described["scripts"] = json!({
            "postinstall": script("postinstall"),
            "preremove": script("preremove"),
            "postremove": script("postremove"),
        });
    }
    Ok(described)
}
