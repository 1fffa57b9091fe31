//! A Prometheus query, by plain HTTP.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

use super::ask::number;
use mm::text::lasting;

use crate::changing::nanos;

/// The longest answer that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// An address: `http://HOST[:PORT]/PATH?QUERY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// Host and port, as the head of the request has them.
    authority: String,
    host: String,
    port: u16,
    /// From the slash on.
    target: String,
}

impl Url {
    /// # Errors
    /// Why it is none that can be asked.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let form = "write http://HOST:PORT/api/v1/query?query=...";
        let Some(rest) = text.strip_prefix("http://") else {
            bail!("{text}: only plain http is spoken: {form}");
        };
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("{text}: a blank or letter that no address has: write it as %20");
        }
        let (authority, target) = match rest.split_once('/') {
            Some((authority, target)) => (authority, format!("/{target}")),
            None => bail!("{text}: it asks for nothing: {form}"),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
            _ => (authority, Some(80)),
        };
        let port = port.filter(|_| !host.is_empty() && !host.contains('@'));
        let port = port.with_context(|| format!("{text}: no host and port: {form}"))?;
        Ok(Self {
            authority: authority.to_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            target,
        })
    }
}

/// Asks, and reads the one number of the answer. All of it, names included, takes no longer than
/// `limit`.
///
/// # Errors
/// In one line: nobody answers in time, or the answer has another number of numbers.
pub(super) fn ask(url: &Url, limit: Duration) -> anyhow::Result<f64> {
    let (send, receive) = mpsc::channel();
    let asked = url.clone();
    // The system's search for a name has no limit of its own; a search that is late is left behind.
    std::thread::spawn(move || send.send(answer(&asked, limit)).ok());
    let late = |_| anyhow!("no answer within {}", lasting(nanos(limit)));
    let answer = receive.recv_timeout(limit).map_err(late);
    let number = answer.and_then(|answer| value(&answer?));
    number.with_context(|| format!("http://{}", url.authority))
}

fn answer(url: &Url, limit: Duration) -> anyhow::Result<String> {
    let mut addresses = (url.host.as_str(), url.port).to_socket_addrs()?;
    let address = addresses.next().context("the host has no address")?;
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let Url {
        authority, target, ..
    } = url;
    // To 1.0 nothing is sent in chunks.
    let request =
        format!("GET {target} HTTP/1.0\r\nHost: {authority}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut bytes = vec![];
    stream.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number in an answer of Prometheus: a vector with one element, or a scalar.
fn value(answer: &str) -> anyhow::Result<f64> {
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer of HTTP")?;
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("it answers `{status}`");
    }
    let document: Value = serde_json::from_str(body).context("no JSON")?;
    let data = &document["data"];
    let value = match (data["resultType"].as_str(), data["result"].as_array()) {
        (Some("scalar"), Some(scalar)) => scalar.get(1),
        (Some("vector"), Some(vector)) => match vector.as_slice() {
            [one] => one["value"].get(1),
            several => bail!("the query has {} values, and one is needed", several.len()),
        },
        _ => bail!("no vector and no scalar: ask /api/v1/query"),
    };
    let text = value.and_then(Value::as_str).context("no value")?;
    number(text).with_context(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Serves one answer, after it has read the request.
    fn served(answer: &'static str) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut bytes = [0; 1024];
            let read = stream.read(&mut bytes).expect("a request");
            let request = String::from_utf8_lossy(&bytes[..read]).into_owned();
            assert!(
                request.starts_with("GET /api/v1/query?query=up HTTP/1.0\r\n"),
                "{request}"
            );
            stream.write_all(answer.as_bytes()).expect("an answer");
            // Nothing more comes, and an answer that is empty is one that never comes.
            if answer.is_empty() {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        Url::parse(&format!("http://127.0.0.1:{port}/api/v1/query?query=up")).expect("an address")
    }

    fn asked(answer: &'static str) -> Result<f64, String> {
        let found = ask(&served(answer), Duration::from_secs(1));
        found.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_one_number_of_a_query_is_read() {
        let vector = "HTTP/1.0 200 OK\r\nX: y\r\n\r\n{\"status\":\"success\",\"data\":{\"resultType\":\
                      \"vector\",\"result\":[{\"metric\":{},\"value\":[17.5,\"42.25\"]}]}}";
        assert_eq!(asked(vector), Ok(42.25));
        let scalar =
            "HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"3\"]}}";
        assert_eq!(asked(scalar), Ok(3.0));
    }

    #[test]
    fn an_answer_without_one_number_is_an_error_that_says_what_came() {
        for (answer, what) in [
            (
                "HTTP/1.1 400 Bad Request\r\n\r\n{}",
                "it answers `HTTP/1.1 400 Bad Request`",
            ),
            ("HTTP/1.1 200 OK\r\n\r\n<html>", "no JSON"),
            ("HTTP/1.1 200 OK\r\n\r\n{}", "no vector and no scalar"),
            ("hello", "no answer of HTTP"),
            ("", "no answer within 1 s"),
            (
                "HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
                "the query has 0 values, and one is needed",
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"NaN\"]}}",
                "`NaN` is no number",
            ),
        ] {
            let error = asked(answer).unwrap_err();
            assert!(
                error.contains(what) && error.starts_with("http://127"),
                "{error}"
            );
        }
    }

    #[test]
    fn addresses_are_plain_http_with_a_path() {
        let url = Url::parse("http://[::1]:9090/api").expect("an address");
        assert_eq!(
            (url.host.as_str(), url.port, url.target.as_str()),
            ("::1", 9090, "/api")
        );
        assert_eq!(Url::parse("http://db/q").expect("an address").port, 80);
        for (text, what) in [
            ("https://db/q", "only plain http is spoken"),
            ("http://db", "it asks for nothing"),
            ("http://db:x/q", "no host and port"),
            ("http://me@db/q", "no host and port"),
            ("http://db/q?a b", "write it as %20"),
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
