//! The tunables of the simulated kernel: their values, and what writing one does.

mod known;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::capture::Frame;
use mm::catalogue::{self, Tunable};
use mm::formula::dirty::Amount;
use mm::formula::min_free::for_huge_pages;
use mm::rules::{OLDER, Older};
use mm::settings::Setting;
use mm::units::{Bytes, Kib, Nanos, PageSize, Pages};
use scenario::Scenario;

use crate::error::Error;
use crate::machine::refusals::applies_arm;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_writeback::{Bounded, Limits};
use crate::mm::parts::Memory;
use crate::rules::{Floors, HugePages};
use crate::sched::timer::TICK;
use known::*;

/// Present values, and those from before the first write.
#[derive(Clone, Debug)]
pub(crate) struct Tunables {
    values: BTreeMap<&'static str, String>,
    /// Names and values before the run's first write of each.
    before: Vec<(&'static str, String)>,
    /// The machine's disks, by name, and what their bounds were before the first write.
    disks: Vec<String>,
    bounds_before: Option<Vec<Bounded>>,
}

impl Tunables {
    /// The values of a kernel after boot, on a machine with these disks.
    pub(crate) fn new(boot: &Frame, disks: Vec<String>) -> Self {
        let value = |(name, path)| {
            let tunable = catalogue::find(name)?;
            Some((name, tunable.value_in(boot.file(path)?)))
        };
        let variants = variants().map(|(name, value)| (name, String::from(value)));
        Self {
            values: KNOWN
                .into_iter()
                .filter_map(value)
                .chain(variants)
                .collect(),
            before: Vec::new(),
            disks,
            bounds_before: None,
        }
    }

    /// Lets the values of the tunables that reclaim reads take effect.
    pub(crate) fn begin(&self, memory: &mut Memory) {
        self.take_effect(SWAPPINESS, memory);
        for (name, value) in self.values.iter().filter(|(name, _)| is_of_ksm(name)) {
            // What a kernel boots with it does not refuse.
            let _ = memory.write_ksm(name, value);
        }
    }

    /// Writes what a scenario sets before its run: the base, and the arm's settings where the
    /// workload does not write them itself.
    pub(crate) fn write_initial(
        &mut self,
        scenario: &Scenario,
        memory: &mut Memory,
    ) -> Result<(), Error> {
        for setting in &scenario.base.0 {
            self.write_base(setting, memory)?;
        }
        match applies_arm(&scenario.workload) {
            true => Ok(()),
            false => self.write_all(&scenario.arm_settings.0, memory),
        }
    }

    /// Writes a setting of the run's base, which stays when the defaults come back. One that this
    /// kernel lacks is skipped, as a bench does.
    fn write_base(&mut self, setting: &Setting, memory: &mut Memory) -> Result<(), Error> {
        if let Some((disk, file)) = self.of_disk(setting)? {
            return set_bdi(disk, file, setting, memory);
        }
        let name = known(setting)?;
        match self.values.contains_key(name) {
            true => self.set(name, &setting.value, memory),
            false => Ok(()),
        }
    }

    /// Writes a setting during the run, and remembers the value from before the first such write.
    /// One that this kernel lacks is refused: the run would not be the one that was asked for.
    pub(crate) fn write(&mut self, setting: &Setting, memory: &mut Memory) -> Result<(), Error> {
        if let Some((disk, file)) = self.of_disk(setting)? {
            self.bounds_before
                .get_or_insert_with(|| memory.writeback.bounds());
            return set_bdi(disk, file, setting, memory);
        }
        let name = known(setting)?;
        if !self.values.contains_key(name) {
            return Err(Error::NoTunable {
                tunable: setting.tunable.clone(),
                value: setting.value.clone(),
            });
        }
        self.remember(name);
        let partner = catalogue::find(name).and_then(|tunable| tunable.partner);
        let partner = KNOWN.iter().find(|(known, _)| Some(*known) == partner);
        partner
            .into_iter()
            .for_each(|(name, _)| self.remember(name));
        self.set(name, &setting.value, memory)
    }

    /// Writes settings one after the other ([`Self::write`]).
    pub(crate) fn write_all(
        &mut self,
        settings: &[Setting],
        memory: &mut Memory,
    ) -> Result<(), Error> {
        let mut settings = settings.iter();
        settings.try_for_each(|setting| self.write(setting, memory))
    }

    /// Brings back the values from before the first write; of a bytes/ratio pair both.
    pub(crate) fn restore(&mut self, memory: &mut Memory) {
        for (name, value) in core::mem::take(&mut self.before) {
            if is_of_ksm(name) && memory.write_ksm(name, &value).is_err() {
                // The kernel refuses it for the time being: the present one stays.
                continue;
            }
            self.change(name, value, memory);
        }
        let bounds = self.bounds_before.take().unwrap_or_default();
        for (device, bounded) in memory.writeback.devices.iter_mut().zip(bounds) {
            device.throttle.bounded = bounded;
        }
    }

