//! Settings that act together: those of one machine, of one folder of sysctl.d, or of one file.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use conf::sysctl_d::Loader;
use mm::catalogue::{self, DefaultRule};
use mm::snapshot::Snapshot;

use super::known::{self, Meant};
use super::machine::Machine;
use super::read::{self, Form, Line};
use super::setting::{Setting, Writer};
use super::text::Text;
use crate::fact::Missing;

/// What the texts of a scope are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All that is set at boot: what no text sets has its default.
    Machine,
    /// A part of it: what it does not set, another part may.
    Part,
    /// What is about to be written: all else stays as the kernel has it.
    Plan,
}

/// Settings that act together, in the order in which they are written, and what is known of the
/// machine.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The texts, in the order in which they are read.
    pub texts: Vec<Text>,
    /// Every setting of theirs, in that order.
    pub settings: Vec<Setting>,
    /// Lines that are no setting and no comment.
    pub strays: Vec<Line>,
    /// Lines from which on a text could not be read.
    pub breaks_off: Vec<Line>,
    /// How much of the machine's configuration the texts are.
    pub extent: Extent,
    /// The machine.
    pub machine: &'a Machine,
    /// Paths that are there beside the texts: links, programs, folders; `None` where they are not
    /// known.
    pub beside: Option<Vec<String>>,
    /// The loader of sysctl.d at boot, where links and programs tell it.
    pub loader: Option<Loader>,
    /// Settings with which another loader of sysctl.d ends otherwise.
    pub elsewhere: Vec<Elsewhere>,
    /// The setting of each name that stands in a text, of two writers that of the later, and who
    /// writes it.
    standing: BTreeMap<String, (Writer, usize)>,
    /// Which text sets which name.
    sets: BTreeSet<(usize, String)>,
    /// What may have been meant by each key that no kernel has.
    meant: BTreeMap<String, Option<Meant>>,
    /// The machine right after these settings are written, once that was asked.
    after: OnceCell<Option<Snapshot>>,
}

/// Keys that no kernel has of which it is asked what was meant.
const SLIPS_MOST: usize = 1000;

/// How another loader of sysctl.d ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Which setting of the scope stands with the machine's own loader.
    pub setting: usize,
    /// The other loader.
    pub loader: Loader,
    /// The value that stands with it, and its line; `None` where it sets none.
    pub ends: Option<(String, String)>,
}

impl<'a> Scope<'a> {
    /// Reads texts, given in the order in which they are read at boot.
    pub fn of(texts: Vec<Text>, extent: Extent, machine: &'a Machine) -> Self {
        Self::with(texts, Vec::new(), extent, machine)
    }

    /// Reads texts, and takes settings of others as they were told.
    pub fn with(
        texts: Vec<Text>,
        told: Vec<(Text, Vec<Setting>)>,
        extent: Extent,
        machine: &'a Machine,
    ) -> Self {
        let mut scope = Self {
            texts: Vec::new(),
            settings: Vec::new(),
            strays: Vec::new(),
            breaks_off: Vec::new(),
            extent,
            machine,
            beside: None,
            loader: None,
            elsewhere: Vec::new(),
            standing: BTreeMap::new(),
            sets: BTreeSet::new(),
            meant: BTreeMap::new(),
            after: OnceCell::new(),
        };
        for text in texts {
            scope.take(text);
        }
        for (text, settings) in told {
            let index = scope.texts.len();
            scope.texts.push(text);
            let settings = settings.into_iter();
            let placed = settings.map(|setting| Setting {
                text: index,
                ..setting
            });
            scope.settings.extend(placed);
        }
        scope.settle();
        scope
    }

    /// With the values that the machine's kernel has now and no text sets.
    pub fn with_live_values(mut self) -> Self {
        let Some(snapshot) = self.machine.snapshot() else {
            return self;
        };
        for (&name, value) in &snapshot.tunables {
            let partner = catalogue::find(name).and_then(|tunable| tunable.partner);
            if partner.is_some() && value == "0" {
                continue; // the other of the two rules
            }
            let set = self.standing(name).map(|setting| setting.value.as_str());
            let tunable = catalogue::find(name);
            let same = |set| tunable.is_some_and(|tunable| tunable.means_same(set, value));
            let replaced = partner.into_iter().chain([name]);
            let is_replaced = replaced
                .into_iter()
                .any(|name| self.standing(name).is_some());
            if set.is_some_and(same) || (self.extent == Extent::Plan && is_replaced) {
                continue;
            }
            let path = tunable.map_or(name, |tunable| tunable.path);
            let text = format!("{value}\n");
            self.texts
                .push(Text::new(format!("/{path}"), text, Form::Live));
            self.settings.push(Setting {
                name: name.to_owned(),
                key: name.to_owned(),
                value: value.clone(),
                text: self.texts.len() - 1,
                line: 0,
                by: Writer::Live,
                stands: true,
            });
        }
        self
    }

    /// The setting of a tunable that stands in the texts.
    pub fn standing(&self, name: &str) -> Option<&Setting> {
        let (_, at) = self.standing.get(name)?;
        self.settings.get(*at)
    }

    /// The same, or the value that the kernel has now where no text sets one.
    pub fn set(&self, name: &str) -> Option<&Setting> {
        let is_live = |setting: &&Setting| setting.by == Writer::Live;
        let live = || {
            let mut live = self.settings.iter().rev().take_while(is_live);
            live.find(|setting| setting.name == name)
        };
        self.standing(name).or_else(live)
    }

