//! A process with memory of known content, for the tests of `plimsoll ksm estimate`.
//!
//! Arguments: `own=NUMBER` what its own contents are drawn from; then `KIND=PAGES`, one behind the
//! other in one region: `identical` (each page another content, the same in every tenant), `one`
//! (one content), `pairs` (each content twice, its own), `unique`, `zero`, `volatile` (written all
//! the time). `mergeable` asks for merging of the region, `all` for that of the whole process,
//! `huge` for huge pages; `fork` leaves a child that shares everything. It says `ready`, the
//! child's number behind it where there is one, and lives until its input ends.

use std::error::Error;
use std::io::Read as _;
use std::time::Duration;

use mm::prng::Prng;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

const PAGE: usize = 4096;
const HUGE: usize = 512;

/// `PR_SET_MEMORY_MERGE`, which libc does not name.
const SET_MEMORY_MERGE: i32 = 67;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let pairs = arguments
        .iter()
        .filter_map(|argument| argument.split_once('='));
    let parts: Result<Vec<(&str, usize)>, _> = pairs
        .map(|(kind, number)| Ok((kind, number.parse()?)))
        .collect();
    let parts: Vec<(&str, usize)> = parts.map_err(|error: std::num::ParseIntError| error)?;
    let own = parts
        .iter()
        .find(|(kind, _)| *kind == "own")
        .map_or(0, |&(_, own)| own);
    let parts = || parts.iter().copied().filter(|(kind, _)| *kind != "own");
    let region = region(parts().map(|(_, pages)| pages).sum(), &has)?;
    let mut start = 0;
    let mut volatile = 0..0;
    for (kind, pages) in parts() {
        for (at, page) in region[start * PAGE..]
            .chunks_exact_mut(PAGE)
            .take(pages)
            .enumerate()
        {
            fill(page, kind, own as u64, at as u64)?;
        }
        if kind == "volatile" {
            volatile = start..start + pages;
        }
        start += pages;
    }
    let child = if has("fork") { fork()? } else { String::new() };
    println!("ready {child}");
    std::thread::spawn(move || {
        for turn in 1_u64.. {
            for page in volatile.clone() {
                let at = page * PAGE;
                region[at..at + 8].copy_from_slice(&(turn << 32 | page as u64).to_ne_bytes());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Anonymous memory that asks for what the arguments say.
fn region(pages: usize, has: &dyn Fn(&str) -> bool) -> Result<&'static mut [u8], Box<dyn Error>> {
    if has("all") {
        #[expect(unsafe_code, reason = "prctl")]
        // SAFETY: it takes a flag and no pointer.
        if unsafe { libc::prctl(SET_MEMORY_MERGE, 1, 0, 0, 0) } != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
    }
    let length = pages.max(1).next_multiple_of(HUGE) * PAGE;
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    #[expect(unsafe_code, reason = "a mapping of its own")]
    // SAFETY: the kernel chooses the address, the advice changes no content, and the slice is the
    // only way to the memory, which is never unmapped.
    unsafe {
        let none = std::ptr::null_mut();
        let address = mmap_anonymous(none, length, flags, MapFlags::PRIVATE)?;
        let advice = if has("huge") {
            Advice::LinuxHugepage
        } else {
            Advice::LinuxNoHugepage
        };
        madvise(address, length, advice)?;
        if has("mergeable") {
            madvise(address, length, Advice::LinuxMergeable)?;
        }
        Ok(std::slice::from_raw_parts_mut(address.cast(), length))
    }
}

fn fill(page: &mut [u8], kind: &str, own: u64, at: u64) -> Result<(), String> {
    let own = (own + 1) << 40;
    let content = match kind {
        "identical" => (1 << 32) | at,
        "one" => 1 << 33,
        "pairs" => own | (1 << 34) | (at / 2),
        "unique" | "volatile" => own | at,
        "zero" => {
            // Written, or the kernel's own page of zeros would be there.
            page.fill(std::hint::black_box(0));
            return Ok(());
        }
        _ => return Err(format!("{kind}: no such kind")),
    };
    let mut prng = Prng::new(content);
    for word in page.chunks_exact_mut(8) {
        word.copy_from_slice(&prng.next_u64().to_ne_bytes());
    }
    Ok(())
}

/// Leaves a child that sleeps until this process ends; gives its number.
fn fork() -> Result<String, Box<dyn Error>> {
    #[expect(unsafe_code, reason = "fork")]
    // SAFETY: there is one thread yet; the child only sleeps, and is killed with its parent.
    unsafe {
        match libc::fork() {
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                loop {
                    libc::pause();
                }
            }
            child @ 1.. => Ok(child.to_string()),
            _ => Err(std::io::Error::last_os_error().into()),
        }
    }
}
