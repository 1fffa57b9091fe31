//! `plimsoll trial`: a setting and what is there now, in turn, on this machine.

mod ask;
mod http;
mod measure;
pub(crate) mod told;
mod turns;

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use change::apply::Request;
use change::trial::Trial;
use host::Root;
use host::changes::Changes;
use host::facts::{self, since_boot};
use mm::catalogue;
use mm::text::lasting;
use study::stats::least_pairs;
use study::verdict::Verdict;

use self::measure::{COUNTERS, Measure};
use self::turns::{Ended, Times, Turns};
use super::{UP_TO_A_WEEK, seconds, time};
use crate::changing::asked::{self, Asked};
use crate::changing::plan::Plan;
use crate::changing::{self, nanos};
use crate::exit::ExitCode;
use crate::term;

/// Try a setting in turn with what is there now, and say which is better
///
/// Blocks come in pairs, one with the setting and one without, each pair in a random order. The
/// first fifth of each block is left out. The trial ends when the answer is settled, when the time
/// is over, or when the setting does harm by the limits of apply --watch. Each block with the
/// setting is a change as apply makes it: whatever happens to this command or the machine, it is
/// taken back. The exit code is 0 where the setting is better.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// KEY=VALUE in any spelling, a file of such lines, or STUDY:ARM
    #[arg(required = true, value_name = "SETTING")]
    settings: Vec<String>,
    /// How long the blocks may take together, without the commands and queries that measure
    #[arg(long = "for", value_name = "TIME", default_value = "2h")]
    #[arg(value_parser = time(UP_TO_A_WEEK))]
    lasts: Duration,
    /// How long a block is
    #[arg(long, value_name = "TIME", default_value = "5m")]
    #[arg(value_parser = time(seconds(5, 86_400)))]
    block: Duration,
    /// Measure these [default: all that this kernel counts]
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    #[arg(value_parser = COUNTERS.each_ref().map(|it| it.word))]
    measure: Vec<String>,
    /// A command that prints a number at the end of each block: lower:CMD or higher:CMD, by which
    /// is better; lower:rate:CMD where a counter is printed. The first of these is what counts
    #[arg(long, value_name = "CMD")]
    measure_command: Vec<String>,
    /// The same with the address of a Prometheus query, by plain http
    #[arg(long, value_name = "URL")]
    measure_url: Vec<String>,
    /// The smallest difference that matters, in percent of the figure without the setting
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    matters: f64,
    /// How long this machine is sampled before the first block, for the limits of harm
    #[arg(long, value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = time(seconds(10, 3600)))]
    baseline: Duration,
    /// The order of the blocks [default: a new one]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Show the plan and how long it takes, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// The share of a block that is left out.
const LEFT_OUT: u32 = 5;
/// More pairs than this are too many to journal.
const MOST_PAIRS: usize = 500;
/// How much longer than the block the setting may stand, where this command was killed.
const GRACE: Duration = Duration::from_secs(30);

/// Tries.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let asked = asked::read(&args.settings, facts::read(&root).page)?;
    check_turns(&asked)?;
    let pairs = args.pairs()?;
    let measures = args.measures(&root)?;
    let plan = Plan::of(&asked, &root)?;
    let seed = args.seed.unwrap_or_else(new_seed);
    let head = told::Head {
        plan: &plan,
        measures: &measures,
        times: args.times(),
        matters: args.matters,
        pairs,
        seed,
    };
    if !args.json {
        write!(term::out(), "{}", head.text(term::columns()))?;
    }
    check(&plan)?;
    try_measures(&measures, args.times().asking)?;
    if args.dry_run {
        if args.json {
            writeln!(term::out(), "{}", head.json(None))?;
        }
        return Ok(ExitCode::Done);
    }
    changing::check_place(&root, "trial")?;
    let trial = Trial::plan(
        &mut Changes::look(&root),
        args.request(&plan, &measures),
        seed,
        pairs,
    );
    let share = args.matters / 100.0;
    let mut turns = Turns::new(&root, &measures, (args.times(), share), trial?)?;
    let baseline = lasting(nanos(args.baseline));
    term::talk(format_args!(
        "sampling this machine for {baseline} before the first block"
    ));
    let ended = turns.run(&|| check(&Plan::of(&asked, &root)?), &told::pair);
    let ended = ended.context("the trial did not go on, and what it wrote is taken back")?;
    if args.json {
        writeln!(term::out(), "{}", head.json(Some((&turns, &ended))))?;
    } else {
        let text = told::result(&turns, &ended, term::columns());
        write!(term::out(), "\n{text}")?;
    }
    Ok(exit_code(&turns, &ended))
}

