//! What is measured in a block: the kernel's counters, and the application's own figure.

use std::time::Duration;

use anyhow::{Context as _, bail};
use change::watch::Sample;
use mm::capture::Frame;
use mm::vmstat::Vmstat;
use study::measure::Better;
use study::verdict::Matters;

use super::{ask, http};

/// A counter of the kernel's: the less of it in a second, the better.
#[derive(Debug)]
pub(super) struct Counter {
    /// The word on the command line.
    pub(super) word: &'static str,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// A difference below this matters to nobody.
    least: f64,
    /// How much of it makes one of the unit.
    divisor: f64,
    count: fn(&Frame) -> Option<u64>,
}

/// Pages of 4 KiB: 40 kB in a second are nothing to any device.
const FEW: f64 = 10.0;

/// The counters, in the order in which they are shown.
pub(super) const COUNTERS: [Counter; 6] = [
    counter("psi", "stalled on memory", ("%", 0.1, 10_000.0), |it| {
        watched(it, 0)
    }),
    counter("stalls", "direct reclaims", ("/s", 1.0, 1.0), |it| {
        watched(it, 2)
    }),
    counter("refaults", "refaults", ("/s", FEW, 1.0), |it| {
        watched(it, 3)
    }),
    counter("swapins", "swap-ins", ("/s", FEW, 1.0), |it| watched(it, 4)),
    counter("faults", "major faults", ("/s", FEW, 1.0), |it| {
        vmstat(it, "pgmajfault")
    }),
    counter("reads", "read in", (" kB/s", 1000.0, 1.0), |it| {
        vmstat(it, "pgpgin")
    }),
];

const fn counter(
    word: &'static str,
    name: &'static str,
    (unit, least, divisor): (&'static str, f64, f64),
    count: fn(&Frame) -> Option<u64>,
) -> Counter {
    Counter {
        word,
        name,
        unit,
        least,
        divisor,
        count,
    }
}

/// A figure that `--watch` of `apply` counts too.
fn watched(frame: &Frame, figure: usize) -> Option<u64> {
    Sample::of(frame).counts[figure]
}

fn vmstat(frame: &Frame, item: &str) -> Option<u64> {
    let text = frame.files.get("proc/vmstat")?;
    Vmstat::parse(text).ok()?.get(item)
}

/// Something that has one number a block.
#[derive(Debug)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Counter(&'static Counter),
    /// The application's: its number at the end of the block, or how much it grew in a second.
    Asked {
        from: From,
        is_rate: bool,
    },
}

#[derive(Debug)]
enum From {
    Command(String),
    Url(http::Url),
}

/// What a measure showed at one border of a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    Count(f64),
    Number(f64),
    /// It is not asked here.
    None,
}

/// Which border of the part of a block that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Border {
    First,
    Last,
}

impl Measure {
    pub(super) fn of_counter(counter: &'static Counter) -> Self {
        Self {
            name: counter.name.to_owned(),
            unit: counter.unit,
            better: Better::Lower,
            source: Source::Counter(counter),
        }
    }

    /// `lower:CMD`, `higher:rate:CMD`.
    pub(super) fn of_command(text: &str) -> anyhow::Result<Self> {
        Self::asked(text, |text| Ok(From::Command(text.to_owned())))
    }

    /// The same with the address of a Prometheus query.
    pub(super) fn of_url(text: &str) -> anyhow::Result<Self> {
        Self::asked(text, |text| Ok(From::Url(http::Url::parse(text)?)))
    }

    fn asked(text: &str, from: impl FnOnce(&str) -> anyhow::Result<From>) -> anyhow::Result<Self> {
        let (better, rest) = match text.split_once(':') {
            Some(("lower", rest)) => (Better::Lower, rest),
            Some(("higher", rest)) => (Better::Higher, rest),
            _ => bail!("{text}: say which is better: lower:{text} or higher:{text}"),
        };
        let (is_rate, rest) = match rest.strip_prefix("rate:") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        if rest.trim().is_empty() {
            bail!("{text}: nothing is asked; write a command or an address behind it");
        }
        Ok(Self {
            name: rest.to_owned(),
            unit: if is_rate { "/s" } else { "" },
            better,
            source: Source::Asked {
                from: from(rest)?,
                is_rate,
            },
        })
    }

