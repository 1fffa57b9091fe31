//! The splitter of pasted texts, and what follows from what it finds.

use evidence::redact::redacted;
use mm::capture::Capture;
use mm::snapshot::Snapshot;

pub(crate) fn target(bytes: &[u8]) {
    let (text, _) = evidence::clean::decode(bytes);
    let _ = Capture::recover(&text);
    let readings = [evidence::split(&text, "paste.txt")];
    let _ = evidence::gather::note("paste.txt", &readings);
    let frames = evidence::frames(&readings);
    for frame in &frames {
        let snapshot = Snapshot::parse(frame);
        let _ = snapshot.watermarks();
        let _ = snapshot.available();
        let _ = snapshot.thresholds();
    }
    let _ = redacted(&Capture { frames });
}
