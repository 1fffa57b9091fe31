//! One host of many: what is said of it, and by what it can differ.

use mm::capture::{Capture, Frame};
use mm::catalogue;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::kernel;
use crate::lint::Report;
use crate::view::{NotThere, View};

/// Characters of a name, a value or a reason that are kept.
const LONGEST: usize = 200;

/// The properties of a host beside its tunables.
pub(super) const RULES: &str = "kernel rules";
/// Its memory, rounded up to a power of two.
pub(super) const MEMORY: &str = "memory";

/// What is said of one host.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Host {
    /// What it calls itself, or the last part of where its evidence lies.
    pub(super) host: String,
    /// Where its evidence lies.
    pub(super) path: String,
    /// Its release; `null` where the evidence does not say.
    pub(super) kernel: Option<String>,
    /// Its memory in bytes (MemTotal); `null` where the evidence does not say.
    pub(super) memory: Option<u64>,
    /// As `inspect` finds it, the worst first.
    pub(super) findings: Vec<Said>,
    /// As `lint` finds it, in the order of files and lines.
    pub(super) lint: Vec<Said>,
    #[serde(skip)]
    pub(super) properties: Vec<Property>,
}

impl Shape for Host {
    const NAME: &'static str = "fleet-host";
    const VERSION: u32 = 1;
}

/// What a rule says.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct Said {
    /// Its name: a page of docs/findings or docs/rules.
    pub(super) rule: &'static str,
    #[serde(serialize_with = "word")]
    #[schemars(with = "String")]
    pub(super) severity: (u8, &'static str),
    /// What is the case, with its number.
    pub(super) what: String,
}

fn word<S: serde::Serializer>(severity: &(u8, &str), to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(severity.1)
}

/// What a host may have in common with others.
#[derive(Debug)]
pub(super) struct Property {
    /// A tunable's name, or one of this file's.
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Whether it is what the kernel chooses on this machine.
    pub(super) is_default: bool,
    /// What the value comes to here.
    pub(super) worth: Option<Bytes>,
}

impl Property {
    /// What makes it the same on two machines: the kernel's choice is the same everywhere, though
    /// its number is not.
    pub(super) fn key(&self) -> String {
        match self.is_default {
            true => String::new(),
            false => self.value.clone(),
        }
    }
}

impl Host {
    /// Judges one host. `frame` is that of its settings, `lint` what the rules find there.
    ///
    /// # Errors
    /// Its evidence has nothing to show.
    pub fn of(
        host: Option<&str>,
        path: &str,
        capture: &Capture,
        lint: impl FnOnce(&Frame) -> Report,
    ) -> Result<Self, NotThere> {
        let frame = View::frame(capture, None)?;
        let view = View::of(capture, None)?;
        let snapshot = Snapshot::parse(frame);
        let memory = snapshot.meminfo.as_ref().and_then(|it| it.mem_total);
        let memory = memory.map(Kib::bytes);
        let findings = view.findings.all().iter().map(|it| Said {
            rule: it.name(),
            severity: (it.severity() as u8, it.severity().word()),
            what: it.what().to_owned(),
        });
        let report = lint(frame);
        let lint = report.findings.iter().map(|it| Said {
            rule: it.rule.name,
            severity: (it.rule.severity as u8, it.rule.severity.word()),
            what: it.what.clone(),
        });
        Ok(Self {
            host: cut(host.unwrap_or_else(|| stem(path))),
            path: cut(path),
            kernel: snapshot.release.clone(),
            memory: memory.map(|bytes| bytes.0),
            findings: findings.collect(),
            lint: lint.collect(),
            properties: properties(&snapshot, memory),
        })
    }
}

/// The name of a file or folder without what says its form.
fn stem(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit(['/', ' ']).next();
    let name = name.unwrap_or(path);
    let forms = [
        ".gz", ".xz", ".zst", ".tar", ".tgz", ".txz", ".txt", ".capture",
    ];
    let cut = |name, form: &&str| str::strip_suffix(name, *form).unwrap_or(name);
    match forms.iter().fold(name, |name, form| cut(name, form)) {
        "" => path,
        stem => stem,
    }
}

/// The text, no longer than is worth showing.
pub(super) fn cut(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let more = if cut.len() < text.len() { "..." } else { "" };
    cut + more
}

fn properties(snapshot: &Snapshot, memory: Option<Bytes>) -> Vec<Property> {
    let plain = |name, value| Property {
        name,
        value,
        is_default: false,
        worth: None,
    };
    let rules = kernel::rules(snapshot.span()).map(|rules| plain(RULES, rules));
    let class = memory.and_then(|Bytes(bytes)| bytes.checked_next_power_of_two());
    let class = class.map(|bytes| plain(MEMORY, Bytes(bytes).to_string()));
    let tunables = snapshot.tunables.iter().filter_map(|(name, value)| {
        let named = catalogue::named(name)?;
        let value = cut(value);
        Some(Property {
            name: named.tunable.name,
            is_default: snapshot.differs(named, &value) == Some(false),
            worth: snapshot.worth(name, &value),
            value,
        })
    });
    rules.into_iter().chain(class).chain(tunables).collect()
}
