//! Swap, mapped files, direct I/O and aging: `calibration/swap.toml`, arm by arm.

use mm::rules::{self, Mechanism};
use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, nanos, positive, ps, two_costs};

/// Pages that a fault on a mapped file maps at most: `fault_around_bytes` is 64 KiB.
const FAULT_AROUND: f64 = 16.0;
/// Words of eight bytes in each page that do not compress, at the study's ratio of 3.
const WORDS: f64 = 170.0;
/// Steps of proactive reclaim, each between snapshots "before …" and "after …".
const RECLAIMS: [&str; 3] = ["reclaim 1", "reclaim 2", "reclaim 3"];
/// Intervals in which kswapd alone reclaims, named in the same way.
const OVERFLOWS: [&str; 2] = ["overflow 1", "overflow 2"];
/// Direct reads, by the size of their blocks.
const DIRECT: [&str; 4] = [
    "direct by page",
    "direct 32 KiB",
    "direct 128 KiB",
    "direct 1 MiB",
];

/// Adds what the arm "disk" tells: swap on a disk, mapped files, direct I/O. The elementary costs
/// must be there.
pub(super) fn disk(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let mut equations = Vec::new();
    for label in RECLAIMS {
        equations.push(pages_out(
            figures,
            Written::Later,
            label,
            figures.duration(label)?,
        )?);
    }
    for label in OVERFLOWS {
        let kswapd = figures.kswapd(&before(label), &after(label))?;
        equations.push(pages_out(figures, Written::Later, label, kswapd)?);
    }
    let (out, rotate) = two_costs(&equations, "reclaim of anonymous pages")?;
    let read = nanos(costs.request_ps + costs.wait_ps);
    costs.swap_out_ps = ps(out);
    costs.rotate_ps = ps(rotate);
    costs.swap_in_ps = ps(swap_in(costs, figures)? - read);
    costs.map_file_ps = ps(map_file(costs, figures, "map file")?);
    costs.direct_ps = ps(direct(figures)?);
    Ok(())
}

/// Adds what both tell together: what the bench takes to fill pages so that they do not compress.
pub(super) fn noise(
    costs: &mut Costs,
    zram: &Figures,
    disk: &Figures,
) -> Result<(), CalibrateError> {
    let longer = zram.duration("fill")? - disk.duration("fill")?;
    costs.noise_ps = ps(longer / zram.pages("fill")? / WORDS);
    Ok(())
}

/// Adds what the arm "zram" tells: swap into compressed memory, which no request takes.
pub(super) fn zram(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let mut equations = Vec::new();
    for label in RECLAIMS {
        equations.push(pages_out(
            figures,
            Written::AtOnce,
            label,
            figures.duration(label)?,
        )?);
    }
    let (out, _) = two_costs(&equations, "reclaim of anonymous pages to zram")?;
    costs.zram_out_ps = ps(out);
    costs.zram_in_ps = ps(swap_in(costs, figures)?);
    Ok(())
}

/// Adds what the arm "generations" tells. The first reclaim of "small" and "large" ages twice: the
/// first walk finds every page's entry accessed, the second goes through them again since 6.12 (the
/// first leaves the accessed bits above them) and else passes over all. "mixed" ages once, and has
/// entries that are not accessed. All else is the same, but for some pages that go out.
pub(super) fn generations(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let again = rules::has(
        figures.release(&after("large"))?,
        Mechanism::FirstWalkLeavesBits,
    );
    let walked = |label: &str| -> Result<(f64, f64, f64), CalibrateError> {
        let written = figures.growth("pswpout", &before(label), &after(label))?;
        let time = figures.duration(label)? - written * nanos(costs.swap_out_ps);
        let accessed = figures.pages(&format!("touch {label}"))?;
        let other = match label {
            "mixed" => figures.pages("touch cold")?,
            _ if again => accessed,
            _ => 0.0,
        };
        Ok((accessed, other, time))
    };
    let small = walked("small")?;
    let beyond = |(accessed, other, time): (f64, f64, f64)| {
        (accessed - small.0, other - small.1, time - small.2)
    };
    let equations = [beyond(walked("large")?), beyond(walked("mixed")?)];
    let (accessed, other) = two_costs(&equations, "entries walked")?;
    costs.walk_ps = ps(other);
    costs.walk_young_ps = ps(accessed - other);
    Ok(())
}

/// How pages are written to swap.
#[derive(Clone, Copy, Debug)]
enum Written {
    /// Later: a page is scanned again, to be freed.
    Later,
    /// While reclaim looks at it, as zram does.
    AtOnce,
}

