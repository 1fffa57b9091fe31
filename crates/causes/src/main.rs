//! `cargo xtask causes`: makes troubles in VMs and judges what `inspect` says of them.

mod options;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use answer::bench::Progress;
use anyhow::{Context as _, Result, bail};
use lab::vm::small::Small;
use lab::vm::{KernelChoice, VmOptions};
use mm::stock::Stock;
use plimsoll_causes::draw::Drawn;
use plimsoll_causes::judge::{Judge, Verdict};
use plimsoll_causes::make::{Maker, fingerprint};
use plimsoll_causes::recipe::{self, Recipe};
use plimsoll_causes::run::{Key, Run};
use plimsoll_causes::score::Score;
use plimsoll_causes::{forms, tally};

use self::options::Options;

/// What was measured, in the folder of the recipes.
const MEASURED: &str = "measured.tsv";

/// Time of the host after which a VM counts as hung.
const DEADLINE: Duration = Duration::from_secs(900);

/// A run that is wanted.
struct Order {
    key: Key,
    drawn: Drawn,
    path: PathBuf,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("causes: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let orders = orders(&options)?;
    if options.makes() {
        make(&orders)?;
    }
    if let Some(folder) = &options.show {
        show(&orders, folder)?;
    }
    if let Some(folder) = &options.sample {
        sample(&orders, folder)?;
    }
    match options.judges() {
        true => judge(&options, &orders),
        false => Ok(()),
    }
}

/// The runs that the options ask for.
fn orders(options: &Options) -> Result<Vec<Order>> {
    let folder = recipe::folder();
    let (recipes, beside) = (recipe::all(&folder)?, recipe::all(&folder.join("beside"))?);
    let named = |recipe: &&Recipe| {
        options
            .cause
            .as_ref()
            .is_none_or(|name| *name == recipe.name)
    };
    let chosen: Vec<&Recipe> = recipes.iter().filter(named).collect();
    if chosen.is_empty() {
        bail!(
            "no cause \"{}\"",
            options.cause.as_deref().unwrap_or_default()
        );
    }
    let kernels: Vec<&str> = match &options.kernel {
        Some(kernel) => vec![kernel],
        None => Stock::names().collect(),
    };
    let mut orders = Vec::new();
    for seed in options.seeds() {
        let drawn: Vec<Drawn> = match (seed, &options.cause) {
            (0, _) | (_, Some(_)) => {
                let each = chosen.iter().map(|recipe| Drawn::new(recipe, seed));
                each.collect::<Result<_>>()?
            }
            _ => vec![Drawn::of_seed(&recipes, &beside, seed)?],
        };
        for drawn in drawn {
            // A drawn trouble is made on one kernel, each in its turn.
            let turn = seed as usize % kernels.len();
            let on = if seed == 0 {
                &kernels[..]
            } else {
                &kernels[turn..=turn]
            };
            let on = on.iter().filter(|kernel| drawn.is_on(kernel));
            orders.extend(on.map(|kernel| order(options, kernel, drawn.clone())));
        }
    }
    Ok(orders)
}

fn order(options: &Options, kernel: &str, drawn: Drawn) -> Order {
    let key = Key {
        cause: drawn.cause.clone(),
        kernel: kernel.to_owned(),
        seed: drawn.seed,
    };
    let path = match &options.folder {
        Some(folder) => key.path(folder, None),
        None => key.path(&kept(), Some(fingerprint(&drawn))),
    };
    Order { key, drawn, path }
}

/// Where runs are kept.
fn kept() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or(home).unwrap_or_default().join("plimsoll/causes")
}

/// Makes what is not there; a run that fails is told and does not stop the others.
fn make(orders: &[Order]) -> Result<()> {
    let mut failed = 0;
    let missing = orders.iter().filter(|order| !order.path.exists());
    let mut kernels: BTreeMap<&str, Vec<&Order>> = BTreeMap::new();
    for order in missing {
        kernels.entry(&order.key.kernel).or_default().push(order);
    }
    for (kernel, wanted) in kernels {
        let maker = maker(kernel)?;
        for order in wanted {
            if let Err(error) = one(&maker, order) {
                println!(
                    "{} {} {}: {error:#}",
                    kernel, order.key.cause, order.key.seed
                );
                failed += 1;
            }
        }
    }
    match failed {
        0 => Ok(()),
        failed => bail!("{failed} runs failed"),
    }
}

