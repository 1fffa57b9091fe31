//! This machine, read again and again.

use std::sync::Arc;

use change::Role;
use change::status::{Now, Status, status};
use host::Root;
use host::changes::Changes;
use look::lint::Report;
use look::metrics::{Applied, Facts, MOST_GROUPS};
use mm::catalogue;
use mm::snapshot::Snapshot;
use mm::units::Nanos;

use crate::cmd::{guard, lint};

/// How long the answer of lint holds: its files are most of what there is to read, and seldom
/// change.
const LINT_HOLDS: Nanos = Nanos(60 * Nanos::SECOND.0);

/// This machine, and how it was when it was last read.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// The last reading, and the one before it, which is at least a second older.
    last: Option<Snapshot>,
    before: Option<Snapshot>,
    /// What lint said, and when.
    linted: Option<(Nanos, Arc<Report>)>,
}

impl Machine {
    /// Reads it, for the next time.
    pub(super) fn look(&mut self) {
        self.last = Some(read());
    }

    /// What its families are made of. A reading less than a second after the last one is compared
    /// with the one before that.
    ///
    /// # Errors
    /// Its root cannot be opened.
    pub(super) fn facts(&mut self) -> anyhow::Result<Facts> {
        let now = read();
        let is_apart = |last: &Snapshot| now.at.saturating_sub(last.at) >= Nanos::SECOND;
        if self.last.as_ref().is_none_or(is_apart) {
            self.before = self.last.replace(now.clone());
        }
        Ok(Facts {
            lint: Some(self.lint(&now)?),
            applied: applied(&Root::default()),
            guard: guard::standing(),
            now,
            before: self.before.clone(),
        })
    }

    fn lint(&mut self, now: &Snapshot) -> anyhow::Result<Arc<Report>> {
        let holds = |at: &Nanos| now.at.saturating_sub(*at) < LINT_HOLDS;
        if let Some((_, report)) = self.linted.as_ref().filter(|(at, _)| holds(at)) {
            return Ok(Arc::clone(report));
        }
        let report = Arc::new(lint::of_this()?);
        self.linted = Some((now.at, Arc::clone(&report)));
        Ok(report)
    }
}

fn read() -> Snapshot {
    let root = Root::default();
    let at = host::facts::since_boot();
    Snapshot::parse(&host::read::lines(&root, at, MOST_GROUPS))
}

/// The values that standing changes set; `None` where the journal cannot be read.
fn applied(root: &Root) -> Option<Vec<Applied>> {
    let standing = status(&mut Changes::look(root)).ok()?;
    Some(standing.iter().flat_map(of_change).collect())
}

/// Those of one change that no later one covers, and its files for the next boot.
fn of_change(standing: &Status) -> Vec<Applied> {
    let steps = standing.steps.iter();
    let steps =
        steps.filter(|(step, now)| step.role != Role::Aside && !matches!(now, Now::Covered { .. }));
    let values = steps.map(|(step, now)| Applied {
        tunable: name(&step.new.path),
        drifted: *now != Now::AsSet,
    });
    let files = standing.files.iter().map(|(path, has)| Applied {
        tunable: format!("/{path}"),
        drifted: !has,
    });
    values.chain(files).collect()
}

/// The tunable of a file, or its path.
fn name(path: &str) -> String {
    let path = format!("/{path}");
    catalogue::resolve(&path).map_or_else(|_| path.clone(), |named| named.to_string())
}
