//! `plimsoll trial` where the effect is known: few verdicts are false, what matters is found within
//! the time that was said, and a trial that is killed leaves everything as it was.
//!
//! `PLIMSOLL_SEEDS` says how many trials of each effect, `PLIMSOLL_TRIAL_KILLS` how many kills,
//! `PLIMSOLL_SEED` from which seed on.

use std::time::Duration;

use mm::prng::Prng;
use mm::units::Nanos;
use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, Debian, First};
use serde_json::Value;

use super::{boot, debian_within, disk, pick};

/// Where nobody says how many: little enough for every check.
const SEEDS: u64 = 1;
const KILLS: u64 = 3;

/// What a boot of ten trials takes at most, on a host that does much else.
const HOUR: Duration = Duration::from_secs(3600);

/// As many seeds, and as many kills, are had in a boot.
const IN_A_BOOT: usize = 2;
const KILLS_IN_A_BOOT: u64 = 10;

/// What the setting adds to a figure of about 100. A difference of 5 % matters.
const EFFECTS: [i64; 4] = [0, 3, 10, 30];

/// The most pairs of a trial, of blocks of 5 s; where nobody says how many trials, fewer.
const MOST: u64 = 60;
const FEW: u64 = 20;

/// A program whose figure depends on `vm.swappiness`: where it is 10, it is larger by the first
/// argument. What was there before fades within seconds (a time constant of 1 s); the noise of a
/// block is in part that of the block before; the load swings and drifts.
const FIGURE: &str = "\
#!/usr/bin/perl
my ($effect, $seed) = @ARGV;
sub words { open my $file, '<', $_[0] or return; split ' ', <$file> }
my ($now) = words('/proc/uptime');
my ($at, $noise, $added, $before) = -e '/run/figure' ? words('/run/figure') : (0, 0, 0, $now);
my ($swappiness) = words('/proc/sys/vm/swappiness');
srand(7919 * ($seed + 1) ** 3);
rand() for 0 .. $at + 20;
$noise = 0.6 * $noise + 6 * (rand() - 0.5) * sqrt(12);
my $aim = $swappiness == 10 ? $effect : 0;
$added = $aim + ($added - $aim) * exp($before - $now);
$at++;
open my $file, '>', '/run/figure' or die;
print $file \"$at $noise $added $now\\n\";
print 100 + 0.05 * $at + 8 * sin($at / 9) + $noise + $added, \"\\n\";
";

/// What a trial may not change.
const FUNCTIONS: &str = "\
export LC_ALL=C
look() {
    grep -rs . /proc/sys/vm | grep -v -e stat_refresh -e drop_caches
    grep -rs . /etc/sysctl.d /etc/tmpfiles.d /run/sysctl.d /run/tmpfiles.d
    ls -A /var/lib/plimsoll 2> /dev/null
}
";

/// What came of one trial.
#[derive(Debug)]
struct Found {
    verdict: String,
    pairs: u64,
    /// The pair by which 10 % were said to be shown, when that was said first.
    said: Option<u64>,
    bounds: (Option<f64>, Option<f64>),
}

#[test]
fn trials_of_a_known_effect_find_it_and_little_else() {
    let Some(machine) = debian_within(Release::Debian13, HOUR) else {
        return;
    };
    let seeds = pick::number("PLIMSOLL_SEEDS", SEEDS);
    let most = if seeds == SEEDS { FEW } else { MOST };
    let from = pick::number("PLIMSOLL_SEED", 0);
    let seeds: Vec<u64> = (from..from + seeds).collect();
    let mut found = EFFECTS.map(|_| vec![]);
    for some in seeds.chunks(IN_A_BOOT) {
        for (found, more) in found.iter_mut().zip(try_all(&machine, some, most)) {
            found.extend(more);
        }
    }
    for (effect, found) in EFFECTS.into_iter().zip(found) {
        judge(effect, &found, most);
    }
}

/// A boot in which each effect is tried with each of the seeds.
fn try_all(machine: &Debian, seeds: &[u64], most: u64) -> Vec<Vec<Found>> {
    let mut order = Boot::new(First::Shell)
        .program("usr/bin/figure", FIGURE)
        .command(format!("{FUNCTIONS}look > /plimsoll/before; figure 0 0"));
    for effect in EFFECTS {
        for &seed in seeds {
            order = order.command(tried(effect, seed, most));
        }
    }
    order = order.command(format!("{FUNCTIONS}look | diff /plimsoll/before -"));
    let answers = boot(machine, &order).answers;
    let (left, answers) = answers[1..].split_last().expect("what is left");
    assert_eq!(
        (left.status, left.output.as_str()),
        (0, ""),
        "all is as before"
    );
    let each = EFFECTS.into_iter().zip(answers.chunks(seeds.len()));
    let each = each.map(|(effect, answers)| {
        let found: Vec<Found> = answers.iter().map(|it| found(&it.output)).collect();
        println!("+{effect} %, seeds {seeds:?}: {found:?}");
        found
    });
    each.collect()
}

