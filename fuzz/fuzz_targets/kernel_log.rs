//! Kernel logs: taken apart into events, read, and explained.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mm::kernel_log::{self, Cause, Holders, PATH, Report};

fuzz_target!(|text: &str| {
    let _ = kernel_log::is_log(text);
    for frame in kernel_log::frames(text) {
        if let Some(report) = Report::parse(&frame.files[PATH]) {
            let _ = Cause::of(&report);
            let _ = Holders::of(&report);
        }
    }
});
