//! The value of a tunable in the files, and in words.

use mm::capture::Frame;
use mm::catalogue::{Of, Scope, Tunable, Unit};
use mm::text::shown;
use mm::units::{Bytes, Kib};
use schemars::JsonSchema;
use serde::Serialize;

use super::looked::Looked;

/// What the files hold of one tunable.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Values {
    /// The machine's, or that of the one that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    /// Of every device, size or group, where none was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<Value>,
}

/// The value of one device, size of huge pages or control group.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Value {
    /// Its name, as the kernel has it.
    pub(crate) of: String,
    pub(crate) value: String,
}

impl Values {
    /// As the frame has them.
    pub(crate) fn of(looked: Looked<'_>) -> Self {
        let (named, frame) = (looked.named, looked.frame);
        let at = |path: &str| frame.file(path).map(|text| read(named.tunable, text));
        match named.of {
            Of::Each => Self {
                value: None,
                values: each(named.tunable, frame)
                    .into_iter()
                    .map(|(of, value)| Value {
                        of: of.to_owned(),
                        value,
                    })
                    .collect(),
            },
            _ => Self {
                value: at(&named.path()).or_else(|| at(&by_name(looked)?)),
                values: Vec::new(),
            },
        }
    }

    /// Whether any was read.
    pub(crate) fn is_there(&self) -> bool {
        self.value.is_some() || !self.values.is_empty()
    }
}

/// The value that a file's text shows; of a text that no kernel writes there, what fits a line.
pub(crate) fn read(tunable: &Tunable, text: &str) -> String {
    let value = tunable.value_in(text);
    let words: Vec<&str> = value.split_whitespace().collect();
    shown(&words.join(" "))
}

/// The path below a block device of which the numbers were named, and the other way round.
fn by_name(looked: Looked<'_>) -> Option<String> {
    let device = looked.named.device()?;
    let mut disks = looked
        .snapshot
        .diskstats
        .iter()
        .flat_map(|stats| &stats.disks);
    let disk = disks.find(|disk| disk.number == device || disk.name == device)?;
    let file = looked.named.tunable.kernel_name();
    Some(match disk.number == device {
        true => format!("sys/block/{}/bdi/{file}", disk.name),
        false => format!("sys/class/bdi/{}/{file}", disk.number),
    })
}

/// The files of a pattern, by what stands in the place of the one that is meant.
pub(crate) fn each<'a>(tunable: &Tunable, frame: &'a Frame) -> Vec<(&'a str, String)> {
    let Some((before, after)) = tunable.path.split_once(tunable.scope().placeholder()) else {
        return Vec::new();
    };
    let files = frame.files.iter().filter_map(|(path, text)| {
        let of = path.strip_prefix(before)?.strip_suffix(after)?;
        let one = tunable.scope() == Scope::Group || !of.contains('/');
        (one && !of.is_empty()).then(|| (of, read(tunable, text)))
    });
    files.collect()
}

/// A value with its unit, and what that is in bytes or seconds: "67584 kB (66 MiB)".
pub(crate) fn words(tunable: &Tunable, value: &str) -> String {
    let Ok(number) = value.parse::<u64>() else {
        return value.to_owned();
    };
    let with = |rest: String| format!("{value} {} ({rest})", tunable.unit);
    match tunable.unit {
        Unit::None => value.to_owned(),
        Unit::Percent => format!("{value} %"),
        Unit::Bytes if number >= 1024 => with(Bytes(number).to_string()),
        Unit::Kib if number >= 1024 => with(Kib(number).to_string()),
        Unit::Mib => with(Bytes(number.saturating_mul(1 << 20)).to_string()),
        Unit::Permyriad => format!("{value} ({} %)", hundredths(number)),
        Unit::PerMillion => format!("{value} ({} %)", hundredths(number / 100)),
        Unit::Centiseconds => format!("{value} ({} s)", hundredths(number)),
        unit => format!("{value} {unit}"),
    }
}

/// "0.1" for 10, "150" for 15000.
fn hundredths(number: u64) -> String {
    let text = format!("{}.{:02}", number / 100, number % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A text with a capital at its beginning.
pub(crate) fn upper(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + characters.as_str()
}
