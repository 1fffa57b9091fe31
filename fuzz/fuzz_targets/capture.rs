//! The capture reader, and all that is computed from a capture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mm::capture::Capture;
use mm::snapshot::Snapshot;

fuzz_target!(|text: &str| {
    let Ok(capture) = Capture::parse(text) else {
        return;
    };
    assert_eq!(Capture::parse(&capture.to_text()).as_ref(), Ok(&capture));
    for frame in &capture.frames {
        let snapshot = Snapshot::parse(frame);
        let _ = snapshot.watermarks();
        let _ = snapshot.protection();
        let _ = snapshot.available();
        let _ = snapshot.thresholds();
    }
});
