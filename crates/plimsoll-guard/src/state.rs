//! What the guard holds set, in its state file.

use std::fs;
use std::path::Path;

use change::hold::Restored;
use change::machine::Value;
use change::{Cell, Hold};
use guard::{Event, Policy};
use host::changes::Forbidden;
use host::{Root, facts};
use mm::catalogue;
use mm::settings::Setting;

use crate::log;
use crate::place::{self, Place, failed};

mod machine;

use machine::Machine;

/// The longest state file that is read; one of a machine with a thousand devices has 300 KiB.
const LONGEST: u64 = 4 << 20;

/// The tunables of this guard.
#[derive(Debug)]
pub(crate) struct State {
    machine: Machine,
    hold: Hold,
}

impl State {
    /// Takes the file for this guard, and writes back what one that was killed had set.
    ///
    /// # Errors
    /// One line: the file cannot be had, or is not what a guard wrote.
    pub(crate) fn take(lock: fs::File, place: &Place) -> Result<Self, String> {
        let path = place.path(place.state());
        let found = match place.folder.read_trusted(place.state(), LONGEST) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&path, &error)),
        };
        let mut machine = Machine::new(lock, place, found);
        let text = path.to_string_lossy();
        let hold = Hold::open(&mut machine, text.trim_start_matches('/'));
        let hold = hold.map_err(|error| error.to_string())?;
        check(&hold, &path)?;
        let mut state = Self { machine, hold };
        state.restore("a guard that is gone left it set")?;
        Ok(state)
    }

    /// Sets a tunable; what it was and becomes is in the file before.
    ///
    /// # Errors
    /// One line; always inside a container.
    pub(crate) fn set(&mut self, setting: &Setting) -> Result<(), String> {
        // `/proc/sys` as a whole is read-only for the unit, which says nothing here.
        if facts::place(&Root::default()) == mm::notes::Place::Container {
            return Err(Forbidden::Container.to_string());
        }
        let set = self.hold.set(&mut self.machine, setting);
        set.map_err(|error| error.to_string())
    }

    /// Writes a tunable's old value back, if nobody else has written it since; whether it was held.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn give_back(&mut self, tunable: &str) -> Result<bool, String> {
        let cell = Cell::of(tunable).map_or_else(String::new, |cell| cell.name);
        let restored = self.hold.let_go(&mut self.machine, &cell);
        restored
            .map(|it| it.is_some())
            .map_err(|error| error.to_string())
    }

    /// Writes back whatever a policy has set.
    ///
    /// # Errors
    /// One line: the first that failed; the others were tried.
    pub(crate) fn give_back_all(&mut self, of: Policy) -> Result<(), String> {
        let ours = self
            .hold
            .steps()
            .filter(|step| policy(&step.new.path) == Some(of));
        let cells: Vec<String> = ours.map(|step| step.cell.clone()).collect();
        let failed = cells.iter().filter_map(|cell| {
            let restored = self.hold.let_go(&mut self.machine, cell);
            restored.err().map(|error| error.to_string())
        });
        let failed: Vec<String> = failed.collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }

    /// The tunables that are set, and what each was before.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&str, String)> {
        let steps = self.hold.steps();
        steps.map(|step| (step.cell.as_str(), before(&step.old, &step.new)))
    }

    /// Writes every old value back, and removes the file.
    ///
    /// # Errors
    /// One line: the first value that could not be written back; the file keeps it.
    pub(crate) fn restore(&mut self, why: &str) -> Result<(), String> {
        let restored = self.hold.restore(&mut self.machine);
        for what in restored.map_err(|error| error.to_string())? {
            say(&what, why);
        }
        Ok(())
    }
}

/// The value before, with its file where that is another one: `vm.dirty_ratio` counts again when
/// `vm.dirty_bytes` is given back.
fn before(old: &Value, new: &Value) -> String {
    match old.path == new.path {
        true => old.text.clone(),
        false => format!("{} in /{}", old.text, old.path),
    }
}

fn say(restored: &Restored, why: &str) {
    let (path, what) = match restored {
        Restored::Old(value) => (&value.path, format!("= {} again", value.text)),
        Restored::Theirs(value) => {
            let value = (&value.path, &value.text);
            (
                value.0,
                format!("is {}: somebody else set it since: it stays", value.1),
            )
        }
        Restored::Gone(path) => (path, "is gone".to_owned()),
    };
    let event = Event {
        policy: policy(path).map_or("", Policy::word).to_owned(),
        action: "give_back".to_owned(),
        what: format!("/{path} {what}"),
        why: why.to_owned(),
        ..Event::default()
    };
    let times = u64::from(matches!(restored, Restored::Old(_)));
    log::say(event, times);
}

/// Whatever a file says: only what the policies set is written back.
fn check(hold: &Hold, path: &Path) -> Result<(), String> {
    let values = hold.steps().flat_map(|step| [&step.old, &step.new]);
    let mut foreign = values.filter(|value| policy(&value.path).is_none());
    foreign.next().map_or(Ok(()), |value| {
        Err(format!(
            "{}: no policy sets /{}: nothing is written back; look at the file, and move it away",
            path.display(),
            value.path
        ))
    })
}

