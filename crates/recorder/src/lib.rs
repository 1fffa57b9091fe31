//! What the tasks of this machine do to its files, seen by BPF programs of our own.
//!
//! Programs at functions of the kernel (`fentry`, `fexit`) note reads, writes, faults on mapped
//! files, `fsync`, truncation, `POSIX_FADV_DONTNEED` and writes of tunables, and at tracepoints
//! which of these tasks wakes which. Where the kernel refuses functions, two tracepoints are left,
//! which see reads and faults only. Nothing is compiled: the programs are some hundred
//! instructions, and where members of structures lie is read from the kernel's own types (BTF).

mod assembly;
mod bpf;
mod btf;
mod cached;
mod event;
mod files;
mod hooks;
mod owner;
mod program;
mod ring;
mod streams;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use thiserror::Error;

pub use self::event::{Added, Event, Seen, Set, Task, Woke};
pub use self::owner::Owner;
pub use self::streams::{Sees, Stream, Streams, Tally, Tasks};

use self::bpf::{Array, Attach, Reach};
use self::btf::Btf;
use self::hooks::{
    ADDED, FAULTS, FUNCTIONS, Hook, LOOPBACK, Of, SWITCH, SYSCTL, TRACEPOINT, WAKES, When,
};
use self::program::{Maker, Maps, Reading, SLOT, SLOTS, Switches};
use self::ring::Ring;

/// What keeps tasks from being seen.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The kernel's types are not known.
    #[error("the kernel's types (/sys/kernel/btf/vmlinux) cannot be read")]
    NoTypes,
    /// A map cannot be made.
    #[error("the kernel refuses a BPF map: {0}")]
    Map(io::Error),
    /// Neither functions nor the tracepoint are seen.
    #[error(
        "the kernel refuses BPF programs: at {}: {functions}; at {}: {tracepoint}",
        FUNCTIONS[0].name,
        TRACEPOINT.name
    )]
    Refused {
        /// Why not at the function.
        functions: io::Error,
        /// Why not at the tracepoint.
        tracepoint: io::Error,
    },
}

/// Programs that are attached. They go when it is dropped, or its process ends.
#[derive(Debug)]
pub struct Probe {
    ring: Ring,
    _slots: OwnedFd,
    _programs: Vec<[OwnedFd; 2]>,
    /// The functions or tracepoints at which they are.
    hooks: Vec<&'static str>,
    sees: Sees,
    /// How many pages behind the first the tracepoint names of a read of one page.
    of_one_page: u64,
}

impl Probe {
    /// Attaches programs, for all tasks of the machine but those of this process.
    ///
    /// # Errors
    /// The kernel refuses them.
    pub fn new(types: Vec<u8>) -> Result<Self, ProbeError> {
        let btf = Btf::read(types).ok_or(ProbeError::NoTypes)?;
        let ring = Ring::new().map_err(ProbeError::Map)?;
        let slots = bpf::map(Array {
            value: SLOT,
            entries: SLOTS,
            reach: Reach::Programs,
        });
        let slots = slots.map_err(ProbeError::Map)?;
        let mut maker = Maker {
            btf: &btf,
            maps: Maps {
                slots: slots.as_raw_fd(),
                events: ring.events.as_raw_fd(),
                counters: ring.counters.as_raw_fd(),
            },
            reading: Reading::Loads,
            switches: Switches::Seen,
            except: std::process::id(),
        };
        // Without them whoever waits for a disk or another task sleeps of its own accord.
        let waits = at_wakes(&maker).unwrap_or_default();
        if waits.is_empty() {
            maker.switches = Switches::Unseen;
        }
        let (mut programs, mut hooks) = attached(&maker)?;
        let sees_switches = !waits.is_empty();
        if sees_switches {
            programs.extend(waits);
            hooks.push("sched_waking");
        }
        // Without it nobody knows what was cached before; the rest is as good.
        let added = at_tracepoint(&by_helper(&maker).added(), ADDED).ok();
        let sees_added = added.is_some();
        programs.extend(added);
        let mut probe = Self {
            ring,
            _slots: slots,
            _programs: programs,
            sees: Sees {
                ends: hooks[0] == FUNCTIONS[0].name,
                added: sees_added,
                switches: sees_switches,
            },
            hooks,
            of_one_page: 0,
        };
        if !probe.sees.ends {
            probe.of_one_page = probe.pages_of_one();
        }
        Ok(probe)
    }

    /// Whether the last page that the tracepoint names belongs to the read or lies behind it
    /// differs by release: our own program's first page says which.
    fn pages_of_one(&mut self) -> u64 {
        let read = std::env::current_exe()
            .and_then(std::fs::File::open)
            .and_then(|mut program| {
                let mut page = [0; event::PAGE as usize];
                io::Read::read_exact(&mut program, &mut page)
            });
        let (ours, mut pages) = (std::process::id(), 0);
        self.ring.drain(|words| match Seen::read(words) {
            Some(Seen::Event(event)) if event.process == ours => {
                pages = event.length.saturating_sub(event.offset);
            }
            _ => {}
        });
        if read.is_ok() { pages } else { 0 }
    }

    /// The functions or tracepoints at which the programs are.
    #[must_use]
    pub fn hooks(&self) -> &[&'static str] {
        &self.hooks
    }

    /// What its programs see.
    #[must_use]
    pub fn sees(&self) -> Sees {
        self.sees
    }