impl Written {
    /// Scans that started a page's writing and did not free it.
    fn first_looks(self, out: f64) -> f64 {
        match self {
            Self::Later => out,
            Self::AtOnce => 0.0,
        }
    }
}

/// Reclaim costs something a page that goes to swap, and `rotate` a page that it looks at and
/// leaves. Some 200 pages share a request: 0.5 % of what they cost, and not told apart.
fn pages_out(
    figures: &Figures,
    written: Written,
    label: &str,
    time: f64,
) -> Result<(f64, f64, f64), CalibrateError> {
    let growth = |counter| figures.growth(counter, &before(label), &after(label));
    let out = positive(growth("pswpout")?, "pswpout")?;
    let (scanned, freed) = (growth("pgscan_anon")?, growth("pgsteal_anon")?);
    let looks = scanned - freed - written.first_looks(out);
    Ok((out, looks.max(0.0), time))
}

/// A touch of a page in swap costs what any touch does, and the way in.
fn swap_in(costs: &Costs, figures: &Figures) -> Result<f64, CalibrateError> {
    let label = "swap in";
    let touches = loads(costs, figures, label)?;
    let pages = figures.growth("pswpin", &before(label), &after(label))?;
    Ok((figures.duration(label)? - touches) / positive(pages, "pswpin")?)
}

/// What a step's reads of mapped pages cost where none of them faults.
fn loads(costs: &Costs, figures: &Figures, label: &str) -> Result<f64, CalibrateError> {
    let operation = nanos(costs.loop_ps + costs.operation_ps);
    Ok(figures.operations(label)? * operation + figures.pages(label)? * nanos(costs.load_ps))
}

/// One fault in `FAULT_AROUND` pages of a mapped file by a step's reads; the others are only
/// touched.
pub(super) fn map_file(
    costs: &Costs,
    figures: &Figures,
    label: &str,
) -> Result<f64, CalibrateError> {
    let pages = figures.pages(label)?;
    let touches = loads(costs, figures, label)?;
    Ok((figures.duration(label)? - touches) / (pages / FAULT_AROUND))
}

/// A call past the page cache costs something for itself, which is near
/// `syscall + request + wait`, and something for each page.
fn direct(figures: &Figures) -> Result<f64, CalibrateError> {
    let mut equations = Vec::new();
    for label in DIRECT {
        let (calls, pages) = (figures.operations(label)?, figures.pages(label)?);
        equations.push((calls, pages, figures.duration(label)?));
    }
    Ok(two_costs(&equations, "direct reads of different sizes")?.1)
}

fn before(label: &str) -> String {
    format!("before {label}")
}

