//! A machine that can be stopped before, in and after everything that it does.

use std::collections::BTreeMap;

use mm::units::Nanos;
use plimsoll_change::machine::{Failure, Kind, Machine, Place};
use plimsoll_change::{Value, undo};

/// How much of a thing happens when the command that does it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// It does not happen.
    Before,
    /// A part of it does, where it has parts.
    Within,
    /// It happens, and nothing after it.
    After,
}

/// What goes wrong without anybody being killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    /// The kernel refuses a write of this file.
    Refused(&'static str),
    /// The kernel changes the value and reports an error.
    InPart(&'static str),
    /// Whatever is written, the kernel holds 11.
    Sticks(&'static str),
    /// The journal takes no more lines, from this thing on.
    Full(usize),
}

/// Files, journals, a clock and a timer.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// What the kernel holds.
    pub(crate) live: BTreeMap<String, String>,
    /// What it held when it booted, before any native file was read.
    defaults: BTreeMap<String, String>,
    run: String,
    lib: String,
    pub(crate) native: BTreeMap<String, String>,
    boot: u32,
    pub(crate) now: Nanos,
    timer: BTreeMap<u32, Nanos>,
    /// How many things were done so far by the command that runs.
    pub(crate) done: usize,
    /// The command is killed at this one.
    pub(crate) cut: Option<(usize, When)>,
    is_dead: bool,
    pub(crate) fails: Option<Fails>,
    /// An administrator writes before the thing with this number.
    pub(crate) meddler: Option<(usize, &'static str, &'static str)>,
    /// What was written, and by which thing that was done.
    pub(crate) writes: Vec<(usize, String)>,
}

pub(crate) const SWAPPINESS: &str = "proc/sys/vm/swappiness";
pub(crate) const RATIO: &str = "proc/sys/vm/dirty_ratio";
pub(crate) const BYTES: &str = "proc/sys/vm/dirty_bytes";
pub(crate) const MIN_FREE: &str = "proc/sys/vm/min_free_kbytes";
pub(crate) const HUGE: &str = "sys/kernel/mm/transparent_hugepage/enabled";
/// The kernel keeps whole pages.
pub(crate) const READ_AHEAD: &str = "sys/block/sda/bdi/read_ahead_kb";

impl World {
    pub(crate) fn new() -> Self {
        let files = [
            (SWAPPINESS, "60"),
            (RATIO, "20"),
            (BYTES, "0"),
            (MIN_FREE, "5000"),
            (HUGE, "madvise"),
            (READ_AHEAD, "128"),
        ];
        let live: BTreeMap<String, String> = files
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .collect();
        Self {
            defaults: live.clone(),
            live,
            run: String::new(),
            lib: String::new(),
            native: BTreeMap::new(),
            boot: 1,
            now: Nanos::SECOND,
            timer: BTreeMap::new(),
            done: 0,
            cut: None,
            is_dead: false,
            fails: None,
            meddler: None,
            writes: vec![],
        }
    }

    /// The next command starts: nothing of it is done, nobody kills it.
    pub(crate) fn command(&mut self) {
        (self.done, self.cut, self.is_dead) = (0, None, false);
        self.meddler = None;
        self.writes.clear();
    }

    /// A write as the kernel takes it: one side of a pair clears the other, huge pages raise
    /// min_free_kbytes, and a part of a page is dropped.
    pub(crate) fn set(&mut self, path: &str, text: &str) {
        self.live.insert(path.to_owned(), text.to_owned());
        match path {
            READ_AHEAD => {
                let number: u64 = text.parse().expect("a number");
                self.live
                    .insert(path.to_owned(), (number / 4 * 4).to_string())
            }
            RATIO => self.live.insert(BYTES.to_owned(), "0".to_owned()),
            BYTES => self.live.insert(RATIO.to_owned(), "0".to_owned()),
            HUGE if text == "always" => self.live.insert(MIN_FREE.to_owned(), "67584".to_owned()),
            _ => None,
        };
    }

    /// Power is cut, and it boots again: what is not on the disk is gone, native files are read.
    pub(crate) fn reboot(&mut self) {
        self.command();
        self.run.clear();
        self.timer.clear();
        self.live = self.defaults.clone();
        self.boot += 1;
        self.now = Nanos::SECOND;
        let mut lines: Vec<(String, String)> = vec![];
        for (file, text) in &self.native {
            let is_sysctl = file.contains("sysctl.d");
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                let pair = match is_sysctl {
                    true => line
                        .split_once(" = ")
                        .map(|(key, value)| (format!("proc/sys/{}", key.replace('.', "/")), value)),
                    false => line
                        .strip_prefix("w /")
                        .and_then(|it| it.split_once(" - - - - "))
                        .map(|(path, value)| (path.to_owned(), value)),
                };
                let (path, value) = pair.expect("a line that we wrote");
                // The first line for a path wins in tmpfiles.d, the last in sysctl.d.
                if is_sysctl || lines.iter().all(|(known, _)| *known != path) {
                    lines.push((path, value.to_owned()));
                }
            }
        }
        for (path, value) in lines {
            self.set(&path, &value);
        }
    }

    /// Time passes, and the timers that are due run; each is started again if it is killed.
    pub(crate) fn wait(&mut self) {
        self.command();
        self.now += Nanos(1000 * Nanos::SECOND.0);
        let due = self.timer.values().any(|deadline| *deadline <= self.now);
        if due {
            let settled = undo::settle(self).expect("nothing fails here");
            assert_eq!(settled.stuck, []);
        }
    }

    /// Whether a timer would take this change back.
    pub(crate) fn is_armed(&self, id: u32) -> bool {
        self.timer.contains_key(&id)
    }

    /// Does one thing that changes the world, unless the command is killed.
    fn act(&mut self, what: impl FnOnce(&mut Self, When)) -> Result<(), Failure> {
        let dead = Failure {
            path: String::new(),
            reason: "killed".to_owned(),
            kind: Kind::Other,
        };
        if self.is_dead {
            return Err(dead);
        }
        if let Some((_, path, text)) = self.meddler.filter(|(at, ..)| *at == self.done) {
            self.set(path, text);
        }
        let number = self.done;
        self.done += 1;
        match self.cut.filter(|(at, _)| *at == number) {
            None => {
                what(self, When::After);
                Ok(())
            }
            Some((_, when)) => {
                what(self, when);
                self.is_dead = true;
                Err(dead)
            }
        }
    }

    fn journal_mut(&mut self, place: Place) -> &mut String {
        match place {
            Place::Run => &mut self.run,
            Place::Lib => &mut self.lib,
        }
    }
}

