//! Who sets the tunable at the next boot, by the machine's files, and how that stands to the value
//! of now.

use conf::boot::Effect;
use conf::places::{Take, WHERE};
use conf::{Answer, Entry, Live, Mention, Role, Stage, Tree, who};
use mm::capture::Frame;
use mm::catalogue::Tunable;
use mm::recompute::Chooser;
use schemars::JsonSchema;
use serde::Serialize;

use super::default::Default;
use super::looked::Looked;
use crate::page::Page;

/// What the files say.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Boot {
    /// The program that reads sysctl.d here.
    loader: String,
    /// The file that says so; not there where it is taken for granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    loader_because: Option<String>,
    /// In a sentence: who wins, and why that is or is not the value of now.
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runner_up: Option<Line>,
    /// The line that sets the tunable's partner and so makes this one 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    partner: Option<Line>,
    /// What the kernel does to it by itself while the machine runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_run_time: Option<&'static str>,
    /// Every line that names it, in the order of boot.
    mentions: Vec<Line>,
    /// With which other loader it would end otherwise.
    elsewhere: Vec<Elsewhere>,
}

/// A line of a file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
struct Line {
    /// File and line.
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// The program that reads it.
    by: String,
    #[serde(skip)]
    is_of_sysctl: bool,
    /// What comes of it.
    comes_of_it: String,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Elsewhere {
    loader: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// The texts of configuration in a frame; `None` where there are none, of which nothing follows.
pub fn tree_of(frame: &Frame) -> Option<Tree> {
    let mut tree = Tree::default();
    let texts = frame.files.iter().filter(|(path, _)| is_looked_at(path));
    let mut any = false;
    for (path, text) in texts {
        tree.put(path, Entry::File(text.clone()));
        // The command line is on every machine and says nothing of its files.
        any |= !path.starts_with("proc/");
    }
    any.then_some(tree)
}

/// Whether a path is in one of the places that set tunables.
fn is_looked_at(path: &str) -> bool {
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    WHERE.iter().any(|place| match place.take {
        Take::File | Take::Presence => place.path == path,
        Take::Files => folder == Some(place.path),
        Take::All => path
            .strip_prefix(place.path)
            .is_some_and(|rest| rest.starts_with('/')),
    })
}

impl Boot {
    /// By these files; `None` for what no file can set.
    pub(crate) fn of(
        looked: Looked<'_>,
        tree: &Tree,
        value: Option<&str>,
        default: &Default,
    ) -> Self {
        let mut live = Live::default();
        for (path, text) in &looked.frame.files {
            live.put(path, text.trim_ascii());
        }
        let answer = who(tree, &looked.named.path(), &live);
        let other = |other: &conf::who::Elsewhere| Elsewhere {
            loader: other.loader.to_string(),
            value: other.stands.as_ref().map(|(value, _)| value.clone()),
            place: other.stands.as_ref().map(|(_, origin)| origin.to_string()),
        };
        Self {
            loader: answer.which.loader.to_string(),
            loader_because: answer.which.because.as_ref().map(|path| format!("/{path}")),
            says: says(looked, &answer, value, default),
            winner: answer.winner().map(Line::of),
            runner_up: answer.runner_up().map(Line::of),
            partner: answer.partner.as_ref().map(Line::of),
            elsewhere: answer.elsewhere.iter().map(other).collect(),
            mentions: answer.mentions.iter().map(Line::of).collect(),
            at_run_time: answer.at_run_time,
        }
    }

    /// Whether any line names the tunable or its partner.
    pub fn is_named(&self) -> bool {
        !self.mentions.is_empty() || self.partner.is_some()
    }

    /// Writes the section.
    pub fn write(&self, page: &mut Page) {
        page.heading("At the next boot");
        page.paragraph(2, &self.says);
        for line in &self.mentions {
            let value = line.value.as_deref().unwrap_or("-");
            let by = match line.is_of_sysctl {
                true => String::new(),
                false => format!(" ({})", line.by),
            };
            let text = format!("{} = {value}{by}: {}", line.place, line.comes_of_it);
            page.item(2, "- ", &text);
        }
        for other in &self.elsewhere {
            let end = match (&other.value, &other.place) {
                (Some(value), Some(place)) => format!("{value}, by {place}"),
                _ => "the kernel's own choice".to_owned(),
            };
            page.item(
                2,
                "- ",
                &format!("With {} it would be {end}.", other.loader),
            );
        }
        if let Some(what) = self.at_run_time {
            page.item(2, "- ", &format!("While the machine runs: {what}."));
        }
        if self.mentions.iter().any(|line| line.is_of_sysctl) {
            let known = match &self.loader_because {
                Some(path) => format!("as {path} says"),
                None => "which is taken for granted: no file here says it".to_owned(),
            };
            page.paragraph(
                2,
                &format!("The files are read by {}, {known}.", self.loader),
            );
        }
    }
}

impl Line {
    fn of(mention: &Mention) -> Self {
        Self {
            place: mention.origin.to_string(),
            value: mention.value.clone(),
            by: mention.stage.to_string(),
            is_of_sysctl: mention.stage == Stage::Sysctl,
            comes_of_it: match &mention.role {
                Role::Written(effect) => words(effect),
                Role::Lost(why) => why.to_string(),
                Role::Unread(fate) => fate.to_string(),
            },
        }
    }
}

/// What becomes of a write.
fn words(effect: &Effect) -> String {
    match effect {
        Effect::Stands => "wins".to_owned(),
        Effect::Overwritten(by) => format!("written, then {by} overwrites it"),
        Effect::Races(by) => format!("races with {by}: either may come last"),
        Effect::PartnerSet { path, by } => format!("written, then {by} sets /{path}"),
        Effect::Refused => "the kernel refuses this value".to_owned(),
    }
}

/// Who wins, and why the value of now is another one.
fn says(looked: Looked<'_>, answer: &Answer, now: Option<&str>, default: &Default) -> String {
    let tunable = looked.named.tunable;
    if let (None, Some(partner)) = (answer.winner(), &answer.partner) {
        let (value, place) = (partner.value.as_deref().unwrap_or("-"), &partner.origin);
        return format!("{place} sets its partner to {value}, so that this one is 0.");
    }
    let Some(winner) = answer.winner() else {
        let own = match default.differs {
            Some(true) => {
                ", and the value of now is lost: it was set since the boot, or by a \
                           program whose files are not looked at"
            }
            _ => "",
        };
        return format!("No file that is read sets it: the kernel's own choice stands{own}.");
    };
    let place = &winner.origin;
    let Some(value) = winner.value.as_deref() else {
        return format!("{place} sets it; to what is not told there.");
    };
    match now {
        Some(now) if tunable.means_same(value, now) => {
            let value = as_read(tunable, value);
            format!("{place} sets it to {value}, which it is now.")
        }
        Some(now) => {
            let (why, value) = (why(looked, value), as_read(tunable, value));
            format!("{place} sets it to {value}; now it is {now}: {why}.")
        }
        None => {
            let value = as_read(tunable, value);
            format!("{place} sets it to {value}; what it is now these files do not show.")
        }
    }
}

/// A value as it is written, and the number that the kernel reads where that is spelt otherwise.
fn as_read(tunable: &Tunable, value: &str) -> String {
    let taken = tunable.taken(value).filter(|_| tunable.is_number());
    match taken.filter(|taken| taken != value) {
        Some(taken) => format!("{value} ({taken} to the kernel)"),
        None => value.to_owned(),
    }
}

/// Why the kernel has another value than the file that won.
fn why(looked: Looked<'_>, value: &str) -> &'static str {
    let snapshot = looked.snapshot;
    let file = looked.named.tunable.number(value);
    let now = snapshot.number("vm.min_free_kbytes").map(i128::from);
    let is_min_free = looked.named.tunable.name == "vm.min_free_kbytes";
    match snapshot.min_free_chooser() {
        Some(Chooser::Khugepaged) if is_min_free && file < now => {
            "khugepaged raised it when huge pages were switched on, and will again"
        }
        _ if super::default::partner_rules(looked, "0") => "its partner was written since",
        _ => "it was written since the boot, or the file came since",
    }
}
