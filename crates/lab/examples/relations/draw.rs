//! Small studies drawn at random: a machine of 160 to 640 MiB, one or two disks, perhaps swap and a
//! control group, and one to three consumers of memory.

use std::fmt::Write as _;

use mm::prng::Prng;

/// A study before it is text, so that a relation can change a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    /// In MiB.
    pub(crate) memory: u64,
    pub(crate) disks: Vec<Disk>,
    pub(crate) swap: Option<String>,
    pub(crate) files: Vec<File>,
    pub(crate) groups: Vec<String>,
    pub(crate) base: Vec<(String, String)>,
    pub(crate) processes: Vec<Process>,
    /// Seconds.
    pub(crate) deadline: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) name: String,
    /// MiB a second.
    pub(crate) bandwidth: u64,
    /// Microseconds.
    pub(crate) latency: u64,
    pub(crate) seek: u64,
    pub(crate) channels: u64,
    pub(crate) rotational: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) disk: String,
    /// In MiB.
    pub(crate) size: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    /// Lines of further keys.
    pub(crate) keys: String,
    pub(crate) steps: Vec<String>,
}

/// The study of a seed.
pub(crate) fn small(seed: u64) -> Sketch {
    let prng = &mut Prng::for_part(seed, "a small study");
    let memory = 160 + 16 * prng.below(31);
    let disks: Vec<Disk> = (1..=1 + prng.below(2)).map(|n| disk(n, prng)).collect();
    let swap = match prng.below(4) {
        0 => None,
        1 => Some(format!("zram-ratio = 3\nsize = \"{} MiB\"", memory / 2)),
        _ => Some(format!("disk = \"disk 1\"\nsize = \"{memory} MiB\"")),
    };
    let mut sketch = Sketch {
        memory,
        disks,
        swap,
        files: Vec::new(),
        groups: Vec::new(),
        base: settings(prng),
        processes: Vec::new(),
        deadline: 12,
    };
    for number in 1..=1 + prng.below(3) {
        sketch.consumer(number, prng);
    }
    sketch
}

fn disk(number: u64, prng: &mut Prng) -> Disk {
    let rotational = prng.below(3) == 0;
    Disk {
        name: format!("disk {number}"),
        bandwidth: 20 + prng.below(400),
        latency: 50 + prng.below(400),
        seek: if rotational { 4000 } else { 0 },
        channels: if rotational { 1 } else { 1 + prng.below(4) },
        rotational,
    }
}

fn settings(prng: &mut Prng) -> Vec<(String, String)> {
    let mut settings = vec![("lru_gen.enabled".to_owned(), prng.below(2).to_string())];
    if prng.below(3) == 0 {
        settings.push(("vm.swappiness".to_owned(), prng.below(200).to_string()));
    }
    if prng.below(4) == 0 {
        let kib = 1000 + prng.below(12_000);
        settings.push(("vm.min_free_kbytes".to_owned(), kib.to_string()));
    }
    settings
}

impl Sketch {
    fn consumer(&mut self, number: u64, prng: &mut Prng) {
        let share = 15 + prng.below(55);
        let mib = (self.memory * share / 100).max(8);
        let keys = match prng.below(4) {
            0 => self.group(number, mib * (60 + prng.below(80)) / 100),
            _ => String::new(),
        };
        let steps = match prng.below(5) {
            0 | 1 => anonymous(number, mib, prng),
            2 => self.reader(number, 2 * mib, prng),
            3 => self.writer(number, mib, prng),
            _ => self.mixed(number, mib, prng),
        };
        self.processes.push(Process {
            name: format!("consumer {number}"),
            keys,
            steps,
        });
    }

    fn group(&mut self, number: u64, mib: u64) -> String {
        self.groups.push(format!(
            "path = \"group-{number}\"\nfiles = {{ \"memory.high\" = \"{} MiB\" }}",
            mib.max(16)
        ));
        format!("cgroup = \"group-{number}\"\n")
    }

    fn file(&mut self, number: u64, mib: u64, prng: &mut Prng) -> String {
        let disk = prng.below(self.disks.len() as u64) as usize;
        let name = format!("file {number}");
        self.files.push(File {
            name: name.clone(),
            disk: self.disks[disk].name.clone(),
            size: mib,
        });
        name
    }

