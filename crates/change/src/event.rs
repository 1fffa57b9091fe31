//! The events of a journal, and the line that each has.
//!
//! A line is a checksum, a kind and `key=value` words: `1c291ca3 confirmed id=3 at=1764098000`. A
//! value has no blanks: what would end a word is written as `%20` is in an address. The checksum is
//! the CRC-32 (IEEE) of the rest of the line, in eight hexadecimal digits.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use mm::units::Nanos;

use crate::machine::Value;
use crate::step::{Role, Step};
use crate::watch::Band;

/// Something that happened to a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was planned; nothing is written yet.
    Planned(Planned),
    /// A step was written, and this is its value now.
    Wrote {
        /// The change.
        id: u32,
        /// The step's number, from 0.
        step: usize,
        /// The value of its cell.
        value: Value,
    },
    /// Its writing ended before all of it was written.
    Stopped {
        /// The change.
        id: u32,
        /// Why, in words.
        why: String,
        /// The steps that were in doubt and are written, with the values of their cells; no other
        /// that was in doubt is.
        found: Vec<(usize, Value)>,
    },
    /// The cell of a step was found at its old value, before another change was laid on it.
    Back {
        /// The change.
        id: u32,
        /// The step's number, from 0.
        step: usize,
    },
    /// It is about to become lasting. The old values are those that a reboot would bring.
    Lasting {
        /// The change, with its steps.
        planned: Planned,
        /// The native files, without the leading slash.
        files: Vec<String>,
    },
    /// It was confirmed.
    Confirmed {
        /// The change.
        id: u32,
        /// When, in seconds since 1970.
        at: u64,
    },
    /// It is about to be taken back: its native lines go next, then its values.
    Undoing {
        /// The change.
        id: u32,
        /// The boot in which that began.
        boot: String,
        /// Why, in words.
        why: String,
    },
    /// It was taken back.
    Undone {
        /// The change.
        id: u32,
        /// When, in seconds since 1970.
        at: u64,
        /// Why, in words.
        why: String,
    },
}

/// A change as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its number, from 1.
    pub id: u32,
    /// The boot in which it was planned.
    pub boot: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// When it is taken back unless it is confirmed, since boot.
    pub deadline: Nanos,
    /// Why it is made, in the words of whoever made it; may be empty.
    pub why: String,
    /// Whether it is to outlive a reboot once it is confirmed.
    pub lasts: bool,
    /// How what it does is watched; `None` where it is not.
    pub watch: Option<Watch>,
    /// What is written, in this order.
    pub steps: Vec<Step>,
}

/// How a change is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Until when, since boot.
    pub until: Nanos,
    /// The limits.
    pub band: Band,
}

/// Why a line is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl Event {
    /// The change that it belongs to.
    #[must_use]
    pub fn id(&self) -> u32 {
        match self {
            Self::Planned(planned) | Self::Lasting { planned, .. } => planned.id,
            Self::Wrote { id, .. }
            | Self::Stopped { id, .. }
            | Self::Back { id, .. }
            | Self::Confirmed { id, .. }
            | Self::Undoing { id, .. }
            | Self::Undone { id, .. } => *id,
        }
    }

    /// Its line, with the end of line.
    #[must_use]
    pub fn to_line(&self) -> String {
        sealed(&self.body())
    }

    /// The event of a line without its end.
    ///
    /// # Errors
    /// [`Damaged`]: the checksum is wrong, or the words are not ours.
    pub fn parse(line: &str) -> Result<Self, Damaged> {
        let mut words = Words::of(unsealed(line)?);
        let event = match words.kind {
            "planned" => Self::Planned(words.planned()?),
            "lasting" => Self::Lasting {
                planned: words.planned()?,
                files: words.all("file").map(unescaped).collect::<Result<_, _>>()?,
            },
            "wrote" => Self::Wrote {
                id: words.number("id")?,
                step: words.number("step")?,
                value: Value {
                    path: words.text("path")?,
                    text: words.text("text")?,
                },
            },
            "stopped" => Self::Stopped {
                id: words.number("id")?,
                why: words.text("why")?,
                found: words.all("found").map(found).collect::<Result<_, _>>()?,
            },
            "back" => Self::Back {
                id: words.number("id")?,
                step: words.number("step")?,
            },
            "confirmed" => Self::Confirmed {
                id: words.number("id")?,
                at: words.number("at")?,
            },
            "undoing" => Self::Undoing {
                id: words.number("id")?,
                boot: words.text("boot")?,
                why: words.text("why")?,
            },
            "undone" => Self::Undone {
                id: words.number("id")?,
                at: words.number("at")?,
                why: words.text("why")?,
            },
            _ => return Err(Damaged),
        };
        Ok(event)
    }

    fn body(&self) -> String {
        match self {
            Self::Planned(planned) => planned.body("planned"),
            Self::Wrote { id, step, value } => {
                let (path, text) = (escaped(&value.path), escaped(&value.text));
                format!("wrote id={id} step={step} path={path} text={text}")
            }
            Self::Stopped { id, why, found } => {
                let found = found.iter().map(|(step, Value { path, text })| {
                    format!(" found={step},{},{}", escaped(path), escaped(text))
                });
                let found = found.collect::<String>();
                format!("stopped id={id} why={}{found}", escaped(why))
            }
            Self::Back { id, step } => format!("back id={id} step={step}"),
            Self::Lasting { planned, files } => {
                let files = files.iter().map(|file| format!(" file={}", escaped(file)));
                planned.body("lasting") + &files.collect::<String>()
            }
            Self::Confirmed { id, at } => format!("confirmed id={id} at={at}"),
            Self::Undoing { id, boot, why } => {
                let (boot, why) = (escaped(boot), escaped(why));
                format!("undoing id={id} boot={boot} why={why}")
            }
            Self::Undone { id, at, why } => format!("undone id={id} at={at} why={}", escaped(why)),
        }
    }
}