/// One trial; each begins with an empty journal, as on a machine that tries the first time.
fn tried(effect: i64, seed: u64, most: u64) -> String {
    let time = most * 10;
    format!(
        "rm -rf /run/figure /run/plimsoll
         plimsoll trial vm.swappiness=10 --for {time}s --block 5s --baseline 10s --seed {seed} \
             --json --measure-command 'lower:figure {effect} {seed}' 2> /run/told
         cat /run/told"
    )
}

fn found(output: &str) -> Found {
    let mut lines = output.lines();
    let document = lines
        .next()
        .and_then(|line| serde_json::from_str::<Value>(line).ok());
    let document = document.unwrap_or_else(|| panic!("a document: {output}"));
    let counts = &document["measures"][0];
    let mut said = lines.filter_map(|line| {
        let (_, said) = line.split_once("is shown by pair ")?;
        said.split(' ').next()?.parse().ok()
    });
    Found {
        verdict: document["verdict"].as_str().expect("a verdict").to_owned(),
        pairs: counts["pairs"].as_array().expect("pairs").len() as u64,
        said: said.next(),
        bounds: (counts["low"].as_f64(), counts["high"].as_f64()),
    }
}

impl Found {
    /// Whether it says the contrary of what is so. The figure rises, and less is better.
    fn is_false(&self, effect: i64) -> bool {
        match self.verdict.as_str() {
            "better" => true,
            "worse" => effect == 0,
            "no difference shown" => effect >= 10,
            _ => false,
        }
    }

    fn is_found_in_time(&self, most: u64) -> bool {
        self.verdict == "worse" && self.pairs <= self.said.unwrap_or(most)
    }

    fn holds(&self, effect: i64) -> bool {
        let effect = effect as f64;
        self.bounds.0.is_none_or(|low| low <= effect)
            && self.bounds.1.is_none_or(|high| effect <= high)
    }
}

/// One trial in twenty may be false, and one in ten may miss what matters; of few trials one.
fn judge(effect: i64, trials: &[Found], most: u64) {
    let of = trials.len();
    let count = |is: &dyn Fn(&Found) -> bool| trials.iter().filter(|it| is(it)).count();
    let (wrong, held) = (
        count(&|it| it.is_false(effect)),
        count(&|it| it.holds(effect)),
    );
    let in_time = count(&|it| it.is_found_in_time(most));
    let pairs: Vec<f64> = trials.iter().map(|it| it.pairs as f64).collect();
    let said: Vec<f64> = trials
        .iter()
        .filter_map(|it| Some(it.said? as f64))
        .collect();
    let verdicts = ["better", "worse", "no difference shown", "not decided"]
        .map(|verdict| format!("{verdict} {}", count(&|it| it.verdict == verdict)));
    println!(
        "+{effect} %, {of} trials: {}; false {wrong}, found in time {in_time}, bounds hold it \
         {held}; pairs {:?}, said {:?} by {}",
        verdicts.join(", "),
        study::stats::median(&pairs),
        study::stats::median(&said),
        said.len()
    );
    assert!(
        wrong <= 1.max(of / 20),
        "+{effect} %: {wrong} of {of} are false: {trials:?}"
    );
    assert!(
        of - held <= 1.max(of / 20),
        "+{effect} %: outside of the bounds: {trials:?}"
    );
    let missed = of - in_time;
    assert!(
        effect < 10 || missed <= 1.max(of / 10),
        "+{effect} %: {missed} missed: {trials:?}"
    );
}

/// Where dirty pages are bounded, a writer of bursts waits for its disk: what a trial says of it is
/// what long runs say, without the setting and with it. They are on both sides of the trial, so that
/// what they differ by shows how much else the machine was at.
const BURSTS: &str = "\
mkdir -p /data; mount /dev/pda /data || exit 1
: > /run/press; echo 0 > /run/rounds
bursts() {
    while [ -e /run/press ]; do
        dd if=/dev/zero of=/data/file bs=1M count=8 conv=notrunc status=none
        read n < /run/rounds; echo $((n + 1)) > /run/next; mv /run/next /run/rounds; sleep 0.2
    done
}
rounds() { sleep 5; read from < /run/rounds; sleep 20; read to < /run/rounds; echo $((to - from)); }
bounded() { echo 4194304 > /proc/sys/vm/dirty_bytes; rounds; echo 20 > /proc/sys/vm/dirty_ratio; }
bursts & rounds; bounded
plimsoll trial vm.dirty_bytes=4M --for 400s --block 5s --baseline 10s --seed 1 --json \
    --measure-command 'higher:rate:cat /run/rounds' 2> /dev/null
bounded; rounds
rm /run/press; wait; cat /proc/sys/vm/dirty_bytes /proc/sys/vm/dirty_ratio
";

