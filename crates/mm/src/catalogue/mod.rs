//! The catalogue of tunables: one ordered table from which validation, help, documentation and the
//! search space come.
//!
//! Tests test the table. Tunables that every block device has for itself stand in a second one, by
//! a pattern: `bdi.DEVICE.max_ratio`. [`named`] finds either kind. Those of control groups are in
//! neither.

mod bdi;
mod ksm;
mod lru_gen;
mod table;
mod thp;
mod vm;
mod zswap;

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use crate::settings::Setting;
use crate::suggest;
use crate::text::shown;

/// A thing that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Its name: group, dot, the kernel's own name; `DEVICE` stands between them where every device
    /// has one.
    pub name: &'static str,
    /// Its file, without the leading slash; `DEVICE` stands in it where every device has one.
    pub path: &'static str,
    /// What the number counts.
    pub unit: Unit,
    /// What may be written.
    pub values: Values,
    /// What the kernel chooses.
    pub default: DefaultRule,
    /// The tunable that is switched off by writing this one, and the other way round.
    pub partner: Option<&'static str>,
    /// Which kernels have it.
    pub kernels: Kernels,
    /// What a bad value can do.
    pub risk: Risk,
    /// What it does, in one sentence.
    pub effect: &'static str,
}

/// What a tunable's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit: a switch, a word, a weight or a level.
    None,
    /// Bytes.
    Bytes,
    /// Kibibytes.
    Kib,
    /// Mebibytes.
    Mib,
    /// Base pages.
    Pages,
    /// Huge pages of the default size.
    HugePages,
    /// Hundredths.
    Percent,
    /// Ten-thousandths.
    Permyriad,
    /// Milliseconds.
    Milliseconds,
    /// Hundredths of a second.
    Centiseconds,
    /// Seconds.
    Seconds,
}

/// What may be written into a tunable's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// An integer, both ends included.
    Integer {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Integers between blanks, as many as the kernel has zones.
    Integers,
    /// Bits, in decimal, in hexadecimal with 0x, or `y` and `n` for all and none.
    Bits {
        /// All known bits.
        all: u64,
    },
    /// One of these words.
    Words(&'static [&'static str]),
    /// `Y` or `N`; `1` and `0` mean the same.
    YesNo,
    /// A word that depends on what the kernel was built with.
    Word,
}

/// What the kernel chooses where nobody sets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultRule {
    /// Always this value.
    Fixed(&'static str),
    /// By a rule, in words.
    Rule(&'static str),
    /// 0: its partner rules.
    Partner,
}

/// Which kernels have a tunable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// All since this version.
    Since(u32, u32),
    /// Only those with this patch.
    Patched(&'static str),
}

/// What a bad value can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Cost some speed, until it is set back.
    Low,
    /// Stall the machine or waste much of its memory.
    Medium,
    /// Make allocations fail and processes be killed.
    High,
}

/// Why a setting cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No tunable has this name.
    #[error("{name}: no such tunable{}", meant(suggestion.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The tunable that may have been meant.
        suggestion: Option<String>,
    },
    /// The tunable does not take this value.
    #[error("{name} = {value}: expected {expected}")]
    Value {
        /// The tunable, as the setting names it.
        name: String,
        /// The value, cut to 60 characters.
        value: String,
        /// What it takes.
        expected: Values,
    },
}

/// Every tunable, group by group.
pub fn all() -> impl Iterator<Item = &'static Tunable> {
    let groups = [
        vm::TABLE,
        thp::TABLE,
        thp::KHUGEPAGED,
        lru_gen::TABLE,
        ksm::TABLE,
        zswap::TABLE,
    ];
    groups.into_iter().flatten()
}

/// A tunable as a setting names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its row.
    pub tunable: &'static Tunable,
    /// The device, where every device has one: a study's disk, or what the kernel calls it.
    pub device: Option<&'a str>,
}

/// Every tunable that each block device has for itself.
pub fn of_devices() -> impl Iterator<Item = &'static Tunable> {
    bdi::TABLE.iter()
}

/// The tunable that a setting names, of the machine or of one device.
#[must_use]
pub fn named(name: &str) -> Option<Named<'_>> {
    let of_machine = find(name).map(|tunable| Named {
        tunable,
        device: None,
    });
    of_machine.or_else(|| {
        let (device, file) = of_device(name)?;
        let tunable = of_devices().find(|tunable| tunable.kernel_name() == file)?;
        let device = Some(device);
        Some(Named { tunable, device })
    })
}

/// The device and the file of a name like `bdi.DEVICE.FILE`.
fn of_device(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix(bdi::GROUP)?.strip_prefix('.')?;
    rest.rsplit_once('.')
        .filter(|(device, _)| !device.is_empty() && !device.contains('/'))
}

/// The tunable of the machine with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Tunable> {
    all().find(|tunable| tunable.name == name)
}

/// The name of the tunable that may have been meant by one that does not exist: one written as a
/// path, one without its group, or one with a slip of the pen.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    if let Some(rest) = name
        .strip_prefix(bdi::GROUP)
        .and_then(|it| it.strip_prefix('.'))
    {
        let (device, file) = rest.rsplit_once('.').unwrap_or((bdi::DEVICE, rest));
        let file = suggest::nearest(file, of_devices().map(Tunable::kernel_name))?;
        return Some(alloc::format!("{}.{device}.{file}", bdi::GROUP));
    }
    nearest_of_machine(name).map(|tunable| tunable.name.into())
}

