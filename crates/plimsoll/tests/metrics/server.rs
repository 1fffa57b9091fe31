//! What `--listen` serves, and to whom it does not give way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::programs::{openmetrics, promtool};

use super::samples;

/// A server that ends with its test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn new() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["metrics", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("a pipe");
        BufReader::new(stderr).read_line(&mut line).expect("a line");
        let address = line.strip_prefix("serves http://").expect("an address");
        let address = address.trim_end().strip_suffix("/metrics").expect("a path");
        let address = address.parse().expect("an address");
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a time");
        stream
    }

    /// Head and body of the answer to a head; empty where it hangs up.
    fn ask(&self, head: &str) -> (String, String) {
        let mut stream = self.connect();
        // It may have answered before it read all.
        let _ = stream.write_all(head.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_form_is_served_to_who_asks_for_it() {
    let server = Server::new();
    let (head, body) = server.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("\r\nContent-Type: text/plain; version=0.0.4;"),
        "{head}"
    );
    assert!(
        head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())),
        "{head}"
    );
    if let Some(complaint) = promtool(&["check", "metrics"], &body) {
        assert_eq!(complaint, "");
    }
    let accept = "accept: Application/OpenMetrics-Text;version=1.0.0,text/plain;q=0.5";
    let (head, body) = server.ask(&format!("GET /metrics?x HTTP/1.1\r\n{accept}\r\n\r\n"));
    assert!(head.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0;"));
    if let Some(found) = openmetrics(&body) {
        assert_eq!(found, format!("{}\n", samples(&body).count()), "{body}");
    }
}

#[test]
fn what_is_not_served_is_refused() {
    let server = Server::new();
    for (request, expected) in [
        ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("GET /metrics/../x HTTP/1.1\r\n\r\n", "404 Not Found"),
        (
            "POST /metrics HTTP/1.1\r\n\r\n",
            "405 Method Not Allowed\r\nAllow: GET",
        ),
        ("hello\r\n\r\n", "400 Bad Request"),
        ("\r\n\r\n", "400 Bad Request"),
    ] {
        let (head, _) = server.ask(request);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {expected}")),
            "{request}: {head}"
        );
    }
}

#[test]
fn a_request_that_is_too_long_has_no_figures() {
    let server = Server::new();
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000));
    let (head, _) = server.ask(&long);
    // Where it hangs up before all was read, the answer may be lost on its way.
    let refused = head.starts_with("HTTP/1.1 431 Request Header Fields Too Large");
    assert!(refused || head.is_empty(), "{head}");
    let (head, _) = server.ask("GET /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
}

#[test]
fn a_slow_client_holds_nobody_up_for_long() {
    let server = Server::new();
    // One says nothing, one asks and does not read, one hangs up.
    let silent = server.connect();
    let mut deaf = server.connect();
    deaf.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
        .expect("asked");
    drop(server.connect());
    let begun = Instant::now();
    let (head, _) = server.ask("GET /metrics HTTP/1.1\r\n\r\n");
    let waited = begun.elapsed();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    drop((silent, deaf));
}
