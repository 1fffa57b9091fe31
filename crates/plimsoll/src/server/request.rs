//! What is asked, as its head says it.

use std::net::{IpAddr, SocketAddr};

/// A request, by its head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// What is asked for, without what stands behind a question mark.
    pub(crate) path: &'a str,
    head: &'a str,
}

impl<'a> Request<'a> {
    /// What a head asks for; `None` where it is none of HTTP.
    pub(super) fn parse(head: &'a str) -> Option<Self> {
        let mut words = head.lines().next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let path = target.split('?').next()?;
        version
            .starts_with("HTTP/1.")
            .then_some(Self { method, path, head })
    }

    /// The values of a field, as often as it is there.
    pub(crate) fn field(&self, wanted: &'static str) -> impl Iterator<Item = &'a str> {
        let fields = self.head.lines().skip(1);
        let fields = fields.map_while(|line| line.split_once(':'));
        let fields = fields.filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        fields.map(|(_, value)| value.trim())
    }

    /// Whether it is for an address in digits or `localhost`. A browser says for whom each of its
    /// requests is; what says nothing is no browser.
    pub(super) fn is_for_an_address(&self) -> bool {
        self.field("host").all(is_address)
    }
}

fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let digits = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok()
        || digits.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_gave_is_no_address() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1",
            "127.0.0.1:9",
            "[::1]:9",
            "[::1]",
        ] {
            assert!(is_address(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "127.0.0.1:9@evil.example",
            "localhost:evil",
            "a:127.0.0.1",
        ] {
            assert!(!is_address(host), "{host}");
        }
    }

    #[test]
    fn every_host_field_counts_and_a_body_has_none() {
        let is = |head: &str| Request::parse(head).expect("a head").is_for_an_address();
        assert!(is("GET / HTTP/1.1\r\n\r\n"));
        assert!(!is(
            "GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n\r\n"
        ));
        assert!(is(
            "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nHost: evil.example\r\n"
        ));
        assert!(Request::parse("hello\r\n\r\n").is_none());
        assert!(Request::parse("").is_none());
    }
}
