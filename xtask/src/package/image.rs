//! A container image with the command and nothing else, as an archive of an OCI image layout
//! (image-spec 1.1): `skopeo copy oci-archive:FILE ...`, `podman load`, `docker load`.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::list::List;
use super::place::{Place, hex};
use super::tarball::Archive;

/// What of the list is in it.
const COMMAND: &str = "usr/bin/plimsoll";

/// Whom it runs as; it looks at what it is given, and needs no right.
const NOBODY: &str = "65534:65534";

/// Makes it; where it lies.
pub(super) fn make(list: &List, place: &Place) -> Result<PathBuf> {
    let command = list.files.iter().find(|file| file.to == COMMAND);
    let command = command.context("the command is in the list")?;
    let mut layer = Archive::new(Vec::new())?;
    layer.add(COMMAND, command.mode, &fs::read(&command.source)?)?;
    let layer = layer.end()?;
    let unpacked = format!("sha256:{}", hex(&layer));
    let layer = packed(&layer)?;
    let labels = json!({
        "org.opencontainers.image.title": "plimsoll",
        "org.opencontainers.image.description": list.summary,
        "org.opencontainers.image.version": list.version,
        "org.opencontainers.image.licenses": list.licence,
    });
    let architecture = std::env::consts::ARCH.replace("x86_64", "amd64");
    let config = json!({
        "architecture": architecture.replace("aarch64", "arm64"),
        "os": "linux",
        "config": {
            "User": NOBODY,
            "Entrypoint": [format!("/{COMMAND}")],
            "Cmd": ["--help"],
            "Labels": labels,
        },
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
    });
    let config = serde_json::to_vec(&config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &layer)],
        "annotations": labels,
    });
    let manifest = serde_json::to_vec(&manifest)?;
    let mut named = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": list.version });
    let index = serde_json::to_vec(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [named],
    }))?;
    let path = place
        .folder
        .join(format!("plimsoll-{}.oci.tar", list.version));
    let mut image = Archive::new(File::create(&path)?)?;
    image.add("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    image.add("index.json", 0o644, &index)?;
    for blob in [&layer, &config, &manifest] {
        image.add(&format!("blobs/sha256/{}", hex(blob)), 0o644, blob)?;
    }
    image.end()?;
    Ok(path)
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut gzip, bytes)?;
    Ok(gzip.finish()?)
}

fn descriptor(kind: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": kind, "digest": format!("sha256:{}", hex(bytes)), "size": bytes.len() })
}
