//! `/proc/zoneinfo` as the kernel hands it out, in bytes, and all that follows from it.

use mm::capture::Frame;
use mm::snapshot::Snapshot;

pub(crate) fn target(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let frame = Frame {
        files: [("proc/zoneinfo".to_owned(), text)].into(),
        ..Frame::default()
    };
    let snapshot = Snapshot::parse(&frame);
    let _ = snapshot.watermarks();
    let _ = snapshot.protection();
    let _ = snapshot.available();
}