fn maker(kernel: &str) -> Result<Maker> {
    let Ok(choice) = kernel.parse::<KernelChoice>();
    let options = VmOptions {
        kernel: choice,
        deadline: DEADLINE,
        ..VmOptions::default()
    };
    Maker::new(Small::new(&options, &mut |news| tell(&news))?)
}

fn one(maker: &Maker, order: &Order) -> Result<()> {
    let begin = Instant::now();
    let run = maker.make(&order.drawn, &mut |news| tell(&news))?;
    run.store(&order.path)?;
    let Key {
        cause,
        kernel,
        seed,
    } = &order.key;
    let size = fs::metadata(&order.path)?.len() / 1024;
    println!(
        "{kernel} {cause} {seed}: {:.0} s, {size} KiB",
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

/// What a recipe's script complains of, and what is fetched or built.
fn tell(news: &Progress) {
    match news {
        Progress::Console(line) if line.contains("cause:") || line.contains("trouble:") => {
            eprintln!("  {line}");
        }
        Progress::Console(_) => {}
        Progress::Stage(stage) => eprintln!("  {stage}"),
    }
}

fn judge(options: &Options, orders: &[Order]) -> Result<()> {
    let plimsoll = options
        .plimsoll
        .as_ref()
        .context("--judge needs --plimsoll PROGRAM")?;
    let judge = Judge::new(plimsoll);
    let mut verdicts: Vec<Verdict> = Vec::new();
    for order in orders.iter().filter(|order| order.path.exists()) {
        let run = Run::load(&order.path)?;
        for form in forms::all(&run, order.drawn.label()) {
            verdicts.push(judge.judge(&order.key, &form, order.drawn.label())?);
        }
    }
    print!("{}", tally::tables(&verdicts));
    let misses = PathBuf::from("target/causes/misses.jsonl");
    write_misses(&misses, &verdicts)?;
    println!("misses: {}", misses.display());
    match options.is_whole() {
        true => compare(options, &Score::of(&verdicts)),
        false => Ok(()),
    }
}

/// Compares with what was measured before on these kernels, and writes it where that was asked for.
fn compare(options: &Options, now: &Score) -> Result<()> {
    let path = recipe::folder().join(MEASURED);
    let shown = || path.display().to_string();
    let text = match path.exists() {
        true => fs::read_to_string(&path).with_context(shown)?,
        false => String::new(),
    };
    let before = Score::parse(&text).with_context(shown)?;
    let both = now.on_kernels_of(&before);
    let worse = both.worse_than(&before.on_kernels_of(now));
    worse.iter().for_each(|line| println!("{line}"));
    if options.accepts() {
        return fs::write(&path, now.over(&before).to_text()).with_context(shown);
    }
    match worse.len() {
        0 => Ok(()),
        worse => bail!(
            "{worse} rows are worse than in {}; --accept writes it",
            shown()
        ),
    }
}

/// A line for each form in which something was missed or false.
fn write_misses(path: &Path, verdicts: &[Verdict]) -> Result<()> {
    let mut lines = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.is_miss()) {
        lines += &serde_json::to_string(verdict)?;
        lines.push('\n');
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, lines).with_context(|| path.display().to_string())
}

/// Writes the forms of runs into a folder, to be looked at.
fn show(orders: &[Order], folder: &Path) -> Result<()> {
    for order in orders.iter().filter(|order| order.path.exists()) {
        let run = Run::load(&order.path)?;
        for form in forms::all(&run, order.drawn.label()) {
            let name = format!("{} {}", form.kind, form.tenths).replace([' ', ','], "-");
            let Key {
                cause,
                kernel,
                seed,
            } = &order.key;
            let place = folder
                .join(kernel)
                .join(format!("{cause}.{seed}"))
                .join(name);
            fs::create_dir_all(&place)?;
            form.write(&place)?;
        }
    }
    Ok(())
}

/// Writes one run of each cause, on the kernels in turn.
fn sample(orders: &[Order], folder: &Path) -> Result<()> {
    let mut causes: BTreeMap<&str, Vec<&Order>> = BTreeMap::new();
    for order in orders.iter().filter(|order| order.path.exists()) {
        causes.entry(&order.key.cause).or_default().push(order);
    }
    for (at, runs) in causes.values().enumerate() {
        let order = runs[at % runs.len()];
        let run = Run::load(&order.path)?.trimmed();
        run.store(&order.key.path(folder, None))?;
    }
    Ok(())
}
