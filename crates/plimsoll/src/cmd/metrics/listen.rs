//! A small server of HTTP: `GET /metrics`, one request a connection, a thread for each.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use look::metrics::Form;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::here::Machine;
use crate::exit::ExitCode;
use crate::term;

/// The longest head of a request, in bytes.
const LONGEST: usize = 8 << 10;

/// The most connections at a time; further ones are closed.
const MOST: usize = 64;

/// How long a client may take to ask, and again to take its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What one that asks for OpenMetrics says it takes.
const OPEN: &str = "application/openmetrics-text";

/// Serves until a signal ends it.
///
/// # Errors
/// Nobody can listen there.
pub(super) fn serve(address: SocketAddr) -> anyhow::Result<ExitCode> {
    // Process 1 of a container is ended by no signal that it does not ask for.
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::new(true.into()))?;
    }
    let listener = TcpListener::bind(address).with_context(|| address.to_string())?;
    let address = listener.local_addr()?;
    term::talk(format_args!("serves http://{address}/metrics"));
    let mut machine = Machine::default();
    machine.look();
    let machine = Arc::new(Mutex::new(machine));
    let waiting = Arc::new(());
    loop {
        match listener.accept() {
            Ok((stream, _)) if Arc::strong_count(&waiting) <= MOST => {
                let (machine, one_of) = (Arc::clone(&machine), Arc::clone(&waiting));
                // What befalls one client is no matter of the next.
                let served = thread::Builder::new().spawn(move || {
                    let _ = answer(stream, &machine);
                    drop(one_of);
                });
                drop(served);
            }
            Ok((refused, _)) => drop(refused),
            Err(error) if is_ours(&error) => thread::sleep(PATIENCE),
            Err(_) => {}
        }
    }
}

/// Whether it is this machine that is at an end, of descriptors or memory.
fn is_ours(error: &io::Error) -> bool {
    let known = [
        ErrorKind::ConnectionAborted,
        ErrorKind::ConnectionReset,
        ErrorKind::BrokenPipe,
        ErrorKind::TimedOut,
        ErrorKind::WouldBlock,
        ErrorKind::UnexpectedEof,
    ];
    !known.contains(&error.kind())
}

fn answer(mut stream: TcpStream, machine: &Mutex<Machine>) -> io::Result<()> {
    let answer = match head(&mut stream)? {
        Some(head) => Answer::to(&head, machine),
        None => Answer::line("431 Request Header Fields Too Large", ""),
    };
    send(&mut stream, answer.bytes().as_slice())
}

/// The head of a request; `None` where it is too long.
///
/// # Errors
/// What the system says, and that it did not come in time.
fn head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    let end = Instant::now() + PATIENCE;
    loop {
        stream.set_read_timeout(Some(left(end)?))?;
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&part[..count]);
        if head.len() > LONGEST {
            return Ok(None);
        }
        if head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
    }
}

fn send(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(end)?))?;
        bytes = &bytes[stream.write(bytes)?..];
    }
    Ok(())
}

/// What is left of a client's time.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

/// An answer of HTTP.
struct Answer {
    status: &'static str,
    /// A further line of its head, or nothing.
    further: &'static str,
    media_type: &'static str,
    body: String,
}

impl Answer {
    /// Answers a request by its head.
    fn to(head: &str, machine: &Mutex<Machine>) -> Self {
        let mut words = head.lines().next().unwrap_or_default().split(' ');
        let (method, target, version) = (words.next(), words.next(), words.next());
        let Some((method, target)) = method
            .zip(target)
            .filter(|_| version.is_some_and(|version| version.starts_with("HTTP/1.")))
        else {
            return Self::line("400 Bad Request", "");
        };
        let path = target.split('?').next();
        match (method, path) {
            ("GET", Some("/metrics")) => Self::metrics(form(head), machine),
            (_, Some("/metrics")) => Self::line("405 Method Not Allowed", "Allow: GET\r\n"),
            _ => Self::line("404 Not Found", ""),
        }
    }

    fn metrics(form: Form, machine: &Mutex<Machine>) -> Self {
        // A reading that panicked has left nothing half-done.
        let facts = machine
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .facts();
        match facts {
            Ok(facts) => Self {
                status: "200 OK",
                further: "",
                media_type: form.media_type(),
                body: facts.text(form),
            },
            Err(_) => Self::line("500 Internal Server Error", ""),
        }
    }

    /// An answer that is no page: its status says it.
    fn line(status: &'static str, further: &'static str) -> Self {
        Self {
            status,
            further,
            media_type: "text/plain; charset=utf-8",
            body: format!("{status}\n"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let Self {
            status,
            further,
            media_type,
            body,
        } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\n{further}Content-Type: {media_type}\r\nContent-Length: \
             {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// OpenMetrics for who says that it takes it.
fn form(head: &str) -> Form {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let accepts = fields.any(|(name, value)| {
        name.eq_ignore_ascii_case("accept") && value.to_ascii_lowercase().contains(OPEN)
    });
    match accepts {
        true => Form::OpenMetrics,
        false => Form::Prometheus,
    }
}
