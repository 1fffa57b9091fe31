//! `/proc/stat`: CPU time since boot.

use crate::text::{Line, ParseError, lines};

/// Path without the leading slash.
pub const PATH: &str = "proc/stat";

/// The sum over all CPUs, in ticks of `USER_HZ` (100 a second).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Processes in user space.
    pub user: u64,
    /// Niced processes in user space.
    pub nice: u64,
    /// In the kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while I/O is under way.
    pub iowait: u64,
    /// In interrupts.
    pub irq: u64,
    /// In soft interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

impl CpuTimes {
    /// Reads the first line of the text of `/proc/stat`.
    ///
    /// # Errors
    /// Where it does not begin with "cpu" and four times.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let summed = lines(PATH, text).find(|line| line.words().next() == Some("cpu"));
        let line =
            summed.ok_or_else(|| ParseError::new(PATH, 1, "", "a line \"cpu USER NICE …\""))?;
        Self::parse_line(&line)
    }

    /// Ticks of every kind.
    #[must_use]
    pub fn total(&self) -> u64 {
        let times = [self.user, self.nice, self.system, self.idle];
        let later = [self.iowait, self.irq, self.softirq, self.steal];
        times.into_iter().chain(later).fold(0, u64::saturating_add)
    }

    fn parse_line(line: &Line<'_>) -> Result<Self, ParseError> {
        let mut words = line.words();
        words.next();
        let mut times = Self {
            user: line.next_number("user", &mut words)?,
            nice: line.next_number("nice", &mut words)?,
            system: line.next_number("system", &mut words)?,
            idle: line.next_number("idle", &mut words)?,
            ..Self::default()
        };
        let later = [
            &mut times.iowait,
            &mut times.irq,
            &mut times.softirq,
            &mut times.steal,
        ];
        for (field, word) in later.into_iter().zip(words) {
            *field = line.number_in("cpu", word)?;
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_cpus_are_read() {
        let times = CpuTimes::parse("cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 9 9 9 9\nctxt 5\n");
        let times = times.expect("a stat");
        assert_eq!((times.user, times.idle, times.steal), (1, 4, 8));
        assert_eq!(times.total(), 36);
        assert!(CpuTimes::parse("cpu 1 2").is_err());
        assert!(CpuTimes::parse("").is_err());
    }
}
