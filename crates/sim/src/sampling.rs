//! Machines that are too large to simulate page by page: one simulated page stands for `scale`
//! real ones.
//!
//! The run is a miniature: files, regions, swap areas and zones have a scale-th of their pages,
//! and what happens to a simulated page happens to `scale` real ones, one after the other: its
//! CPU time, its disk's service time and its counts are multiplied. Blocks, batches and
//! readahead windows stay as they are, so neighbours stay neighbours. Where the kernel's
//! formulas take a size, they get the real one; times between events of the kernel's own
//! (ticks, sleeps, limits) are the real ones too.
//!
//! Which pages stand for the others is not left to chance: a sampled block of a Zipf pattern
//! has the summed weight of `scale` blocks of neighbouring ranks ([`scenario::access::Tables`]),
//! scattered over the target by a hash. So exactly a scale-th of the accesses is sampled, which
//! is what the count correction of SHARDS brings about after the fact.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use mm::settings::Settings;
use mm::units::{Bytes, Nanos, PageSize, Pages};
use scenario::Scenario;
use scenario::access::Ahead;
use scenario::calibration::Costs;
use scenario::machine::{Disk, Machine};
use scenario::recording::{Kind, Recorded, Run};
use scenario::workload::{Action, Huge, Pattern, Step, Target};

use crate::error::Error;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zone;
use crate::mm::page_alloc::zone::Zones;
use crate::sched::cpu::Cpu;

/// The largest machine, memory and files together, that is simulated page by page by default.
const EXACT: u64 = 32 << 30;

/// Pages that are simulated at most by default, of memory and files together.
const MOST_PAGES: u64 = 2 << 20;

/// The same where everything is accessed in order: neighbours fare alike, so few tell as much.
const MOST_PAGES_IN_ORDER: u64 = 1 << 18;

/// Pages of memory that are simulated at least by default: fewer are soon all dirty at once.
const FEWEST_PAGES: u64 = 1 << 12;

/// The most real pages that one page may stand for: a page's time and counts stay far from 2^64.
pub const LARGEST: u64 = 1 << 16;

/// State of a simulated page: its word, its links, its frame and its part of a tree node, in bytes.
const STATE: u64 = 14;

/// What is known of a page frame and its neighbours on a list of free pieces, in bytes.
const FRAME: u64 = 10;

/// What is remembered of a page that may be merged, in bytes.
const CANDIDATE: u64 = 16;

/// Bytes that a task remembers of each file of a recording.
const OPEN_FILE: u64 = 128;

/// How many real pages a simulated one stands for unless said otherwise, a power of two: one up to
/// 32 GiB of memory and files; beyond, such that two million pages are simulated at most, or an
/// eighth of that where nothing that may be reclaimed is accessed at random. One too where the
/// scenario has something that is not sampled.
#[must_use]
pub fn automatic(scenario: &Scenario) -> u64 {
    let bytes = memory_and_files(scenario);
    let least = 1 << scenario.recorded.level;
    // What was recorded runs at its own scale: its load is as large as it is, whatever the memory.
    let is_recorded = !scenario.recorded.streams.is_empty();
    if bytes <= EXACT || is_recorded || check(scenario).is_err() {
        return least;
    }
    let pages = bytes / PageSize::FOUR_KIB.bytes();
    let mut processes = scenario.workload.processes.iter();
    let swaps = !scenario.machine.swaps.is_empty();
    let most = match processes.all(|process| is_in_order(&process.steps, swaps)) {
        true => MOST_PAGES_IN_ORDER,
        false => MOST_PAGES,
    };
    let scale = pages.div_ceil(most).checked_next_power_of_two();
    let coarsest = coarsest(scenario.machine.memory);
    scale.unwrap_or(LARGEST).min(coarsest).max(least)
}

/// The most real pages that one page stands for by default, where there is so much memory.
#[must_use]
pub fn coarsest(memory: Bytes) -> u64 {
    let most = (memory.pages_floor(PageSize::FOUR_KIB).0 / FEWEST_PAGES).max(1);
    LARGEST.min(1 << most.ilog2())
}

