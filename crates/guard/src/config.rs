//! Which policies are on, and their limits.
//!
//! A configuration is a list of keys and texts, `("floor.clean_min", "15 %")`, as a TOML file with
//! sections says it: whoever reads the file makes the list. A key that occurs several times is a
//! list.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::quantity::{self, QuantityError};
use mm::suggest;
use mm::units::{Bytes, Nanos};

/// What the guard is to do. A policy that is `None` is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// What stays resident.
    pub floor: Option<Floor>,
    /// How large the page cache may become.
    pub ceiling: Option<Ceiling>,
    /// How early reclaim begins.
    pub watermarks: Option<Watermarks>,
    /// How much may be dirty.
    pub writeback: Option<Writeback>,
    /// Samepage merging.
    pub ksm: Option<Ksm>,
    /// A file to which the daemon writes its figures, beside its own, for who collects them.
    pub metrics: Option<String>,
}

/// What stays resident, as le9uo's ratios say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Files that are used are locked up to this amount.
    pub clean_min: Amount,
    /// Below this much anonymous memory nothing is swapped out.
    pub anon_min: Amount,
    /// Paths of files and folders, and units (`unit:NAME`), that come first.
    pub keep: Vec<String>,
    /// The same of what is never locked.
    pub except: Vec<String>,
}

/// How large the page cache may become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// That of the whole machine.
    pub total: Option<Amount>,
    /// That of control groups, by path below the root of the hierarchy.
    pub groups: Vec<(String, Amount)>,
}

/// How early reclaim begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// The most that may lie between the min and the high watermark, in thousandths of the memory
    /// (1 to 1000).
    pub most: u32,
}

/// How much may be dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writeback {
    /// What a device has dirty is written within this time.
    pub flush_within: Nanos,
}

/// Samepage merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ksm {
    /// What ksmd may take of a CPU, in thousandths (1 to 1000).
    pub most_cpu: u32,
    /// What a second of its CPU time has to gain.
    pub least_gain: Bytes,
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// That many bytes.
    Bytes(Bytes),
    /// A share of `MemTotal`, in thousandths (0 to 1000).
    OfTotal(u32),
}

/// Why a text is no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no such key.
    #[error("{key}: there is no such key; {way_out}")]
    Key {
        /// The key.
        key: String,
        /// A suggestion, or the keys there are.
        way_out: String,
    },
    /// The value is no amount of memory.
    #[error("{key}: {error}; write it as \"512 MiB\" or \"15 %\"")]
    Amount {
        /// The key.
        key: String,
        /// Why.
        error: QuantityError,
    },
    /// The value is no size; a share of the memory is none either.
    #[error("{key}: {error}; write it as \"64 MiB\"")]
    Size {
        /// The key.
        key: String,
        /// Why.
        error: QuantityError,
    },
    /// A group's path leads out of the hierarchy.
    #[error("{key}: no control group; write the group's path below the root of the hierarchy")]
    Group {
        /// The key.
        key: String,
    },
    /// The value is no time, or none.
    #[error("{key}: {error}; write it as \"2 s\"")]
    Time {
        /// The key.
        key: String,
        /// Why.
        error: QuantityError,
    },
    /// A limit of 0 that would stop everything.
    #[error("{key}: 0 is none; leave the line out and the policy is off")]
    Nothing {
        /// The key.
        key: String,
    },
    /// A share of more than all, or finer than a tenth of a percent.
    #[error("{key}: \"{text}\" is no share; write it as \"15 %\"")]
    Share {
        /// The key.
        key: String,
        /// The value.
        text: String,
    },
}

/// Every key; the one that ends in a point is followed by a group's path.
pub const KEYS: [&str; 11] = [
    "floor.clean_min",
    "floor.anon_min",
    "floor.keep",
    EXCEPT,
    "ceiling.total",
    "ceiling.groups.",
    "watermarks.most",
    "writeback.flush_within",
    "ksm.most_cpu",
    "ksm.least_gain",
    "metrics",
];

/// What is never locked: each file of a configuration may add to it.
pub(crate) const EXCEPT: &str = "floor.except";
/// The names whose values are lists, also of one.
const LISTS: [&str; 2] = ["keep", "except"];

