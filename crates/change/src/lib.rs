//! A change: its plan, its journal and its state machine; pure, with its I/O behind a trait.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