impl Planned {
    fn body(&self, kind: &str) -> String {
        let Self {
            id, at, deadline, ..
        } = self;
        let mut body = format!(
            "{kind} id={id} boot={} at={at} deadline={} why={}",
            escaped(&self.boot),
            deadline.0,
            escaped(&self.why)
        );
        if self.lasts {
            body.push_str(" lasts=yes");
        }
        if let Some(Watch { until, band }) = self.watch {
            let _ = write!(body, " watch={}", until.0);
            for limit in band.0 {
                let limit = limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
                let _ = write!(body, ",{limit}");
            }
        }
        for step in &self.steps {
            let _ = write!(body, " step={}", step.words());
        }
        body
    }
}

/// The line of a body: its checksum before it, the end of line behind it.
pub(crate) fn sealed(body: &str) -> String {
    format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes()))
}

/// The body of a line without its end.
pub(crate) fn unsealed(line: &str) -> Result<&str, Damaged> {
    let (sum, body) = line.split_once(' ').ok_or(Damaged)?;
    let same = u32::from_str_radix(sum, 16).is_ok_and(|s| s == crc32fast::hash(body.as_bytes()));
    match same && sum.len() == 8 {
        true => Ok(body),
        false => Err(Damaged),
    }
}

/// The words of a line.
struct Words<'a> {
    kind: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    fn of(body: &'a str) -> Self {
        let mut words = body.split(' ');
        let kind = words.next().unwrap_or("");
        let pairs = words.filter_map(|word| word.split_once('='));
        Self {
            kind,
            pairs: pairs.collect(),
        }
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(k, _)| *k == key);
        pairs.map(|(_, value)| *value)
    }

    fn text(&self, key: &str) -> Result<String, Damaged> {
        self.all(key).next().ok_or(Damaged).and_then(unescaped)
    }

    fn number<T: core::str::FromStr>(&self, key: &str) -> Result<T, Damaged> {
        self.text(key)?.parse().map_err(|_| Damaged)
    }

    fn planned(&mut self) -> Result<Planned, Damaged> {
        Ok(Planned {
            id: self.number("id")?,
            boot: self.text("boot")?,
            at: self.number("at")?,
            deadline: Nanos(self.number("deadline")?),
            why: self.text("why")?,
            lasts: self.all("lasts").next() == Some("yes"),
            watch: self.all("watch").next().map(watch).transpose()?,
            steps: self.all("step").map(Step::of).collect::<Result<_, _>>()?,
        })
    }
}

fn found(words: &str) -> Result<(usize, Value), Damaged> {
    let (step, value) = words.split_once(',').ok_or(Damaged)?;
    let (path, text) = value.split_once(',').ok_or(Damaged)?;
    let (path, text) = (unescaped(path)?, unescaped(text)?);
    Ok((step.parse().map_err(|_| Damaged)?, Value { path, text }))
}

fn watch(text: &str) -> Result<Watch, Damaged> {
    let mut words = text.split(',');
    let mut number = || match words.next() {
        Some("-") => Ok(None),
        Some(word) => word.parse().map(Some).map_err(|_| Damaged),
        None => Err(Damaged),
    };
    let until = Nanos(number()?.ok_or(Damaged)?);
    let mut band = Band::default();
    for limit in &mut band.0 {
        *limit = number()?;
    }
    Ok(Watch { until, band })
}

impl Role {
    const fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Follows => "follows",
            Self::Aside => "aside",
        }
    }

    fn of(word: &str) -> Result<Self, Damaged> {
        let all = [Self::Asked, Self::Follows, Self::Aside];
        all.into_iter()
            .find(|role| role.word() == word)
            .ok_or(Damaged)
    }
}