impl Default for Ksm {
    fn default() -> Self {
        Self {
            most_cpu: 200,
            least_gain: Bytes(64 << 20),
        }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Bytes(Bytes::ZERO)
    }
}

impl Amount {
    /// Its bytes on a machine with `total` memory.
    #[must_use]
    pub fn of(self, total: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::OfTotal(thousandths) => Bytes(total.0 / 1000 * u64::from(thousandths)),
        }
    }

    fn read(key: &str, text: &str) -> Result<Self, ConfigError> {
        match text.trim().ends_with('%') {
            true => share(key, text).map(Self::OfTotal),
            false => quantity::size(text)
                .map(Self::Bytes)
                .map_err(|error| ConfigError::Amount {
                    key: key.into(),
                    error,
                }),
        }
    }
}

fn size(key: &str, text: &str) -> Result<Bytes, ConfigError> {
    quantity::size(text).map_err(|error| ConfigError::Size {
        key: key.into(),
        error,
    })
}

/// In thousandths.
fn share(key: &str, text: &str) -> Result<u32, ConfigError> {
    let number = text.trim().strip_suffix('%');
    let share = number.and_then(|number| quantity::tenths(number.trim()));
    share
        .filter(|&share| share <= 1000)
        .ok_or_else(|| ConfigError::Share {
            key: key.into(),
            text: text.chars().take(40).collect(),
        })
}

/// A share that is not 0.
fn some(key: &str, text: &str) -> Result<u32, ConfigError> {
    match share(key, text)? {
        0 => Err(ConfigError::Nothing { key: key.into() }),
        share => Ok(share),
    }
}

/// A time that is not 0.
fn time(key: &str, text: &str) -> Result<Nanos, ConfigError> {
    let key = || String::from(key);
    match quantity::duration(text) {
        Ok(Nanos(0)) => Err(ConfigError::Nothing { key: key() }),
        Ok(time) => Ok(time),
        Err(error) => Err(ConfigError::Time { key: key(), error }),
    }
}

impl Config {
    /// Reads keys and their texts.
    ///
    /// # Errors
    /// The first key that there is not, or value that is none.
    pub fn read<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, text) in pairs {
            config.set(key, text)?;
        }
        Ok(config)
    }

    /// Reads keys and their texts.
    ///
    /// # Errors
    /// Those of [`Config::read`].
    pub fn of(pairs: &[(String, String)]) -> Result<Self, ConfigError> {
        let pairs = pairs.iter();
        Self::read(pairs.map(|(key, text)| (key.as_str(), text.as_str())))
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        let floor = || self.floor.clone().unwrap_or_default();
        let ceiling = || self.ceiling.clone().unwrap_or_default();
        let amount = || Amount::read(key, text);
        match key {
            "floor.clean_min" => {
                self.floor = Some(Floor {
                    clean_min: amount()?,
                    ..floor()
                });
            }
            "floor.anon_min" => {
                self.floor = Some(Floor {
                    anon_min: amount()?,
                    ..floor()
                })
            }
            "floor.keep" => {
                let mut floor = floor();
                floor.keep.push(text.into());
                self.floor = Some(floor);
            }
            EXCEPT => {
                let mut floor = floor();
                floor.except.push(text.into());
                self.floor = Some(floor);
            }
            "watermarks.most" => {
                let most = some(key, text)?;
                self.watermarks = Some(Watermarks { most });
            }
            "writeback.flush_within" => {
                let flush_within = time(key, text)?;
                self.writeback = Some(Writeback { flush_within });
            }
            "ksm.most_cpu" => {
                let most_cpu = some(key, text)?;
                let ksm = self.ksm.unwrap_or_default();
                self.ksm = Some(Ksm { most_cpu, ..ksm });
            }
            "ksm.least_gain" => {
                let least_gain = size(key, text)?;
                let ksm = self.ksm.unwrap_or_default();
                self.ksm = Some(Ksm { least_gain, ..ksm });
            }
            "ceiling.total" => {
                self.ceiling = Some(Ceiling {
                    total: Some(amount()?),
                    ..ceiling()
                });
            }
            "metrics" => self.metrics = Some(text.into()),
            _ => {
                let group = key.strip_prefix("ceiling.groups.");
                let group = group.filter(|path| !path.is_empty());
                let group = group.ok_or_else(|| no_key(key))?;
                if group.split('/').any(|part| part == "..") {
                    return Err(ConfigError::Group { key: key.into() });
                }
                let mut ceiling = ceiling();
                ceiling.groups.push((group.into(), amount()?));
                self.ceiling = Some(ceiling);
            }
        }
        Ok(())
    }

    /// Whether any policy is on.
    #[must_use]
    pub fn has_policies(&self) -> bool {
        let metrics = self.metrics.clone();
        *self
            != Self {
                metrics,
                ..Self::default()
            }
    }

    /// The groups whose memory a sample has to hold, by path, in the order of
    /// [`crate::Sample::groups`].
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let groups = self.ceiling.iter().flat_map(|ceiling| &ceiling.groups);
        groups.map(|(path, _)| path.as_str())
    }
}

