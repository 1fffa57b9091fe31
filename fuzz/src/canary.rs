//! A fault that was once there: a reader of mountinfo that takes three digits behind every
//! backslash. A run that does not find it finds nothing.

pub(crate) fn target(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let Some((before, after)) = line.split_once(" - ") else {
            continue;
        };
        let kind = after.split(' ').next();
        let Some(point) = before.split(' ').nth(4) else {
            continue;
        };
        if kind == Some("ext4")
            && let Some((_, behind)) = point.split_once('\\')
        {
            assert!(behind.as_bytes()[..3].len() == 3);
        }
    }
}
