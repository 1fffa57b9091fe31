//! `plimsoll record`: what tasks do to files on this machine, as a study that is asked, proven and
//! edited like any other.

mod ages;
mod disks;
mod harm;
mod memory;
mod saving;
mod thinning;
mod threads;
mod told;
mod writers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use answer::machine;
use anyhow::{Context as _, bail};
use host::facts::{self, since_boot};
use host::groups::Used;
use host::{Root, groups};
use mm::hierarchy::ancestors;
use mm::notes::Place;
use mm::quantity;
use mm::snapshot::Snapshot;
use mm::text::lasting;
use mm::units::{Bytes, Nanos};
use recorder::{Probe, Seen as Found, Stream, Streams, Tally};
use rustix::time::{ClockId, Timespec, clock_gettime};
use scenario::recording::{self, Part, Run, Writer};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use study::recording::pack;
use study::{AtHand, DiskKind, Load, LoadMemory, LoadStream, Observed, Seen};

use self::ages::Ages;
use self::disks::FromDisks;
use self::harm::{Harm, Sample, Watch};
use self::saving::Saving;
use self::thinning::{OwnTime, Thinning};
use self::threads::Threads;
use self::writers::Writers;
use super::{seconds, time};
use crate::changing::nanos;
use crate::exit::ExitCode;
use crate::term;

/// Record what tasks do to files on this machine, to ask what they would do on another
///
/// Programs in the kernel note reads, writes, fsync and truncation of files through the page cache,
/// for all tasks. Nothing is compiled, no setting is changed, and when this command ends, however
/// it ends, the kernel takes the programs away. The file is a study: `plimsoll predict FILE
/// --memory 8G` asks what the same load does with that much memory.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For how long; an interrupt ends it earlier, and what was recorded is kept
    #[arg(long = "for", value_name = "TIME", default_value = "10m")]
    #[arg(value_parser = time(seconds(1, 86_400)))]
    lasts: Duration,
    /// The file, which must not exist yet
    #[arg(short, long, value_name = "FILE", default_value = "load.rec")]
    output: PathBuf,
    /// The size that the file may have; where all does not fit, a half of the pages is kept, and so
    /// on
    #[arg(long, value_name = "SIZE", default_value = "20M", value_parser = size)]
    size: Bytes,
    /// Leave the ages of anonymous pages alone: without them settings about swap are not answered
    #[arg(long)]
    no_ages: bool,
}

/// How often events are taken from the kernel: the ring has room for three million a second.
const TURN: Duration = Duration::from_millis(20);
/// Bytes of a page.
const PAGE: u64 = 4096;
/// A ring that is this full is looked at again at once.
const MANY: u32 = 5_000;

/// Records.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    if args.output == Path::new("-") {
        bail!("-: a recording is written again and again, so not to a pipe; name a file with -o");
    }
    check_free(&args.output)?;
    check_rights(&root)?;
    // The load is asked about without this command, which takes 8 MiB for events and more.
    let available = memory::available(&root)?;
    let mut probe = Probe::new(facts::kernel_types(&root).unwrap_or_default())?;
    let release = root.look("proc/sys/kernel/osrelease").unwrap_or_default();
    let own_time = OwnTime::of(release.trim())?;
    let take = |run: &Run| own_time.take(run);
    let mut recording = Begun::new(&root, &args, &probe, available, (own_time, &take))?;
    // So that nobody waits for a file that cannot be written.
    let observed = recording.observed(&probe, None);
    recording.save(&observed);
    recording.saving.finish()?;
    recorder::give_back();
    if recording.ages.lacking().is_none() {
        term::talk(format_args!(
            "ages of anonymous pages are read (lru_gen): that moves pages between generations, so \
             other pages may be reclaimed first; no setting is changed; --no-ages leaves it"
        ));
    }
    term::talk(format_args!(
        "recording for {} at {}; an interrupt ends it",
        lasting(nanos(args.lasts)),
        probe.hooks().join(", ")
    ));
    recording.ages.begin(&root);
    let ended = recording.watch(&mut probe)?;
    recording.ages.stop();
    recording.take(&mut probe);
    recording.saving.finish()?;
    let thinned = recording.thinning.finish()?;
    recording.put_before(thinned);
    let observed = recording.observed(&probe, Some(ended));
    recording.save(&observed);
    recording.saving.finish()?;
    // From here on one interrupt is enough.
    recording.stop.store(true, Ordering::Relaxed);
    recording.tell(&probe, &observed, ended)?;
    Ok(ExitCode::Done)
}