/// Whether the steps access everything that reclaim may choose from in order.
fn is_in_order(steps: &[Step], swaps: bool) -> bool {
    steps.iter().all(|step| match &step.action {
        Action::Access(access) => {
            let stays = matches!(access.target, Target::Region(_)) && !swaps;
            stays || access.pattern == Pattern::Sequential
        }
        Action::Repeat { steps, .. } => is_in_order(steps, swaps),
        Action::Replay(_) => false,
        _ => true,
    })
}

/// About how much memory the state of the pages takes in a run at this scale: those of files, swap
/// and of all memory that regions may fill, with what is remembered of each that may be merged; and
/// that of the memory's frames.
#[must_use]
pub fn state_size(scenario: &Scenario, scale: u64) -> Bytes {
    let machine = &scenario.machine;
    let swaps = machine.swaps.iter().map(|swap| swap.size.0);
    let all = swaps.fold(memory_and_files(scenario), u64::saturating_add);
    let merged = match scenario.workload.offers_pages() {
        true => machine.memory.0,
        false => 0,
    };
    let pages = |bytes: u64| bytes / PageSize::FOUR_KIB.bytes() / scale.max(1);
    let frames = pages(machine.memory.0) * FRAME;
    let open = match scenario.replays() {
        true => tasks(scenario).saturating_mul(scenario.recorded.files.len() as u64 * OPEN_FILE),
        false => 0,
    };
    Bytes((pages(all) * STATE + frames + pages(merged) * CANDIDATE).saturating_add(open))
}

fn tasks(scenario: &Scenario) -> u64 {
    let processes = scenario.workload.processes.iter();
    processes.map(|process| u64::from(process.count)).sum()
}

fn memory_and_files(scenario: &Scenario) -> u64 {
    let Machine { memory, files, .. } = &scenario.machine;
    let Recorded {
        files: recorded,
        level,
        ..
    } = &*scenario.recorded;
    let recorded = recorded
        .iter()
        .map(|file| file.largest.0.saturating_mul(1 << level));
    let files = files.iter().map(|file| file.size.0).chain(recorded);
    files.fold(memory.0, u64::saturating_add)
}

/// Refuses what sampling does not cover.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Error> {
    if !scenario.workload.cgroups.is_empty() {
        return Err(unsampled("control groups", "workload"));
    }
    for settings in [&scenario.base, &scenario.arm_settings] {
        check_settings(settings, "settings")?;
    }
    for process in &scenario.workload.processes {
        check_steps(&process.steps, &format!("process {}", process.name))?;
    }
    Ok(())
}

fn check_steps(steps: &[Step], place: &str) -> Result<(), Error> {
    steps.iter().try_for_each(|step| match &step.action {
        Action::Replay(replay) if replay.skip > 0 || replay.runs.is_some() => {
            Err(unsampled("a part of a recording", place))
        }
        Action::Map(map) if map.huge == Huge::Hugetlb => Err(unsampled("hugetlb pages", place)),
        Action::Set(settings) => check_settings(&Settings(settings.clone()), place),
        Action::Repeat { steps, .. } => check_steps(steps, place),
        _ => Ok(()),
    })
}

fn check_settings(settings: &Settings, place: &str) -> Result<(), Error> {
    let pool = ["vm.nr_hugepages", "vm.nr_overcommit_hugepages"];
    let mut all = settings.0.iter();
    match all.any(|setting| pool.contains(&setting.tunable.as_str())) {
        true => Err(unsampled("hugetlb pages", place)),
        false => Ok(()),
    }
}

fn unsampled(what: &str, place: &str) -> Error {
    Error::Unsampled {
        what: what.to_string(),
        place: String::from(place),
    }
}

