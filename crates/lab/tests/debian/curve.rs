//! Known loads, recorded on stock kernels: the recording has each read, and its curve is that of the
//! full trace, whole or as a sample.

use plimsoll_lab::vm::Release;
use plimsoll_lab::vm::debian::{Boot, First};
use scenario::recording::Kind;
use study::footprint::Footprint;
use study::{Observed, Study, recording};
use testkit::loads::{Load, known, miss_ratio};

use super::{boot, debian, record::decoded};

/// Of the file that is read, and of each load.
const PAGES: u32 = 1 << 15;
const READS: usize = 60_000;

/// Sizes of the cache, in percent of the file's pages.
const SIZES: [u32; 5] = [2, 5, 10, 20, 40];

/// Reads the pages of `/loads/NAME` of a file without a block, so that no disk takes part.
const READER: &str = "\
open my $load, '<:raw', \"/loads/$ARGV[0]\" or die; local $/; my @pages = unpack 'V*', <$load>;
open my $file, '<:raw', '/ram/file' or die;
for (@pages) { sysseek $file, $_ * 4096, 0; sysread($file, my $page, 4096) == 4096 or die }
";

/// Two recorders see the same load: one keeps all, the other what fits.
fn recorded(load: &Load) -> String {
    let name = load.name;
    format!(
        "mkdir -p /ram; mount -t ramfs ram /ram; truncate -s {}K /ram/file\n\
         began() {{ until grep -qs ^recording $1.said; do sleep 0.1; done; }}\n\
         plimsoll record --for 1h -o /tmp/whole > /tmp/whole.said 2>&1 & whole=$!\n\
         began /tmp/whole\n\
         plimsoll record --for 1h --size 96K -o /tmp/part > /tmp/part.said 2>&1 & part=$!\n\
         began /tmp/part\n\
         perl /loads/reader {name} || exit 1\n\
         sleep 1; kill -INT $whole $part; wait $whole && wait $part || exit 1\n\
         umount /ram; base64 /tmp/whole; echo; base64 /tmp/part; echo; cat /tmp/whole.said /tmp/part.said; rm /tmp/whole* /tmp/part*\n",
        PAGES * 4
    )
}

#[test]
fn the_curve_of_a_recording_is_that_of_the_full_trace() {
    for release in [Release::Debian12, Release::Debian13] {
        let Some(machine) = debian(release) else {
            return;
        };
        let loads = known(PAGES, READS);
        let order = Boot::new(First::Shell).file("loads/reader", READER);
        let order = loads.iter().fold(order, |order, load| {
            let pages: Vec<u8> = load.pages.iter().flat_map(|it| it.to_le_bytes()).collect();
            order
                .file(&format!("loads/{}", load.name), pages)
                .command(recorded(load))
        });
        let answers = boot(&machine, &order).answers;
        let (mut whole, mut part) = (Vec::new(), Vec::new());
        for (load, answer) in loads.iter().zip(&answers) {
            assert_eq!(answer.status, 0, "{}: {}", load.name, answer.output);
            let parts: Vec<&str> = answer.output.split("\n\n").collect();
            let [all, some, said] = parts[..] else {
                panic!("two files, and what was said: {}", answer.output);
            };
            println!("{said}");
            whole.extend(all_of(load, &study(all)));
            part.extend(errors(load, &study(some)));
        }
        check("whole", &whole);
        check("a part", &part);
    }
}

fn study(file: &str) -> Study {
    let (text, recording) = recording::read(&decoded(file)).expect("a recording");
    let study = Study::parse_with(&text, "load.rec", recording).expect("a study");
    let lost = study.observed.as_ref().map(|it: &Observed| it.lost);
    assert_eq!((lost, &study.recorded.cut), (Some(0), &None));
    study
}

/// Every read is there, in its order.
fn all_of(load: &Load, study: &Study) -> Vec<f64> {
    let recorded = &study.recorded.recorded;
    let is_it = |file: usize| recorded.files[file].size.0 == u64::from(PAGES) << 12;
    let runs = recorded.streams.iter().skip(1).flat_map(|it| it.iter());
    let reads = runs.filter(|run| run.kind == Kind::Read && is_it(run.file as usize));
    let pages: Vec<u32> = reads.map(|run| (run.offset >> 12) as u32).collect();
    let same = pages
        .iter()
        .zip(&load.pages)
        .take_while(|(one, other)| one == other);
    let (same, all) = (same.count(), pages.len());
    assert!(
        (same, all) == (READS, READS),
        "{}: {all} reads, {same} as they were",
        load.name
    );
    errors(load, study)
}

/// By how much the miss ratio is off at each size.
fn errors(load: &Load, study: &Study) -> Vec<f64> {
    let found = Footprint::of(study);
    let error = |percent: u32| {
        let pages = PAGES / 100 * percent;
        let own = found
            .curve
            .miss_ratio(mm::units::Bytes(u64::from(pages) << 12));
        own - miss_ratio(&load.pages, pages as usize)
    };
    let errors: Vec<f64> = SIZES.map(error).into();
    println!("{}, one page of {}: {errors:.4?}", load.name, found.scale);
    let is_zipf = load.name.starts_with("zipf");
    let is_part = study.observed.as_ref().is_some_and(|it| it.seen.is_some());
    assert!(!is_zipf || !is_part || found.scale > 1);
    errors
}

fn check(what: &str, errors: &[f64]) {
    let mean = errors.iter().map(|it| it.abs()).sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().fold(0.0_f64, |worst, it| worst.max(it.abs()));
    println!("{what}: {mean:.4} on average, {worst:.4} at worst");
    assert!(mean <= 0.01 && worst <= 0.03, "{what}: {mean}, {worst}");
}
