//! The capture reader, and all that is computed from a capture.

use crate::take::take;
use mm::capture::Capture;
use mm::snapshot::Snapshot;

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
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
}
