//! Samepage merging by Debian's own ksmtuned, by the kernel's advisor and by the guard, one after
//! the other in one machine over the same workload. `cargo xtask guard-ksm` runs it.
//!
//! The machine has 2 GiB, of which 17 stand-ins for virtual machines take 1.6: less than the fifth
//! is free that ksmtuned wants, so it merges. A pass of a program is five minutes with these, three
//! with one more, and four in which an update changes a tenth of the memory of each.

#[path = "vm/machine.rs"]
mod machine;

use std::time::Duration;

use mm::units::Bytes;
use plimsoll_lab::vm::debian::{Answer, Boot, Debian, First};
use plimsoll_lab::vm::{Release, VmOptions, package};

const FUNCTIONS: &str = include_str!("guard_ksm/functions.sh");
const GUEST: &str = include_str!("guard_ksm/guest.pl");
const UNIT: &str = include_str!("../../../packaging/plimsoll-guard.service");
/// As in the packaged example.
const GUARD: &str = "[ksm]\nmost_cpu = \"20 %\"\nleast_gain = \"64 MiB\"\n";

/// The package's services start when it is installed, and stop until it is their turn. The root
/// has what it depends on, but no record of that.
const BEFORE: &str = "\
mkdir -p /var/lib/dpkg/updates; touch /var/lib/dpkg/status
look > /plimsoll/before
dpkg --install --force-depends /plimsoll/ksmtuned.deb > /plimsoll/log 2>&1 || cat /plimsoll/log
systemctl is-active ksm ksmtuned
systemctl stop ksmtuned ksm
ln -s perl /usr/bin/qemu-system-x86_64
look | diff /plimsoll/before -
";

/// What is compared: the name, what begins it, what ends it.
const PROGRAMS: [[&str; 3]; 4] = [
    ["none", "", ""],
    [
        "ksmtuned",
        "unit=ksmtuned; systemctl start ksmtuned",
        "systemctl stop ksmtuned ksm",
    ],
    [
        "advisor",
        "echo scan-time > $ksm/advisor_mode && echo 1 > $ksm/run",
        "",
    ],
    [
        "guard",
        "unit=plimsoll-guard; systemctl start plimsoll-guard",
        "systemctl stop plimsoll-guard",
    ],
];

/// What a line of the samples says.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Seconds since the boot.
    at: f64,
    /// MiB.
    saved: f64,
    /// CPU seconds.
    ksmd: f64,
    daemon: f64,
}

/// How a program did.
struct Pass {
    name: &'static str,
    /// The phases, each with its samples.
    phases: Vec<Vec<Seen>>,
}

#[test]
fn the_guard_saves_more_on_average_than_ksmtuned_and_more_a_cpu_second_than_the_advisor() {
    let Some((machine, order)) = machine::unless_skipped(prepare) else {
        return;
    };
    let answers = machine.boot(&order, &mut machine::show);
    let answers = answers.unwrap_or_else(|error| panic!("{error}")).answers;
    assert_eq!(answers[0].output, "active\nactive\n", "both services start");
    let passes = PROGRAMS.iter().zip(&answers[1..]);
    let passes: Vec<_> = passes
        .map(|([name, ..], answer)| Pass::read(name, answer))
        .collect();
    print(&passes);
    let [none, ksmtuned, advisor, guard] = &passes[..] else {
        panic!("four programs");
    };
    assert_eq!(
        (none.last().saved, none.ksmd()),
        (0.0, 0.0),
        "nobody merges"
    );
    assert!(ksmtuned.last().saved > 0.0, "ksmtuned acts");
    for (ours, theirs) in guard.ends().zip(ksmtuned.ends()) {
        assert!(ours >= 0.9 * theirs, "{ours} MiB and {theirs}");
    }
    assert!(guard.on_average() > ksmtuned.on_average());
    assert!(guard.a_second() > advisor.a_second());
}

