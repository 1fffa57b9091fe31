//! What is mounted, in bytes: whoever mounts names the place.

use mm::mountinfo;

pub(crate) fn target(bytes: &[u8]) {
    for mount in mountinfo::parse(bytes) {
        let _ = mount.is_served();
        assert!(mount.point.len() <= bytes.len());
        assert!(!mount.kind.contains(&b'\n'));
    }
}
