//! Another load beside the study's: what if a backup ran meanwhile?

use mm::units::Bytes;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::edits::{Edit, amount, applied, quoted, tables};
use super::{ArmError, Study};

/// What may run beside a study's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Reads that many bytes of a file in order, once.
    Backup,
    /// Writes a file of that many bytes in order.
    Copy,
    /// Maps that much memory and writes a word of each page, round after round.
    Hog,
}

impl Beside {
    /// Each with its word.
    pub const WORDS: [(&str, Self); 3] = [
        ("backup", Self::Backup),
        ("copy", Self::Copy),
        ("hog", Self::Hog),
    ];

    /// Its word, which is also the name of its process.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, it)| *it == self);
        found.map_or("", |(word, _)| word)
    }

    /// The arm in which it runs.
    #[must_use]
    pub fn arm(self) -> String {
        format!("with {}", self.word())
    }

    /// Its steps; `name` is the file's or region's.
    fn steps(self, name: &str, size: Bytes) -> String {
        let (name, size) = (quoted(name), amount(size));
        match self {
            Self::Backup => format!("{{ read = {{ file = {name} }} }}"),
            Self::Copy => format!("{{ write = {{ file = {name} }} }}"),
            Self::Hog => format!(
                "{{ map = {{ region = {name}, size = {size} }} }}, {{ repeat = {{ forever = true, \
                 steps = [{{ touch = {{ region = {name}, write-percent = 100 }} }}, {{ sleep = \
                 \"100 ms\" }}] }} }}"
            ),
        }
    }
}

/// The snapshots between which a recording is done again.
const FROM: &str = "begin";
const TO: &str = "end";

impl Study {
    /// The study with one more arm, "with backup", in which this runs beside its load: from the
    /// snapshot "begin" to the snapshot "end" where it has them, as a recording does.
    ///
    /// # Errors
    /// The study has neither these snapshots nor a disk for the file, or already has such an arm.
    pub fn beside(&self, beside: Beside, size: Bytes) -> Result<Self, ArmError> {
        let failed = |what: &str| ArmError {
            what: what.to_owned(),
            way_out: "edit the study's file".to_owned(),
        };
        let parsed = DeTable::parse(&self.text).map_err(|_| failed("its text is not TOML"))?;
        let document = parsed.into_inner();
        let arm = beside.arm();
        let mut edits = Vec::new();
        edits.extend(started(&document, beside.word(), &arm).ok_or_else(|| {
            failed("it does not say when another load begins: no process has a snapshot \"begin\"")
        })?);
        let file = match beside {
            Beside::Hog => String::new(),
            Beside::Backup | Beside::Copy => {
                let (disk, edit) = room(&document, size).ok_or_else(|| failed("it has no disk"))?;
                edits.push(edit);
                format!(
                    "[[machine.file]]\nname = {0}\ndisk = {1}\nsize = {2}\narms = [{3}]\n\n",
                    quoted(beside.word()),
                    quoted(&disk),
                    amount(size),
                    quoted(&arm)
                )
            }
        };
        let text = format!(
            "{}\n\n{file}[[arm]]\nname = {1}\n\n[[process]]\nname = {2}\nstart = \"on demand\"\n\
             arms = [{1}]\nsteps = [{3}]\n",
            applied(&self.text, edits).trim_end(),
            quoted(&arm),
            quoted(beside.word()),
            beside.steps(beside.word(), size),
        );
        let study = Self::parse_with(&text, &self.file, self.recorded.clone());
        study.map_err(|why| ArmError {
            what: why.what,
            way_out: why.way_out,
        })
    }
}

/// The load's start behind the snapshot that begins, and its end behind the one that ends.
fn started(document: &DeTable<'_>, process: &str, arm: &str) -> Option<[Edit; 2]> {
    let (process, arm) = (quoted(process), quoted(arm));
    let behind = |snapshot: &str, verb: &str| {
        let end = step_with(document, snapshot)?.span().end;
        let step = format!(", {{ {verb} = {process}, arms = [{arm}] }}");
        Some((end..end, step))
    };
    Some([behind(FROM, "start")?, behind(TO, "kill")?])
}

/// The step of any process that takes this snapshot.
fn step_with<'a, 'b>(
    document: &'a DeTable<'b>,
    snapshot: &str,
) -> Option<&'a Spanned<DeValue<'b>>> {
    let processes = tables(document, "process").into_iter();
    let steps = processes.filter_map(|process| process.get("steps")?.get_ref().as_array());
    let takes = |step: &&Spanned<DeValue<'_>>| {
        let table = step.get_ref().as_table();
        let named = table.and_then(|table| table.get("snapshot")?.get_ref().as_str());
        named == Some(snapshot)
    };
    steps.flatten().find(takes)
}

/// The first disk, which grows by the file and what a file system takes of it.
fn room(document: &DeTable<'_>, size: Bytes) -> Option<(String, Edit)> {
    let machine = document.get("machine")?.get_ref().as_table()?;
    let disk = tables(machine, "disk").into_iter().next()?;
    let name = disk.get("name")?.get_ref().as_str()?.to_owned();
    let there = disk.get("size")?;
    let old = mm::quantity::size(there.get_ref().as_str()?).ok()?;
    let new = old.0.saturating_add(size.0).saturating_add(size.0 / 16);
    Some((name, (there.span(), amount(Bytes(new)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\n\
        memory = \"1 GiB\"\n[[machine.disk]]\nname = \"d\"\nsize = \"1 GiB\"\n\
        bandwidth = \"1 GB/s\"\n[[arm]]\nname = \"as recorded\"\n[[process]]\nname = \"all\"\n\
        steps = [{ snapshot = \"begin\" }, { label = \"l\", sleep = \"1 s\" }, { snapshot = \"end\" }]\n\
        [[measure]]\nname = \"m\"\nstep = \"l\"\ntake = \"duration\"\n";

    #[test]
    fn what_runs_beside_is_an_arm_of_its_own() {
        let study = Study::parse(TEXT, "s").unwrap();
        for (word, beside) in Beside::WORDS {
            let with = study.beside(beside, Bytes(64 << 20)).unwrap();
            let [old, new] = &with.arms[..] else {
                panic!("two arms");
            };
            assert_eq!(new.name, beside.arm());
            assert_eq!(old.workload.processes.len(), 1, "{word}");
            assert_eq!(new.workload.processes.len(), 2, "{word}");
            let files = usize::from(beside != Beside::Hog);
            assert_eq!(
                (old.machine.files.len(), new.machine.files.len()),
                (0, files)
            );
        }
    }

    #[test]
    fn a_study_that_does_not_say_when_it_begins_is_refused() {
        let text = TEXT.replace("\"begin\"", "\"other\"");
        let study = Study::parse(&text, "s").unwrap();
        let why = study.beside(Beside::Backup, Bytes(64 << 20)).unwrap_err();
        assert!(why.what.contains("snapshot \"begin\""), "{why}");
    }
}
