//! Which machine and kernel a study is asked of: its own, or the one at hand.

use mm::capture::Frame;
use mm::catalogue::{self, DefaultRule};
use mm::quantity;
use mm::settings::{Setting, Settings};
use mm::snapshot::Snapshot;
use mm::stock::Stock;
use mm::text::counted;
use mm::units::Bytes;
use study::{AtHand, DiskKind, Study, SwapAtHand};

use crate::calibration;
use crate::cpus::Cpus;
use crate::model_bench::ModelBench;
use crate::own::{maps, why_none};
use crate::refused::Refused;

/// The kernel that is modelled and proved where nothing says which.
pub const DEFAULT_KERNEL: &str = "6.1";

/// The machine that a study is asked of, in place of its own.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// One that is known as a whole.
    pub like: Option<Like>,
    /// RAM, in place of that one's.
    pub memory: Option<Memory>,
    /// CPUs, likewise.
    pub cpus: Option<u32>,
    /// The kind of its first disk, likewise.
    pub disk: Option<DiskKind>,
    /// Its swap, likewise.
    pub swap: Option<SwapAtHand>,
}

/// How much memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// This much.
    Size(Bytes),
    /// A part of what the machine has otherwise, in percent.
    Percent(u32),
}

impl Memory {
    /// In words, and in percent.
    const WORDS: [(&str, u32); 2] = [("half", 50), ("double", 200)];

    /// On a machine with this much.
    #[must_use]
    pub fn of(self, machine: Bytes) -> Bytes {
        match self {
            Self::Size(size) => size,
            Self::Percent(percent) => {
                let of = u128::from(machine.0) * u128::from(percent) / 100;
                Bytes(u64::try_from(of).unwrap_or(u64::MAX))
            }
        }
    }

    /// As it is typed.
    fn typed(self) -> String {
        match self {
            Self::Size(size) => format!("{}M", size.0 >> 20),
            Self::Percent(percent) => format!("{percent}%"),
        }
    }
}

/// A machine of which there is evidence.
#[derive(Clone, Debug)]
pub struct Like {
    /// What it was taken from, as the user named it.
    pub named: String,
    /// The machine.
    pub at_hand: AtHand,
    /// The release of its kernel.
    pub release: Option<String>,
}

/// A study on its machine, and what is to be said of that.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The study.
    pub study: Study,
    /// The release of the kernel at hand.
    pub release: Option<String>,
    /// One line each; none where the study has its own machine.
    pub notes: Vec<String>,
}

/// A machine's memory as users type it.
///
/// # Errors
/// It is no size, or below 64 MiB, and no part of 1 to 10,000 %.
pub fn memory(text: &str) -> Result<Memory, String> {
    let word = Memory::WORDS.iter().find(|(word, _)| *word == text);
    let percent = match (word, text.strip_suffix('%')) {
        (Some((_, percent)), _) => Some(*percent),
        (None, Some(number)) => number.parse().ok().filter(|it| (1..=10_000).contains(it)),
        (None, None) => None,
    };
    let size = || quantity::size(text).ok().filter(|size| size.0 >= 64 << 20);
    let memory = percent
        .map(Memory::Percent)
        .or_else(|| size().map(Memory::Size));
    memory.ok_or_else(|| {
        "give a size of at least 64 MiB, as in 16G, a part as in 75%, half or double".to_owned()
    })
}

/// A kind of disk by its word.
///
/// # Errors
/// There is no such kind.
pub fn disk(text: &str) -> Result<DiskKind, String> {
    let found = DiskKind::WORDS.iter().find(|(word, _)| *word == text);
    let kind = found.map(|(_, kind)| *kind);
    kind.ok_or_else(|| "give hdd, ssd or nvme".to_owned())
}

impl Machine {
    /// The arguments, as they are typed.
    #[must_use]
    pub fn arguments(&self) -> String {
        let like = self
            .like
            .as_ref()
            .map(|like| format!(" --like {}", like.named));
        let memory = self
            .memory
            .map(|memory| format!(" --memory {}", memory.typed()));
        let cpus = self.cpus.map(|cpus| format!(" --cpus {cpus}"));
        let disk = self.disk.map(|kind| format!(" --disk {}", kind.word()));
        let swap = self.swap.map(|swap| match swap {
            SwapAtHand::None => " --swap none".to_owned(),
            SwapAtHand::Disk(size) => format!(" --swap {}M", size.0 >> 20),
            SwapAtHand::Zram(size) => format!(" --swap zram:{}M", size.0 >> 20),
        });
        let all = [like, memory, cpus, disk, swap].into_iter().flatten();
        all.collect()
    }