/// Refuses a file that is there already.
pub(super) fn check_free(path: &Path) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        let path = path.display();
        bail!("{path} is there already; name another file with --output");
    }
    Ok(())
}

/// Only root is told what tasks do to files, and in a container nobody.
fn check_rights(root: &Root) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("the kernel shows what tasks do to files to root only; run it with sudo");
    }
    if facts::place(root) == Place::Container {
        bail!("this is a container, which cannot look at the tasks of the machine; run it there");
    }
    Ok(())
}

/// A recording on its way.
struct Begun<'a> {
    root: &'a Root,
    args: &'a Args,
    name: String,
    kernel: String,
    at_hand: AtHand,
    /// Before it took memory itself.
    available: Bytes,
    /// What of the page cache was reclaimed before it began; nothing before Linux 5.8.
    reclaimed: Option<Bytes>,
    /// What was read from disks before it began.
    before: FromDisks,
    began: Instant,
    streams: Streams<'a>,
    /// What control groups had beside the page cache when they were first met.
    used: BTreeMap<String, Used>,
    ages: Ages,
    writers: Writers,
    blocks: Vec<u8>,
    saving: Saving,
    thinning: Thinning,
    own_time: OwnTime,
    /// Nothing where the kernel does not say how long tasks wait.
    harm: Option<Watch>,
    stop: Arc<AtomicBool>,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Time,
    Interrupted,
    Full,
    Harm(Harm),
}

impl<'a> Begun<'a> {
    fn new(
        root: &'a Root,
        args: &'a Args,
        probe: &Probe,
        available: Bytes,
        (own_time, take): (OwnTime, recording::OwnTime<'a>),
    ) -> anyhow::Result<Self> {
        let frame = host::read::full(root, since_boot());
        let snapshot = Snapshot::parse(&frame);
        let (mut at_hand, kernel) = machine::of_frame(&frame, &snapshot);
        let any = study::Study::built_in("min-free-kbytes").context("no study is built in")?;
        machine::keep_what_is_modelled(&any, &mut at_hand)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Whoever does not wait for the end interrupts once more.
            let number = 128 + signal;
            signal_hook::flag::register_conditional_shutdown(signal, number, Arc::clone(&stop))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Self {
            root,
            args,
            name: name_of(&args.output),
            kernel: kernel.unwrap_or_default(),
            thinning: Thinning::new(at_hand.memory.unwrap_or_default()),
            own_time,
            at_hand,
            available,
            reclaimed: snapshot.vmstat.and_then(|it| memory::reclaimed(&it)),
            before: FromDisks::now(root),
            began: Instant::now(),
            streams: Streams::new(
                monotonic(),
                probe.sees(),
                &pack,
                (take, own_time.new_page()),
            ),
            used: BTreeMap::new(),
            ages: Ages::new(root, !args.no_ages),
            writers: Writers::new(root),
            blocks: Vec::new(),
            saving: Saving::new(&args.output),
            harm: Watch::new(root),
            stop,
        })
    }

    /// Takes events until the end, and saves what there is now and then.
    fn watch(&mut self, probe: &mut Probe) -> anyhow::Result<Ended> {
        loop {
            if self.take(probe) < MANY {
                thread::sleep(TURN);
            }
            let thinned = self.thinning.ready()?;
            self.put_before(thinned);
            if let Some(ended) = self.ended() {
                return Ok(ended);
            }
            // Until it is thinned the file stays as it was.
            if self.saving.is_due()? && !self.thinning.is_under_way() {
                let observed = self.observed(probe, None);
                self.save(&observed);
            }
        }
    }