    /// What may have been meant by a key: `None` where it is known, or cannot be.
    pub fn meant(&self, name: &str) -> Option<Option<Meant>> {
        self.meant.get(name).copied()
    }

    /// Whether the text of a setting sets another name too.
    pub fn sets_beside(&self, setting: &Setting, name: &str) -> bool {
        self.sets.contains(&(setting.text, name.to_owned()))
    }

    /// The value that a tunable has with these settings: as they set it, else as the kernel has
    /// it now, else, where they are all that is set, its default.
    ///
    /// # Errors
    /// It is not known.
    pub fn value(&self, name: &'static str) -> Result<String, Missing> {
        let set = self.standing(name).map(|setting| setting.value.clone());
        let now = || self.machine.snapshot()?.tunable(name).map(str::to_owned);
        let default = || match catalogue::find(name)?.default {
            DefaultRule::Fixed(value) if self.extent == Extent::Machine => Some(value.to_owned()),
            DefaultRule::Partner if self.extent == Extent::Machine => Some("0".to_owned()),
            _ => None,
        };
        set.or_else(now).or_else(default).ok_or(Missing(name))
    }

    /// The same, as a number.
    ///
    /// # Errors
    /// It is not known, or is none.
    pub fn number(&self, name: &'static str) -> Result<u64, Missing> {
        let value = self.value(name)?;
        let tunable = catalogue::find(name).ok_or(Missing(name))?;
        let number = tunable.number(&value).and_then(|it| it.try_into().ok());
        number.ok_or(Missing(name))
    }

    /// The machine right after the settings of the texts are written, as they stand.
    pub fn after(&self) -> Option<&Snapshot> {
        let after = || {
            let standing = self.settings.iter();
            let standing = standing.filter(|it| it.stands && it.by != Writer::Live);
            let settings: Vec<_> = standing.filter_map(Setting::taken).collect();
            Some(self.machine.snapshot()?.after(&settings))
        };
        self.after.get_or_init(after).as_ref()
    }

    /// The first of these paths that is there; `needs` says what it tells.
    ///
    /// # Errors
    /// Which paths there are is not known.
    pub fn has(
        &self,
        paths: &[&'static str],
        needs: &'static str,
    ) -> Result<Option<&'static str>, Missing> {
        let beside = self.beside.as_ref().ok_or(Missing(needs))?;
        let there = |path: &&&str| beside.iter().any(|known| known == **path);
        Ok(paths.iter().find(there).copied())
    }

    /// The text that a setting stands in.
    pub fn text_of(&self, setting: &Setting) -> &Text {
        &self.texts[setting.text]
    }

    /// `PATH:LINE` of a setting.
    pub fn place(&self, setting: &Setting) -> String {
        let path = &self.text_of(setting).path;
        match setting.line {
            0 => path.clone(),
            line => format!("{path}:{line}"),
        }
    }

    /// A line of the text that a setting stands in.
    pub fn line_of(&self, setting: &Setting) -> &str {
        self.text_of(setting).line(setting.line)
    }

    fn take(&mut self, text: Text) {
        let index = self.texts.len();
        let read = read::read(text.form, &text.text, index);
        self.settings.extend(read.settings);
        self.strays.extend(read.strays);
        self.breaks_off.extend(read.breaks_off);
        self.texts.push(text);
    }

    /// Says of each setting whether it stands: of sysctl.d the last of a name, or of two that
    /// exclude each other; of tmpfiles.d the first; of others the last. One that the kernel
    /// refuses leaves the one before it in place.
    fn settle(&mut self) {
        let mut standing: BTreeMap<(Writer, String), usize> = BTreeMap::new();
        for (at, setting) in self.settings.iter().enumerate() {
            if !self.texts[setting.text].is_read || !setting.is_taken() {
                continue;
            }
            let place = (setting.by, group(&setting.name));
            let before = standing.get(&place).copied();
            let changes_nothing = setting.is_zero()
                && before.is_some_and(|before| self.settings[before].name != setting.name);
            match setting.by {
                // Which of a list or of several documents is taken is not known.
                Writer::Yaml => {}
                // A ratio is 0 already where bytes rule, and the other way round.
                _ if changes_nothing => {}
                Writer::Tmpfiles if before.is_some() => {}
                _ => drop(standing.insert(place, at)),
            }
        }
        for at in standing.into_values() {
            self.settings[at].stands = true;
        }
        for (at, setting) in self.settings.iter_mut().enumerate() {
            setting.stands |= setting.by == Writer::Yaml && setting.is_taken();
            self.sets.insert((setting.text, setting.name.clone()));
            if !self.meant.contains_key(&setting.name) && known::is_strange(&setting.name) {
                // A text of nothing but slips is none of a person.
                let few = self.meant.len() < SLIPS_MOST;
                let meant = few.then(|| known::meant(&setting.name)).flatten();
                self.meant.insert(setting.name.clone(), meant);
            }
            let place = (setting.by, at);
            if setting.stands {
                let last = self.standing.entry(setting.name.clone()).or_insert(place);
                *last = place.max(*last);
            }
        }
    }
}

/// What settings that take each other's place have in common: the name, or of two that exclude
/// each other the lesser one.
fn group(name: &str) -> String {
    let partner = catalogue::find(name).and_then(|tunable| tunable.partner);
    partner.map_or(name, |partner| partner.min(name)).to_owned()
}
