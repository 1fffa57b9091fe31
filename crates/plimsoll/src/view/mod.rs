//! What `inspect` shows: plain data made from a capture, written as text or as JSON.
//!
//! One section a file. A section whose kernel files are missing is left out; the last section says
//! which could not be read. The JSON's shape is these structs; [`VERSION`] counts its changes.

mod available;
mod check;
mod control_groups;
mod dirty;
mod huge_pages;
mod interval;
mod ksm;
mod late_pages;
mod lists;
mod load_line;
mod lru_gen;
mod machine;
mod memory;
mod page;
mod pressure;
mod reclaim;
mod share;
mod swap;
mod unreadable;
mod watermark_rule;
mod zones;

use host::read::UNREADABLE;
use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use serde::Serialize;

use self::available::Available;
use self::check::Check;
use self::control_groups::Group;
use self::dirty::Dirty;
use self::huge_pages::HugePages;
use self::interval::Interval;
use self::ksm::Merging;
use self::lists::Lists;
use self::lru_gen::LruGen;
use self::machine::Machine;
use self::memory::Memory;
use self::page::Page;
use self::pressure::Pressure;
use self::reclaim::Reclaim;
use self::swap::Swap;
use self::unreadable::Unreadable;
use self::watermark_rule::WatermarkRule;
use self::zones::Zone;
use crate::term::Canvas;

/// Version of the JSON's shape. A new field is no new version.
const VERSION: u32 = 1;

/// The state of a machine.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    schema: &'static str,
    version: u32,
    machine: Machine,
    memory: Option<Memory>,
    zones: Vec<Zone>,
    watermark_rule: WatermarkRule,
    available: Option<Available>,
    dirty: Option<Dirty>,
    lists: Option<Lists>,
    reclaim: Option<Reclaim>,
    pressure: Vec<Pressure>,
    swap: Option<Swap>,
    huge_pages: Option<HugePages>,
    lru_gen: Option<LruGen>,
    ksm: Option<Merging>,
    control_groups: Vec<Group>,
    checks: Vec<Check>,
    unreadable: Vec<Unreadable>,
}

impl View {
    /// The state in the snapshot of this name, or in the last one; rates are taken from the first
    /// frame on.
    ///
    /// # Errors
    /// There is no such snapshot, or no frame says anything.
    pub(crate) fn of(capture: &Capture, name: Option<&str>) -> anyhow::Result<Self> {
        let shown = match name {
            Some(name) => capture
                .labelled(name)
                .ok_or_else(|| unnamed(capture, name))?,
            None => last(capture).ok_or_else(|| {
                anyhow::anyhow!("no frame of it has proc/zoneinfo or proc/meminfo: nothing to show")
            })?,
        };
        let first = capture.frames.first().unwrap_or(shown);
        Ok(Self::between(&Snapshot::parse(first), shown))
    }

    fn between(first: &Snapshot, frame: &Frame) -> Self {
        let snapshot = Snapshot::parse(frame);
        let interval = Interval::between(first, &snapshot);
        let (available, dirty) = (Available::of(&snapshot), Dirty::of(&snapshot));
        let mut checks = zones::checks(&snapshot);
        checks.extend(available.as_ref().and_then(Available::check));
        checks.extend(dirty.iter().flat_map(Dirty::checks));
        let note = frame.file(UNREADABLE).unwrap_or_default();
        Self {
            schema: "plimsoll-inspect",
            version: VERSION,
            machine: Machine::of(&snapshot, frame),
            memory: Memory::of(&snapshot),
            zones: zones::zones(&snapshot),
            watermark_rule: WatermarkRule::of(&snapshot),
            available,
            dirty,
            lists: Lists::of(&snapshot),
            reclaim: Reclaim::of(&snapshot, interval.as_ref()),
            pressure: pressure::pressures(first, &snapshot),
            swap: Swap::of(&snapshot),
            huge_pages: HugePages::of(&snapshot),
            lru_gen: LruGen::of(&snapshot),
            ksm: Merging::of(&snapshot),
            control_groups: control_groups::groups(&snapshot),
            checks,
            unreadable: unreadable::unreadable(note, &snapshot.errors),
        }
    }

