//! `plimsoll serve`: what it serves, and to whom it does not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mm::capture::Capture;

const PAGE: &str = "<meta content=\"default-src 'none'; connect-src 'none'\">\n<p>the page</p>\n";

/// A server that ends with its test.
struct Server {
    child: Child,
    /// Where it listens.
    host: String,
    /// The path of the page.
    path: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let page = folder.path().join("plimsoll.html");
        std::fs::write(&page, PAGE).expect("written");
        let mut command = serve();
        command.args(["--listen", "127.0.0.1:0", "--interval", "1s", "--page"]);
        let mut child = command
            .arg(&page)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("http://").expect("an address");
        let (host, path) = address.split_once('/').expect("a path");
        Self {
            child,
            host: host.to_owned(),
            path: format!("/{path}"),
            _folder: folder,
        }
    }

    fn asked(&self, request: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        let patience = Some(Duration::from_secs(30));
        stream.set_read_timeout(patience).expect("a time");
        stream.write_all(request.as_bytes()).expect("asked");
        BufReader::new(stream)
    }

    /// Head and body of the answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let mut text = String::new();
        self.asked(&request)
            .read_to_string(&mut text)
            .expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    /// The lines of a stream of events, behind its head.
    fn watch(&self) -> BufReader<TcpStream> {
        let request = format!("GET {}live HTTP/1.1\r\n\r\n", self.path);
        let mut stream = self.asked(&request);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(stream.read_line(&mut line).expect("a line") > 0, "no head");
        }
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("serve");
    command
}

/// What it says where it does not serve.
fn refused(arguments: &[&str]) -> String {
    let output = serve().args(arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn the_page_may_ask_the_server_it_came_from_and_nobody_else() {
    let server = Server::new();
    let (head, body) = server.ask("GET", &server.path, &server.host);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for line in [
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "frame-ancestors 'none'",
    ] {
        assert!(head.contains(line), "{head}");
    }
    assert!(!head.contains("Access-Control"), "{head}");
    assert_eq!(
        body,
        PAGE.replace("connect-src 'none'", "connect-src 'self'")
    );
    let (head, body) = server.ask("HEAD", &server.path, "localhost:1");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(body, "");
}

#[test]
fn without_the_token_or_by_a_foreign_name_there_is_nothing() {
    let server = Server::new();
    let other = server.path.replace(['a', '0'], "1");
    for path in [
        "/",
        "/live",
        "/favicon.ico",
        "//",
        &format!("{other}x"),
        &format!("{}x", server.path),
    ] {
        let (head, body) = server.ask("GET", path, &server.host);
        assert!(head.starts_with("HTTP/1.1 404 "), "{path}: {head}");
        assert!(!body.contains("page"), "{path}: {body}");
    }
    let (head, _) = server.ask("GET", &server.path, "rebound.example");
    assert!(head.starts_with("HTTP/1.1 421 "), "{head}");
    let (head, _) = server.ask("POST", &server.path, &server.host);
    assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
}

#[test]
fn events_are_captures_with_the_state_before() {
    let server = Server::new();
    let mut stream = server.watch();
    let mut next = || {
        let mut event = String::new();
        while !event.ends_with("\n\n") {
            stream.read_line(&mut event).expect("a line");
        }
        let data = event.strip_prefix("data: ").expect("data");
        let text: String = serde_json::from_str(data).expect("a string");
        Capture::parse(&text).expect("a capture")
    };
    let first = next();
    assert_eq!(first.frames.len(), 1);
    assert!(first.frames[0].file("proc/meminfo").is_some());
    let second = next();
    assert_eq!(second.frames.len(), 2);
    assert_eq!(second.frames[0], first.frames[0]);
    assert!(second.frames[1].at > second.frames[0].at);
}

#[test]
fn there_is_an_end_of_viewers_and_the_page_is_served_beside_them() {
    let server = Server::new();
    let viewers: Vec<_> = (0..8).map(|_| server.watch()).collect();
    let live = format!("{}live", server.path);
    let (head, _) = server.ask("GET", &live, &server.host);
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    let (head, _) = server.ask("GET", &server.path, &server.host);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    drop(viewers);
}

#[test]
fn connections_that_ask_for_nothing_shut_nobody_out() {
    let server = Server::new();
    let idle = (0..400).map(|_| TcpStream::connect(&server.host).expect("it listens"));
    let idle: Vec<TcpStream> = idle.collect();
    let (head, _) = server.ask("GET", &server.path, &server.host);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    drop(idle);
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<p>another</p>").expect("written");
    let page = page.to_str().expect("UTF-8");
    for (arguments, expected) in [
        (
            &["--page", page][..],
            "give the file that cargo xtask page makes",
        ),
        (&["--page", "/nowhere.html"], "no page to serve"),
        (&["--page", "/dev/null"], "no page to serve"),
        (&["--interval", "0s"], "expected a time"),
        (&["--listen", "here"], "invalid"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
    std::fs::write(page, PAGE).expect("written");
    let said = refused(&["--page", page, "--listen", "0.0.0.0:0"]);
    assert!(said.contains("add --expose"), "{said}");
}
