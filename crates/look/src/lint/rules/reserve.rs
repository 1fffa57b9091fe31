//! What is held back: `vm.min_free_kbytes` and the watermarks.

use mm::formula::watermarks::SCALE_FACTOR;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib};

use crate::fact::Missing;
use crate::lint::machine::Reserve;
use crate::lint::rule::{Answer, At, Said, when};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};
use crate::share::percent;

/// From this on a step between two marks is 5 % of a zone.
const LARGE_FACTOR: u64 = 500;

/// Times the kernel's own choice up to which a value is not called raised.
const RAISED: u64 = 2;

/// What a value of `vm.min_free_kbytes` comes to by itself, whatever the scale factor adds.
fn reserve(scope: &Scope<'_>, min_free: Kib) -> Result<Reserve, Missing> {
    scope.machine.reserve(min_free, SCALE_FACTOR)
}

/// What it comes to where it was raised above what the kernel chooses.
fn raised(setting: &Setting, scope: &Scope<'_>) -> Result<Option<(Kib, Reserve)>, Missing> {
    let Some(min_free) = setting.number().map(Kib) else {
        return Ok(None);
    };
    let chosen = scope
        .machine
        .snapshot()
        .and_then(|it| it.default_min_free());
    if chosen.is_some_and(|chosen| min_free.0 < chosen.0.saturating_mul(RAISED)) {
        return Ok(None);
    }
    Ok(Some((min_free, reserve(scope, min_free)?)))
}

fn held(min_free: Kib, reserve: Reserve) -> String {
    let Reserve {
        held,
        memory,
        available,
    } = reserve;
    let left = available.map_or_else(String::new, |left| format!("; MemAvailable is then {left}"));
    format!(
        "{min_free} is {} of memory, and with the marks above it {held} ({}) is held back{left}",
        percent(min_free.bytes().0, memory.0),
        percent(held.0, memory.0)
    )
}

/// The scale factor alone makes the marks a third of memory.
pub(in crate::lint) fn scale_factor_kills(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(factor) = setting.number().filter(|&factor| factor >= LARGE_FACTOR) else {
        return Ok(None);
    };
    let min_free = Kib(scope.number("vm.min_free_kbytes")?);
    let with = scope.machine.reserve(min_free, factor)?;
    let without = reserve(scope, min_free)?;
    when(is_deadly(with) && !is_deadly(without), || {
        format!(
            "{} ({} of memory) is held back; with the default of {SCALE_FACTOR} it would be {}",
            with.held,
            percent(with.held.0, with.memory.0),
            without.held
        )
    })
}

fn is_deadly(reserve: Reserve) -> bool {
    let third = reserve.held.0 >= reserve.memory.0 / 3;
    let none_left = reserve
        .available
        .is_some_and(|left| left.0 < reserve.memory.0 / 50);
    third || none_left
}

/// A third of memory is held back, or nothing is left.
pub(in crate::lint) fn min_free_kills(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some((min_free, reserve)) = raised(setting, scope)? else {
        return Ok(None);
    };
    when(is_deadly(reserve), || held(min_free, reserve))
}

/// What takes from MemAvailable as soon as it is written.
const TAKES: [&str; 5] = [
    "vm.nr_hugepages",
    "vm.nr_hugepages_mempolicy",
    "vm.min_free_kbytes",
    "vm.watermark_scale_factor",
    "vm.lowmem_reserve_ratio",
];

/// Next to nothing is left once all of it is written: less than 64 MiB or a fiftieth of memory.
pub(in crate::lint) fn nothing_left(scope: &Scope<'_>) -> Vec<At> {
    let takes = |it: &&Setting| {
        let is_pool = it.name.starts_with("hugetlb.") && it.name.ends_with(".nr_hugepages");
        is_pool || TAKES.contains(&it.name.as_str())
    };
    let settings = scope.settings.iter();
    let mut standing = settings.filter(|it| it.stands && it.by != Writer::Live);
    let Some(setting) = standing.rfind(takes) else {
        return Vec::new();
    };
    let said = left(scope).transpose().map(|said| At {
        text: setting.text,
        line: setting.line,
        said,
    });
    said.into_iter().collect()
}

