//! What may be written into a group's files, and what the files say.

use alloc::format;
use alloc::string::{String, ToString};

use crate::error::Error;
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memcontrol::state::{Groups, NO_LIMIT};

/// Bytes of a page: limits are kept in pages.
const PAGE: u64 = 4096;

/// What is left to be done after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Nothing.
    Done,
    /// The group must come down to `memory.high`; what cannot be reclaimed stays.
    LoweredHigh,
    /// The group must come down to `memory.max`, by killing in the end.
    LoweredMax,
    /// Proactive reclaim of this many pages.
    Reclaim {
        pages: u64,
        /// In place of `vm.swappiness`.
        swappiness: Option<u64>,
    },
}

/// A number of a group that a file sets.
type Field = fn(&mut crate::mm::memcontrol::state::Group) -> &mut u64;

/// The files that hold a number of bytes or "max".
const LIMITS: [(&str, Field, Written); 6] = [
    ("memory.min", |g| &mut g.setting.min, Written::Done),
    ("memory.low", |g| &mut g.setting.low, Written::Done),
    ("memory.high", |g| &mut g.memory.high, Written::LoweredHigh),
    ("memory.max", |g| &mut g.memory.max, Written::LoweredMax),
    ("memory.swap.high", |g| &mut g.swap.high, Written::Done),
    ("memory.swap.max", |g| &mut g.swap.max, Written::Done),
];

/// Files that a snapshot holds of each group, as a bench notes them, but for pressure.
const SNAPSHOT: [&str; 5] = [
    "memory.current",
    "memory.swap.current",
    "memory.stat",
    "memory.events",
    "memory.max",
];

impl Groups {
    /// Writes a text into a file of a group, as the kernel takes it.
    ///
    /// # Errors
    /// A file that the model does not know, or a text that the kernel refuses.
    pub(crate) fn write(
        &mut self,
        group: GroupId,
        file: &str,
        text: &str,
    ) -> Result<Written, Error> {
        let refuse = |why: &str| Error::Setting {
            tunable: format!("{}/{file}", self.get(group).path),
            value: text.to_string(),
            why: why.to_string(),
        };
        let text = text.trim_ascii();
        if let Some((_, field, then)) = LIMITS.iter().find(|(name, ..)| *name == file) {
            let pages =
                limit(text).ok_or_else(|| refuse("expected \"max\" or bytes, as in 64M"))?;
            *field(self.get_mut(group)) = pages;
            return Ok(*then);
        }
        match file {
            "memory.oom.group" => {
                let on = flag(text).ok_or_else(|| refuse("expected 0 or 1"))?;
                self.get_mut(group).oom_group = on;
                Ok(Written::Done)
            }
            "memory.reclaim" => {
                let expected = "expected bytes, and swappiness=0 to 200 where the kernel knows it";
                let (pages, swappiness) = order(text).ok_or_else(|| refuse(expected))?;
                Ok(Written::Reclaim { pages, swappiness })
            }
            _ => Err(Error::Unsupported {
                what: format!("the file {file} of control groups"),
                place: format!("control group {}", self.get(group).path),
            }),
        }
    }

    /// Where a group's file of this name lies.
    pub(crate) fn file(&self, group: GroupId, name: &str) -> String {
        format!("sys/fs/cgroup/{}/{name}", self.get(group).path)
    }

    /// The files of a group that a snapshot holds, by path.
    pub(super) fn snapshot(
        &self,
        group: GroupId,
        stat: String,
    ) -> impl Iterator<Item = (String, String)> + use<> {
        let own = self.get(group);
        let texts = [
            format!("{}\n", own.memory.usage * PAGE),
            format!("{}\n", own.swap.usage * PAGE),
            stat,
            self.events_text(group),
            limit_text(own.memory.max),
        ];
        let path = format!("sys/fs/cgroup/{}", own.path);
        SNAPSHOT
            .iter()
            .zip(texts)
            .map(move |(file, text)| (format!("{path}/{file}"), text))
    }

    /// The highest group from `victim` up to `domain` whose processes are killed together
    /// (`mem_cgroup_get_oom_group`).
    pub(crate) fn oom_group(&self, victim: GroupId, domain: GroupId) -> Option<GroupId> {
        let above = self
            .upwards(victim)
            .take_while(|&id| id != crate::mm::memcontrol::group_id::ROOT);
        let mut highest = None;
        for id in above {
            if self.get(id).oom_group {
                highest = Some(id);
            }
            if id == domain {
                break;
            }
        }
        highest
    }
}

/// A limit in pages, rounded down: `max`, or bytes with a suffix.
fn limit(text: &str) -> Option<u64> {
    match text {
        "max" => Some(NO_LIMIT),
        _ => match memparse(text)? {
            (bytes, "") => Some(bytes / PAGE),
            _ => None,
        },
    }
}

fn limit_text(pages: u64) -> String {
    match pages {
        NO_LIMIT => String::from("max\n"),
        pages => format!("{}\n", pages * PAGE),
    }
}

fn flag(text: &str) -> Option<bool> {
    match text.parse::<i64>().ok()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// Pages to reclaim, and the swappiness to do it with.
fn order(text: &str) -> Option<(u64, Option<u64>)> {
    let (bytes, rest) = memparse(text)?;
    let mut swappiness = None;
    for word in rest.split_ascii_whitespace() {
        let value = word.strip_prefix("swappiness=")?.parse::<u64>().ok()?;
        swappiness = Some(value).filter(|&value| value <= 200);
        swappiness?;
    }
    Some((bytes / PAGE, swappiness))
}

/// A number as the kernel reads it (`memparse`): decimal, octal after 0 or hexadecimal after 0x,
/// with a suffix K to E of 1024 each; and what follows it. `None` where there is no number or it is
/// too large.
fn memparse(text: &str) -> Option<(u64, &str)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = match (hex, text.starts_with('0')) {
        (Some(digits), _) => (digits, 16),
        (None, true) => (text, 8),
        (None, false) => (text, 10),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let number = u64::from_str_radix(&digits[..end], radix).ok()?;
    let rest = &digits[end..];
    let power = match rest.chars().next().map(|c| c.to_ascii_uppercase()) {
        Some(suffix) => "KMGTPE".find(suffix).map(|at| at as u32 + 1),
        None => None,
    };
    match power {
        Some(power) => Some((number.checked_mul(1 << (10 * power))?, &rest[1..])),
        None => Some((number, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_the_kernel_reads_it() {
        for (text, pages) in [
            ("max", NO_LIMIT),
            ("0", 0),
            ("67108864", 16384),
            ("64M", 16384),
            ("64m", 16384),
            ("4095", 0),
            ("0x10000", 16),
            ("010000", 1),
            ("1G", 1 << 18),
            ("2T", 1 << 29),
        ] {
            assert_eq!(limit(text), Some(pages), "{text}");
        }
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        for text in [
            "", "-1", "64 MiB", "64MB", "lots", "maximum", "08", "16E", "1.5G",
        ] {
            assert_eq!(limit(text), None, "{text}");
        }
    }

    #[test]
    fn an_order_to_reclaim_may_name_a_swappiness() {
        assert_eq!(order("16M"), Some((4096, None)));
        assert_eq!(order("16777216 swappiness=0"), Some((4096, Some(0))));
        assert_eq!(order("16M swappiness=201"), None);
        assert_eq!(order("16M 5"), None);
        assert_eq!(order("swappiness=5"), None);
    }
}