    /// From which difference on it matters.
    pub(super) fn matters(&self, share: f64) -> Matters {
        let amount = match &self.source {
            Source::Counter(counter) => counter.least,
            Source::Asked { .. } => 0.0,
        };
        Matters { share, amount }
    }

    /// Whether this machine has it.
    pub(super) fn is_counted(&self, frame: &Frame) -> bool {
        match &self.source {
            Source::Counter(counter) => (counter.count)(frame).is_some(),
            Source::Asked { .. } => true,
        }
    }

    /// Whether it has to be asked, which takes time.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.source, Source::Asked { .. })
    }

    /// Its reading at a border; nobody is waited for longer than `limit`.
    pub(super) fn read(
        &self,
        frame: &Frame,
        border: Border,
        limit: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> anyhow::Result<Reading> {
        match &self.source {
            Source::Counter(counter) => {
                let count = (counter.count)(frame);
                let count = count.with_context(|| format!("{}: it is gone", self.name))?;
                Ok(Reading::Count(count as f64 / counter.divisor))
            }
            Source::Asked { is_rate: false, .. } if border == Border::First => Ok(Reading::None),
            Source::Asked { is_rate, .. } => {
                let number = self.ask(limit, is_over)?;
                Ok(match is_rate {
                    true => Reading::Count(number),
                    false => Reading::Number(number),
                })
            }
        }
    }

    /// The application's number now.
    pub(super) fn ask(&self, limit: Duration, is_over: &dyn Fn() -> bool) -> anyhow::Result<f64> {
        match &self.source {
            Source::Counter(_) => bail!("{}: the kernel counts it", self.name),
            Source::Asked { from, .. } => match from {
                From::Command(command) => ask::command(command, limit, is_over),
                From::Url(url) => http::ask(url, limit),
            },
        }
    }
}

/// The number of a block, from its two borders and the time between them.
pub(super) fn number(first: Reading, last: Reading, time: Duration) -> f64 {
    match (first, last) {
        (Reading::Count(first), Reading::Count(last)) => {
            (last - first) / time.as_secs_f64().max(f64::MIN_POSITIVE)
        }
        (_, Reading::Number(number) | Reading::Count(number)) => number,
        (_, Reading::None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_the_application_needs_a_direction() {
        let said = |text| Measure::of_command(text).map(|it| (it.name, it.better, it.unit));
        let error = said("redis-cli dbsize").unwrap_err().to_string();
        assert_eq!(
            error,
            "redis-cli dbsize: say which is better: lower:redis-cli dbsize or higher:redis-cli \
             dbsize"
        );
        let lower = said("lower:cat a:b").unwrap();
        assert_eq!(lower, ("cat a:b".to_owned(), Better::Lower, ""));
        let rate = said("higher:rate:cat n").unwrap();
        assert_eq!(rate, ("cat n".to_owned(), Better::Higher, "/s"));
        assert!(
            said("lower:rate: ")
                .unwrap_err()
                .to_string()
                .contains("nothing is asked")
        );
    }

    #[test]
    fn counters_are_taken_between_the_borders() {
        let frame = |faults: u32, stall: u32| {
            let vmstat = format!("pgmajfault {faults}\npgpgin 9\n");
            let psi = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={stall}\n");
            let files = [("proc/vmstat", vmstat), ("proc/pressure/memory", psi)];
            Frame {
                at: mm::units::Nanos(0),
                label: None,
                files: files.map(|(path, text)| (path.to_owned(), text)).into(),
            }
        };
        let (first, last) = (frame(10, 1_000_000), frame(70, 1_500_000));
        let of = |word: &str| {
            let counter = COUNTERS.iter().find(|it| it.word == word).unwrap();
            let measure = Measure::of_counter(counter);
            let limit = Duration::from_secs(1);
            let read = |frame, border| measure.read(frame, border, limit, &|| false).unwrap();
            let ends = (read(&first, Border::First), read(&last, Border::Last));
            number(ends.0, ends.1, Duration::from_secs(10))
        };
        assert!((of("faults") - 6.0).abs() < 1e-9);
        assert!(
            (of("psi") - 5.0).abs() < 1e-9,
            "half a second in ten is 5 %"
        );
        let swapins = COUNTERS.iter().find(|it| it.word == "swapins").unwrap();
        assert!(!Measure::of_counter(swapins).is_counted(&first));
    }
}
