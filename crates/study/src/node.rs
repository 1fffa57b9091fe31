//! One value of a study's text and where it stands; it hands out what a reader expects there, or
//! an error that names the place.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use mm::units::{Bytes, Nanos};
use scenario::workload::{Size, Think};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::{Source, StudyError};
use super::table::Table;
use mm::quantity::{self, QuantityError};
use mm::suggest;

/// What the readers of one arm share: the text, the arm, and what its parameters stand for.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) source: Source<'a>,
    pub(super) arm: &'a str,
    pub(super) arms: Vec<&'a str>,
    pub(super) parameters: BTreeMap<&'a str, &'a DeValue<'a>>,
}

/// A value, where it stands, and in whose words: "`size` in [[machine.disk]]".
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    scope: &'a Scope<'a>,
    place: String,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

impl<'a> Node<'a> {
    /// The value, with `$name` replaced by what the parameter stands for on this arm.
    pub(super) fn new(
        scope: &'a Scope<'a>,
        place: String,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<Self, StudyError> {
        let node = Self {
            scope,
            place,
            span: value.span(),
            value: value.get_ref(),
        };
        match node.value.as_str().and_then(|text| text.strip_prefix('$')) {
            None => Ok(node),
            Some(name) => node.parameter(name),
        }
    }

    fn parameter(mut self, name: &str) -> Result<Self, StudyError> {
        let parameters = &self.scope.parameters;
        self.value = parameters.get(name).ok_or_else(|| {
            let known = parameters.keys().copied();
            self.error(
                format!("unknown parameter `${name}` in {}", self.place),
                suggest::way_out(name, known),
            )
        })?;
        Ok(self)
    }

    /// An error at this value.
    pub(super) fn error(&self, what: impl Into<String>, way_out: impl Into<String>) -> StudyError {
        self.scope.source.error(&self.span, what, way_out)
    }

    /// An error that says what should stand here instead.
    pub(super) fn expected(&self, expected: &str) -> StudyError {
        let found = match self.value {
            DeValue::String(text) => {
                format!("\"{}\"", text.chars().take(40).collect::<String>())
            }
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(list) if list.is_empty() => "an empty list".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        let what = format!("{} is {found}", self.place);
        self.error(what, format!("write {expected}"))
    }

    /// The line it stands on, from 1.
    pub(super) fn line(&self) -> usize {
        self.error("", "").line
    }

    /// In whose words it is.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Every text below this table, with its keys joined by points; each text of a list by itself.
    pub(super) fn texts(&self) -> Result<Vec<(String, String)>, StudyError> {
        let texts = self.value.as_table().map(guard::text::of_table);
        let texts = texts.and_then(Result::ok);
        texts.ok_or_else(|| {
            self.expected("a table of texts, as { floor = { clean_min = \"15 %\" } }")
        })
    }

    pub(super) fn text(&self) -> Result<&'a str, StudyError> {
        self.value
            .as_str()
            .ok_or_else(|| self.expected("a text in quotes"))
    }

    /// A name: printable, not empty, at most 80 characters, no slash.
    pub(super) fn name(&self) -> Result<String, StudyError> {
        let name = self.text()?;
        let fits = !name.trim().is_empty()
            && name.trim() == name
            && name.chars().count() <= 80
            && !name.contains(|c: char| c.is_control() || c == '/');
        fits.then(|| name.to_owned())
            .ok_or_else(|| self.expected("a name of 1 to 80 printable characters, without \"/\""))
    }

    /// One of the `choices`, by its word.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, StudyError> {
        let word = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == word);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names = choices.iter().map(|(name, _)| *name);
            self.error(
                format!("{} is \"{word}\"", self.place),
                suggest::way_out(word, names),
            )
        })
    }

    pub(super) fn flag(&self) -> Result<bool, StudyError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.expected("true or false"))
    }

    /// A whole number in `range`.
    pub(super) fn integer(&self, range: RangeInclusive<i64>) -> Result<i64, StudyError> {
        let number = self.value.as_integer().and_then(|integer| {
            i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
        });
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (low, high) = (range.start(), range.end());
                self.expected(&format!("a whole number from {low} to {high}"))
            })
    }

    /// A whole number from `low` to the most that `T` and `high` hold.
    pub(super) fn count<T: TryFrom<i64>>(&self, low: i64, high: i64) -> Result<T, StudyError> {
        let number = self.integer(low..=high)?;
        T::try_from(number).map_err(|_| self.expected("a smaller number"))
    }

    /// A share in percent: `40` or `"40 %"`.
    pub(super) fn percent(&self) -> Result<u8, StudyError> {
        let Some(text) = self.value.as_str() else {
            return self.count(0, 100);
        };
        let number = text.strip_suffix('%').and_then(|n| n.trim().parse().ok());
        number
            .filter(|share| *share <= 100)
            .ok_or_else(|| self.expected("a whole share from \"0 %\" to \"100 %\""))
    }

    /// A size, zero included.
    pub(super) fn size(&self) -> Result<Bytes, StudyError> {
        self.quantity(quantity::size, "a size as in \"512 MiB\"")
    }

    /// A size of at least one byte.
    pub(super) fn some_size(&self) -> Result<Bytes, StudyError> {
        let size = self.size()?;
        (size.0 > 0)
            .then_some(size)
            .ok_or_else(|| self.expected("a size above zero"))
    }

    /// What a workload takes: a size, or a share of what is available; zero included.
    pub(super) fn workload_size(&self) -> Result<Size, StudyError> {
        self.quantity(
            quantity::workload_size,
            "a size as in \"512 MiB\", or a share as in \"95 % of available\"",
        )
    }

    /// The same, but more than nothing.
    pub(super) fn some_workload_size(&self) -> Result<Size, StudyError> {
        match self.workload_size()? {
            Size::Bytes(Bytes(0)) | Size::OfAvailable { thousandths: 0 } => {
                Err(self.expected("a size above zero"))
            }
            size => Ok(size),
        }
    }

    /// A span of time, zero included.
    pub(super) fn duration(&self) -> Result<Nanos, StudyError> {
        self.quantity(quantity::duration, "a time as in \"500 ms\"")
    }

    /// A span of at least a nanosecond.
    pub(super) fn some_duration(&self) -> Result<Nanos, StudyError> {
        let duration = self.duration()?;
        (duration.0 > 0)
            .then_some(duration)
            .ok_or_else(|| self.expected("a time above zero"))
    }

    /// How long a process thinks, as it is or drawn.
    pub(super) fn think(&self) -> Result<Think, StudyError> {
        self.quantity(
            quantity::think,
            "a time as in \"5 ms\", \"exponential 5 ms\" or \"uniform 1 ms to 9 ms\"",
        )
    }

    /// Bytes per second, above zero.
    pub(super) fn bandwidth(&self) -> Result<Bytes, StudyError> {
        let bandwidth = self.quantity(quantity::bandwidth, "a bandwidth as in \"118000 KiB/s\"")?;
        (bandwidth.0 > 0)
            .then_some(bandwidth)
            .ok_or_else(|| self.expected("a bandwidth above zero"))
    }

    fn quantity<T>(
        &self,
        read: fn(&str) -> Result<T, QuantityError>,
        expected: &str,
    ) -> Result<T, StudyError> {
        let text = self.value.as_str().ok_or_else(|| self.expected(expected))?;
        read(text).map_err(|why| {
            let (what, way_out) = match why {
                QuantityError::Unit {
                    text,
                    kind,
                    way_out,
                } => (format!("\"{text}\" has no unit of {kind}"), way_out),
                other => (other.to_string(), format!("write {expected}")),
            };
            self.error(format!("{}: {what}", self.place), way_out)
        })
    }

    /// A number, with or without a fraction.
    pub(super) fn decimal(&self) -> Result<f64, StudyError> {
        let number = match self.value {
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            DeValue::Integer(_) => Some(self.integer(-(1 << 53)..=1 << 53)? as f64),
            _ => None,
        };
        number
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| self.expected("a number"))
    }

    /// A decimal from `low` to `high`, in thousandths.
    pub(super) fn thousandths(&self, low: f64, high: f64) -> Result<u32, StudyError> {
        let text = match self.value {
            DeValue::String(text) => text.as_ref(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) => number.as_str(),
            _ => "",
        };
        thousandths(text)
            .filter(|milli| (low..=high).contains(&(f64::from(*milli) / 1000.0)))
            .ok_or_else(|| self.expected(&format!("a number from {low} to {high}")))
    }

    /// The value as it would be written into a kernel file.
    pub(super) fn written(&self) -> Result<String, StudyError> {
        match self.value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(_) => self.integer(i64::MIN..=i64::MAX).map(|n| n.to_string()),
            DeValue::Boolean(flag) => Ok(flag.to_string()),
            _ => Err(self.expected("a number or a text")),
        }
    }

    /// The values of an array.
    pub(super) fn list(&self) -> Result<Vec<Node<'a>>, StudyError> {
        let array = self
            .value
            .as_array()
            .ok_or_else(|| self.expected("a list in brackets"))?;
        array
            .iter()
            .map(|value| Node::new(self.scope, self.place.clone(), value))
            .collect()
    }

    /// The table it is, whose keys must be among `known`.
    pub(super) fn table(&self, known: &'static [&'static str]) -> Result<Table<'a>, StudyError> {
        Table::new(self.clone(), known)
    }

    /// Its entries in the order of the text, tables inside tables as dotted names.
    pub(super) fn entries(&self) -> Result<Vec<(String, Node<'a>)>, StudyError> {
        let table = self.raw_table()?;
        let mut entries = Vec::new();
        self.flatten("", table, &mut entries)?;
        entries.sort_by_key(|(_, node)| node.span.start);
        Ok(entries)
    }

    fn flatten(
        &self,
        prefix: &str,
        table: &'a DeTable<'a>,
        entries: &mut Vec<(String, Node<'a>)>,
    ) -> Result<(), StudyError> {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            match value.get_ref().as_table() {
                Some(inner) => self.flatten(&format!("{name}."), inner, entries)?,
                None => {
                    let place = format!("`{name}` in {}", self.place);
                    entries.push((name, Node::new(self.scope, place, value)?));
                }
            }
        }
        Ok(())
    }

    pub(super) fn raw_table(&self) -> Result<&'a DeTable<'a>, StudyError> {
        self.value
            .as_table()
            .ok_or_else(|| self.expected("a table"))
    }

    pub(super) fn scope(&self) -> &'a Scope<'a> {
        self.scope
    }

    /// The same value in other words.
    pub(super) fn placed(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }
}

/// A decimal with at most three places, in thousandths.
pub(super) fn thousandths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 3 || whole.len() > 6 {
        return None;
    }
    format!("{whole}{fraction:0<3}").parse().ok()
}