fn left(scope: &Scope<'_>) -> Result<Option<Said>, Missing> {
    let memory = scope.machine.memory()?;
    let needs = Missing("MemAvailable: /proc/meminfo and /proc/zoneinfo");
    let available = |it: &Snapshot| Some(it.available()?.total.bytes(it.page));
    let now = scope.machine.snapshot().and_then(available).ok_or(needs)?;
    let then = scope.after().and_then(available).ok_or(needs)?;
    let least = Bytes((64 << 20).max(memory.0 / 50));
    when(then < now && then < least, || {
        format!(
            "written now, MemAvailable falls from {now} to {then} of {memory}: what runs here \
             needs the rest, and processes are killed"
        )
    })
}

/// A tenth of memory is held back.
pub(in crate::lint) fn min_free_share(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some((min_free, reserve)) = raised(setting, scope)? else {
        return Ok(None);
    };
    let large = reserve.held.0 >= reserve.memory.0 / 10 && !is_deadly(reserve);
    when(large, || held(min_free, reserve))
}

/// A number of bytes where kibibytes are counted.
pub(in crate::lint) fn min_free_unit(setting: &Setting, _: &Scope<'_>) -> Answer {
    let number = setting.number().unwrap_or(0);
    let whole = number >= 1 << 24 && number.is_multiple_of(1 << 20);
    when(whole, || {
        format!(
            "{number} kB is {}; as bytes it would be {}: the unit is kB",
            Kib(number),
            Bytes(number)
        )
    })
}

/// Less than what the kernel needs to free memory.
pub(in crate::lint) fn min_free_tiny(setting: &Setting, _: &Scope<'_>) -> Answer {
    let number = setting.number().unwrap_or(u64::MAX);
    when(number < 1024 && setting.by != Writer::Live, || {
        format!(
            "{number} kB is less than reclaim itself may need: the machine can lock up under load"
        )
    })
}

/// khugepaged asks for more.
pub(in crate::lint) fn min_free_overruled(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let needs = Missing("/proc/zoneinfo and whether huge pages are on");
    let snapshot = scope.machine.snapshot().ok_or(needs)?;
    let chosen = snapshot.chosen_min_free().filter(|chosen| chosen.is_known);
    let asked = chosen.ok_or(needs)?.khugepaged;
    let number = setting.number().unwrap_or(u64::MAX);
    let Some(asked) = asked
        .map(|asked| *asked.start())
        .filter(|&asked| number < asked)
    else {
        return Ok(None);
    };
    when(setting.by != Writer::Live, || {
        format!(
            "{number} is less than the {asked} that khugepaged asks for: it raises the value \
             again when transparent huge pages are switched or memory is added"
        )
    })
}

/// A step of 5 % of a zone and more.
pub(in crate::lint) fn scale_factor_unit(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let factor = setting.number().unwrap_or(0);
    if factor < LARGE_FACTOR {
        return Ok(None);
    }
    let share = factor as f64 / 100.0;
    let here = high_mark(factor, scope).unwrap_or_default();
    Ok(Some(
        format!("each step between the marks is {share} % of a zone{here}: the unit is 1/10000")
            .into(),
    ))
}

/// The high mark of the largest zone.
fn high_mark(factor: u64, scope: &Scope<'_>) -> Option<String> {
    let min_free = Kib(scope.number("vm.min_free_kbytes").ok()?);
    let zone = scope.machine.largest_zone(min_free, factor).ok()?;
    let page = scope.machine.snapshot()?.page;
    let high = zone.watermarks.high;
    Some(format!(
        "; the high mark of {} is {}, {} of it",
        zone.kind,
        high.bytes(page),
        percent(high.0, zone.managed.0)
    ))
}
