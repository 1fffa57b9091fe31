//! The vocabulary of Linux memory: units, kernel-file parsers, kernel formulas, rules by release,
//! the tunable catalogue and captures.
//!
//! Everything here is a value or a pure function of values. No file, clock, thread or random state
//! can appear: the crate is `no_std` and forbids unsafe code. `inspect` explains a live kernel with
//! the same formulas that the model in `sim` runs on.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bdi;
pub mod buddyinfo;
pub mod capture;
pub mod catalogue;
pub mod choice;
pub mod daemon;
pub mod diskstats;
pub mod elf;
pub mod fanotify;
pub mod findings;
pub mod formula;
pub mod hierarchy;
pub mod html;
pub mod inode_nr;
pub mod items;
pub mod kernel_log;
pub mod ksm;
pub mod lru_gen;
pub mod mail;
pub mod maps;
pub mod memcg;
pub mod meminfo;
pub mod mountinfo;
pub mod notes;
pub mod page_cache;
pub mod pagemap;
pub mod pagetypeinfo;
pub mod prng;
pub mod process;
pub mod programs;
pub mod psi;
pub mod quantity;
pub mod recompute;
pub mod release;
pub mod rules;
pub mod settings;
pub mod snapshot;
pub mod stat;
pub mod stock;
pub mod suggest;
pub mod swaps;
pub mod text;
pub mod thp;
pub mod timer_list;
pub mod trace;
pub mod units;
pub mod vmstat;
pub mod zoneinfo;
pub mod zram;