/// The machine, and what it is to do.
fn prepare() -> Result<(Debian, Boot), answer::bench::BenchError> {
    let Ok(kernel) = "6.12".parse();
    let options = VmOptions {
        kernel,
        deadline: Duration::from_secs(3 * 3600),
        binary: Some(machine::plimsoll().to_owned()),
        ..VmOptions::default()
    };
    let machine = Debian::new(Release::Debian13, &options, &mut machine::show)?;
    let ksmtuned = package(Release::Debian13, "ksmtuned", &mut machine::show)?;
    let daemon = machine::plimsoll().with_file_name("plimsoll-guard");
    let daemon = std::fs::read(&daemon).expect("the daemon lies beside the command");
    let mut order = Boot::new(First::Systemd)
        .memory(Bytes(2 * Bytes::GIB.0))
        .file("plimsoll/ksmtuned.deb", ksmtuned)
        .file("plimsoll/guest.pl", GUEST)
        .file("usr/lib/systemd/system/plimsoll-guard.service", UNIT)
        .file("etc/plimsoll/guard.toml", GUARD)
        .program("usr/bin/plimsoll-guard", daemon)
        .command(FUNCTIONS.to_owned() + BEFORE);
    for [_, begin, end] in PROGRAMS {
        let pass = format!("begin() {{ :; {begin}\n}}\nend() {{ :; {end}\n}}\npass\n");
        order = order.command(FUNCTIONS.to_owned() + &pass);
    }
    Ok((machine, order))
}

impl Pass {
    fn read(name: &'static str, answer: &Answer) -> Self {
        let (samples, left) = answer.output.split_once("end\n").expect("an end");
        assert_eq!((answer.status, left), (0, ""), "{name}: settings as before");
        let phases = samples.split("phase\n").skip(1);
        let phases: Vec<Vec<Seen>> = phases
            .map(|lines| lines.lines().map(Seen::read).collect())
            .collect();
        assert_eq!(phases.len(), 3, "{name}");
        Self { name, phases }
    }

    fn all(&self) -> impl Iterator<Item = &Seen> {
        self.phases.iter().flatten()
    }

    fn last(&self) -> &Seen {
        self.all().last().expect("samples")
    }

    /// MiB saved at the end of each phase.
    fn ends(&self) -> impl Iterator<Item = f64> {
        let ends = self.phases.iter().map(|phase| phase.last());
        ends.map(|seen| seen.expect("samples").saved)
    }

    /// CPU seconds of ksmd.
    fn ksmd(&self) -> f64 {
        self.last().ksmd - self.phases[0][0].ksmd
    }

    /// GiB saved at the end for a CPU second.
    fn a_second(&self) -> f64 {
        self.last().saved / 1024.0 / self.ksmd()
    }

    /// MiB saved on average over time: samples are equally far apart.
    fn on_average(&self) -> f64 {
        self.all().map(|seen| seen.saved).sum::<f64>() / self.all().count() as f64
    }

    /// Seconds until that much is saved.
    fn until(&self, saved: f64) -> Option<f64> {
        let first = self.phases[0].iter().find(|seen| seen.saved >= saved)?;
        Some(first.at - self.phases[0][0].at)
    }
}

impl Seen {
    /// Seconds, pages, nanoseconds, microseconds.
    fn read(line: &str) -> Self {
        let words = line.split(' ').map(str::parse);
        let words: Result<Vec<f64>, _> = words.collect();
        let Ok([at, pages, ksmd, daemon]) = words.as_deref() else {
            panic!("a sample: {line}");
        };
        Self {
            at: *at,
            saved: pages / 256.0,
            ksmd: ksmd / 1e9,
            daemon: daemon / 1e6,
        }
    }
}

fn print(passes: &[Pass]) {
    let ends = passes.iter().filter_map(|pass| pass.ends().next());
    let best = ends.fold(0.0, f64::max);
    println!(
        "{:10}{:>26}{:>9}{:>7}{:>8}{:>8}{:>10}",
        "", "MiB at a phase's end", "average", "90 %", "ksmd", "daemon", "GiB/CPU s"
    );
    for pass in passes {
        let ends: String = pass.ends().map(|saved| format!("{saved:8.1}")).collect();
        let until = pass.until(0.9 * best);
        let until = until.map_or("-".into(), |seconds| format!("{seconds:.0} s"));
        let a_second = Some(pass.a_second()).filter(|figure| figure.is_finite());
        let a_second = a_second.map_or("-".into(), |figure| format!("{figure:.3}"));
        println!(
            "{:10}{ends:>26}{:9.1}{until:>7}{:6.1} s{:6.1} s{a_second:>10}",
            pass.name,
            pass.on_average(),
            pass.ksmd(),
            pass.last().daemon
        );
    }
}
