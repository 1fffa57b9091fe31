//! `plimsoll apply`: a change to this machine that can be taken back.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use change::apply::{Request, apply};
use change::watch::{Band, Sample};
use change::{Change, confirm};
use host::Root;
use host::facts::{self, since_boot};
use mm::catalogue::Risk;
use mm::text::lasting;
use mm::units::Nanos;

use super::{UP_TO_A_WEEK, seconds, time};
use crate::changing::asked::Asked;
use crate::changing::plan::Plan;
use crate::changing::timer::{Watcher, has_systemd};
use crate::changing::{self, asked, nanos, native, settle, told};
use crate::exit::{ExitCode, heard};
use crate::results::wrapped;
use crate::term;

/// Change this machine's settings so that the change can be undone
///
/// Shows the plan first: each old and new value, what the formulas give for this machine right
/// after, and what they cannot know. Refuses a change that by the formulas would kill the machine.
/// A change of medium or high risk is undone unless `plimsoll confirm` comes in time, by a timer
/// that does not depend on this command, the terminal or the network. Nothing permanent is written
/// until a change is confirmed, so a reboot undoes it too.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// KEY=VALUE in any spelling (a size may have a unit), a file of such lines as in sysctl.d, a
    /// profile of TuneD (tuned.conf), or STUDY:ARM
    #[arg(required = true, value_name = "SETTING")]
    settings: Vec<String>,
    /// Show the plan and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Undo it after this time unless it is confirmed [default: 10m for what has a risk]
    #[arg(long, value_name = "TIME", value_parser = time(UP_TO_A_WEEK))]
    confirm: Option<Duration>,
    /// Confirm it at once, whatever its risk
    #[arg(long, conflicts_with_all = ["confirm", "watch"])]
    now: bool,
    /// Watch stalls, refaults, swap-ins and kills for this time, and undo the change when one is
    /// far above what it was in the minute before the write
    #[arg(long, value_name = "TIME", value_parser = time(UP_TO_A_WEEK))]
    watch: Option<Duration>,
    /// How long before the write is sampled for --watch to compare with
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "watch")]
    #[arg(value_parser = time(seconds(10, 3600)))]
    baseline: Duration,
    /// Keep it over reboots once it is confirmed, in a file of sysctl.d or tmpfiles.d
    #[arg(long)]
    persist: bool,
    /// The reason, for the history and the native file
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// Write even a change that by the formulas would kill this machine
    #[arg(long)]
    even_so: bool,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// How long a change waits for a confirmation by default.
const DEFAULT: Duration = Duration::from_secs(600);
/// How long the timer of one that is confirmed at once runs, in case this command is killed.
const AT_ONCE: Duration = Duration::from_secs(60);

/// Applies.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let asked = asked::read(&args.settings, facts::read(&root).page)?;
    let mut plan = Plan::of(&asked, &root)?;
    if args.persist {
        plan.keep(&root)?;
    }
    if !args.json {
        match write!(term::out(), "{}", told::plan(&plan, term::columns())) {
            // Whoever reads only its beginning must not believe that it is done.
            Err(error) if !args.dry_run => {
                bail!("nothing was written: the plan cannot be printed: {error}")
            }
            told => told?,
        }
    }
    if args.dry_run || plan.rows.is_empty() {
        args.data(&plan, None)?;
        return Ok(if args.refuses(&plan) {
            ExitCode::No
        } else {
            ExitCode::Done
        });
    }
    changing::check_place(&root, "apply")?;
    if args.refuses(&plan) {
        args.data(&plan, None)?;
        bail!("nothing was written: see above why; --even-so writes it nevertheless");
    }
    match args.change(&asked, &plan, &root)? {
        Some(change) => heard(args.tell(&plan, &change), written(&change))?,
        None => args.tell_nothing(&Plan::of(&asked, &root)?)?,
    }
    Ok(ExitCode::Done)
}

/// What became of a change that was written.
fn written(change: &Change) -> String {
    let id = change.id;
    match change.is_pending() {
        true => format!("change {id} is written and waits for plimsoll confirm {id}"),
        false => format!("change {id} is written and confirmed"),
    }
}