/// The scenario on the miniature: RAM stays what it is, as the kernel's formulas begin with it.
///
/// # Errors
/// A scale that is no power of two up to [`LARGEST`], or something that sampling does not cover.
pub(crate) fn miniature(scenario: &Scenario, scale: u64, costs: &Costs) -> Result<Scenario, Error> {
    if !scale.is_power_of_two() || scale > LARGEST {
        return Err(Error::Scale { scale });
    }
    let least = 1 << scenario.recorded.level;
    if scale < least {
        return Err(Error::Finer { scale, least });
    }
    let mut scenario = scenario.clone();
    if scale == 1 {
        return Ok(scenario);
    }
    check(&scenario)?;
    let machine = &mut scenario.machine;
    machine.disks.iter_mut().for_each(|disk| slow(disk, scale));
    for file in &mut machine.files {
        file.size = part(file.size, scale);
    }
    for swap in &mut machine.swaps {
        swap.size = part(swap.size, scale);
    }
    for _ in scenario.recorded.level..scale.ilog2() {
        let thinned = scenario.recorded.thinned(&|run| own_time(run, costs));
        scenario.recorded = Arc::new(thinned);
    }
    Ok(scenario)
}

/// CPU time of a run on pages that are cached, and dirty if it writes.
#[must_use]
pub fn own_time(run: &Run, costs: &Costs) -> Nanos {
    let page = PageSize::FOUR_KIB.bytes();
    let pages = match run.length {
        0 => 0,
        length => (run.offset + length).div_ceil(page) - run.offset / page,
    };
    let (call, each) = match run.kind {
        Kind::Read => (costs.syscall_ps, costs.cached_read_ps),
        Kind::Write => (costs.write_call_ps, costs.write_ps),
        _ => (0, 0),
    };
    Nanos(pages.saturating_mul(each).saturating_add(call) / 1000)
}

/// CPU time that a page takes besides, which a write makes.
#[must_use]
pub fn new_page_time(costs: &Costs) -> Nanos {
    Nanos((costs.write_in_ps + costs.dirty_ps) / 1000)
}

/// What a request costs is what `scale` of them cost, one after the other.
fn slow(disk: &mut Disk, scale: u64) {
    disk.latency = times(disk.latency, scale);
    disk.seek = times(disk.seek, scale);
    disk.read_bandwidth.0 = (disk.read_bandwidth.0 / scale).max(1);
    disk.write_bandwidth.0 = (disk.write_bandwidth.0 / scale).max(1);
}

/// Multiplies costs, and names those that stay: none is forgotten.
macro_rules! scale {
    ($costs:ident by $scale:ident: $($name:ident)* ; not $($kept:ident)*) => {
        let Costs { $($name,)* $($kept: _),* } = &mut $costs;
        $(*$name = $name.saturating_mul($scale);)*
    };
}

/// CPU time of the elementary operations on a simulated page. A sleep and the start of a process
/// are no matter of pages.
pub(crate) fn costs(costs: &Costs, scale: u64) -> Costs {
    let mut scaled = *costs;
    scale! { scaled by scale:
        loop_ps syscall_ps cached_read_ps activate_ps read_in_ps drop_ps slowpath_ps draw_ps
        lru_add_ps request_ps wait_ps operation_ps load_ps touch_ps anon_fault_ps huge_fault_ps
        anon_free_ps reclaim_file_ps evict_file_ps deactivate_ps rotate_ps swap_out_ps swap_in_ps
        zram_out_ps zram_in_ps map_file_ps map_again_ps unmap_ps direct_ps walk_ps walk_young_ps
        pass_ps pass_disk_ps remote_ps write_call_ps write_ps dirty_ps write_in_ps mkwrite_ps
        writeback_ps written_ps fsync_ps mkclean_ps
        ksm_visit_ps ksm_smart_ps ksm_checksum_ps ksm_item_ps
        ksm_unstable_level_ps ksm_stable_level_ps
        ksm_insert_ps ksm_merge_ps ksm_merge_two_ps ksm_merge_zero_ps ksm_split_ps ksm_skip_ps
        ksm_leave_ps ksm_forget_ps ksm_cow_ps ksm_cow_zero_ps ksm_unmerge_ps ksm_unmerge_zero_ps
        ksm_look_ps noise_ps;
        not sample_ps snapshot_ps watch_ps set_ps ksm_batch_ps ksm_mm_ps fsync_call_ps commit_ps
        sleep_ps
        switch_ps spawn_ps read_done_ps interrupt_ps
    }
    if scale > 1 {
        (scaled.read_done_ps, scaled.interrupt_ps) = (0, 0);
    }
    scaled
}