    /// Takes the events that are there; how many.
    fn take(&mut self, probe: &mut Probe) -> u32 {
        let tasks = Threads(self.root);
        let mut events = 0;
        probe.drain(|event| {
            events += 1;
            match event {
                Found::Event(event) => self.streams.event(&event, &tasks),
                Found::Added(added) => self.streams.added(&added),
                Found::Set(set) => self.writers.wrote(&set),
                Found::Woke(woke) => self.streams.woke(&woke),
            }
        });
        self.blocks.extend(self.streams.take(Part::Full));
        events
    }

    fn ended(&mut self) -> Option<Ended> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Ended::Interrupted);
        }
        if self.began.elapsed() >= self.args.lasts {
            return Some(Ended::Time);
        }
        if self.blocks.len() as u64 >= self.args.size.0 && !self.keeps_half() {
            return Some(Ended::Full);
        }
        let harm = self.harm.as_mut().filter(|it| it.is_due(monotonic()))?;
        harm.look(&Sample::now(self.root)).map(Ended::Harm)
    }

    /// Begins to keep half of the blocks, if that is not too few.
    fn keeps_half(&mut self) -> bool {
        if self.thinning.is_under_way() {
            return true;
        }
        let level = self.streams.level();
        let may_go_on = self.thinning.may_go_on(level);
        if may_go_on {
            self.blocks.extend(self.streams.take(Part::All));
            self.streams.keep_half();
            let blocks = std::mem::take(&mut self.blocks);
            self.thinning.begin(blocks, level, self.own_time);
        }
        may_go_on
    }

    /// Puts what was thinned before what came meanwhile.
    fn put_before(&mut self, thinned: Option<Vec<u8>>) {
        if let Some(thinned) = thinned {
            let meanwhile = std::mem::replace(&mut self.blocks, thinned);
            self.blocks.extend(meanwhile);
        }
    }

    fn observed(&mut self, probe: &Probe, ended: Option<Ended>) -> Observed {
        self.look_at_groups();
        Observed {
            kernel: self.kernel.clone(),
            time: whole_seconds(nanos(self.began.elapsed())),
            by: probe.hooks().join(", "),
            lost: probe.lost(),
            passed_over: self.streams.tally().passed_over,
            of_unknown_groups: self.streams.tally().of_unknown_groups,
            read_in: self.read_since().bytes,
            reclaimed: self.reclaimed,
            used: self.beside_memory(),
            ages: Some(self.ages.said()),
            harm: match ended {
                Some(Ended::Harm(harm)) => Some(harm.to_string()),
                _ => None,
            },
            scale: 1 << self.streams.level(),
            seen: (self.streams.level() > 0).then(|| seen(&self.streams.tally())),
            writers: self.writers.all(),
        }
    }

    /// What the groups of new streams have, and those above them.
    fn look_at_groups(&mut self) {
        for stream in self.streams.all() {
            let group = stream.owner.group.as_deref().unwrap_or_default();
            for path in std::iter::once(group).chain(ancestors(group)) {
                if !path.is_empty()
                    && !self.used.contains_key(path)
                    && let Some(used) = groups::used(self.root, path)
                {
                    self.used.insert(path.to_owned(), used);
                }
            }
        }
    }

    /// What groups had beside the page cache and the anonymous memory whose ages are known.
    fn beside_memory(&self) -> BTreeMap<String, Bytes> {
        let (memory, _) = self.ages.memory();
        let within = |path: &str, group: &str| {
            let below = group.strip_prefix(path);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let beside = |(path, used): (&String, &Used)| {
            let own = memory.iter().filter(|it| within(path, &it.group));
            let pages: u64 = own.map(|it| it.pages.0).sum();
            let known = used.anonymous.min(Bytes(pages * PAGE));
            (path.clone(), used.all.saturating_sub(known))
        };
        self.used.iter().map(beside).collect()
    }

    /// What was read from disks since it began.
    fn read_since(&self) -> FromDisks {
        FromDisks::now(self.root).since(&self.before)
    }

    /// The machine, with the kind of disk that its reads show.
    fn machine(&self) -> AtHand {
        let mut machine = self.at_hand.clone();
        if self.read_since().is_no_rotation() && machine.disk == Some(DiskKind::Hdd) {
            machine.disk = Some(DiskKind::Ssd);
        }
        machine
    }

    /// Begins to write the file as a whole: the text in front says how much was seen.
    fn save(&mut self, observed: &Observed) {
        self.blocks.extend(self.streams.take(Part::All));
        let streams: Vec<LoadStream> = self.streams.all().iter().map(of_load).collect();
        let (memory, began): (Vec<LoadMemory>, _) = self.ages.memory();
        let text = Load {
            name: &self.name,
            at_hand: &self.machine(),
            available: Bytes(self.available.0.saturating_add(began.0 * PAGE)),
            memory: &memory,
            settles: self.ages.longest(),
            request: self.read_since().request(),
            observed,
            streams: &streams,
            cached_by: &self.streams.cached_by(),
            files: self.streams.size(),
            written: Bytes(self.streams.tally().written),
        };
        let mut bytes = Writer::new(&text.text(), &pack).take(Part::Full);
        bytes.extend(&self.blocks);
        bytes.extend(self.streams.cached(&pack));
        self.saving.begin(bytes);
    }
}

