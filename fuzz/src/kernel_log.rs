//! Kernel logs: taken apart into events, read, and explained.

use crate::take::take;
use mm::kernel_log::{self, Cause, Holders, PATH, Report};

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    let _ = kernel_log::is_log(text);
    for frame in kernel_log::frames(text) {
        if let Some(report) = Report::parse(&frame.files[PATH]) {
            let _ = Cause::of(&report);
            let _ = Holders::of(&report);
        }
    }
}