/// A scale-th of a size, in whole pages.
fn part(size: Bytes, scale: u64) -> Bytes {
    let page = PageSize::FOUR_KIB.bytes();
    Bytes(size.0.div_ceil(scale).div_ceil(page).saturating_mul(page))
}

fn times(span: Nanos, scale: u64) -> Nanos {
    Nanos(span.0.saturating_mul(scale))
}

impl Zone {
    /// A scale-th of the zone.
    fn part(&self, scale: u64) -> Self {
        let mut zone = Self {
            managed: self.managed / scale,
            free: self.free / scale,
            min: self.min / scale,
            low: self.low / scale,
            high: self.high / scale,
            reserve: self.reserve / scale,
            on_lists: self.on_lists / scale,
            ..self.clone()
        };
        zone.pcp = self.pcp.part(scale, zone.low, zone.managed);
        zone.fixed = zone.managed.saturating_sub(zone.free + zone.on_lists);
        zone
    }
}

impl Zones {
    /// Makes each page stand for `scale` of them: before anything has happened.
    pub(crate) fn sample(&mut self, cpu: &mut Cpu, objects: &mut Objects, scale: u64) {
        cpu.scale = scale;
        if scale > 1 {
            self.iter_mut().for_each(|zone| *zone = zone.part(scale));
            objects.sample();
        }
    }
}

impl Cpu {
    /// The real pages that this many stand for.
    pub(crate) fn real(&self, pages: u64) -> Pages {
        Pages(pages.saturating_mul(self.scale))
    }

    /// The simulated pages, rounded, that stand for this many real ones.
    pub(crate) fn sampled(&self, pages: u64) -> u64 {
        match self.scale {
            1 => pages,
            scale => (pages + scale / 2) / scale,
        }
    }

    /// The size on the miniature of a region of this size.
    pub(crate) fn sampled_size(&self, size: Bytes) -> Bytes {
        match self.scale {
            1 => size,
            scale => part(size, scale),
        }
    }

    /// The pause after a simulated operation: the pauses after all those it stands for, and what
    /// falling asleep and waking takes in all but one.
    pub(crate) fn pause(&self, operations: &mut Ahead) -> Nanos {
        let each = (self.costs.sleep_ps + self.costs.switch_ps) / 1000;
        let others = Nanos(each.saturating_mul(self.scale - 1));
        let pauses = (0..self.scale).map(|_| operations.next_pause());
        pauses.fold(others, Nanos::saturating_add)
    }

    /// Events so far. A run of kswapd, and a kill, are what they are; anything else happens to each
    /// page that a simulated one stands for.
    pub(crate) fn real_events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let scale = self.scale;
        self.events.each().map(move |(name, count)| match name {
            "pageoutrun" | "oom_kill" => (name, count),
            "kswapd_low_wmark_hit_quickly" | "kswapd_high_wmark_hit_quickly" => (name, count),
            _ => (name, count.saturating_mul(scale)),
        })
    }
}

/// The bytes of an access that goes at a rate for a time: no more than it can reach.
pub(crate) fn reachable(access: &scenario::workload::Access, amount: Bytes) -> Bytes {
    let Some(limit) = access.time_limit.filter(|_| access.rate > 0) else {
        return amount;
    };
    let operations = u128::from(limit.0) * u128::from(access.rate) / 1_000_000_000 + 1;
    let bytes = operations.saturating_mul(u128::from(access.block.0) * u128::from(access.blocks));
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX).min(amount.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parted_in_whole_pages_and_nothing_vanishes() {
        assert_eq!(part(Bytes(1 << 30), 16), Bytes(64 << 20));
        assert_eq!(part(Bytes(5000), 16), Bytes(4096));
        assert_eq!(part(Bytes(0), 16), Bytes(0));
    }
}