impl Machine for World {
    fn boot(&mut self) -> Result<String, Failure> {
        Ok(self.boot.to_string())
    }

    fn since_boot(&mut self) -> Nanos {
        self.now
    }

    fn unix_time(&mut self) -> u64 {
        7
    }

    fn read(&mut self, path: &str) -> Result<String, Failure> {
        let missing = || Failure {
            path: path.to_owned(),
            reason: "no such file".to_owned(),
            kind: Kind::Missing,
        };
        let text = self.live.get(path).ok_or_else(missing)?;
        Ok(format!("{text}\n"))
    }

    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        let failed = |reason: &str| {
            Err(Failure {
                path: value.path.clone(),
                reason: reason.to_owned(),
                kind: Kind::Refused,
            })
        };
        let text = match self.fails {
            Some(Fails::Refused(path)) if path == value.path => return failed("refused"),
            Some(Fails::Sticks(path)) if path == value.path => "11",
            _ => &value.text,
        };
        self.writes.push((self.done, value.path.clone()));
        self.act(|world, when| {
            if when != When::Before {
                world.set(&value.path, text);
            }
        })?;
        match self.fails {
            Some(Fails::InPart(path)) if path == value.path && text != "60" => failed("half-way"),
            _ => Ok(()),
        }
    }

    fn journal(&mut self, place: Place) -> Result<String, Failure> {
        Ok(self.journal_mut(place).clone())
    }

    fn append(&mut self, place: Place, keep: usize, line: &str) -> Result<(), Failure> {
        if matches!(self.fails, Some(Fails::Full(at)) if at <= self.done) {
            return Err(Failure {
                path: place.path().to_owned(),
                reason: "no space left on device".to_owned(),
                kind: Kind::Other,
            });
        }
        self.act(|world, when| {
            let journal = world.journal_mut(place);
            let part = match when {
                When::Before => return,
                When::Within => &line[..line.len() / 2],
                When::After => line,
            };
            journal.truncate(keep);
            journal.push_str(part);
        })
    }

    fn arm(&mut self, id: u32, deadline: Nanos) -> Result<(), Failure> {
        self.act(|world, when| {
            if when != When::Before {
                world.timer.insert(id, deadline);
            }
        })
    }

    fn disarm(&mut self, id: u32) {
        let _ = self.act(|world, when| {
            if when != When::Before {
                world.timer.remove(&id);
            }
        });
    }

    fn native(&mut self, path: &str) -> Result<Option<String>, Failure> {
        Ok(self.native.get(path).cloned())
    }

    fn install(&mut self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        self.act(|world, when| {
            if when != When::Before {
                world.native.remove(path);
                world
                    .native
                    .extend(text.map(|text| (path.to_owned(), text.to_owned())));
            }
        })
    }
}
