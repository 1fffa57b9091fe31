//! Calibrations as files: `calibration.toml` with the costs, and beside it one compressed capture
//! for each size of RAM that was booted.
//!
//! ```toml
//! kernel = "6.1.0-53-cloud-amd64"
//! bench = "VM, virtual time"
//!
//! [costs-ps]
//! syscall = 222000
//!
//! [[boot]]
//! memory = "3840 MiB"
//! ready = "2034716603 ns"
//! ticks = "80 ms"
//! disks = "370 ms"
//! dirty-limit = 157991
//! capture = "boot-3840.capture.gz"
//! ```

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mm::capture::Capture;
use mm::units::{Bytes, Pages};
use scenario::calibration::{Boot, Calibration, Costs};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use mm::quantity::{self, QuantityError};
use study::hash::sha256;

/// The file with the costs.
pub const FILE: &str = "calibration.toml";
/// The largest file of one that is read: a boot capture is a few dozen kilobytes.
pub const MOST_BYTES: u64 = 64 << 20;

/// What a compressed file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A calibration in the binary.
struct Embedded {
    kernel: &'static str,
    costs: &'static [u8],
    /// All captures, compressed as one: those of one kernel differ in their numbers only.
    captures: &'static [u8],
    /// Their files, and how many bytes each takes of that.
    files: &'static [(&'static str, usize)],
}
const BUILT_IN: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/calibrations.rs"));
/// Those by which records are predicted that do not name the room of their program: it took 7 MiB.
const OF_RECORDS: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/calibrations_of_records.rs"));

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// No kernel of this name has been calibrated.
    #[error("no calibration for kernel {kernel}: {way_out}")]
    Unknown {
        /// What was asked for.
        kernel: String,
        /// The nearest one, or all of them.
        way_out: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path}: {what}; make it again with `plimsoll calibrate`")]
    Broken {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// The names of the kernels that the binary carries a calibration of.
pub fn kernels() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|one| one.kernel)
}

/// The calibrated kernel that is the fewest releases away; the older of two.
#[must_use]
pub fn nearest(release: &str) -> &'static str {
    nearest_of(kernels(), release)
}

