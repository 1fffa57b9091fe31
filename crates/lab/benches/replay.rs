//! How many page accesses a second the replay makes, and how many bytes a page takes.
//!
//! `cargo bench -p plimsoll-lab --bench replay` prints a Markdown table; `-- trace PAGES FILE`
//! writes the trace of a case instead, for other programs to read. `cargo xtask bench` uses both.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};

use mm::access::Zipf;
use mm::prng::Prng;
use mm::units::{PageSize, Pages};
use plimsoll_lab::trace::write_oracle_general;
use rustix::time::{ClockId, clock_gettime};
use sim::replay::{Counters, Replay, ReplayOptions};

const ACCESSES: usize = 20_000_000;
const SIZES: [u32; 2] = [1_000_000, 10_000_000];
const ROUNDS: usize = 5;
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

#[derive(Clone, Copy)]
enum Accesses {
    Zipf,
    /// Each page once, in order.
    Once,
}

#[derive(Clone, Copy, PartialEq)]
enum Warm {
    Cold,
    /// The same accesses beforehand.
    Twice,
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["trace", pages, path] => write_trace(pages.parse().expect("a number of pages"), path),
        _ => table(),
    }
}

fn table() {
    // First, while nothing that was freed can be taken again unseen.
    let bytes_per_page = bytes_per_page(SIZES[1]);
    println!("| pages | case | million accesses per CPU second, median | range | miss ratio |");
    println!("|---|---|---|---|---|");
    for pages in SIZES {
        let zipf = zipf(pages);
        let once: Vec<u32> = (0..pages).collect();
        let cases = cases(pages);
        let mut speeds: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
        let mut ratios = vec![0.0; cases.len()];
        // The cases take turns, so that a slow minute of the machine falls on all of them.
        for _ in 0..ROUNDS {
            for (at, case) in cases.iter().enumerate() {
                let accesses = match case.accesses {
                    Accesses::Zipf => &zipf,
                    Accesses::Once => &once,
                };
                let (speed, ratio) = measure(case, accesses);
                speeds[at].push(speed);
                ratios[at] = ratio;
            }
        }
        for (case, (speeds, ratio)) in cases.iter().zip(speeds.iter_mut().zip(ratios)) {
            print_line(case, speeds, ratio);
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
            warm: Warm::Twice,
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

fn measure(case: &Case, accesses: &[u32]) -> (f64, f64) {
    let mut replay = replay(case.pages, case.memory);
    if case.warm == Warm::Twice {
        // Two readings activate every page, the third marks it: from then on nothing changes.
        (0..3).for_each(|_| replay.read(accesses));
    }
    let before = replay.counters();
    let start = cpu_seconds();
    replay.read(accesses);
    let seconds = cpu_seconds() - start;
    let after = replay.counters();
    let million = (after.accesses - before.accesses) as f64 / 1e6;
    (million / seconds, miss_ratio(before, after))
}

/// CPU time of this thread: what else the machine does is not counted.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn miss_ratio(before: Counters, after: Counters) -> f64 {
    (after.misses - before.misses) as f64 / (after.accesses - before.accesses) as f64
}

fn replay(pages: u32, percent: u64) -> Replay {
    Replay::new(ReplayOptions {
        pages,
        memory: Pages(u64::from(pages) * percent / 100),
        page_size: PageSize::FOUR_KIB,
    })
}

fn print_line(case: &Case, speeds: &mut [f64], ratio: f64) {
    speeds.sort_by(f64::total_cmp);
    let (least, median, most) = (
        speeds[0],
        speeds[speeds.len() / 2],
        speeds[speeds.len() - 1],
    );
    let Case { pages, name, .. } = case;
    println!("| {pages} | {name} | {median:.1} | {least:.1} to {most:.1} | {ratio:.4} |");
}

fn zipf(pages: u32) -> Vec<u32> {
    let zipf = Zipf::new(u64::from(pages), 1000, SEED);
    let mut prng = Prng::new(SEED);
    let draw = |_| u32::try_from(zipf.draw(&mut prng)).expect("a page");
    (0..ACCESSES).map(draw).collect()
}

/// What the process grows by, divided by the pages of a replay that touched all of them.
fn bytes_per_page(pages: u32) -> f64 {
    let all: Vec<u32> = (0..pages).collect();
    let before = resident_kib();
    let mut replay = replay(pages, 100);
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
    let objects = zipf(pages).into_iter().map(u64::from);
    write_oracle_general(&mut output, objects).expect("the trace fits");
    output.flush().expect("the trace fits");
}
