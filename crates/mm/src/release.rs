//! Releases of the kernel, as `uname -r` prints them.

/// Whether a release is `major.minor` or a later one; one that cannot be read is.
#[must_use]
pub fn is_since(release: &str, major: u32, minor: u32) -> bool {
    let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(a)), Some(Ok(b))) => (a, b) >= (major, minor),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_number_and_an_unknown_one_is_new() {
        let since = |release| is_since(release, 6, 2);
        assert!(!since("6.1.0-56-cloud-amd64") && !since("5.15.0"));
        assert!(since("6.12.117+deb12-cloud-amd64") && since("7.0-rc1") && since("custom"));
    }
}
