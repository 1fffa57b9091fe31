//! The `bpf` system call: maps, programs and where they are attached. All is held by descriptors:
//! when this process ends, however it ends, the kernel takes everything away.

use std::ffi::{CStr, c_long};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Commands, by their numbers in `bpf.h`.
const MAP_CREATE: u32 = 0;
const PROGRAM_LOAD: u32 = 5;
const RAW_TRACEPOINT_OPEN: u32 = 17;

/// The helpers that read kernel memory want a licence that is compatible with the kernel's.
const LICENCE: &CStr = c"Dual MIT/GPL";

/// How much of the verifier's words are kept.
const LOG: usize = 256 << 10;

/// What a program is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attach {
    /// A function's begin, by its number in BTF.
    Entry(u32),
    /// Its end.
    Exit(u32),
    /// A tracepoint.
    Tracepoint(&'static CStr),
    /// A tracepoint whose arguments have types, by its number in BTF.
    Typed(u32),
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// Bytes of a value.
    pub(crate) value: u32,
    pub(crate) entries: u32,
    pub(crate) reach: Reach,
}

/// Who reaches a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Programs,
    /// This process too, which can map it.
    Mapped,
}

/// `union bpf_attr`, as far as it is used: 32-bit words.
type Attributes = [u32; 36];

/// Makes a map.
pub(crate) fn map(array: Array) -> io::Result<OwnedFd> {
    const ARRAY: u32 = 2;
    const MMAPABLE: u32 = 1 << 10;
    let flags = match array.reach {
        Reach::Programs => 0,
        Reach::Mapped => MMAPABLE,
    };
    let mut attributes = [0; 36];
    attributes[..5].copy_from_slice(&[ARRAY, 4, array.value, array.entries, flags]);
    descriptor(MAP_CREATE, &attributes)
}

/// Loads a program and attaches it. The second descriptor holds it there.
pub(crate) fn attach(program: &[u64], to: Attach) -> io::Result<[OwnedFd; 2]> {
    let loaded = load(program, to)?;
    let mut attributes = [0; 36];
    if let Attach::Tracepoint(name) = to {
        put(&mut attributes, 0, name.as_ptr().addr() as u64);
    }
    attributes[2] = loaded.as_raw_fd().cast_unsigned();
    let attached = descriptor(RAW_TRACEPOINT_OPEN, &attributes)?;
    Ok([loaded, attached])
}

fn load(program: &[u64], to: Attach) -> io::Result<OwnedFd> {
    const RAW_TRACEPOINT: u32 = 17;
    const TRACING: u32 = 26;
    const ENTRY: u32 = 24;
    const EXIT: u32 = 25;
    const TYPED: u32 = 23;
    let (kind, expected, function) = match to {
        Attach::Entry(function) => (TRACING, ENTRY, function),
        Attach::Exit(function) => (TRACING, EXIT, function),
        Attach::Typed(tracepoint) => (TRACING, TYPED, tracepoint),
        Attach::Tracepoint(_) => (RAW_TRACEPOINT, 0, 0),
    };
    let mut attributes = [0; 36];
    attributes[0] = kind;
    attributes[1] = program.len() as u32;
    put(&mut attributes, 2, program.as_ptr().addr() as u64);
    put(&mut attributes, 4, LICENCE.as_ptr().addr() as u64);
    attributes[17] = expected;
    attributes[27] = function;
    let loaded = descriptor(PROGRAM_LOAD, &attributes);
    match loaded {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            Err(io::Error::other(refusal(attributes)))
        }
        other => other,
    }
}

/// Why the verifier refuses a program: the last of its words.
fn refusal(mut attributes: Attributes) -> String {
    let mut log = vec![0_u8; LOG];
    attributes[6] = 1;
    attributes[7] = LOG as u32;
    put(&mut attributes, 8, log.as_mut_ptr().addr() as u64);
    let _ = descriptor(PROGRAM_LOAD, &attributes);
    let said = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = said.trim_end_matches('\0').lines().collect();
    let last = lines
        .iter()
        .rev()
        .find(|line| !line.starts_with("processed"));
    format!(
        "the verifier refuses it: {}",
        last.copied().unwrap_or("no reason given")
    )
}

/// A pointer in two words.
fn put(attributes: &mut Attributes, at: usize, value: u64) {
    attributes[at] = value as u32;
    attributes[at + 1] = (value >> 32) as u32;
}

fn descriptor(command: u32, attributes: &Attributes) -> io::Result<OwnedFd> {
    let raw = i32::try_from(call(command, attributes)?).map_err(io::Error::other)?;
    #[expect(unsafe_code, reason = "the kernel hands out a number")]
    // SAFETY: it was opened just now, for us.
    let owned = unsafe { OwnedFd::from_raw_fd(raw) };
    Ok(owned)
}

fn call(command: u32, attributes: &Attributes) -> io::Result<c_long> {
    let size = size_of_val(attributes);
    #[expect(unsafe_code, reason = "no library that is in use has the call")]
    // SAFETY: the kernel reads the attributes, and writes only behind pointers in them, to memory
    // that lives in the caller and is as long as the log is said to be.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), size) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        other => Ok(other),
    }
}
