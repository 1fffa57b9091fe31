//! The tunables of the simulated kernel: their values, and what writing one does.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::capture::Frame;
use mm::catalogue;
use mm::formula::dirty::{self, Amount, Thresholds};
use mm::settings::Setting;
use mm::units::{Bytes, Kib, PageSize, Pages};
use mm::workload::Huge;

use crate::error::Error;
use crate::memory::Memory;

const MIN_FREE: &str = "vm.min_free_kbytes";
const SCALE_FACTOR: &str = "vm.watermark_scale_factor";
const MGLRU: &str = "lru_gen.enabled";
const THP: &str = "thp.enabled";
const DIRTY: &str = "vm.dirty_ratio";
const DIRTY_BYTES: &str = "vm.dirty_bytes";
const BACKGROUND: &str = "vm.dirty_background_ratio";
const BACKGROUND_BYTES: &str = "vm.dirty_background_bytes";

/// What the model has a mechanism for, and the file. Without swap, swappiness decides nothing here
/// as it decides nothing in a kernel.
const KNOWN: [(&str, &str); 9] = [
    (MIN_FREE, "proc/sys/vm/min_free_kbytes"),
    (SCALE_FACTOR, "proc/sys/vm/watermark_scale_factor"),
    ("vm.swappiness", "proc/sys/vm/swappiness"),
    (DIRTY, "proc/sys/vm/dirty_ratio"),
    (DIRTY_BYTES, "proc/sys/vm/dirty_bytes"),
    (BACKGROUND, "proc/sys/vm/dirty_background_ratio"),
    (BACKGROUND_BYTES, "proc/sys/vm/dirty_background_bytes"),
    (MGLRU, "sys/kernel/mm/lru_gen/enabled"),
    (THP, "sys/kernel/mm/transparent_hugepage/enabled"),
];

/// Present values, and those from before the first write.
#[derive(Clone, Debug)]
pub(crate) struct Tunables {
    values: BTreeMap<&'static str, String>,
    /// Name and value before the run's first write, in order of those writes.
    before: Vec<(&'static str, String)>,
}

/// When a fault gets a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HugePages {
    Always,
    Advised,
    Never,
}

impl Tunables {
    /// The values of a kernel after boot.
    pub(crate) fn new(boot: &Frame) -> Self {
        let value = |(name, path)| {
            let tunable = catalogue::find(name)?;
            Some((name, tunable.value_in(boot.file(path)?)))
        };
        Self {
            values: KNOWN.into_iter().filter_map(value).collect(),
            before: Vec::new(),
        }
    }

    /// Writes a setting of the run's base, which stays when the defaults come back. One that this
    /// kernel lacks is skipped, as a bench does.
    pub(crate) fn write_base(
        &mut self,
        setting: &Setting,
        memory: &mut Memory,
    ) -> Result<(), Error> {
        let name = known(setting)?;
        match self.values.contains_key(name) {
            true => self.set(name, &setting.value, memory),
            false => Ok(()),
        }
    }

    /// Writes a setting during the run, and remembers the value from before the first such write.
    pub(crate) fn write(&mut self, setting: &Setting, memory: &mut Memory) -> Result<(), Error> {
        let name = known(setting)?;
        let Some(old) = self.values.get(name).cloned() else {
            return Ok(());
        };
        if !self.before.iter().any(|(written, _)| *written == name) {
            self.before.push((name, old));
        }
        self.set(name, &setting.value, memory)
    }

    /// Writes back the values from before the first write, last first.
    pub(crate) fn restore(&mut self, memory: &mut Memory) -> Result<(), Error> {
        while let Some((name, value)) = self.before.pop() {
            self.set(name, &value, memory)?;
        }
        Ok(())
    }

    /// Refuses to run where the kernel's multi-generational lists are on: they are not modelled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.values.get(MGLRU) {
            Some(value) if !is_off(value) => Err(Error::Unsupported {
                what: String::from("MGLRU"),
                place: alloc::format!("{MGLRU} = {value} after boot; set it to 0 for all arms"),
            }),
            _ => Ok(()),
        }
    }

    /// The files, for a snapshot.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        KNOWN.into_iter().filter_map(|(name, path)| {
            let value = self.values.get(name)?;
            let shown = if name == THP {
                thp_choices(value)
            } else {
                value.clone()
            };
            Some((path, alloc::format!("{shown}\n")))
        })
    }

    /// Whether a fault in such a region asks for a huge page.
    pub(crate) fn gives_huge_pages(&self, region: Huge) -> bool {
        match self.huge_pages() {
            HugePages::Always => region != Huge::Never,
            HugePages::Advised => region == Huge::Advise,
            HugePages::Never => false,
        }
    }

    /// The dirty thresholds, from what memory there is.
    pub(crate) fn dirty_thresholds(&self, memory: &Memory) -> Thresholds {
        let page = PageSize::FOUR_KIB;
        let free = Pages(memory.free_pages());
        let file = Pages(memory.file_pages());
        let dirtyable = dirty::dirtyable(free, memory.totalreserve(), file);
        let amount = |ratio, bytes| {
            Amount::from_pair(
                self.number(ratio).unwrap_or(0),
                Bytes(self.number(bytes).unwrap_or(0)),
            )
        };
        let background = amount(BACKGROUND, BACKGROUND_BYTES);
        dirty::thresholds(background, amount(DIRTY, DIRTY_BYTES), dirtyable, page)
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
        let values = catalogue::find(name).map(|tunable| tunable.values);
        if let Some(values) = values.filter(|values| !values.contain(value)) {
            return refuse(alloc::format!("expected {values}"));
        }
        if name == MGLRU && !is_off(value) {
            return refuse("the model has the classic lists only; set it to 0".to_string());
        }
        self.values.insert(name, value.to_string());
        self.drop_partner(name, value);
        if name == MIN_FREE || name == SCALE_FACTOR {
            let min_free = Kib(self.number(MIN_FREE).unwrap_or(0));
            memory.set_watermarks(min_free, self.number(SCALE_FACTOR).unwrap_or(10));
        }
        Ok(())
    }

    /// Writing one of a bytes/ratio pair zeroes the other.
    fn drop_partner(&mut self, name: &str, value: &str) {
        let pairs = [(DIRTY, DIRTY_BYTES), (BACKGROUND, BACKGROUND_BYTES)];
        let pairs = pairs.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
        for (_, partner) in pairs.filter(|(one, _)| *one == name && value != "0") {
            self.values.insert(partner, String::from("0"));
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
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

/// The name of a tunable that the model has a mechanism for.
fn known(setting: &Setting) -> Result<&'static str, Error> {
    let found = KNOWN.iter().find(|(name, _)| *name == setting.tunable);
    found
        .map(|&(name, _)| name)
        .ok_or_else(|| Error::Unsupported {
            what: alloc::format!("the tunable {}", setting.tunable),
            place: setting.to_string(),
        })
}

/// Whether a text for the multi-generational lists switches them off.
fn is_off(value: &str) -> bool {
    catalogue::find(MGLRU).is_some_and(|tunable| tunable.means_same(value, "0"))
}

fn thp_choices(value: &str) -> String {
    let show = |word: &&str| match value == *word {
        true => alloc::format!("[{word}]"),
        false => word.to_string(),
    };
    let words: Vec<String> = ["always", "madvise", "never"].iter().map(show).collect();
    words.join(" ")
}
