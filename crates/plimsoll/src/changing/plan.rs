//! The plan: what would be written, what the formulas say of it, and what they cannot know.

use change::Value;
use change::cell::Cell as Held;
use change::machine::{Failure, Kind, Machine};
use conf::stage::at_run_time;
use conf::{Live, Tree, who};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;
use look::figures::{Effect, effects};
use look::lint::Severity;
use look::lint::planned::{Planned, findings};
use mm::catalogue::{self, Named, Of, Risk, Scope};
use mm::settings::Setting;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, PageSize};

use super::asked::Asked;
use super::native;

/// What would be done.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What would be written, in this order.
    pub(crate) rows: Vec<Row>,
    /// What is so already.
    pub(crate) already: Vec<Setting>,
    /// What the formulas give before and after, in bytes.
    pub(crate) effects: Vec<Effect>,
    /// What lint finds in this machine then, and does not find now.
    pub(crate) findings: Vec<Planned>,
    /// The worst of the tunables' risks.
    pub(crate) risk: Risk,
    /// What can be taken back only in part, and what is not known.
    pub(crate) notes: Vec<String>,
    /// The native files that will keep it, once it is confirmed and where that was asked for.
    pub(crate) files: Vec<String>,
}

/// A value that would be written.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) setting: Setting,
    /// The file, with the leading slash.
    pub(crate) path: String,
    /// What it is now: the value, or that of the partner that counts.
    pub(crate) from: String,
    pub(crate) to: String,
    /// What its cell holds, as it would be written back.
    pub(crate) held: Value,
    pub(crate) from_bytes: Option<Bytes>,
    pub(crate) to_bytes: Option<Bytes>,
    pub(crate) risk: Risk,
    pub(crate) effect: &'static str,
}

impl Plan {
    /// The plan for this machine as it is now.
    ///
    /// # Errors
    /// A value that cannot be read or is no setting, in one line.
    pub(crate) fn of(asked: &Asked, root: &Root) -> anyhow::Result<Self> {
        let snapshot = Snapshot::parse(&host::read::full(root, since_boot()));
        let tree = host::configuration::read(root);
        let mut machine = Changes::look(root);
        let (mut rows, mut already) = (vec![], vec![]);
        for setting in &asked.settings {
            match row(setting, snapshot.page, &mut machine)? {
                Some(row) => rows.push(row),
                None => already.push(setting.clone()),
            }
        }
        let wanted: Vec<Setting> = rows.iter().map(|row: &Row| row.setting.clone()).collect();
        let risk = rows.iter().map(|row| row.risk).max();
        Ok(Self {
            effects: effects(&snapshot, &snapshot.after(&wanted)),
            findings: findings(&snapshot, &wanted),
            risk: risk.unwrap_or(Risk::Low),
            notes: [
                asked.notes.clone(),
                notes(&wanted),
                elsewhere(&wanted, &tree),
            ]
            .concat(),
            rows,
            already,
            files: vec![],
        })
    }

    /// Finds the files that will keep it. What cannot win at the next boot is told before anything
    /// is written.
    ///
    /// # Errors
    /// What would win over it, in one line.
    pub(crate) fn keep(&mut self, root: &Root) -> anyhow::Result<()> {
        let values = self.values();
        let files = native::files(root, &values)?;
        self.files = files.used(&values).map(|file| format!("/{file}")).collect();
        Ok(())
    }

    /// Whether another plan would write the same over the same.
    pub(crate) fn does_as(&self, other: &Self) -> bool {
        let rows = |it: &Self| {
            let rows = it.rows.iter();
            let rows = rows.map(|row| (row.setting.clone(), row.held.clone()));
            rows.collect::<Vec<_>>()
        };
        rows(self) == rows(other)
    }

    /// The values that would be written: the tunable's file, without the leading slash, and the
    /// text.
    pub(crate) fn values(&self) -> Vec<(&str, &str)> {
        let rows = self.rows.iter();
        rows.map(|row| (row.path.trim_start_matches('/'), row.to.as_str()))
            .collect()
    }

    /// What kills this machine, or cannot be.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Planned> {
        let findings = self.findings.iter();
        findings.filter(|it| it.rule.severity == Severity::Error)
    }

    /// The settings that would be written.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        self.rows.iter().map(|row| row.setting.clone()).collect()
    }
}