    /// The page of text.
    pub(crate) fn text(&self, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        self.machine.write(&mut page);
        self.memory
            .iter()
            .for_each(|section| section.write(&mut page));
        zones::write(&self.zones, &self.watermark_rule, &mut page);
        self.available
            .iter()
            .for_each(|section| section.write(&mut page));
        self.dirty
            .iter()
            .for_each(|section| section.write(&mut page));
        self.lists
            .iter()
            .for_each(|section| section.write(&mut page));
        self.reclaim
            .iter()
            .for_each(|section| section.write(&mut page));
        pressure::write(&self.pressure, &mut page);
        self.swap
            .iter()
            .for_each(|section| section.write(&mut page));
        self.huge_pages
            .iter()
            .for_each(|section| section.write(&mut page));
        lru_gen::write(self.lru_gen.as_ref(), &mut page);
        self.ksm.iter().for_each(|section| section.write(&mut page));
        control_groups::write(&self.control_groups, &mut page);
        check::write(&self.checks, &mut page);
        unreadable::write(&self.unreadable, &mut page);
        page.into_text()
    }

    /// What moves, most telling first, for a terminal that shows it again and again.
    pub(crate) fn live_text(&self, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        self.machine.write(&mut page);
        zones::write_lines(&self.zones, &mut page);
        self.dirty
            .iter()
            .for_each(|section| section.write_line(&mut page));
        pressure::write(&self.pressure, &mut page);
        self.reclaim
            .iter()
            .for_each(|section| section.write(&mut page));
        self.lists
            .iter()
            .for_each(|section| section.write(&mut page));
        page.into_text()
    }

    /// One JSON document in one line.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }

    /// Whether every recomputed number equals the kernel's.
    pub(crate) fn all_equal(&self) -> bool {
        self.checks.iter().all(|check| check.equal)
    }

    /// Whether the recomputed numbers whose inputs move equal the kernel's: false where memory
    /// moved between the reading of two files.
    pub(crate) fn moving_equal(&self) -> bool {
        self.checks.iter().all(|check| check.equal || !check.moves)
    }
}

/// The last snapshot: with a name, else with zones, else with anything.
fn last(capture: &Capture) -> Option<&Frame> {
    let frames = || capture.frames.iter().rev();
    let has = |path| move |frame: &&Frame| frame.file(path).is_some();
    let full = || frames().filter(has("proc/zoneinfo"));
    let named = full().find(|frame| frame.label.is_some());
    named
        .or_else(|| full().next())
        .or_else(|| frames().find(has("proc/meminfo")))
}