fn after(label: &str) -> String {
    format!("after {label}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{SWAP, run};
    use answer::model_bench::ModelBench;
    use mm::capture::{Capture, Frame};
    use scenario::outcome::STEPS;
    use std::fmt::Write as _;
    use study::Study;

    /// Arms that the model is held to, and costs that it must find there. It does not find
    /// `direct`, which comes out 6 % dearer; a part is the time that the disk takes for a mebibyte.
    const HELD: [(&str, &[&str]); 4] = [
        ("disk", OF_DISK),
        ("disk by limit", OF_DISK),
        ("zram", OF_ZRAM),
        ("zram by limit", OF_ZRAM),
    ];
    const OF_DISK: &[&str] = &["rotate", "swap out", "swap in", "map file"];
    const OF_ZRAM: &[&str] = &["zram out", "zram in"];

    /// A run in which everything costs what is said.
    #[derive(Default)]
    struct Made {
        frames: Vec<Frame>,
        steps: String,
        vmstat: [u64; 4],
        kswapd: u64,
    }

    const COUNTERS: [&str; 4] = ["pswpout", "pgscan_anon", "pgsteal_anon", "pswpin"];

    impl Made {
        fn snapshot(&mut self, label: String) {
            let mut frame = Frame {
                label: Some(label),
                ..Frame::default()
            };
            let mut vmstat = String::new();
            for (name, value) in COUNTERS.iter().zip(self.vmstat) {
                let _ = writeln!(vmstat, "{name} {value}");
            }
            frame.files.insert("proc/vmstat".to_owned(), vmstat);
            let schedstat = format!("{} 0 0\n", self.kswapd);
            frame
                .files
                .insert("proc/kswapd0/schedstat".to_owned(), schedstat);
            self.frames.push(frame);
        }

        /// The kernel that every snapshot so far is of.
        fn release(&mut self, release: &str) {
            for frame in &mut self.frames {
                let file = "proc/sys/kernel/osrelease".to_owned();
                frame.files.insert(file, format!("{release}\n"));
            }
        }

        fn step(&mut self, label: &str, operations: u64, pages: u64, time: u64) {
            let bytes = pages * 4096;
            let _ = writeln!(
                self.steps,
                "p\t{label}\t0\t{time}\t{operations}\t{bytes}\tdone\t0\t0\t0,0"
            );
        }

        /// Of an interval: pages written, looks at pages beyond those, and pages read.
        fn interval(&mut self, label: &str, (out, scanned, freed): (u64, u64, u64), read: u64) {
            self.snapshot(before(label));
            for (value, growth) in self.vmstat.iter_mut().zip([out, scanned, freed, read]) {
                *value += growth;
            }
            self.snapshot(after(label));
        }

        fn figures(mut self) -> Figures {
            let mut last = Frame::default();
            last.files.insert(STEPS.to_owned(), self.steps);
            self.frames.push(last);
            let capture = Capture {
                frames: self.frames,
            };
            Figures::new(capture).expect("an outcome")
        }
    }

    fn elementary() -> Costs {
        Costs {
            loop_ps: 120_000,
            operation_ps: 80_000,
            load_ps: 50_000,
            request_ps: 13_000_000,
            ..Costs::default()
        }
    }

    /// Rotation 1300 ns, out 10 us, in 9 us, a mapping fault 8 us, a direct page 1 us.
    #[test]
    fn what_a_made_up_disk_costs_is_found() {
        let mut made = Made::default();
        for (label, out, rotated) in [
            ("reclaim 1", 900, 4000),
            ("reclaim 2", 800, 0),
            ("reclaim 3", 700, 5),
        ] {
            made.interval(label, (out, 2 * out + rotated - 10, out - 10), 0);
            made.step(label, 0, 0, 10_000 * out + 1300 * rotated);
        }
        for (label, out, rotated) in [("overflow 1", 2000, 9000), ("overflow 2", 6000, 9100)] {
            made.interval(label, (out, 2 * out + rotated, out), 0);
            made.kswapd += 10_000 * out + 1300 * rotated;
            let time = made.kswapd;
            let frame = made.frames.last_mut().expect("the snapshot after");
            let schedstat = format!("{time} 0 0\n");
            frame
                .files
                .insert("proc/kswapd0/schedstat".to_owned(), schedstat);
        }
        made.interval("swap in", (0, 0, 0), 700);
        made.step("swap in", 1000, 1000, 1000 * 250 + 700 * (9000 + 13_000));
        made.step("map file", 4, 1024, 4 * 200 + 1024 * 50 + 64 * 8000);
        for (label, calls, pages) in [
            (DIRECT[0], 64, 64),
            (DIRECT[1], 8, 64),
            (DIRECT[2], 2, 64),
            (DIRECT[3], 1, 256),
        ] {
            made.step(label, calls, pages, calls * 14_000 + pages * 1000);
        }
        let mut costs = elementary();
        disk(&mut costs, &made.figures()).expect("figures");
        let expected = Costs {
            rotate_ps: 1_300_000,
            swap_out_ps: 10_000_000,
            swap_in_ps: 9_000_000,
            map_file_ps: 8_000_000,
            direct_ps: 1_000_000,
            ..elementary()
        };
        assert_eq!(costs, expected);
    }

    /// Out 16 us and in 9 us; a page is scanned once only, and no request is taken.
    #[test]
    fn what_made_up_zram_costs_is_found() {
        let mut made = Made::default();
        for (label, out, rotated) in [
            ("reclaim 1", 900, 4000),
            ("reclaim 2", 800, 0),
            ("reclaim 3", 700, 0),
        ] {
            made.interval(label, (out, out + rotated, out), 0);
            made.step(label, 0, 0, 16_000 * out + 1300 * rotated);
        }
        made.interval("swap in", (0, 0, 0), 700);
        made.step("swap in", 1000, 1000, 1000 * 250 + 700 * 9000);
        let mut costs = elementary();
        zram(&mut costs, &made.figures()).expect("figures");
        assert_eq!(
            (costs.zram_out_ps, costs.zram_in_ps),
            (16_000_000, 9_000_000)
        );
    }

    /// An entry 50 ns, an accessed one 150 more; of all but "mixed" a walk goes by twice since
    /// 6.12.
    #[test]
    fn a_walk_costs_what_the_larger_region_takes_longer() {
        for (release, walks) in [("6.1.0", 1), ("6.12.117", 2)] {
            let mut made = Made::default();
            for (label, accessed, other, out) in [
                ("small", 1000, (walks - 1) * 1000, 30),
                ("large", 5000, (walks - 1) * 5000, 40),
                ("mixed", 3000, 2000, 50),
            ] {
                made.step(&format!("touch {label}"), 1, accessed, 1);
                made.interval(label, (out, 2 * out, out), 0);
                let time = 70_000 + 10_000 * out + 200 * accessed + 50 * other;
                made.step(label, 0, 0, time);
            }
            made.step("touch cold", 1, 2000, 1);
            made.release(release);
            let mut costs = Costs {
                swap_out_ps: 10_000_000,
                ..elementary()
            };
            generations(&mut costs, &made.figures()).expect("figures");
            assert_eq!((costs.walk_ps, costs.walk_young_ps), (50_000, 150_000));
        }
    }

    #[test]
    fn every_arm_of_the_study_can_be_asked_for() {
        let study = Study::parse(SWAP, "swap").expect("it is well-formed");
        for arm in [
            "disk",
            "disk by limit",
            "zram",
            "zram by limit",
            "generations",
        ] {
            let scenario = study.scenario(arm, 1).expect(arm);
            assert_eq!(scenario.machine.swaps.len(), 1, "{arm}");
        }
    }

    /// The model knows its costs: calibrating it must find them.
    #[test]
    fn calibrating_the_model_finds_its_costs_of_swap() {
        let known = answer::calibration::built_in("6.1").expect("the binary carries 6.1");
        let bench = ModelBench::new(known.clone());
        for (arm, costs) in HELD {
            let capture = run(&bench, SWAP, arm, &mut |_| ()).expect(arm);
            let figures = Figures::new(capture).expect("an outcome");
            let mut found = Costs {
                rotate_ps: 0,
                swap_out_ps: 0,
                swap_in_ps: 0,
                zram_out_ps: 0,
                zram_in_ps: 0,
                map_file_ps: 0,
                ..known.costs
            };
            match arm.starts_with("disk") {
                true => disk(&mut found, &figures),
                false => zram(&mut found, &figures),
            }
            .expect(arm);
            near(&found, &known.costs, costs);
        }
    }

    #[test]
    fn calibrating_the_model_finds_what_filling_a_page_takes() {
        let known = answer::calibration::built_in("6.1").expect("the binary carries 6.1");
        let bench = ModelBench::new(known.clone());
        let [zram, disk] = ["zram", "disk"].map(|arm| {
            let capture = run(&bench, SWAP, arm, &mut |_| ()).expect(arm);
            Figures::new(capture).expect("an outcome")
        });
        let mut found = Costs::default();
        noise(&mut found, &zram, &disk).expect("figures");
        assert!(known.costs.noise_ps > 0);
        near(&found, &known.costs, &["noise"]);
    }

    #[test]
    fn calibrating_the_model_finds_its_costs_of_a_walk() {
        for kernel in ["6.1", "6.12"] {
            let known = answer::calibration::built_in(kernel).expect("the binary carries it");
            let bench = ModelBench::new(known.clone());
            let capture = run(&bench, SWAP, "generations", &mut |_| ()).expect(kernel);
            let mut found = Costs {
                walk_ps: 0,
                walk_young_ps: 0,
                ..known.costs
            };
            generations(&mut found, &Figures::new(capture).expect("an outcome")).expect(kernel);
            near(&found, &known.costs, &["walk", "walk young"]);
        }
    }

    fn near(found: &Costs, known: &Costs, names: &[&str]) {
        let all = [
            ("rotate", found.rotate_ps, known.rotate_ps),
            ("swap out", found.swap_out_ps, known.swap_out_ps),
            ("swap in", found.swap_in_ps, known.swap_in_ps),
            ("zram out", found.zram_out_ps, known.zram_out_ps),
            ("noise", found.noise_ps, known.noise_ps),
            ("zram in", found.zram_in_ps, known.zram_in_ps),
            ("map file", found.map_file_ps, known.map_file_ps),
            ("walk", found.walk_ps, known.walk_ps),
            ("walk young", found.walk_young_ps, known.walk_young_ps),
        ];
        let held = |(name, ..): &(&str, u64, u64)| names.contains(name);
        assert_eq!(all.iter().filter(|cost| held(cost)).count(), names.len());
        for (name, found, known) in all.into_iter().filter(held) {
            let apart = found.abs_diff(known);
            assert!(apart <= known / 50 + 2000, "{name}: {found} for {known}");
        }
    }
}