fn exit_code(turns: &Turns<'_>, ended: &Ended) -> ExitCode {
    let verdict = turns.answer().map(|it| it.verdict);
    match (verdict, ended) {
        (Some(Verdict::Better), Ended::Settled | Ended::Over) => ExitCode::Done,
        _ => ExitCode::No,
    }
}

/// What cannot be switched to and fro is not tried.
fn check_turns(asked: &Asked) -> anyhow::Result<()> {
    for setting in &asked.settings {
        let outlives = catalogue::named(&setting.tunable).and_then(|it| it.tunable.outlives);
        if let Some(what) = outlives {
            bail!(
                "{}: cannot be tried in turn: {what}, so a block would measure what the one before \
                 it left; ask the model: plimsoll predict STUDY --like this",
                setting.tunable
            );
        }
    }
    Ok(())
}

/// What `apply` refuses is refused here, and there is no way round it.
fn check(plan: &Plan) -> anyhow::Result<()> {
    if plan.rows.is_empty() {
        bail!("nothing to try: every value is as it was asked for already");
    }
    match plan.errors().next() {
        Some(error) => bail!("{}: {}; it is not tried", error.tunable, error.what),
        None => Ok(()),
    }
}

/// A figure that cannot be had is told before anything is written.
fn try_measures(measures: &[Measure], limit: Duration) -> anyhow::Result<()> {
    let mut asked = measures.iter().filter(|it| it.is_asked());
    asked.try_for_each(|it| it.ask(limit, &|| false).map(drop))
}

fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64 % 1_000_000)
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse().ok();
    let number = number.filter(|number| (0.1..=100.0).contains(number));
    number.ok_or_else(|| "expected a number of percent from 0.1 to 100".to_owned())
}

impl Args {
    fn times(&self) -> Times {
        Times {
            block: self.block,
            left_out: self.block / LEFT_OUT,
            asking: self.block / LEFT_OUT,
            baseline: self.baseline,
        }
    }

    fn pairs(&self) -> anyhow::Result<usize> {
        let pairs = (self.lasts.as_secs_f64() / self.block.as_secs_f64() / 2.0) as usize;
        let (least, block) = (least_pairs(), lasting(nanos(self.block)));
        if pairs < least {
            let least_time = lasting(nanos(self.block * 2 * least as u32));
            bail!(
                "--for {} has {pairs} pairs of blocks of {block}, and nothing can be shown before \
                 {least}: say --for {least_time}, or a shorter --block",
                lasting(nanos(self.lasts))
            );
        }
        if pairs > MOST_PAIRS {
            bail!(
                "{pairs} pairs of blocks of {block}: {MOST_PAIRS} are the most; say a longer \
                 --block"
            );
        }
        Ok(pairs)
    }

    /// What is measured; what counts is the first.
    fn measures(&self, root: &Root) -> anyhow::Result<Vec<Measure>> {
        let commands = self
            .measure_command
            .iter()
            .map(|it| Measure::of_command(it));
        let urls = self.measure_url.iter().map(|it| Measure::of_url(it));
        let mut measures = commands.chain(urls).collect::<Result<Vec<_>, _>>()?;
        let frame = host::read::sample(root, since_boot());
        if self.measure.is_empty() {
            let counters = COUNTERS.iter().map(Measure::of_counter);
            measures.extend(counters.filter(|it| it.is_counted(&frame)));
        }
        for word in &self.measure {
            let counter = COUNTERS.iter().find(|it| it.word == word);
            let measure = Measure::of_counter(counter.context("no such measure")?);
            if !measure.is_counted(&frame) {
                bail!("{word}: this kernel does not count it; say another --measure");
            }
            measures.push(measure);
        }
        match measures.is_empty() {
            true => bail!("nothing can be measured here: say --measure-command"),
            false => Ok(measures),
        }
    }

