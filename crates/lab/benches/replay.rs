//! How many page accesses a second the replay makes, and how many bytes a page takes.
//!
//! `cargo bench -p plimsoll-lab --bench replay` prints a Markdown table; an argument is the number
//! of rounds, and a single round is of small traces. `-- trace PAGES FILE` writes the trace of a
//! case instead, for other programs to read. `cargo xtask bench` uses both.

mod clock;

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};

use clock::{cpu_seconds, rounds};
use mm::prng::Prng;
use mm::units::{PageSize, Pages};
use plimsoll_lab::trace::write_oracle_general;
use scenario::access::Zipf;
use sim::replay::{Counters, Lru, Replay, ReplayOptions};

const ACCESSES: usize = 20_000_000;
const SIZES: [u32; 2] = [1_000_000, 10_000_000];
/// The size with which a single round only shows that all of it runs.
const SMALL: u32 = 10_000;
const SEED: u64 = 1;

/// One line of the table.
struct Case {
    name: &'static str,
    pages: u32,
    /// Memory in percent of the pages.
    memory: u64,
    accesses: Accesses,
    /// Pages that are read beforehand.
    warm: Warm,
}

/// The lists, by the names that `plimsoll replay` has for them.
const LRUS: [(&str, Lru); 2] = [("classic", Lru::Classic), ("mglru", Lru::MultiGeneration)];

/// What a case came to on one kind of lists.
#[derive(Default)]
struct Result {
    speeds: Vec<f64>,
    miss_ratio: f64,
}

#[derive(Clone, Copy)]
enum Accesses {
    Zipf,
    /// Each page once, in order.
    Once,
}

#[derive(Clone, Copy, PartialEq)]
enum Warm {
    Cold,
    /// The same accesses beforehand, until they change nothing more.
    Settled,
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["trace", pages, path] => write_trace(pages.parse().expect("a number of pages"), path),
        _ => match rounds() {
            1 => table(1, &[SMALL], SMALL as usize),
            rounds => table(rounds, &SIZES, ACCESSES),
        },
    }
}

fn table(rounds: usize, sizes: &[u32], accesses: usize) {
    // First, while nothing that was freed can be taken again unseen.
    let bytes_per_page = bytes_per_page(sizes[sizes.len() - 1]);
    println!(
        "| pages | case | LRU | million accesses per CPU second, median | range | of classic \
         | miss ratio |"
    );
    println!("|---|---|---|---|---|---|---|");
    for &pages in sizes {
        let zipf = zipf(pages, accesses);
        let once: Vec<u32> = (0..pages).collect();
        let cases = cases(pages);
        let mut results: Vec<[Result; 2]> = cases.iter().map(|_| Default::default()).collect();
        // The cases take turns, so that a slow minute of the machine falls on all of them.
        for _ in 0..rounds {
            for (at, case) in cases.iter().enumerate() {
                let accesses = match case.accesses {
                    Accesses::Zipf => &zipf,
                    Accesses::Once => &once,
                };
                for (lru, result) in LRUS.into_iter().zip(&mut results[at]) {
                    let (speed, miss_ratio) = measure(case, lru.1, accesses);
                    result.speeds.push(speed);
                    result.miss_ratio = miss_ratio;
                }
            }
        }
        for (case, results) in cases.iter().zip(&mut results) {
            print_lines(case, results);
        }
    }
    println!("\nBytes per page: {bytes_per_page:.2}");
}

fn cases(pages: u32) -> [Case; 3] {
    [
        Case {
            name: "resident (Zipf 1.0, memory 100 %, warm)",
            pages,
            memory: 100,
            accesses: Accesses::Zipf,
            warm: Warm::Settled,
        },
        Case {
            name: "reclaim (each page once, memory 10 %)",
            pages,
            memory: 10,
            accesses: Accesses::Once,
            warm: Warm::Cold,
        },
        Case {
            name: "refaults (Zipf 1.0, memory 10 %)",
            pages,
            memory: 10,
            accesses: Accesses::Zipf,
            warm: Warm::Cold,
        },
    ]
}

fn measure(case: &Case, lru: Lru, accesses: &[u32]) -> (f64, f64) {
    let mut replay = replay(case.pages, case.memory, lru);
    if case.warm == Warm::Settled {
        // Two readings activate every page, the third marks it; in a generation, six are counted.
        (0..6).for_each(|_| replay.read(accesses));
    }
    let before = replay.counters();
    let start = cpu_seconds();
    replay.read(accesses);
    let seconds = cpu_seconds() - start;
    let after = replay.counters();
    let million = (after.accesses - before.accesses) as f64 / 1e6;
    (million / seconds, miss_ratio(before, after))
}

fn miss_ratio(before: Counters, after: Counters) -> f64 {
    (after.misses - before.misses) as f64 / (after.accesses - before.accesses) as f64
}

fn replay(pages: u32, percent: u64, lru: Lru) -> Replay {
    Replay::new(ReplayOptions {
        pages,
        memory: Pages(u64::from(pages) * percent / 100),
        page_size: PageSize::FOUR_KIB,
        lru,
    })
}

fn print_lines(case: &Case, results: &mut [Result; 2]) {
    let Case { pages, name, .. } = case;
    let mut classic = None;
    for ((lru, _), result) in LRUS.into_iter().zip(results) {
        let speeds = &mut result.speeds;
        speeds.sort_by(f64::total_cmp);
        let (least, most) = (speeds[0], speeds[speeds.len() - 1]);
        let median = speeds[speeds.len() / 2];
        let share = 100.0 * median / *classic.get_or_insert(median);
        println!(
            "| {pages} | {name} | {lru} | {median:.1} | {least:.1} to {most:.1} | {share:.0} % \
             | {:.4} |",
            result.miss_ratio
        );
    }
}

fn zipf(pages: u32, accesses: usize) -> Vec<u32> {
    let zipf = Zipf::new(u64::from(pages), 1000, SEED);
    let mut prng = Prng::new(SEED);
    let draw = |_| u32::try_from(zipf.draw(&mut prng)).expect("a page");
    (0..accesses).map(draw).collect()
}

/// What the process grows by, divided by the pages of a replay that touched all of them.
fn bytes_per_page(pages: u32) -> f64 {
    let all: Vec<u32> = (0..pages).collect();
    let before = resident_kib();
    let mut replay = replay(pages, 100, Lru::Classic);
    replay.read(&all);
    let grown = resident_kib() - before;
    assert_eq!(replay.counters().misses, u64::from(pages));
    grown * 1024.0 / f64::from(pages)
}

fn resident_kib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number of kB")
}

fn write_trace(pages: u32, path: &str) {
    let mut output = BufWriter::new(File::create(path).expect("the file can be made"));
    let objects = zipf(pages, ACCESSES).into_iter().map(u64::from);
    write_oracle_general(&mut output, objects).expect("the trace fits");
    output.flush().expect("the trace fits");
}
