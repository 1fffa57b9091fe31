//! The plan: what would be written, what the formulas say of it, and what they cannot know.

use change::cell::Cell as Held;
use change::danger::{Danger, dangers};
use change::machine::{Failure, Kind, Machine};
use conf::stage::at_run_time;
use conf::{Live, Tree, who};
use mm::catalogue::{self, Named, Of, Risk, Scope, Unit};
use mm::settings::Setting;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, PageSize};

/// What would be done.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What would be written, in this order.
    pub(crate) rows: Vec<Row>,
    /// What is so already.
    pub(crate) already: Vec<Setting>,
    /// What the formulas give before and after, in bytes.
    pub(crate) effects: Vec<Effect>,
    /// Why it kills the machine.
    pub(crate) dangers: Vec<Danger>,
    /// The worst of the tunables' risks.
    pub(crate) risk: Risk,
    /// What can be taken back only in part, and what is not known.
    pub(crate) notes: Vec<String>,
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
    pub(crate) from_bytes: Option<Bytes>,
    pub(crate) to_bytes: Option<Bytes>,
    pub(crate) risk: Risk,
    pub(crate) effect: &'static str,
}

/// A figure before and after.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) name: &'static str,
    pub(crate) before: Bytes,
    pub(crate) after: Bytes,
}

impl Plan {
    /// The plan of these settings for this machine.
    ///
    /// # Errors
    /// A value that cannot be read or is no setting, in one line.
    pub(crate) fn of(
        settings: &[Setting],
        snapshot: &Snapshot,
        tree: &Tree,
        machine: &mut impl Machine,
    ) -> anyhow::Result<Self> {
        let (mut rows, mut already) = (vec![], vec![]);
        for setting in settings {
            match row(setting, snapshot.page, machine)? {
                Some(row) => rows.push(row),
                None => already.push(setting.clone()),
            }
        }
        let wanted: Vec<Setting> = rows.iter().map(|row: &Row| row.setting.clone()).collect();
        let risk = rows.iter().map(|row| row.risk).max();
        Ok(Self {
            effects: effects(snapshot, &snapshot.after(&wanted)),
            dangers: dangers(snapshot, &wanted),
            risk: risk.unwrap_or(Risk::Low),
            notes: [notes(&wanted), elsewhere(&wanted, tree)].concat(),
            rows,
            already,
        })
    }

    /// The values that would be written: the tunable's file, without the leading slash, and the
    /// text.
    pub(crate) fn values(&self) -> Vec<(&str, &str)> {
        let rows = self.rows.iter();
        rows.map(|row| (row.path.trim_start_matches('/'), row.to.as_str()))
            .collect()
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
    let each = match named.tunable.unit {
        Unit::Bytes => 1,
        Unit::Kib => 1 << 10,
        Unit::Mib => 1 << 20,
        Unit::Pages => page.bytes(),
        _ => return None,
    };
    number.checked_mul(each).map(Bytes)
}

/// The figures that differ.
fn effects(before: &Snapshot, after: &Snapshot) -> Vec<Effect> {
    let high = |it: &Snapshot| {
        let zones = it.zoneinfo.as_ref()?.zones.iter();
        let pages: u64 = zones.map(|zone| zone.watermarks.high.0).sum();
        Some(Bytes(pages * it.page.bytes()))
    };
    let available = |it: &Snapshot| Some(it.available()?.total.bytes(it.page));
    let dirty = |it: &Snapshot| Some(it.thresholds()?.dirty.bytes(it.page));
    let background = |it: &Snapshot| Some(it.thresholds()?.background.bytes(it.page));
    let commit = |it: &Snapshot| it.commit_limit().map(Kib::bytes);
    type Figure<'a> = (&'static str, &'a dyn Fn(&Snapshot) -> Option<Bytes>);
    let figures: [Figure<'_>; 5] = [
        ("MemAvailable", &available),
        ("kept free (high marks)", &high),
        ("dirty limit", &dirty),
        ("background writeback from", &background),
        ("commit limit", &commit),
    ];
    let both = figures.into_iter().filter_map(|(name, figure)| {
        let (before, after) = (figure(before)?, figure(after)?);
        Some(Effect {
            name,
            before,
            after,
        })
    });
    both.filter(|effect| effect.before != effect.after)
        .collect()
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