impl Step {
    /// What it says of itself, without a blank.
    pub(crate) fn words(&self) -> String {
        let (old, new) = (&self.old, &self.new);
        let words = [&self.cell, &old.path, &old.text, &new.path, &new.text];
        let words = words.map(|word| escaped(word)).join(",");
        format!("{words},{}", self.role.word())
    }

    /// The step of its words.
    pub(crate) fn of(words: &str) -> Result<Self, Damaged> {
        let words: Vec<String> = words.split(',').map(unescaped).collect::<Result<_, _>>()?;
        let [cell, old_path, old_text, new_path, new_text, role] = words.as_slice() else {
            return Err(Damaged);
        };
        let value = |path: &str, text: &str| Value {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Ok(Self {
            cell: cell.clone(),
            old: value(old_path, old_text),
            new: value(new_path, new_text),
            role: Role::of(role)?,
        })
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'%' | b',' | b'=' | 0..=b' ' | 0x7f.. => {
                let _ = write!(out, "%{byte:02x}");
            }
            _ => out.push(char::from(byte)),
        }
    }
    out
}

fn unescaped(text: &str) -> Result<String, Damaged> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or("").as_bytes());
    for part in parts {
        let (hex, rest) = part.split_at_checked(2).ok_or(Damaged)?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| Damaged)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    let text = String::from_utf8(bytes).map_err(|_| Damaged)?;
    Ok(text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_event() -> impl Strategy<Value = Event> {
        let value = ("[a-z/_.]{1,20}", ".{0,12}").prop_map(|(path, text)| Value { path, text });
        let written = value.clone();
        let found = prop::collection::vec((any::<usize>(), value.clone()), 0..3);
        let role = prop_oneof![Just(Role::Asked), Just(Role::Follows), Just(Role::Aside)];
        let step = ("[a-z.]{1,9}", value.clone(), value, role);
        let step = step.prop_map(|(cell, old, new, role)| Step {
            cell,
            old,
            new,
            role,
        });
        let steps = prop::collection::vec(step, 0..4);
        let limits = prop::array::uniform6(any::<Option<u64>>());
        let watch = prop::option::of((any::<u64>(), limits).prop_map(|(until, limits)| Watch {
            until: Nanos(until),
            band: Band(limits),
        }));
        let planned = (any::<u32>(), any::<u64>(), ".{0,30}", steps, watch);
        let planned = planned.prop_map(|(id, at, why, steps, watch)| Planned {
            id,
            boot: "b-1".to_owned(),
            at,
            deadline: Nanos(at),
            why,
            lasts: id % 2 == 0,
            watch,
            steps,
        });
        let files = prop::collection::vec(".{0,9}", 0..3);
        prop_oneof![
            planned.clone().prop_map(Event::Planned),
            (planned, files).prop_map(|(planned, files)| Event::Lasting { planned, files }),
            (any::<u32>(), any::<usize>(), written).prop_map(|(id, step, value)| Event::Wrote {
                id,
                step,
                value
            }),
            (any::<u32>(), ".{0,20}", found).prop_map(|(id, why, found)| Event::Stopped {
                id,
                why,
                found
            }),
            (any::<u32>(), any::<usize>()).prop_map(|(id, step)| Event::Back { id, step }),
            (any::<u32>(), any::<u64>()).prop_map(|(id, at)| Event::Confirmed { id, at }),
            (any::<u32>(), ".{0,9}", ".{0,20}").prop_map(|(id, boot, why)| Event::Undoing {
                id,
                boot,
                why
            }),
            (any::<u32>(), any::<u64>(), ".{0,20}").prop_map(|(id, at, why)| Event::Undone {
                id,
                at,
                why
            }),
        ]
    }

    proptest! {
        #[test]
        fn a_line_gives_its_event_back(event in any_event()) {
            let line = event.to_line();
            prop_assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
            prop_assert_eq!(Event::parse(line.trim_end_matches('\n')), Ok(event));
        }

        #[test]
        fn any_other_line_is_damaged_or_an_event_and_never_a_panic(line in ".{0,80}") {
            let _ = Event::parse(&line);
            let body = format!("{:08x} {line}", crc32fast::hash(line.as_bytes()));
            let _ = Event::parse(&body);
        }
    }

    #[test]
    fn a_flipped_bit_is_seen() {
        let line = Event::Confirmed { id: 3, at: 5 }.to_line();
        assert_eq!(line.trim_end(), "f0874b53 confirmed id=3 at=5");
        assert_eq!(Event::parse("f0874b53 confirmed id=2 at=5"), Err(Damaged));
    }
}
