//! What the guard is asked at its socket.

use guard::request::{LONGEST, Request};

pub(crate) fn target(bytes: &[u8]) {
    let Some(request) = Request::parse(bytes) else {
        return;
    };
    let line = request.to_string();
    assert!(line.len() <= LONGEST);
    assert_eq!(Request::parse(line.as_bytes()), Some(request));
}
