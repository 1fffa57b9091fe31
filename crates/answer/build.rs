//! Lists the calibrations in the `calibration` folder, and those of the records, so that the binary
//! carries them; and names the model by its sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for (folder, file) in [
        ("calibration", "calibrations.rs"),
        ("records/calibration", "calibrations_of_records.rs"),
    ] {
        let folder = root.join("../..").join(folder);
        fs::write(out.join(file), table(&folder)?)?;
    }
    let mut model = FNV_BASIS;
    for part in MODEL {
        let folder = root.join("..").join(part).join("src");
        println!("cargo:rerun-if-changed={}", folder.display());
        model = hash(&folder, model)?;
    }
    println!("cargo:rustc-env=PLIMSOLL_MODEL={model:016x}");
    Ok(())
}

/// The crates on which an outcome hangs.
const MODEL: [&str; 4] = ["guard", "mm", "scenario", "sim"];

/// FNV-1a, of 64 bits: the same with every compiler.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The hash of all files below a folder, and of what came before.
fn hash(folder: &Path, before: u64) -> io::Result<u64> {
    let mut so_far = before;
    for path in entries(folder)? {
        so_far = match path.is_dir() {
            true => hash(&path, so_far)?,
            false => fs::read(&path)?.iter().fold(so_far, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
            }),
        };
    }
    Ok(so_far)
}

/// A slice of every kernel's name and its files.
fn table(folder: &Path) -> io::Result<String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for kernel in entries(folder)? {
        if !kernel.join("calibration.toml").is_file() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", kernel.display());
        let _ = writeln!(table, "    (\"{}\", &[", name(&kernel));
        for file in entries(&kernel)? {
            let path = file.canonicalize()?;
            let _ = writeln!(
                table,
                "        ({:?}, include_bytes!({:?})),",
                name(&file),
                path.display().to_string()
            );
        }
        table.push_str("    ]),\n");
    }
    table.push_str("]\n");
    Ok(table)
}

/// The paths in a folder, sorted; none where there is no folder.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