impl Args {
    fn refuses(&self, plan: &Plan) -> bool {
        plan.errors().next().is_some() && !self.even_so
    }

    fn waits(&self, plan: &Plan) -> bool {
        let asked = self.confirm.is_some() || self.watch.is_some();
        !self.now && (asked || plan.risk > Risk::Low)
    }

    fn request(&self, plan: &Plan, root: &Root) -> anyhow::Result<Request> {
        let waits = match (self.waits(plan), self.confirm) {
            (false, _) => AT_ONCE,
            (true, Some(time)) => time,
            (true, None) => self.watch.unwrap_or_default() + DEFAULT,
        };
        if self.watch.is_some_and(|watch| watch > waits) {
            bail!("--watch is longer than --confirm: the change would be taken back before");
        }
        let watch = self.watch.map(|time| (nanos(time), self.band(root)));
        Ok(Request {
            settings: plan.settings(),
            confirm: nanos(waits),
            why: self.why.clone(),
            lasts: self.persist,
            watch,
        })
    }

    /// The figures of the seconds before the write.
    fn band(&self, root: &Root) -> Band {
        term::talk(format_args!(
            "sampling this machine for {} before the write",
            lasting(nanos(self.baseline))
        ));
        let mut samples = vec![];
        for second in 0..=self.baseline.as_secs() {
            if second > 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            samples.push(Sample::of(&host::read::sample(root, since_boot())));
        }
        Band::of(&samples)
    }

    /// Makes the change; `None` where somebody was quicker.
    fn change(&self, asked: &Asked, plan: &Plan, root: &Root) -> anyhow::Result<Option<Change>> {
        let request = self.request(plan, root)?;
        let timer = Watcher { root: root.clone() };
        let (mut machine, _) = settle::machine(root, Box::new(timer))?;
        // Nobody else's apply comes between now, and one may have come before.
        let now = Plan::of(asked, root)?;
        if now.rows.is_empty() {
            return Ok(None);
        }
        if !now.does_as(plan) || self.refuses(&now) {
            bail!("nothing was written: the machine is not as in the plan any more; run it again");
        }
        let Some(change) = apply(&mut machine, &request)? else {
            return Ok(None);
        };
        if self.waits(plan) {
            return Ok(Some(change));
        }
        let files = self.persist.then(|| native::files_of(root, &change));
        let files = files.transpose()?;
        let confirmed = confirm::confirm(&mut machine, change.id, files.as_ref());
        Ok(Some(confirmed.context("written, and not confirmed")?))
    }

    fn tell(&self, plan: &Plan, change: &Change) -> anyhow::Result<()> {
        let now = since_boot();
        if self.json {
            return self.data(plan, Some(told::Told::of(change, vec![], now)));
        }
        let id = change.id;
        let mut out = term::out();
        if !change.is_pending() {
            writeln!(
                out,
                "\nWritten, as change {id}. plimsoll undo {id} takes it back."
            )?;
            return Ok(());
        }
        let left = lasting(Nanos(change.deadline.0.saturating_sub(now.0)));
        let mut told = format!(
            "Written, as change {id}. It is taken back in {left} unless you run plimsoll confirm \
             {id}."
        );
        if change.watch.is_some() {
            told += " It is watched; plimsoll history says why it was taken back.";
        }
        if !has_systemd() {
            told += " There is no systemd here: if the process that waits is killed, nobody starts \
                     it again.";
        }
        write!(out, "\n{}", wrapped(&told, term::columns()))?;
        Ok(())
    }

    fn tell_nothing(&self, now: &Plan) -> anyhow::Result<()> {
        if !self.json {
            let told = "Nothing was written: somebody else set it so since the plan was made. \
                        plimsoll status shows the changes that stand.";
            write!(term::out(), "\n{}", wrapped(told, term::columns()))?;
        }
        self.data(now, None)
    }

    fn data(&self, plan: &Plan, change: Option<told::Told>) -> anyhow::Result<()> {
        if self.json {
            let document = told::PlanDocument::of(plan, change);
            writeln!(term::out(), "{}", shapes::text(&document))?;
        }
        Ok(())
    }
}
