//! Packs the calibrations in the `calibration` folder, and those of the records, so that the binary
//! carries them; and names the model by its sources.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for (folder, name) in [
        ("calibration", "calibrations"),
        ("records/calibration", "calibrations_of_records"),
    ] {
        let folder = root.join("../..").join(folder);
        let packed = out.join(name);
        fs::create_dir_all(&packed)?;
        fs::write(packed.with_extension("rs"), table(&folder, &packed)?)?;
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

/// A slice of all kernels; their captures are packed into files of this folder.
fn table(folder: &Path, packed: &Path) -> io::Result<String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for kernel in entries(folder)? {
        let costs = kernel.join("calibration.toml");
        if !costs.is_file() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", kernel.display());
        let file = packed.join(name(&kernel));
        let files = pack(&kernel, &file)?;
        let [costs, file] = [costs.canonicalize()?, file].map(|it| it.display().to_string());
        let _ = writeln!(
            table,
            "    Embedded {{ kernel: {:?}, costs: include_bytes!({costs:?}), \
             captures: include_bytes!({file:?}), files: &{files:?} }},",
            name(&kernel)
        );
    }
    table.push_str("]\n");
    Ok(table)
}

/// Packs a kernel's captures into one compressed file; their names and lengths.
fn pack(kernel: &Path, file: &Path) -> io::Result<Vec<(String, usize)>> {
    let mut packed = GzEncoder::new(fs::File::create(file)?, Compression::best());
    let captures = entries(kernel)?.into_iter();
    let captures = captures.filter(|path| path.extension().is_some_and(|it| it == "gz"));
    let files = captures.map(|path| {
        let mut capture = Vec::new();
        GzDecoder::new(fs::File::open(&path)?).read_to_end(&mut capture)?;
        packed.write_all(&capture)?;
        Ok((name(&path), capture.len()))
    });
    let files = files.collect::<io::Result<_>>()?;
    packed.finish()?;
    Ok(files)
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