fn nearest_of(kernels: impl Iterator<Item = &'static str>, release: &str) -> &'static str {
    let wanted = releases(release);
    let distance = |name: &&str| wanted.abs_diff(releases(name));
    kernels.min_by_key(distance).unwrap_or_default()
}

/// How many releases came before, counting twenty to a major version: 4.x and 5.x ended at .20 and
/// .19.
fn releases(release: &str) -> u64 {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || {
        numbers
            .next()
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let (major, minor) = (number(), number());
    major.saturating_mul(20).saturating_add(minor)
}

/// Which kernels there are; a release that is one letter away is no slip for another.
fn way_out(wanted: &str) -> String {
    let known: Vec<&str> = kernels().collect();
    let known = known.join(", ");
    match wanted.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!(
            "there is {known}, of which {} is the nearest; `plimsoll calibrate` measures another",
            nearest(wanted)
        ),
        false => format!("there is {known}"),
    }
}

/// The built-in calibration of a kernel, by its version: "6.1" serves "6.1.0-53-cloud-amd64" too.
///
/// # Errors
/// There is none.
pub fn built_in(kernel: &str) -> Result<Calibration, CalibrationError> {
    embedded(BUILT_IN, kernel)
}

/// The same of the VM that records were made in which do not name the room of their program.
pub(crate) fn of_records(kernel: &str) -> Result<Calibration, CalibrationError> {
    embedded(OF_RECORDS, kernel)
}

fn embedded(all: &[Embedded], kernel: &str) -> Result<Calibration, CalibrationError> {
    let serves = |name: &str| {
        kernel
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    let Some(one) = all.iter().find(|one| serves(one.kernel)) else {
        return Err(CalibrationError::Unknown {
            kernel: kernel.to_owned(),
            way_out: way_out(kernel),
        });
    };
    let place = format!("built-in calibration {}", one.kernel);
    let captures = inflated(one.captures).map_err(|source| CalibrationError::Io {
        path: place.clone(),
        source,
    })?;
    from_files(&place, |wanted| {
        if wanted == FILE {
            return Ok(one.costs.to_vec());
        }
        let at = one.files.iter().position(|(file, _)| *file == wanted);
        let at = at.ok_or(io::ErrorKind::NotFound)?;
        let begin: usize = one.files[..at].iter().map(|(_, length)| length).sum();
        Ok(captures[begin..][..one.files[at].1].to_vec())
    })
}

fn inflated(gzip: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(gzip)
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The calibration's files: each boot's capture, and last the costs that name them.
///
/// # Errors
/// Never but for want of memory.
pub fn to_files(calibration: &Calibration) -> io::Result<Vec<(String, Vec<u8>)>> {
    let boots = calibration.boots.iter();
    let boots = boots.map(|boot| Ok((boot_file(boot), compressed(&boot.capture)?)));
    let costs = Ok((FILE.to_owned(), to_toml(calibration).into_bytes()));
    boots.chain([costs]).collect()
}

/// SHA-256 over the costs and the captures: what a record says a prediction rests on.
#[must_use]
pub fn hash(calibration: &Calibration) -> String {
    let mut text = to_toml(calibration);
    for boot in &calibration.boots {
        text += &boot.capture.to_text();
    }
    sha256(text.as_bytes())
}

/// The calibration in these files; `place` is what errors call their folder. A capture may be
/// compressed.
///
/// # Errors
/// A file is missing or does not hold what it should.
pub fn from_files(
    place: &str,
    file: impl Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Calibration, CalibrationError> {
    let path = |name: &str| format!("{place}/{name}");
    let load = |name: &str| {
        file(name).map_err(|source| CalibrationError::Io {
            path: path(name),
            source,
        })
    };
    let broken = |name: &str, what: String| CalibrationError::Broken {
        path: path(name),
        what,
    };
    let text = String::from_utf8(load(FILE)?).map_err(|e| broken(FILE, e.to_string()))?;
    let head: Head = toml::from_str(&text).map_err(|e| broken(FILE, e.message().to_owned()))?;
    let mut boots = Vec::new();
    for entry in &head.boot {
        let capture =
            expanded(load(&entry.capture)?).map_err(|what| broken(&entry.capture, what))?;
        let unit = |e: QuantityError| broken(FILE, e.to_string());
        boots.push(Boot {
            memory: quantity::size(&entry.memory).map_err(unit)?,
            ready: quantity::duration(&entry.ready).map_err(unit)?,
            ticks: quantity::duration(&entry.ticks).map_err(unit)?,
            disks: quantity::duration(&entry.disks).map_err(unit)?,
            dirty_limit: entry.dirty_limit.map(Pages),
            capture,
        });
    }
    if boots.is_empty() {
        return Err(broken(FILE, "it has no [[boot]]".to_owned()));
    }
    boots.sort_by_key(|boot| boot.memory);
    Ok(Calibration {
        kernel: head.kernel,
        bench: head.bench,
        costs: head.costs_ps.0,
        boots,
        text_kept: Bytes(0),
    })
}

/// The text of `calibration.toml`.
fn to_toml(calibration: &Calibration) -> String {
    let boot = |boot: &Boot| BootView {
        memory: shown(boot.memory),
        ready: format!("{} ns", boot.ready.0),
        ticks: format!("{} ns", boot.ticks.0),
        disks: format!("{} ns", boot.disks.0),
        dirty_limit: boot.dirty_limit.map(|Pages(limit)| limit),
        capture: boot_file(boot),
    };
    let head = Head {
        kernel: calibration.kernel.clone(),
        bench: calibration.bench.clone(),
        costs_ps: CostsView(calibration.costs),
        boot: calibration.boots.iter().map(boot).collect(),
    };
    toml::to_string(&head).expect("strings and numbers below 2^63 can be said in TOML")
}

fn boot_file(boot: &Boot) -> String {
    format!("boot-{}.capture.gz", shown(boot.memory).replace(' ', "-"))
}

fn shown(memory: Bytes) -> String {
    match memory.0.is_multiple_of(Bytes::MIB.0) {
        true => format!("{} MiB", memory.0 / Bytes::MIB.0),
        false => format!("{} B", memory.0),
    }
}

fn compressed(capture: &Capture) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(capture.to_text().as_bytes())?;
    gzip.finish()
}

fn expanded(bytes: Vec<u8>) -> Result<Capture, String> {
    let text = match bytes.starts_with(&GZIP) {
        true => inflated(&bytes).map_err(|error| error.to_string())?,
        false => bytes,
    };
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    Capture::parse(&text).map_err(|error| error.to_string())
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Head {
    kernel: String,
    bench: String,
    costs_ps: CostsView,
    #[serde(default)]
    boot: Vec<BootView>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct BootView {
    memory: String,
    ready: String,
    ticks: String,
    disks: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dirty_limit: Option<u64>,
    capture: String,
}

/// The table of the costs in picoseconds, each under its name: none may be missing.
struct CostsView(Costs);

impl Serialize for CostsView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter())
    }
}

impl<'de> Deserialize<'de> for CostsView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut costs = Costs::default();
        let table = BTreeMap::<String, u64>::deserialize(deserializer)?;
        for (name, cost) in &table {
            let unknown = || D::Error::unknown_field(name, Costs::NAMES);
            *costs.get_mut(name).ok_or_else(unknown)? = *cost;
        }
        match Costs::NAMES.iter().find(|name| !table.contains_key(**name)) {
            Some(missing) => Err(D::Error::missing_field(missing)),
            None => Ok(Self(costs)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::capture::Frame;
    use mm::pagetypeinfo::{self, Pagetypeinfo};
    use mm::units::Nanos;
    use mm::zoneinfo::Zoneinfo;

    #[test]
    fn the_nearest_kernel_is_the_fewest_releases_away() {
        let found = [
            "3.10.0-1160.el7",
            "5.15.0-91",
            "6.1.0",
            "6.6.8",
            "6.8.0-40",
            "6.18.3",
            "7.0",
        ];
        let found = found.map(|release| nearest_of(["5.10", "6.1", "6.12"].into_iter(), release));
        let expected = ["5.10", "5.10", "6.1", "6.1", "6.12", "6.12", "6.12"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_release_that_is_not_calibrated_is_no_slip_for_another() {
        let said = |kernel| built_in(kernel).unwrap_err().to_string();
        let known = kernels().collect::<Vec<_>>().join(", ");
        let expected = format!(
            "no calibration for kernel 6.11: there is {known}, of which 6.12 is the nearest; \
             `plimsoll calibrate` measures another"
        );
        assert_eq!(said("6.11"), expected);
        assert_eq!(
            said("host"),
            format!("no calibration for kernel host: there is {known}")
        );
    }

    fn calibration() -> Calibration {
        let mut frame = Frame::default();
        frame
            .files
            .insert("proc/version".to_owned(), "Linux version 6.1\n".to_owned());
        let boot = |memory, ready| Boot {
            memory,
            capture: Capture {
                frames: vec![frame.clone()],
            },
            ready,
            ticks: Nanos(80_000_000),
            disks: Nanos(370_000_000),
            dirty_limit: Some(Pages(10_898)),
        };
        Calibration {
            kernel: "6.1.0-53".to_owned(),
            bench: "VM, virtual time".to_owned(),
            costs: Costs {
                syscall_ps: 222_000,
                spawn_ps: 7,
                ..Costs::default()
            },
            boots: vec![
                boot(Bytes(512 << 20), Nanos(1_999)),
                boot(Bytes((3840 << 20) + 4096), Nanos(2_034_716_603)),
            ],
            text_kept: Bytes(0),
        }
    }

    #[test]
    fn each_stock_boot_tells_the_types_of_the_free_pages_of_its_zones() {
        for boot in kernels().flat_map(|kernel| built_in(kernel).unwrap().boots) {
            let frames = || boot.capture.frames.iter();
            let text = |path| frames().find_map(|frame| frame.file(path)).unwrap();
            let zones = Zoneinfo::parse(text("proc/zoneinfo")).unwrap().zones;
            let types = Pagetypeinfo::parse(text(pagetypeinfo::PATH)).unwrap();
            for zone in zones.iter().filter(|zone| zone.is_populated()) {
                let types = &types.zone(zone.node, zone.kind).unwrap().types;
                let blocks = types.values().flat_map(|blocks| blocks.iter().enumerate());
                let free: u64 = blocks.map(|(order, blocks)| blocks << order).sum();
                let apart = free.abs_diff(zone.free.0);
                assert!(apart < 200, "{} {}: {apart} pages", boot.memory, zone.kind);
            }
        }
    }

    #[test]
    fn a_calibration_comes_back_as_it_was() {
        let files = to_files(&calibration()).unwrap();
        let again = from_files("here", |wanted| {
            let found = files.iter().find(|(name, _)| name == wanted);
            found
                .map(|(_, bytes)| bytes.clone())
                .ok_or_else(|| io::ErrorKind::NotFound.into())
        });
        assert_eq!(again.unwrap(), calibration());
    }

    #[test]
    fn the_hash_follows_costs_and_captures() {
        let mut other = calibration();
        other.costs.touch_ps += 1;
        assert_ne!(hash(&other), hash(&calibration()));
        let mut other = calibration();
        other.boots[0].capture.frames.clear();
        assert_ne!(hash(&other), hash(&calibration()));
    }

    #[test]
    fn a_kernel_without_calibration_is_named() {
        let error = built_in("2.4").unwrap_err().to_string();
        assert!(
            error.starts_with("no calibration for kernel 2.4: "),
            "{error}"
        );
    }

    #[test]
    fn every_built_in_calibration_is_whole() {
        for kernel in kernels() {
            let calibration = built_in(kernel).unwrap();
            assert!(
                calibration.kernel.starts_with(kernel),
                "{kernel}: {}",
                calibration.kernel
            );
            assert!(calibration.costs.touch_ps > 0, "{kernel}");
        }
    }
}