    /// The disk and the file that a setting names, where it is one of a disk.
    fn of_disk(&self, setting: &Setting) -> Result<Option<(usize, &'static str)>, Error> {
        let Some(named) = catalogue::named(&setting.tunable) else {
            return Ok(None);
        };
        let Some(name) = named.device() else {
            return Ok(None);
        };
        let disk = self.disks.iter().position(|disk| disk == name);
        let disk = disk.ok_or_else(|| Error::Unknown {
            what: alloc::format!("disk {name}"),
            place: setting.to_string(),
        })?;
        Ok(Some((disk, named.tunable.kernel_name())))
    }

    fn remember(&mut self, name: &'static str) {
        let is_known = self.before.iter().any(|(written, _)| *written == name);
        if let Some(old) = self.values.get(name).filter(|_| !is_known) {
            self.before.push((name, old.clone()));
        }
    }

    /// The text of a tunable.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// What has to be written to go back from another value of a tunable: of two that exclude each
    /// other the one that counts. `None` where there is no such tunable.
    pub(crate) fn before(&self, tunable: &str, memory: &Memory) -> Option<Setting> {
        let named = catalogue::named(tunable)?;
        if let Some(device) = named.device() {
            let disk = self.disks.iter().position(|disk| disk == device)?;
            let file = named.tunable.kernel_name();
            let value = memory.writeback.bdi(disk, file).to_string();
            let tunable = tunable.to_string();
            return Some(Setting { tunable, value });
        }
        let counts = |name: &&str| self.value(name).is_some_and(|value| value != "0");
        let partner = named.tunable.partner.filter(counts);
        let name = partner.unwrap_or(tunable);
        let value = self.value(name)?.to_string();
        let tunable = name.to_string();
        Some(Setting { tunable, value })
    }