    fn reader(&mut self, number: u64, mib: u64, prng: &mut Prng) -> Vec<String> {
        let file = self.file(number, mib, prng);
        let via = ["syscall", "mmap"][prng.below(2) as usize];
        let mut steps = vec![format!(
            "{{ label = \"read {number}\", read = {{ file = \"{file}\", via = \"{via}\" }} }}"
        )];
        let zipf = prng.below(2) * 9;
        steps.push(format!(
            "{{ label = \"look up {number}\", read = {{ file = \"{file}\", pattern = \"zipf 0.{zipf}\", \
             amount = \"{} MiB\", think = \"20 us\" }} }}",
            1 + prng.below(12)
        ));
        steps
    }

    fn writer(&mut self, number: u64, mib: u64, prng: &mut Prng) -> Vec<String> {
        let file = self.file(number, mib, prng);
        let mut steps = vec![format!(
            "{{ label = \"write {number}\", write = {{ file = \"{file}\", block = \"64 KiB\" }} }}"
        )];
        if prng.below(2) == 0 {
            steps.push(format!(
                "{{ label = \"sync {number}\", fsync = \"{file}\" }}"
            ));
        }
        steps
    }

    fn mixed(&mut self, number: u64, mib: u64, prng: &mut Prng) -> Vec<String> {
        let mut steps = anonymous(number, mib, prng);
        steps.insert(2, "{ sleep = \"1 s\" }".to_owned());
        steps.extend(self.reader(number, mib, prng));
        steps
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "name = \"drawn\"\ntitle = \"t\"\nquestion = \"q\"\ndeadline = \"{} s\"\n\n\
             [machine]\nmemory = \"{} MiB\"\n",
            self.deadline, self.memory
        );
        for disk in &self.disks {
            let _ = write!(text, "\n[[machine.disk]]\n{}", disk.text());
        }
        if let Some(swap) = &self.swap {
            let _ = write!(text, "\n[[machine.swap]]\n{swap}\n");
        }
        for File { name, disk, size } in &self.files {
            let _ = write!(
                text,
                "\n[[machine.file]]\nname = \"{name}\"\ndisk = \"{disk}\"\nsize = \"{size} MiB\"\n"
            );
        }
        text += "\n[base]\n";
        for (tunable, value) in &self.base {
            let _ = writeln!(text, "\"{tunable}\" = \"{value}\"");
        }
        for group in &self.groups {
            let _ = write!(text, "\n[[cgroup]]\n{group}\n");
        }
        text += "\n[[arm]]\nname = \"default\"\n";
        for process in &self.processes {
            let _ = write!(
                text,
                "\n[[process]]\nname = \"{}\"\n{}steps = [\n  {},\n]\n",
                process.name,
                process.keys,
                process.steps.join(",\n  ")
            );
        }
        text + "\n[[measure]]\nname = \"m\"\nduring = \"run\"\nmeminfo = \"MemFree\"\n"
    }
}

impl Disk {
    fn text(&self) -> String {
        let Self {
            name,
            bandwidth,
            latency,
            seek,
            channels,
            rotational,
        } = self;
        format!(
            "name = \"{name}\"\nsize = \"4 GiB\"\nbandwidth = \"{bandwidth} MiB/s\"\n\
             latency = \"{latency} us\"\nseek = \"{seek} us\"\nchannels = {channels}\n\
             rotational = {rotational}\n"
        )
    }
}

fn anonymous(number: u64, mib: u64, prng: &mut Prng) -> Vec<String> {
    let pattern = ["sequential", "random", "zipf 0.99"][prng.below(3) as usize];
    let write = 50 * prng.below(3);
    vec![
        format!("{{ map = {{ region = \"heap\", size = \"{mib} MiB\" }} }}"),
        format!(
            "{{ label = \"fill {number}\", touch = {{ region = \"heap\", write-percent = 100 }} }}"
        ),
        format!(
            "{{ label = \"use {number}\", touch = {{ region = \"heap\", pattern = \"{pattern}\", \
             amount = \"{} MiB\", write-percent = {write} }} }}",
            1 + prng.below(2 * mib)
        ),
    ]
}
