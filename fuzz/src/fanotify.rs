//! Events of fanotify in bytes, as a group is read.

use mm::fanotify::Events;

pub(crate) fn target(bytes: &[u8]) {
    let mut before = bytes.len();
    let mut events = Events(bytes);
    while let Some(event) = events.next() {
        // Each takes bytes from the buffer: a reader comes to its end.
        assert!(events.0.len() < before);
        before = events.0.len();
        if let Some(file) = event.file() {
            assert!(file.handle.len() <= bytes.len());
        }
    }
}
