//! Captures of many hosts, drawn from those of a few.

use mm::capture::Capture;
use mm::prng::Prng;

use crate::capture;

/// The machines, and how many of ten hosts are such.
const MACHINES: [(&str, usize); 4] = [
    ("fixtures/hosts/vm-24gib-6.18/capture.txt", 5),
    ("fixtures/inspect/vm-3840mib-6.1/capture.txt", 3),
    ("fixtures/kernels/vm-5gib-7.2/capture.txt", 1),
    ("fixtures/kernels/vm-2-nodes-5.10/capture.txt", 1),
];

/// A tunable's file, what nearly all hosts have there, what the others have, and how many hosts there
/// are for one of these.
const SETTINGS: [(&str, &str, &str, u64); 4] = [
    ("proc/sys/vm/swappiness", "10", "60", 50),
    ("proc/sys/vm/dirty_ratio", "20", "80", 100),
    ("proc/sys/vm/overcommit_memory", "0", "2", 200),
    ("proc/sys/vm/vfs_cache_pressure", "100", "0", 400),
];

/// Hosts of which one capture is cut off.
const DAMAGED: u64 = 1000;

/// Draws captures, one after the other.
#[derive(Debug)]
pub struct Hosts {
    machines: Vec<Capture>,
    prng: Prng,
}

impl Hosts {
    /// Those of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let many = |&(path, times)| std::iter::repeat_n(capture(path), times);
        Self {
            machines: MACHINES.iter().flat_map(many).collect(),
            prng: Prng::new(seed),
        }
    }

    /// The file of the next host.
    #[must_use]
    pub fn draw(&mut self) -> Vec<u8> {
        let machine = self.prng.below(self.machines.len() as u64);
        let mut capture = self.machines[machine as usize].clone();
        for frame in &mut capture.frames {
            for (path, common, other, one_of) in SETTINGS {
                let value = match self.prng.below(one_of) {
                    0 => other,
                    _ => common,
                };
                frame.files.insert(path.to_owned(), format!("{value}\n"));
            }
            let used = self.prng.below(1 << 16);
            if let Some(vmstat) = frame.files.get_mut("proc/vmstat") {
                vmstat.push_str(&format!("plimsoll_drawn {used}\n"));
            }
        }
        let mut bytes = capture.to_text().into_bytes();
        if self.prng.below(DAMAGED) == 0 {
            bytes.truncate(20);
        }
        bytes
    }
}
