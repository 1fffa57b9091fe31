//! Ctrl-C while a VM runs: the run ends, QEMU and its files go, then the caller hears of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use answer::bench::BenchError;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Takes the signals that ask to stop. The first is noted; a second ends the process at once, so
/// that work elsewhere, which does not look at the note, can still be stopped.
pub(super) fn listen() {
    ASKED.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // These three may always be handled; only SIGKILL and its like are refused.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, asked.clone());
            let _ = flag::register(signal, asked.clone());
        }
        asked
    });
}

/// # Errors
/// [`BenchError::Interrupted`] once a signal came.
pub(super) fn check() -> Result<(), BenchError> {
    let asked = ASKED.get().is_some_and(|flag| flag.load(Ordering::Relaxed));
    if asked {
        Err(BenchError::Interrupted)
    } else {
        Ok(())
    }
}
