//! What happens when memory, or a process's mappings, run out.

use crate::fact::Missing;
use crate::lint::rule::{Answer, At, when};
use crate::lint::scope::{Extent, Scope};
use crate::lint::setting::Setting;

/// The kernel's default of `vm.max_map_count`.
const MAP_COUNT: u64 = 65_530;

/// Below this a program that loads a few hundred libraries cannot start.
const FEW_MAPS: u64 = 4096;

/// The machine stops for good.
pub(in crate::lint) fn panic_stays(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(mode) = setting.number().filter(|&mode| mode > 0) else {
        return Ok(None);
    };
    match (scope.standing("kernel.panic"), scope.extent) {
        (Some(panic), _) if panic.value != "0" => return Ok(None),
        (None, Extent::Part | Extent::Plan) => return Err(Missing("kernel.panic")),
        _ => {}
    }
    let what = format!(
        "with {mode} the machine panics when memory runs out, and as kernel.panic is 0 it \
         stays there until someone resets it"
    );
    Ok(Some(what.into()))
}

/// The task that asks is killed, whichever it is.
pub(in crate::lint) fn asking_task(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.number() == Some(1), || {
        "the task that asks for memory is killed, which may be any, not the one that holds most"
            .to_owned()
    })
}

/// Fewer mappings than a larger program needs to start.
pub(in crate::lint) fn map_count_kills(setting: &Setting, _: &Scope<'_>) -> Answer {
    let number = setting.number().unwrap_or(MAP_COUNT);
    when(number < FEW_MAPS, || {
        format!(
            "{number} mappings for each process are too few for a larger program: its next mmap \
             fails; the kernel's default is {MAP_COUNT}"
        )
    })
}

/// Fewer mappings than the kernel allows by itself.
pub(in crate::lint) fn map_count_low(setting: &Setting, _: &Scope<'_>) -> Answer {
    let number = setting.number().unwrap_or(MAP_COUNT);
    when((FEW_MAPS..MAP_COUNT).contains(&number), || {
        format!("{number} mappings for each process; the kernel's default is {MAP_COUNT}")
    })
}

/// Fewer mappings than another file sets, mostly the distribution's.
pub(in crate::lint) fn map_count_down(scope: &Scope<'_>) -> Vec<At> {
    let Some(standing) = scope.standing("vm.max_map_count") else {
        return Vec::new();
    };
    let higher = |other: &&Setting| {
        let same = other.name == standing.name && other.by == standing.by;
        same && other.text != standing.text && other.number() > standing.number()
    };
    let found = scope.settings.iter().find(higher).map(|other| At {
        text: standing.text,
        line: standing.line,
        said: Ok(format!(
            "{} takes back what {} raises to {}",
            standing.value,
            scope.place(other),
            other.value
        )
        .into()),
    });
    found.into_iter().collect()
}