fn seen(tally: &Tally) -> Seen {
    Seen {
        reads: tally.reads,
        read: Bytes(tally.read),
        writes: tally.writes,
        written: Bytes(tally.written),
    }
}

fn of_load(stream: &Stream) -> LoadStream {
    LoadStream {
        program: stream.owner.program.clone(),
        group: stream.owner.group.clone().unwrap_or_default(),
        runs: stream.runs,
    }
}

/// Without the fraction, which would be rounded up.
fn whole_seconds(time: Nanos) -> Nanos {
    let second = Nanos::SECOND.0;
    Nanos((time.0 / second * second).max(second))
}

/// A path as a shell takes it for one word, and `predict` for a file and not the name of a study.
fn shown(path: &Path) -> String {
    let is_name = path.parent() == Some(Path::new(""));
    let path = format!("{}{}", if is_name { "./" } else { "" }, path.display());
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    match path.starts_with('-') || !path.chars().all(is_plain) {
        true => format!("'{}'", path.replace('\'', "'\\''")),
        false => path,
    }
}

/// The clock of the kernel's programs.
fn monotonic() -> Nanos {
    nanos_of(clock_gettime(ClockId::Monotonic))
}

fn nanos_of(time: Timespec) -> Nanos {
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Nanos(part(time.tv_sec) * Nanos::SECOND.0 + part(time.tv_nsec))
}

/// The study's name: that of the file, in lower-case letters, digits and hyphens.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    };
    let name: String = stem.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() {
        "load".to_owned()
    } else {
        name.to_owned()
    }
}

fn size(text: &str) -> Result<Bytes, String> {
    let size = quantity::size(text).map_err(|why| why.to_string())?;
    let is_enough = size.0 >= 1 << 16;
    is_enough
        .then_some(size)
        .ok_or_else(|| "give a size of at least 64 KiB, as in 20M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_to_a_shell() {
        let word = |path: &str| shown(Path::new(path));
        assert_eq!(word("load.rec"), "./load.rec");
        assert_eq!(word("/tmp/a b;c.rec"), "'/tmp/a b;c.rec'");
        assert_eq!(word("it's"), "'./it'\\''s'");
    }

    #[test]
    fn a_study_is_named_after_its_file() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(name("/var/tmp/Web 3.rec"), "web-3");
        assert_eq!(name("..."), "load");
        assert_eq!(name("é.rec"), "load");
    }
}