    /// The files, for a snapshot.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        KNOWN.into_iter().filter_map(|(name, path)| {
            let value = self.values.get(name)?;
            let shown = match name {
                THP => choices(&["always", "madvise", "never"], value),
                ADVISOR => choices(&["none", "scan-time"], value),
                MGLRU => alloc::format!("{:#06x}", lru_gen_bits(value)),
                _ => value.clone(),
            };
            Some((path, alloc::format!("{shown}\n")))
        })
    }

    fn set(&mut self, name: &'static str, value: &str, memory: &mut Memory) -> Result<(), Error> {
        let refuse = |why| {
            let (tunable, value) = (name.to_string(), value.to_string());
            Err(Error::Setting {
                tunable,
                value,
                why,
            })
        };
        let tunable = catalogue::find(name).filter(|tunable| tunable.taken(value).is_none());
        if let Some(Tunable { values, .. }) = tunable {
            return refuse(alloc::format!("expected {values}"));
        }
        let older = OLDER.iter().find(|older| older.name == name);
        let older = older.filter(|_| value != Older::NONE).map(Older::values);
        if let Some(values) = older.filter(|known| !known.iter().any(|one| one == value)) {
            let (values, none) = (values.join("\", \""), Older::NONE);
            return refuse(alloc::format!("expected \"{values}\" or \"{none}\""));
        }
        if is_of_ksm(name)
            && let Err(why) = memory.write_ksm(name, value)
        {
            return refuse(why);
        }
        self.drop_partner(name, value);
        if name == THP && value != "never" {
            self.raise_min_free(memory);
        }
        self.change(name, value.to_string(), memory);
        Ok(())
    }

    /// Gives a tunable this value. The dirty limits set the rate limit again only where the value
    /// is another one (`dirty_ratio_handler`, `dirty_bytes_handler`).
    fn change(&mut self, name: &'static str, value: String, memory: &mut Memory) {
        let is_another = self.values.get(name) != Some(&value);
        self.values.insert(name, value);
        self.take_effect(name, memory);
        if is_another && [DIRTY, DIRTY_BYTES].contains(&name) {
            let (cpu, zones) = (&memory.cpu, &memory.zones);
            memory.writeback.set_dirty_ratelimit(cpu, zones);
        }
    }

    /// khugepaged starts when huge pages are allowed, and raises the memory that is kept free
    /// (`set_recommended_min_free_kbytes`).
    fn raise_min_free(&mut self, memory: &mut Memory) {
        let zones = memory.zones.len() as u64;
        let buffer = memory.zones.iter();
        let buffer = buffer
            .map(|zone| zone.managed.saturating_sub(zone.high))
            .sum();
        let pageblock = Pages(HUGE_PAGES);
        let wanted = for_huge_pages(zones, pageblock, Pages(buffer), PageSize::FOUR_KIB);
        if wanted.0 > self.number(MIN_FREE).unwrap_or(0) {
            self.remember(MIN_FREE);
            self.values.insert(MIN_FREE, wanted.0.to_string());
            self.take_effect(MIN_FREE, memory);
        }
    }

    /// What the kernel computes again when this tunable is written.
    fn take_effect(&self, name: &str, memory: &mut Memory) {
        if name == MIN_FREE || name == SCALE_FACTOR {
            let min_free = Kib(self.number(MIN_FREE).unwrap_or(0));
            let scale_factor = self.scale_factor();
            memory
                .zones
                .set_watermarks(&memory.cpu, min_free, scale_factor);
        }
        if name == NR_HUGEPAGES {
            memory.resize_hugetlb(self.number(NR_HUGEPAGES).unwrap_or(0));
        }
        self.limit_dirty_pages(memory);
        memory.zones.hugetlb.overcommit = self.number(OVERCOMMIT_HUGEPAGES).unwrap_or(0);
        let number = |name, default| self.number(name).unwrap_or(default);
        memory.cpu.rules.swappiness = number(SWAPPINESS, 60);
        memory.cpu.rules.boost_factor = number(BOOST_FACTOR, 15_000);
        memory.cpu.rules.page_cluster = number(PAGE_CLUSTER, 3).min(31) as u32;
        memory.cpu.rules.huge_pages = self.huge_pages();
        memory.cpu.rules.oom_kill_allocating_task = number(OOM_KILL_ALLOCATING, 0) != 0;
        for older in OLDER {
            let value = self.values.get(older.name).map_or("", String::as_str);
            let mechanisms = &mut memory.cpu.rules.mechanisms;
            older
                .of(value)
                .for_each(|(it, has)| mechanisms.set(it, has));
        }
        self.switch_lru_gen(memory);
        memory.cpu.rules.floors = match self.number(PROTECTION) {
            Some(1) => Floors {
                anon_min: number(ANON_MIN, 0),
                clean_low: number(CLEAN_LOW, 0),
                clean_min: number(CLEAN_MIN, 0),
            },
            _ => Floors::default(),
        };
    }

    fn limit_dirty_pages(&self, memory: &mut Memory) {
        let number = |name, default| self.number(name).unwrap_or(default);
        let amount = |ratio, bytes| Amount::from_pair(number(ratio, 0), Bytes(number(bytes, 0)));
        let centisecs = |name, default| number(name, default).saturating_mul(Nanos::SECOND.0 / 100);
        memory.writeback.limits = Limits {
            background: amount(BACKGROUND, BACKGROUND_BYTES),
            dirty: amount(DIRTY, DIRTY_BYTES),
            expire: Nanos(centisecs(EXPIRE, 3000)),
            interval: centisecs(INTERVAL, 500) / TICK.0,
        };
    }

    /// The components without the LRU itself are kept in mind, but do nothing.
    fn switch_lru_gen(&self, memory: &mut Memory) {
        let bits = self
            .values
            .get(MGLRU)
            .map_or(0, |value| lru_gen_bits(value));
        memory.lruvecs.set_lru_gen_enabled(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            bits & 1 != 0,
        );
        memory.cpu.rules.lru_gen.walks = bits & 2 != 0;
        memory.cpu.rules.lru_gen.looks_above = bits & 4 != 0;
        memory.cpu.rules.lru_gen.min_ttl = Nanos(self.number(MIN_TTL).unwrap_or(0) * 1_000_000);
    }

    /// Writing one of a bytes/ratio pair zeroes the other.
    fn drop_partner(&mut self, name: &str, value: &str) {
        let pairs = [(DIRTY, DIRTY_BYTES), (BACKGROUND, BACKGROUND_BYTES)];
        let pairs = pairs.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
        for (_, partner) in pairs.filter(|(one, _)| *one == name && value != "0") {
            self.values.insert(partner, String::from("0"));
        }
    }

    /// `vm.watermark_scale_factor`, the kernel's own where nobody set it.
    pub(crate) fn scale_factor(&self) -> u64 {
        self.number(SCALE_FACTOR).unwrap_or(10)
    }

    /// The number that a tunable is set to.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.values.get(name)?.parse().ok()
    }

    fn huge_pages(&self) -> HugePages {
        match self.values.get(THP).map(String::as_str) {
            Some("always") => HugePages::Always,
            Some("madvise") => HugePages::Advised,
            _ => HugePages::Never,
        }
    }
}

/// Writes a bound of a disk.
fn set_bdi(disk: usize, file: &str, setting: &Setting, memory: &mut Memory) -> Result<(), Error> {
    let value = setting.value.parse().unwrap_or(0);
    memory
        .writeback
        .set_bdi(disk, file, value)
        .map_err(|why| Error::Setting {
            tunable: setting.tunable.clone(),
            value: setting.value.clone(),
            why,
        })
}