    /// Puts the study on the machine that is asked for.
    ///
    /// # Errors
    /// The study cannot be put on it.
    pub fn place(&self, study: Study, cpus: Cpus) -> Result<Placed, Refused> {
        let (mut at_hand, release) = match &self.like {
            None => (AtHand::default(), recorded_on(&study)),
            Some(like) => (like.at_hand.clone(), like.release.clone()),
        };
        let own = || study.arms.first().map(|arm| arm.machine.memory);
        let asked = self.memory.zip(at_hand.memory.or_else(own));
        at_hand.memory = asked.map(|(it, has)| it.of(has)).or(at_hand.memory);
        at_hand.cpus = self.cpus.or(at_hand.cpus);
        at_hand.disk = self.disk.or(at_hand.disk);
        if self.swap.is_some() {
            check_swap(&study)?;
            at_hand.swap = self.swap;
        }
        let mut notes = Vec::new();
        if at_hand == AtHand::default() {
            return Ok(Placed {
                study,
                release,
                notes,
            });
        }
        notes.extend(cpus.limit(&mut at_hand));
        notes.extend(keep_what_is_modelled(&study, &mut at_hand)?);
        let placed = study.on(&at_hand)?;
        let like = self.like.as_ref().map(|like| like.named.as_str());
        notes.insert(0, described(&placed, &at_hand, like));
        notes.insert(1, not_its_own(&study));
        Ok(Placed {
            study: placed,
            release,
            notes,
        })
    }
}

/// Refuses another swap where the study has none, and would do the same with it.
fn check_swap(study: &Study) -> Result<(), Refused> {
    let has_swap = study.arms.iter().any(|arm| !arm.machine.swaps.is_empty());
    let why = match &study.observed {
        _ if has_swap => return Ok(()),
        Some(_) if maps(study) => return Ok(()),
        Some(_) => format!(
            "this recording has no anonymous memory{}, so nothing would be swapped",
            why_none(study)
        ),
        None => "the study has no swap; give its file a [[machine.swap]]".to_owned(),
    };
    Err(Refused(format!("--swap: {why}")))
}

/// The kernel on which a study was recorded.
fn recorded_on(study: &Study) -> Option<String> {
    Some(study.observed.as_ref()?.kernel.clone())
}

/// The kernel that is modelled, and why it is this one.
#[must_use]
pub fn kernel(asked: Option<&str>, release: Option<&str>) -> (String, String) {
    match (asked, release) {
        (Some(asked), _) => {
            let line = Stock::named(asked).map_or(asked, |stock| stock.line);
            (line.to_owned(), "as asked".to_owned())
        }
        (None, Some(release)) => {
            let nearest = calibration::nearest(release);
            let why = match release.starts_with(nearest) {
                true => format!("the kernel of the machine, {release}"),
                false => format!("the nearest to {release} that is modelled"),
            };
            (nearest.to_owned(), why)
        }
        (None, None) => {
            let why = "the default, --kernel chooses another".to_owned();
            (DEFAULT_KERNEL.to_owned(), why)
        }
    }
}

/// The machine of a frame, with its kernel's release.
#[must_use]
pub fn of_frame(frame: &Frame, snapshot: &Snapshot) -> (AtHand, Option<String>) {
    let at_hand = AtHand {
        memory: memory_of(snapshot),
        cpus: cpus_of(frame, snapshot),
        disk: disk_of(frame),
        swap: swap_of(snapshot),
        settings: differing(snapshot),
        tunables: tunables(snapshot),
    };
    (at_hand, snapshot.release.clone())
}

/// The pages that are present, else `MemTotal`, in whole MiB.
fn memory_of(snapshot: &Snapshot) -> Option<Bytes> {
    let zones = snapshot
        .zoneinfo
        .iter()
        .flat_map(|zoneinfo| &zoneinfo.zones);
    let present = zones.fold(0_u64, |sum, zone| sum.saturating_add(zone.present.0));
    let present = present.saturating_mul(snapshot.page.bytes());
    let total = snapshot
        .meminfo
        .as_ref()?
        .get("MemTotal")?
        .0
        .saturating_mul(1024);
    let bytes = present.max(total);
    (bytes > 0).then(|| Bytes(bytes.div_ceil(1 << 20).saturating_mul(1 << 20)))
}