/// The TOML file that says the same as keys and their texts.
#[must_use]
pub fn to_toml(pairs: &[(String, String)]) -> String {
    let mut sections: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (key, text) in pairs {
        let depth = if key.starts_with("ceiling.groups.") {
            2
        } else {
            1
        };
        let end = key
            .match_indices('.')
            .nth(depth - 1)
            .map_or(0, |(at, _)| at);
        let (section, name) = (&key[..end], key[end..].trim_start_matches('.'));
        let names = sections.entry(section).or_default();
        names.entry(name).or_default().push(text);
    }
    let mut toml = String::new();
    for (section, names) in sections {
        if !section.is_empty() {
            toml += &format!("[{section}]\n");
        }
        for (name, texts) in names {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            let value = match &texts[..] {
                [one] if !LISTS.contains(&name) => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            toml += &format!("{} = {value}\n", quoted(name));
        }
    }
    toml
}

/// A text as TOML quotes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn no_key(key: &str) -> ConfigError {
    let shown: String = key.chars().filter(|c| !c.is_control()).take(60).collect();
    ConfigError::Key {
        way_out: suggest::way_out(&shown, KEYS),
        key: format!("`{shown}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn a_configuration_is_read_with_its_shares_and_groups() {
        let pairs = [
            ("floor.clean_min", "15 %"),
            ("floor.keep", "/usr/bin"),
            ("floor.keep", "/srv"),
            ("floor.except", "unit:backup.service"),
            ("ceiling.total", "1.5 GiB"),
            ("ceiling.groups.system.slice/backup.service", "12.5%"),
        ];
        let config = Config::read(pairs).unwrap();
        let floor = config.floor.clone().unwrap();
        assert_eq!(floor.keep, ["/usr/bin", "/srv"]);
        assert_eq!(floor.except, ["unit:backup.service"]);
        assert_eq!(floor.clean_min.of(Bytes(1000)), Bytes(150));
        let ceiling = config.ceiling.clone().unwrap();
        assert_eq!(ceiling.total, Some(Amount::Bytes(Bytes(3 << 29))));
        let group = ("system.slice/backup.service".into(), Amount::OfTotal(125));
        assert_eq!(ceiling.groups, vec![group]);
        assert_eq!(Config::read([]).unwrap(), Config::default());
    }

    #[test]
    fn what_is_no_configuration_says_which_key_and_the_way_out() {
        let error = |key, text| Config::read([(key, text)]).unwrap_err().to_string();
        assert_eq!(
            error("floor.clean_mn", "1 %"),
            "`floor.clean_mn`: there is no such key; did you mean `floor.clean_min`?"
        );
        for share in ["101 %", "-1 %", "% %", "1.25 %"] {
            let expected = "is no share; write it as \"15 %\"";
            assert!(
                error("floor.clean_min", share).ends_with(expected),
                "{share}"
            );
        }
        assert!(error("ceiling.total", "15").contains("no unit of size"));
        let share = error("ksm.least_gain", "1 %");
        assert!(share.ends_with("write it as \"64 MiB\""), "{share}");
        assert!(error("ceiling.groups.", "1 MiB").contains("no such key"));
        assert!(error("ceiling.groups.a/../..", "1 MiB").contains("no control group"));
    }
}