fn nearest_of_machine(name: &str) -> Option<&'static Tunable> {
    let bare = name.trim().trim_start_matches('/');
    let dotted = bare.replace('/', ".");
    let by_path = |tunable: &&Tunable| tunable.path == bare;
    let by_tail = |tunable: &&Tunable| tunable.name == dotted || tunable.kernel_name() == bare;
    let exact = all().find(by_path).or_else(|| all().find(by_tail));
    exact.or_else(|| {
        let full = suggest::nearest(&dotted, all().map(|tunable| tunable.name));
        let tail = || suggest::nearest(bare, all().map(Tunable::kernel_name));
        let full = full.and_then(find);
        full.or_else(|| tail().and_then(|tail| all().find(|t| t.kernel_name() == tail)))
    })
}

/// Whether a setting can be: its tunable exists and takes its value. Which kernel has the tunable,
/// and whether the value is wise, is asked elsewhere.
///
/// # Errors
/// One line that says which, with the nearest name or the values it takes.
pub fn check(setting: &Setting) -> Result<Named<'_>, SettingError> {
    let unknown = || SettingError::Unknown {
        name: shown(&setting.tunable),
        suggestion: nearest(&setting.tunable),
    };
    let named = named(&setting.tunable).ok_or_else(unknown)?;
    let values = named.tunable.values;
    match values.contain(&setting.value) {
        true => Ok(named),
        false => Err(SettingError::Value {
            name: shown(&setting.tunable),
            value: shown(&setting.value),
            expected: values,
        }),
    }
}

impl Named<'_> {
    /// Its file, without the leading slash, where the device is named as the kernel does.
    #[must_use]
    pub fn path(self) -> String {
        match self.device {
            None => self.tunable.path.into(),
            Some(device) => self.tunable.path.replacen(bdi::DEVICE, device, 1),
        }
    }
}

impl Tunable {
    /// The part of the name before the dot.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.name
            .split_once('.')
            .map_or(self.name, |(group, _)| group)
    }

    /// The part of the name after the last dot: the kernel's own.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or(self.name, |(_, name)| name)
    }

    /// The value that the text of its file shows, as it would be written.
    #[must_use]
    pub fn value_in(&self, text: &str) -> String {
        let text = text.trim_ascii();
        let marked = text
            .split_ascii_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        match (self.values, marked) {
            (Values::Words(_), Some(word)) => word.to_owned(),
            (Values::Integers, _) => {
                let words: alloc::vec::Vec<_> = text.split_ascii_whitespace().collect();
                words.join(" ")
            }
            _ => text.to_owned(),
        }
    }

    /// Whether two texts stand for the same value: `0x0007` and `7`, `[madvise]` and `madvise`.
    #[must_use]
    pub fn means_same(&self, a: &str, b: &str) -> bool {
        let (a, b) = (self.value_in(a), self.value_in(b));
        let numbers = match self.values {
            Values::Bits { all } => bits(&a, all).zip(bits(&b, all)),
            Values::YesNo => yes_no(&a)
                .zip(yes_no(&b))
                .map(|(a, b)| (a.into(), b.into())),
            Values::Integer { .. } => a.parse().ok().zip(b.parse().ok()),
            _ => None,
        };
        numbers.map_or(a == b, |(a, b)| a == b)
    }
}

impl Values {
    /// Whether this text may be written.
    #[must_use]
    pub fn contain(self, text: &str) -> bool {
        let number = |word: &str| {
            let digits = word.bytes().all(|byte| byte.is_ascii_digit());
            word.parse::<u64>().ok().filter(|_| digits)
        };
        match self {
            Self::Integer { min, max } => number(text).is_some_and(|n| (min..=max).contains(&n)),
            Self::Integers => {
                let mut words = text.split_ascii_whitespace().peekable();
                words.peek().is_some() && words.all(|word| number(word).is_some())
            }
            Self::Bits { all } => bits(text, all).is_some_and(|mask| mask & !all == 0),
            Self::Words(words) => words.contains(&text),
            Self::YesNo => yes_no(text).is_some(),
            Self::Word => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_()".contains(c);
                !text.is_empty() && text.len() <= 64 && text.chars().all(plain)
            }
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max: u64::MAX } => write!(f, "an integer of at least {min}"),
            Self::Integer { min, max } => write!(f, "an integer from {min} to {max}"),
            Self::Integers => f.write_str("integers between blanks"),
            Self::Bits { all } => write!(f, "y, n or a bit mask from 0 to {all:#x}"),
            Self::Words([words @ .., last]) => {
                words.iter().try_for_each(|word| write!(f, "{word}, "))?;
                write!(f, "or {last}")
            }
            Self::Words([]) => f.write_str("nothing"),
            Self::YesNo => f.write_str("Y or N"),
            Self::Word => f.write_str("one word"),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Bytes => "bytes",
            Self::Kib => "kB",
            Self::Mib => "MB",
            Self::Pages => "pages",
            Self::HugePages => "huge pages",
            Self::Percent => "%",
            Self::Permyriad => "1/10000",
            Self::Milliseconds => "ms",
            Self::Centiseconds => "1/100 s",
            Self::Seconds => "s",
        })
    }
}

impl fmt::Display for DefaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => f.write_str(value),
            Self::Rule(words) => f.write_str(words),
            Self::Partner => f.write_str("0: its partner rules"),
        }
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Since(major, minor) => write!(f, "since {major}.{minor}"),
            Self::Patched(patch) => write!(f, "with the {patch} patch only"),
        }
    }
}

fn meant(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| alloc::format!("; did you mean {name}?"))
}

fn bits(text: &str, all: u64) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None => match text {
            "y" | "Y" => Some(all),
            "n" | "N" => Some(0),
            digits if digits.starts_with('+') => None,
            digits => digits.parse().ok(),
        },
    }
}

fn yes_no(text: &str) -> Option<bool> {
    match text {
        "Y" | "y" | "1" => Some(true),
        "N" | "n" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
