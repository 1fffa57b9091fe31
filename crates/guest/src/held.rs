//! What memory there is, and what the bench holds of it from the beginning of a run to its end.

use mm::meminfo::Meminfo;
use mm::units::{Bytes, PageSize};
use mm::zoneinfo::Zoneinfo;
use rustix::mm::{Advice, MapFlags};
use scenario::Scenario;
use scenario::machine::{self, within};

use crate::error::Error;
use crate::mapping::Mapping;
use crate::place::Place;

/// Pages that are left for the second look at what is available.
const SLACK: u64 = 256;

/// `MemAvailable`, which sizes of the workload may be shares of.
pub(crate) fn available(place: &Place) -> Result<Bytes, Error> {
    parsed(place, "proc/meminfo", |text| {
        let available = Meminfo::parse(text).map_err(|error| error.to_string())?;
        let available = available.mem_available.ok_or("no MemAvailable")?;
        Ok(Bytes(available.0 << 10))
    })
}

/// What a study's `available` counts.
fn available_to_study(place: &Place) -> Result<Bytes, Error> {
    let zones = parsed(place, "proc/zoneinfo", |text| {
        Zoneinfo::parse(text).map_err(|error| error.to_string())
    })?;
    parsed(place, "proc/meminfo", |text| {
        let meminfo = Meminfo::parse(text).map_err(|error| error.to_string())?;
        machine::available(&meminfo, &zones, page_size()).ok_or_else(|| "no MemAvailable".into())
    })
}

fn page_size() -> PageSize {
    PageSize::new(rustix::param::page_size() as u64).unwrap_or_default()
}

fn parsed<T>(
    place: &Place,
    path: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, Error> {
    let path = place.root.join(path);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
    let parsed = text.and_then(|text| parse(&text));
    parsed.map_err(|why| Error::new(path.display(), why))
}

/// Holds what the machine has available beyond what the study says, until it is dropped. Page
/// tables and the like of what is held count too, so it looks a second time.
pub(crate) fn hold_beyond_available(
    scenario: &Scenario,
    place: &Place,
) -> Result<[Option<Mapping>; 2], Error> {
    let Some(wanted) = scenario.machine.available else {
        return Ok([None, None]);
    };
    let there = available_to_study(place)?;
    if there.0.saturating_add(within(scenario.machine.memory)) < wanted.0 {
        let why = format!("{there}, and the study says {wanted}; give the machine more memory");
        return Err(Error::new("available when the run begins", why));
    }
    let beyond = |there: Bytes| there.saturating_sub(wanted).0 / page_size().bytes();
    let most = hold(beyond(there).saturating_sub(SLACK))?;
    let rest = hold(beyond(available_to_study(place)?))?;
    Ok([most, rest])
}

/// Memory of this many pages, which is there until it is dropped; nothing for none.
pub(crate) fn hold(pages: u64) -> Result<Option<Mapping>, Error> {
    if pages == 0 {
        return Ok(None);
    }
    let length = pages as usize * rustix::param::page_size();
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
    let held = Mapping::anonymous(length, flags).map_err(Error::on("memory to hold"))?;
    let advised = held.advise(Advice::LinuxDontFork);
    advised.map_err(Error::on("memory to hold"))?;
    Ok(Some(held))
}