fn row(
    setting: &Setting,
    page: PageSize,
    machine: &mut impl Machine,
) -> anyhow::Result<Option<Row>> {
    let named = catalogue::check(setting)?;
    if named.tunable.is_action() {
        anyhow::bail!(
            "{}: acts once when it is written, and has no value that could be taken back; it is no \
             setting",
            setting.tunable
        );
    }
    if named.tunable.default == catalogue::DefaultRule::Partner && setting.value == "0" {
        let partner = named.tunable.partner.unwrap_or("its partner");
        anyhow::bail!("{setting}: 0 is no value, it says that {partner} rules; set {partner}");
    }
    let cell = Held::of(&setting.tunable);
    let cell = cell.ok_or_else(|| anyhow::anyhow!("{setting}: cannot be set"))?;
    if let Some(device) = absent(named, machine) {
        anyhow::bail!("{setting}: this machine has no block device {device}");
    }
    let live = cell.read(|path| machine.read(path))?;
    let own = machine
        .read(&named.path())
        .map(|text| named.tunable.value_in(&text))?;
    if live.path == named.path() && named.tunable.means_same(&own, &setting.value) {
        return Ok(None);
    }
    if cell.has_views && named.tunable.means_same(&own, &setting.value) {
        return Ok(None);
    }
    let by = cell.tunable(&live.path).unwrap_or(named.tunable);
    let from = match by == named.tunable || cell.has_views {
        true => own.clone(),
        false => format!("{} ({} rules)", live.text, by.kernel_name()),
    };
    Ok(Some(Row {
        path: format!("/{}", named.path()),
        from_bytes: in_bytes(named, &own, page).filter(|_| by == named.tunable),
        to_bytes: in_bytes(named, &setting.value, page),
        from,
        to: setting.value.clone(),
        risk: named.tunable.risk,
        effect: named.tunable.effect,
        setting: setting.clone(),
        held: live,
    }))
}

/// The device that is meant, where this machine has none of that name. Each device of every kernel
/// has a `max_ratio`.
fn absent<'a>(named: Named<'a>, machine: &mut impl Machine) -> Option<&'a str> {
    let Of::One(device) = named.of else {
        return None;
    };
    let path = named.path();
    let (folder, _) = path.rsplit_once('/')?;
    let missing = |failure: Failure| failure.kind == Kind::Missing;
    let is_absent = machine
        .read(&format!("{folder}/max_ratio"))
        .err()
        .is_some_and(missing);
    (named.tunable.scope() == Scope::Device && is_absent).then_some(device)
}

/// A number as bytes, where the tunable is an amount of memory.
fn in_bytes(named: Named<'_>, text: &str, page: PageSize) -> Option<Bytes> {
    let number: u64 = text.parse().ok()?;
    let each = named.tunable.unit.bytes(page)?;
    number.checked_mul(each).map(Bytes)
}

/// Who else sets these tunables, at the next boot and as the machine runs.
fn elsewhere(settings: &[Setting], tree: &Tree) -> Vec<String> {
    let mut notes = vec![];
    for named in settings
        .iter()
        .filter_map(|it| catalogue::named(&it.tunable))
    {
        let path = named.path();
        let answer = who(tree, &path, &Live::default());
        let winner = answer.winner();
        let sets = winner.and_then(|winner| Some((winner, winner.value.as_ref()?)));
        notes.extend(sets.map(|(winner, value)| {
            let (origin, stage) = (&winner.origin, winner.stage);
            format!("at the next boot {origin} sets {named} to {value} ({stage})")
        }));
        let runs = at_run_time(&path);
        notes.extend(runs.map(|what| format!("{named} as the machine runs: {what}")));
    }
    notes
}

/// What is not as simple as a number that is written and written back.
fn notes(settings: &[Setting]) -> Vec<String> {
    let mut notes = vec![];
    let has = |name: &str| settings.iter().any(|setting| setting.tunable == name);
    if has("vm.min_free_kbytes") {
        notes.push(
            "the kernel remembers that vm.min_free_kbytes was set: until the next boot it only \
             raises it by itself, it no longer lowers it"
                .to_owned(),
        );
    }
    for setting in settings {
        let touched = catalogue::named(&setting.tunable)
            .into_iter()
            .flat_map(Named::touched);
        let touched: Vec<String> = touched.map(|it| it.to_string()).collect();
        if !touched.is_empty() {
            notes.push(format!(
                "writing {} lets the kernel change {}: that is put back too",
                setting.tunable,
                touched.join(", ")
            ));
        }
    }
    notes
}