#[test]
fn a_trial_of_the_dirty_limit_says_what_long_runs_say() {
    let Some(machine) = debian_within(Release::Debian13, HOUR) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let disk = disk(&machine, directory.path());
    let order = Boot::new(First::Shell).scratch_disk(&disk).command(BURSTS);
    let output = &boot(&machine, &order).answers[0].output;
    let lines: Vec<&str> = output.lines().collect();
    let [before, with, document, with_too, after, "0", "20"] = lines[..] else {
        panic!("four runs, a document, and what was there: {output}");
    };
    let runs = [before, with, with_too, after].map(|text| text.parse::<f64>().expect("rounds"));
    let effects = [(0, 1), (0, 2), (3, 1), (3, 2)].map(|(without, with)| {
        let (without, with): (f64, f64) = (runs[without], runs[with]);
        with / without - 1.0
    });
    let least = effects.into_iter().fold(f64::INFINITY, f64::min);
    let most = effects.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let document: Value = serde_json::from_str(document).expect("a document");
    let counts = &document["measures"][0];
    let of_as_is = |name: &str| {
        let number = |name: &str| counts[name].as_f64().expect("a number");
        number(name) / number("as_is")
    };
    let (low, high) = (of_as_is("low"), of_as_is("high"));
    println!(
        "bursts: {effects:+.3?} by long runs, {:+.3} by the trial, {low:+.3} to {high:+.3}: {}",
        of_as_is("shift"),
        document["verdict"]
    );
    assert_eq!(document["verdict"], "worse");
    assert!(
        low <= most && least <= high,
        "{low} to {high} for {least} to {most}"
    );
}

/// Kills a trial, and waits until all is as before and nothing stands: until the deadline of its
/// block at the latest, 5 s and the figure's 2 s and 30 s after it began.
fn killed(prng: &mut Prng) -> String {
    // The other half hits a block's border: what is journalled, written and taken back. Blocks
    // take 5 s; what is seen is the one before.
    let moment = Nanos(prng.below(50_000_000_000)).seconds();
    let (borders, after) = (1 + prng.below(3), Nanos(prng.below(300_000_000)).seconds());
    let wait = match prng.below(2) {
        0 => format!("sleep {moment:.6}"),
        _ => format!(
            "for border in $(seq {borders}); do border; done; sleep {:.6}",
            4.9 + after
        ),
    };
    let seed = prng.below(1000);
    format!(
        "{FUNCTIONS}
         value() {{ cat /proc/sys/vm/swappiness; }}
         border() {{
             was=$(value)
             while [ $(value) = $was ] && kill -0 $trial; do sleep 0.05; done
         }}
         rm -rf /run/figure; plimsoll trial vm.swappiness=10 vm.dirty_bytes=64M --for 10m \
             --block 5s --baseline 10s --seed {seed} --measure-command 'lower:figure 3 1' \
             > /plimsoll/said 2>&1 & trial=$!
         {wait}
         kill -9 $trial || cat /plimsoll/said
         wait $trial 2> /dev/null; read from rest < /proc/uptime
         [ $(value) = 10 ] && echo set
         back() {{
             [ $(value),$(cat /proc/sys/vm/dirty_bytes) = 60,0 ] && plimsoll status | grep -q '^no change'
         }}
         for look in $(seq 200); do back && break; sleep 0.2; done
         read to rest < /proc/uptime
         echo $from $to; echo --; look | diff /plimsoll/before -"
    )
}

/// Until when all must be as before, in seconds after the kill.
const DEADLINE: f64 = 38.0;

#[test]
fn a_killed_trial_leaves_everything_as_it_was() {
    let Some(machine) = debian_within(Release::Debian13, HOUR) else {
        return;
    };
    let kills = pick::number("PLIMSOLL_TRIAL_KILLS", KILLS);
    let seed = pick::number("PLIMSOLL_SEED", 0);
    let prng = &mut Prng::for_part(seed, "trial kills");
    let (mut set, mut longest) = (0, 0.0_f64);
    for at in (0..kills).step_by(KILLS_IN_A_BOOT as usize) {
        let some = at..kills.min(at + KILLS_IN_A_BOOT);
        for (stood, took) in kill_all(&machine, some.map(|_| killed(prng)).collect()) {
            set += usize::from(stood);
            longest = longest.max(took);
        }
    }
    println!(
        "{kills} kills, {set} while the setting stood: as before after {longest:.1} s at most"
    );
    // Of a few it may be none.
    assert!(kills < 10 || set > 0, "nothing was set");
}

/// Whether the setting stood at each kill, and after how many seconds all was as before.
fn kill_all(machine: &Debian, commands: Vec<String>) -> Vec<(bool, f64)> {
    let order = Boot::new(First::Systemd)
        .program("usr/bin/figure", FIGURE)
        .command(format!(
            "{FUNCTIONS}sleep 60; look > /plimsoll/before; figure 0 0"
        ));
    let order = commands.into_iter().fold(order, Boot::command);
    let answers = boot(machine, &order).answers;
    let each = answers[1..].iter().map(|answer| {
        let (seen, left) = answer.output.split_once("--\n").expect("two parts");
        assert_eq!((answer.status, left), (0, ""), "{}", answer.output);
        let times = seen
            .lines()
            .last()
            .expect("when it was killed, and was back");
        let times: Vec<f64> = times
            .split(' ')
            .map(|it| it.parse().expect("seconds"))
            .collect();
        let took = times[1] - times[0];
        assert!(took < DEADLINE, "{}", answer.output);
        (seen.lines().any(|line| line == "set"), took)
    });
    each.collect()
}