    fn request(&self, plan: &Plan, measures: &[Measure]) -> Request {
        let asked = measures.iter().filter(|it| it.is_asked()).count() as u32;
        let asking = self.times().asking * asked * 2;
        Request {
            settings: plan.settings(),
            confirm: nanos(self.block + asking + GRACE),
            why: String::new(),
            lasts: false,
            watch: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;
    use mm::units::PageSize;

    fn asked(words: &[&str]) -> Asked {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        asked::read(&words, PageSize::FOUR_KIB).expect("settings")
    }

    #[test]
    fn what_outlives_a_block_is_refused_by_name() {
        for (word, what) in [
            (
                "vm.nr_hugepages=5",
                "the pool cannot be sure to get its pages again",
            ),
            ("thp=always", "huge pages that were made stay"),
            ("ksm.run=1", "pages that were merged stay merged"),
            (
                "zswap.enabled=Y",
                "pages that were compressed stay where they are",
            ),
            (
                "lru_gen.enabled=0",
                "the ages of all pages are lost each time",
            ),
        ] {
            let error = check_turns(&asked(&["swappiness=10", word]))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("cannot be tried in turn") && error.contains(what),
                "{error}"
            );
        }
        check_turns(&asked(&["swappiness=10", "watermark_scale_factor=200"])).unwrap();
    }

    #[test]
    fn a_figure_that_cannot_be_had_in_time_is_told_before_anything_is_written() {
        let limit = Duration::from_secs(1);
        let error = |command| {
            let measures = [Measure::of_command(command).unwrap()];
            try_measures(&measures, limit).map_err(|error| error.to_string())
        };
        assert_eq!(error("lower:echo 7"), Ok(()));
        let late = error("lower:sleep 60; echo 7").unwrap_err();
        assert_eq!(late, "sleep 60; echo 7: it takes longer than 1 s");
        let none = error("higher:echo seven").unwrap_err();
        assert_eq!(none, "echo seven: prints no number but `seven`");
    }

    #[test]
    fn the_setting_may_stand_for_as_long_as_all_figures_may_take() {
        #[derive(clap::Parser)]
        struct Words {
            #[command(flatten)]
            args: Args,
        }
        let args = Words::parse_from(["trial", "swappiness=10", "--block", "50s"]).args;
        let plan = Plan::of(&asked(&["swappiness=10"]), &Root::default()).unwrap();
        let measures = ["lower:a", "higher:b"].map(|it| Measure::of_command(it).unwrap());
        let request = args.request(&plan, &measures);
        let times = args.times();
        let both_borders = times.asking * 2 * 2;
        assert_eq!(request.confirm, nanos(times.block + both_borders + GRACE));
    }

    #[test]
    fn a_mistake_in_the_words_is_told_by_clap() {
        let said = |words: &[&str]| {
            let words = ["plimsoll", "trial", "swappiness=10"].iter().chain(words);
            Cli::try_parse_from(words).unwrap_err().to_string()
        };
        for (words, what) in [
            (
                &["--measure", "load"][..],
                "possible values: psi, stalls, refaults",
            ),
            (&["--block", "1s"], "expected a time from 5 s"),
            (&["--for", "2y"], "expected a time from 5 s"),
            (
                &["--matters", "0"],
                "expected a number of percent from 0.1 to 100",
            ),
            (&["--seed", "x"], "invalid digit"),
        ] {
            let error = said(words);
            assert!(error.contains(what), "{error}");
        }
    }
}