/// The lines `cpuN` of `/proc/stat`, else the lists of a zone.
fn cpus_of(frame: &Frame, snapshot: &Snapshot) -> Option<u32> {
    let lines = frame.file("proc/stat").unwrap_or_default().lines();
    let is_cpu = |line: &&str| {
        let rest = line.strip_prefix("cpu");
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let zones = snapshot
        .zoneinfo
        .iter()
        .flat_map(|zoneinfo| &zoneinfo.zones);
    let lists = zones.map(|zone| zone.pagesets.len()).max().unwrap_or(0);
    let cpus = match lines.filter(is_cpu).count() {
        0 => lists,
        cpus => cpus,
    };
    u32::try_from(cpus).ok().filter(|cpus| *cpus > 0)
}

/// The kind of the first disk that is a device of its own.
fn disk_of(frame: &Frame) -> Option<DiskKind> {
    let rotational = frame.files.iter().filter_map(|(path, text)| {
        let name = path
            .strip_prefix("sys/block/")?
            .strip_suffix("/queue/rotational")?;
        let is_virtual = ["loop", "zram", "ram", "dm-", "md", "sr", "fd"];
        let is_virtual = is_virtual.iter().any(|prefix| name.starts_with(prefix));
        (!is_virtual).then_some((name, text.trim()))
    });
    let (name, rotational) = rotational.into_iter().next()?;
    Some(match rotational {
        "1" => DiskKind::Hdd,
        _ if name.starts_with("nvme") => DiskKind::Nvme,
        _ => DiskKind::Ssd,
    })
}

fn swap_of(snapshot: &Snapshot) -> Option<SwapAtHand> {
    let areas = &snapshot.swaps.as_ref()?.areas;
    let size = areas
        .iter()
        .fold(0_u64, |sum, area| sum.saturating_add(area.size.0));
    let size = Bytes(size.saturating_mul(1024));
    let zram = areas.iter().all(|area| area.path.contains("zram"));
    Some(match (areas.is_empty(), zram) {
        (true, _) => SwapAtHand::None,
        (false, true) => SwapAtHand::Zram(size),
        (false, false) => SwapAtHand::Disk(size),
    })
}

/// The settings of the groups that a study's machine may have; pools of huge pages are a part of
/// the machine that no study has.
fn tunables(snapshot: &Snapshot) -> std::collections::BTreeMap<String, String> {
    let of_a_study = |name: &str| {
        let group = ["vm.", "thp.", "lru_gen."]
            .iter()
            .any(|group| name.starts_with(group));
        group && !name.contains("hugepages")
    };
    let known = snapshot
        .tunables
        .iter()
        .filter(|(name, _)| of_a_study(name));
    known
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

fn differing(snapshot: &Snapshot) -> Settings {
    let tunables = tunables(snapshot).into_iter();
    let differs = tunables.filter(|(name, value)| {
        let Some(tunable) = catalogue::find(name) else {
            return false;
        };
        // Of a pair the one that rules is set; 0 says that it is the other.
        let is_off = value == "0" && tunable.partner.is_some();
        match tunable.default {
            _ if is_off => false,
            DefaultRule::Fixed(default) => value != default,
            DefaultRule::Rule(_) => name == "vm.min_free_kbytes",
            DefaultRule::Action => false,
            DefaultRule::Partner => value != "0",
        }
    });
    let settings = differs.map(|(tunable, value)| Setting { tunable, value });
    Settings(settings.collect())
}

/// Leaves out the settings that the model does not have; a line names them.
///
/// # Errors
/// The study has no arm.
pub fn keep_what_is_modelled(study: &Study, at_hand: &mut AtHand) -> Result<Vec<String>, Refused> {
    let bench = ModelBench::new(calibration::built_in(DEFAULT_KERNEL)?);
    let first = study
        .arms
        .first()
        .ok_or_else(|| Refused("the study has no arm".to_owned()))?;
    let scenario = study.scenario(&first.name, 1)?;
    let is_modelled = |setting: &Setting| {
        let mut scenario = scenario.clone();
        scenario.base = Settings(vec![setting.clone()]);
        scenario.arm_settings = Settings::default();
        catalogue::check(setting).is_ok() && bench.check(&scenario).is_ok()
    };
    let all = std::mem::take(&mut at_hand.settings.0).into_iter();
    let (kept, lacking): (Vec<Setting>, Vec<Setting>) = all.partition(is_modelled);
    at_hand.settings = Settings(kept);
    let lacking: Vec<String> = lacking.into_iter().map(shown).collect();
    Ok(match lacking.is_empty() {
        true => Vec::new(),
        false => vec![format!("not modelled, left out: {}", lacking.join(", "))],
    })
}

fn shown(setting: Setting) -> String {
    format!("{} = {}", setting.tunable, setting.value)
}

/// "on a machine like FILE: 62.8 GiB, 8 CPUs, no swap, ssd; vm.swappiness = 10".
fn described(study: &Study, at_hand: &AtHand, like: Option<&str>) -> String {
    let Some(arm) = study.arms.first() else {
        return String::new();
    };
    let machine = &arm.machine;
    let cpus = counted(machine.cpus, "CPU");
    let swap: u64 = machine.swaps.iter().map(|swap| swap.size.0).sum();
    let swap = match (swap, at_hand.swap) {
        (0, _) => "no swap".to_owned(),
        (size, Some(SwapAtHand::Zram(_))) => format!("{} of swap in zram", Bytes(size)),
        (size, _) => format!("{} of swap", Bytes(size)),
    };
    let disk = at_hand
        .disk
        .map(|kind| format!(", {} as is usual", kind.word()));
    let like = like.map_or_else(String::new, |like| format!(" like {like}"));
    let settings: Vec<String> = at_hand.settings.0.iter().cloned().map(shown).collect();
    let settings = match settings.is_empty() {
        true => String::new(),
        false => format!("; {}", settings.join(", ")),
    };
    let disk = disk.unwrap_or_default();
    format!(
        "on a machine{like}: {}, {cpus}, {swap}{disk}{settings}",
        machine.memory
    )
}

/// What of the study is another's.
fn not_its_own(study: &Study) -> String {
    if study.observed.is_some() {
        return "the load is as it was recorded, and what was used of the memory then is used"
            .to_owned();
    }
    let machine = study.arms.first().map(|arm| &arm.machine);
    let memory = machine.map_or(Bytes(0), |machine| machine.memory);
    let cpus = machine.map_or(0, |machine| machine.cpus);
    format!(
        "the study was made for {memory} and {cpus} CPU: its files and buffers grow or shrink with \
         the memory, and its author's answer, which holds for that machine, is left out"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> Frame {
        let mut frame = Frame::default();
        let mut put = |path: &str, text: &str| frame.files.insert(path.to_owned(), text.to_owned());
        put("proc/meminfo", "MemTotal: 16000000 kB\n");
        put(
            "proc/stat",
            "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nctxt 1\n",
        );
        put(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/zram0 partition 8000000 0 5\n",
        );
        put("proc/sys/vm/swappiness", "10\n");
        put("proc/sys/vm/dirty_ratio", "20\n");
        put("proc/sys/vm/dirty_bytes", "0\n");
        put("sys/block/loop0/queue/rotational", "1\n");
        put("sys/block/nvme0n1/queue/rotational", "0\n");
        frame
    }

    #[test]
    fn memory_is_a_size_or_a_part_of_what_the_machine_has() {
        let has = Bytes(10 << 30);
        let of = |text: &str| memory(text).map(|it| it.of(has).0 >> 20);
        assert_eq!(of("16G"), Ok(16 << 10));
        assert_eq!(
            (of("half"), of("75%"), of("double")),
            (Ok(5120), Ok(7680), Ok(20480))
        );
        for text in ["63M", "0%", "-5%", "10001%", "%", "Half", "", "16 potatoes"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_capture_says_what_machine_it_is_of() {
        let frame = capture();
        let snapshot = Snapshot::parse(&frame);
        assert_eq!(memory_of(&snapshot), Some(Bytes(15625 << 20)));
        assert_eq!(cpus_of(&frame, &snapshot), Some(2));
        assert_eq!(disk_of(&frame), Some(DiskKind::Nvme));
        assert_eq!(
            swap_of(&snapshot),
            Some(SwapAtHand::Zram(Bytes(8_192_000_000)))
        );
        let settings: Vec<String> = differing(&snapshot).0.into_iter().map(shown).collect();
        assert_eq!(
            settings,
            ["vm.swappiness = 10"],
            "the others are the kernel's defaults"
        );
    }

    #[test]
    fn the_nearest_kernel_is_modelled() {
        let (kernel, why) = kernel(None, Some("5.15.0-91-generic"));
        assert_eq!(kernel, "5.10");
        assert_eq!(why, "the nearest to 5.15.0-91-generic that is modelled");
    }
}