/// Whose tunable lies there.
fn policy(path: &str) -> Option<Policy> {
    let named = catalogue::resolve(path).ok()?;
    if named.path() != path {
        return None;
    }
    let name = named.to_string();
    let of_device = name
        .strip_prefix("bdi.")
        .and_then(|rest| rest.rsplit_once('.'));
    match (name.as_str(), of_device) {
        ("vm.swappiness", _) => Some(Policy::Floor),
        ("vm.watermark_scale_factor", _) => Some(Policy::Watermarks),
        ("ksm.run" | "ksm.pages_to_scan", _) => Some(Policy::Ksm),
        ("vm.dirty_bytes" | "vm.dirty_ratio", _)
        | ("vm.dirty_background_bytes" | "vm.dirty_background_ratio", _)
        | (_, Some((_, "max_ratio" | "max_ratio_fine" | "strict_limit"))) => {
            Some(Policy::Writeback)
        }
        _ => None,
    }
}

/// `--restore`: writes back what a guard that ended had set.
///
/// # Errors
/// One line.
pub(crate) fn restore_alone(path: &Path) -> Result<(), String> {
    let Some(place) = Place::find(path)? else {
        return Ok(());
    };
    let lock = place::only_one()?;
    // Where there is something to write back, that is an event.
    log::open(Some(&place))?;
    State::take(lock, &place).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state beside its own lock, as that of a whole machine.
    fn take(folder: &Path) -> Result<State, String> {
        let place = Place::make(&folder.join("state"))?;
        State::take(place::only_one_in(&place.folder)?, &place)
    }

    /// A file with this line, and the checksum that anybody can compute.
    fn text(line: &str) -> String {
        let step = |crc: u32| (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        let byte = |crc: u32, byte: u8| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc));
        let crc = !line.bytes().fold(u32::MAX, byte);
        format!("plimsoll-hold 1\n{crc:08x} {line}\n")
    }

    #[test]
    fn what_is_no_state_file_is_left_alone_and_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        fs::write(&path, "/proc/sys/vm/swappiness\t60\t0\n").expect("a file");
        let error = take(directory.path()).expect_err("no state file");
        assert!(error.contains("line 1 is damaged"), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn what_somebody_else_wrote_or_no_policy_sets_is_refused_and_left() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let victim = directory.path().join("victim");
        fs::write(&victim, "victim").expect("a file");
        let below = victim.to_str().expect("a name").trim_start_matches('/');
        for path_of in [
            below,
            "proc/sys/kernel/core_pattern",
            "proc/sys/vm/../vm/swappiness",
        ] {
            let step = format!("wrote {path_of},{path_of},forged,{path_of},victim,asked");
            fs::write(&path, text(&step)).expect("a file");
            let error = take(directory.path()).expect_err(path_of);
            assert!(error.contains("nothing is written back"), "{error}");
        }
        assert_eq!(fs::read_to_string(&victim).expect("there"), "victim");
        let mode = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs::set_permissions(&path, mode).expect("permissions");
            take(directory.path()).expect_err("not root's alone")
        };
        let error = mode(0o666);
        assert!(error.contains("writable by others"), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn every_tunable_that_the_policies_set_has_its_policy() {
        for (tunable, expected) in [
            ("vm.swappiness", Policy::Floor),
            ("vm.watermark_scale_factor", Policy::Watermarks),
            ("vm.dirty_bytes", Policy::Writeback),
            ("vm.dirty_background_ratio", Policy::Writeback),
            ("bdi.sda.max_ratio_fine", Policy::Writeback),
            ("ksm.pages_to_scan", Policy::Ksm),
        ] {
            let path = catalogue::named(tunable).expect("a tunable").path();
            assert_eq!(policy(&path), Some(expected), "{tunable}");
        }
        for path in [
            "proc/sys/vm/min_free_kbytes",
            "/proc/sys/vm/swappiness",
            "vm.swappiness",
        ] {
            assert_eq!(policy(path), None, "{path}");
        }
    }

    #[test]
    fn a_value_before_in_another_file_is_told_with_that() {
        let value = |path: &str, text: &str| Value {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let bytes = value("vm/bytes", "4096");
        assert_eq!(before(&value("vm/ratio", "20"), &bytes), "20 in /vm/ratio");
        assert_eq!(before(&value("vm/bytes", "8192"), &bytes), "8192");
    }

    #[test]
    fn a_machine_has_one_guard() {
        let directory = tempfile::tempdir().expect("a directory");
        let first = take(directory.path()).expect("the first");
        let second = take(directory.path()).expect_err("the second");
        assert!(
            second.contains("a guard runs, and a machine has one"),
            "{second}"
        );
        drop(first);
        take(directory.path()).expect("after the first");
    }
}