    /// Hands over the events that are there.
    pub fn drain(&mut self, mut take: impl FnMut(Seen)) {
        let (ours, by_pages, of_one) = (std::process::id(), !self.sees.ends, self.of_one_page);
        self.ring.drain(|words| match Seen::read(words) {
            Some(Seen::Event(event)) if event.process == ours => {}
            Some(Seen::Event(event)) if by_pages => take(Seen::Event(event.in_bytes(of_one))),
            Some(seen) => take(seen),
            None => {}
        });
    }

    /// How many events found no place.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.ring.lost()
    }
}

/// Gives memory back that the allocator keeps for later: megabytes after the kernel's types.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "the allocator's own call")]
    // SAFETY: it gives back only what is not in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

type Attached = (Vec<[OwnedFd; 2]>, Vec<&'static str>);

/// At the functions if the first of them can be had, else at the tracepoints.
fn attached(maker: &Maker<'_>) -> Result<Attached, ProbeError> {
    let functions = match at_function(maker, &FUNCTIONS[0]) {
        Ok(first) => return Ok(with_others(maker, first)),
        Err(error) => error,
    };
    // It is tried out by a read of our own, so that is let through.
    let pages = by_helper(maker).event(&TRACEPOINT);
    match at_tracepoint(&pages, c"mm_filemap_get_pages") {
        Ok(program) => Ok(with_faults(maker, program)),
        Err(tracepoint) => Err(ProbeError::Refused {
            functions,
            tracepoint,
        }),
    }
}

/// Faults too, where there is a tracepoint for them.
fn with_faults(maker: &Maker<'_>, reads: [OwnedFd; 2]) -> Attached {
    let (mut programs, mut hooks) = (vec![reads], vec![TRACEPOINT.name]);
    let faults = by_helper(maker).event(&FAULTS);
    if let Ok(program) = at_tracepoint(&faults, c"mm_filemap_fault") {
        programs.push(program);
        hooks.push(FAULTS.name);
    }
    (programs, hooks)
}

/// Functions that this kernel lacks are left out.
fn with_others(maker: &Maker<'_>, mut programs: Vec<[OwnedFd; 2]>) -> Attached {
    let mut hooks = vec![FUNCTIONS[0].name];
    for hook in &FUNCTIONS[1..] {
        if let Ok(more) = at_function(maker, hook) {
            programs.extend(more);
            hooks.push(hook.name);
        }
    }
    if let Ok(program) = at_sysctl(maker) {
        programs.push(program);
        hooks.push(SYSCTL.name);
    }
    (programs, hooks)
}

/// Who waits for disks, and who wakes whom; sockets of this machine itself count where the function
/// is there.
fn at_wakes(maker: &Maker<'_>) -> io::Result<Vec<[OwnedFd; 2]>> {
    let (helper, mut programs) = (by_helper(maker), Vec::new());
    if let Some(function) = maker.btf.function(LOOPBACK) {
        let program = maker.sent().ok_or_else(lacks)?;
        programs.extend(bpf::attach(&program, Attach::Entry(function)).ok());
    }
    type Make = fn(&Maker<'_>) -> Option<Vec<u64>>;
    let all: [(&CStr, Make); 2] = [(SWITCH, |it| it.switched()), (WAKES, |it| it.woke())];
    for (name, make) in all {
        let typed = maker.btf.tracepoint(&name.to_string_lossy());
        let typed = typed.and_then(|number| {
            let program = make(maker)?;
            bpf::attach(&program, Attach::Typed(number)).ok()
        });
        programs.push(match typed {
            Some(program) => program,
            None => at_tracepoint(&make(&helper), name)?,
        });
    }
    Ok(programs)
}

fn at_sysctl(maker: &Maker<'_>) -> io::Result<[OwnedFd; 2]> {
    let function = maker.btf.function(SYSCTL.name).ok_or_else(lacks)?;
    let program = maker.set().ok_or_else(lacks)?;
    bpf::attach(&program, Attach::Exit(function))
}

fn at_function(maker: &Maker<'_>, hook: &Hook) -> io::Result<Vec<[OwnedFd; 2]>> {
    let function = maker.btf.function(hook.name).ok_or_else(lacks)?;
    let event = match hook.file {
        Of::Descriptor => by_helper(maker).event(hook),
        _ => maker.event(hook),
    };
    let event = event.ok_or_else(lacks)?;
    let end = match hook.when {
        When::Begin => bpf::attach(&event, Attach::Entry(function))?,
        When::Both | When::End => bpf::attach(&event, Attach::Exit(function))?,
    };
    let mut programs = vec![end];
    if hook.when == When::Both {
        let begin = maker.begin().ok_or_else(lacks)?;
        programs.push(bpf::attach(&begin, Attach::Entry(function))?);
    }
    Ok(programs)
}

fn lacks() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "its types lack what is needed")
}

/// A tracepoint's arguments are plain numbers to the verifier.
fn by_helper<'a>(maker: &Maker<'a>) -> Maker<'a> {
    Maker {
        reading: Reading::Helper,
        except: 0,
        ..*maker
    }
}

fn at_tracepoint(program: &Option<Vec<u64>>, name: &'static CStr) -> io::Result<[OwnedFd; 2]> {
    bpf::attach(
        program.as_ref().ok_or_else(lacks)?,
        Attach::Tracepoint(name),
    )
}