/// The name of a tunable that the model has a mechanism for.
fn known(setting: &Setting) -> Result<&'static str, Error> {
    let mut known = KNOWN.into_iter().chain(variants());
    let found = known.find(|(name, _)| *name == setting.tunable);
    found
        .map(|(name, _)| name)
        .ok_or_else(|| Error::Unsupported {
            what: alloc::format!("the tunable {}", setting.tunable),
            place: setting.to_string(),
        })
}

/// The components of the multi-generation LRU that a text switches on: a number, in hexadecimal
/// after `0x`, or a letter for all or none.
fn lru_gen_bits(value: &str) -> u64 {
    match value.split_at_checked(2) {
        Some(("0x", digits)) => u64::from_str_radix(digits, 16).unwrap_or(0),
        _ if value.starts_with(['y', 'Y']) => 7,
        _ => value.parse().unwrap_or(0),
    }
}

/// All words of a choice, the one that is chosen in brackets.
fn choices(words: &[&str], chosen: &str) -> String {
    let show = |word: &&str| match chosen == *word {
        true => alloc::format!("[{word}]"),
        false => word.to_string(),
    };
    let words: Vec<String> = words.iter().map(show).collect();
    words.join(" ")
}

/// Whether a tunable is one that ksmd reads.
fn is_of_ksm(name: &str) -> bool {
    name.starts_with(crate::mm::ksm::PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::workload::Huge;

    fn tunables() -> (Tunables, Memory) {
        let mut boot = Frame::default();
        for (path, text) in [
            ("proc/sys/vm/dirty_ratio", "20\n"),
            ("proc/sys/vm/dirty_bytes", "0\n"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            ),
        ] {
            boot.files.insert(path.to_string(), text.to_string());
        }
        let tunables = Tunables::new(&boot, Vec::new());
        (tunables, Memory::with_zone(1000, 10))
    }

    fn setting(tunable: &str, value: &str) -> Setting {
        let (tunable, value) = (tunable.to_string(), value.to_string());
        Setting { tunable, value }
    }

    #[test]
    fn writing_one_of_a_pair_zeroes_its_partner_and_restoring_brings_it_back() {
        let (mut tunables, mut memory) = tunables();
        let bytes = setting(DIRTY_BYTES, "4096000");
        tunables.write(&bytes, &mut memory).expect("a value");
        assert_eq!(
            (tunables.number(DIRTY), tunables.number(DIRTY_BYTES)),
            (Some(0), Some(4_096_000))
        );
        let ratio = setting(DIRTY, "40");
        tunables.write(&ratio, &mut memory).expect("a value");
        assert_eq!(
            (tunables.number(DIRTY), tunables.number(DIRTY_BYTES)),
            (Some(40), Some(0))
        );
        tunables.restore(&mut memory);
        let pair = (tunables.number(DIRTY), tunables.number(DIRTY_BYTES));
        assert_eq!(pair, (Some(20), Some(0)));
    }

    #[test]
    fn a_tunable_that_the_kernel_lacks_is_refused_in_an_arm_and_skipped_in_the_base() {
        let (mut tunables, mut memory) = tunables();
        let lacking = setting(MGLRU, "0");
        assert_eq!(tunables.write_base(&lacking, &mut memory), Ok(()));
        let refused = tunables
            .write(&lacking, &mut memory)
            .expect_err("it is not there");
        assert!(matches!(refused, Error::NoTunable { .. }), "{refused}");
    }

    #[test]
    fn allowing_huge_pages_raises_the_memory_that_is_kept_free() {
        let (mut tunables, mut memory) = tunables();
        tunables
            .write(&setting(THP, "always"), &mut memory)
            .expect("a value");
        // Five percent of 985 pages, as eleven pageblocks would be more than that.
        assert_eq!(tunables.number(MIN_FREE), Some(49 * 4));
        tunables
            .write(&setting(THP, "never"), &mut memory)
            .expect("a value");
        assert_eq!(tunables.number(MIN_FREE), Some(49 * 4));
    }

    #[test]
    fn huge_pages_come_as_the_setting_and_the_region_say() {
        let (mut tunables, mut memory) = tunables();
        tunables.begin(&mut memory);
        let gives = |memory: &Memory| {
            let huge_pages = memory.cpu.rules.huge_pages;
            [Huge::System, Huge::Advise, Huge::Never].map(|huge| huge_pages.are_given(huge))
        };
        assert_eq!(gives(&memory), [false, true, false]);
        tunables
            .write(&setting(THP, "always"), &mut memory)
            .expect("a value");
        assert_eq!(gives(&memory), [true, true, false]);
        tunables.restore(&mut memory);
        assert_eq!(gives(&memory), [false, true, false]);
    }
}