fn unnamed(capture: &Capture, name: &str) -> anyhow::Error {
    let labels = capture
        .frames
        .iter()
        .filter_map(|frame| frame.label.as_deref());
    match labels.collect::<Vec<_>>().join("\", \"") {
        labels if labels.is_empty() => anyhow::anyhow!("none of its snapshots has a name"),
        labels => anyhow::anyhow!("no snapshot is named \"{name}\"; there is \"{labels}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::Charset;
    use expect_test::{Expect, expect};

    /// The text of the sections that these files make, from the third line on.
    fn check(files: &[(&str, &str)], expected: &Expect) {
        let mut frame = Frame::default();
        let files = files
            .iter()
            .map(|&(path, text)| (path.to_owned(), text.to_owned()));
        frame.files.extend(files);
        let capture = Capture {
            frames: vec![frame],
        };
        let view = View::of(&capture, None).expect("meminfo is there");
        let canvas = Canvas {
            width: 80,
            charset: Charset::Unicode,
        };
        let text = view.text(canvas);
        let plain = text
            .replace("\x1b[0m", "")
            .replace("\x1b[1m", "")
            .replace("\x1b[32m", "");
        let sections = plain
            .split_once("\n\n")
            .map_or("", |(_, sections)| sections);
        expected.assert_eq(sections);
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal: 1048576 kB\nMemFree: 524288 kB\nAnonPages: 400000 kB\nSwapTotal: 2097148 kB\n\
         SwapFree: 1048576 kB\nZswap: 1000 kB\nZswapped: 3000 kB\n",
    );

    #[test]
    fn swap_areas_and_zswap() {
        let swaps = "Filename\tType\tSize\tUsed\tPriority\n\
                     /dev/disk/by-id/a-very-long-name-of-a-device\tpartition\t1048572\t1048572\t-2\n\
                     /swap file\tfile\t1048576\t0\t-3\n";
        let files = [
            MEMINFO,
            ("proc/swaps", &swaps.replace("swap file", "swap\\040file")),
            ("proc/sys/vm/swappiness", "10\n"),
            ("proc/sys/vm/page-cluster", "3\n"),
            ("sys/module/zswap/parameters/enabled", "Y\n"),
        ];
        check(
            &files,
            &expect![[r#"
            Memory at a glance
              total                          1 GiB
              anonymous                    390 MiB  ■■■■······  38%  goes to swap
              free                         512 MiB  ■■■■■·····  50%
              other                        121 MiB  ■·········  11%  drivers and the rest

            Swap
              /dev/disk/by-id/a-very-long-name-of-a-device
                                          1023 MiB
                  1023 MiB used (100%), partition, priority -2
              /swap\040file                  1 GiB  0 B used (0%), file, priority -3
              vm.swappiness                     10  anonymous against file: 100 is even
              vm.page-cluster                    3  reads up to 8 pages at a time
              zswap                       1000 KiB  holds 2.9 MiB

            LRU
              classic: this kernel has no multi-generation LRU (or hides /sys/kernel/mm)
        "#]],
        );
    }

    #[test]
    fn samepage_merging_with_its_profit() {
        let ksm = |name: &str| format!("sys/kernel/mm/ksm/{name}");
        let values = [
            ("run", "1"),
            ("pages_shared", "1000"),
            ("pages_sharing", "9000"),
            ("pages_unshared", "500000"),
            ("pages_volatile", "20000"),
            ("full_scans", "12"),
            ("pages_to_scan", "100"),
            ("sleep_millisecs", "20"),
            ("general_profit", "3944000"),
        ];
        let paths: Vec<String> = values.iter().map(|(name, _)| ksm(name)).collect();
        let files = paths
            .iter()
            .zip(values)
            .map(|(path, (_, text))| (path.as_str(), text));
        let files: Vec<(&str, &str)> = files.chain([MEMINFO]).collect();
        check(
            &files,
            &expect![[r#"
            Memory at a glance
              total                          1 GiB
              anonymous                    390 MiB  ■■■■······  38%  goes to swap
              free                         512 MiB  ■■■■■·····  50%
              other                        121 MiB  ■·········  11%  drivers and the rest

            LRU
              classic: this kernel has no multi-generation LRU (or hides /sys/kernel/mm)

            Kernel samepage merging (KSM)
              state                        merging  12 full scans
              saved                       35.1 MiB  pages_sharing and zero pages
              kept once                    3.9 MiB  pages_shared
              without a twin               1.9 GiB  pages_unshared
              changes too fast            78.1 MiB  pages_volatile
              metadata                    32.3 MiB  530000 candidates of 64 bytes
              profit                       3.7 MiB  saved less metadata
              one full scan takes            106 s  at least, 100 pages every 20 ms
        "#]],
        );
    }

    #[test]
    fn control_groups_lru_and_what_is_hidden() {
        let files = [
            MEMINFO,
            ("sys/kernel/mm/lru_gen/enabled", "0x0007\n"),
            ("sys/kernel/mm/lru_gen/min_ttl_ms", "1000\n"),
            ("sys/fs/cgroup/db.slice/memory.current", "300000000\n"),
            ("sys/fs/cgroup/db.slice/memory.low", "268435456\n"),
            ("sys/fs/cgroup/db.slice/memory.max", "536870912\n"),
            ("sys/fs/cgroup/db.slice/memory.events", "oom_kill 2\n"),
            (
                "sys/fs/cgroup/db.slice/pg.service/memory.current",
                "100000000\n",
            ),
            ("proc/vmstat", "pgfault many\n"),
            (
                UNREADABLE,
                "proc/pressure/memory\tOperation not supported\n\
                 proc/zoneinfo\tPermission denied\nproc/buddyinfo\tPermission denied\n",
            ),
        ];
        check(
            &files,
            &expect![[r#"
                Memory at a glance
                  total                          1 GiB
                  anonymous                    390 MiB  ■■■■······  38%  goes to swap
                  free                         512 MiB  ■■■■■·····  50%
                  other                        121 MiB  ■·········  11%  drivers and the rest

                LRU
                  multi-generation                  on  features 0x0007
                  min_ttl_ms                      1000  pages used so lately are kept, else OOM

                Control groups: the reader's own and those above
                  /db.slice                    286 MiB  low 256 MiB, max 512 MiB, 2 OOM kills
                  /db.slice/pg.service        95.3 MiB  no limit, no protection

                Not readable here
                  Operation not supported (switched off; PSI needs psi=1 on the kernel's command
                  line): /proc/pressure/memory
                  Permission denied (root may read it): /proc/zoneinfo, /proc/buddyinfo
                  not understood (line 1, pgfault: expected a number that fits): /proc/vmstat
            "#]],
        );
    }
}
