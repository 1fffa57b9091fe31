//! The one small server of HTTP: one request a connection, a thread for each, and all of it
//! bounded.

mod request;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

pub(crate) use self::request::Request;

/// The longest head of a request, in bytes.
const LONGEST: usize = 8 << 10;

/// The most connections at a time.
const MOST: usize = 64;

/// How long a client may take to ask, and again to take its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of an answer for which a client has a [`PATIENCE`] more.
const A_SECOND: usize = 64 << 10;

/// Who may reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This machine alone. A request has to be for an address or `localhost`: a name is what the
    /// page of somebody else calls this machine, to have the browser read it there.
    Here,
    /// Other machines too, by whatever name.
    Others,
}

/// What answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers one: a `GET`, or a `HEAD`, of which the body is not sent.
    fn answer(&self, request: &Request<'_>) -> Answer;
}

/// An answer of HTTP.
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    /// Further lines of its head, each with its end.
    pub(crate) further: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) body: Body,
}

/// What comes behind the head.
pub(crate) enum Body {
    /// All of it.
    Whole(Arc<[u8]>),
    /// A piece whenever there is one, until there is none or nobody takes it.
    Pieces(Box<dyn FnMut() -> Option<String>>),
}

impl Answer {
    /// An answer that is no page: its status says it.
    pub(crate) fn line(status: &'static str) -> Self {
        Self {
            status,
            further: "",
            media_type: "text/plain; charset=utf-8",
            body: Body::Whole(format!("{status}\n").into_bytes().into()),
        }
    }

    fn head(&self) -> String {
        let Self {
            status,
            further,
            media_type,
            body,
        } = self;
        let length = match body {
            Body::Whole(bytes) => format!("Content-Length: {}\r\n", bytes.len()),
            Body::Pieces(_) => String::new(),
        };
        format!(
            "HTTP/1.1 {status}\r\n{further}Content-Type: {media_type}\r\n{length}Connection: \
             close\r\n\r\n"
        )
    }
}

/// Listens there.
///
/// # Errors
/// Nobody can, or other machines could reach it and are not meant to.
pub(crate) fn listen(address: SocketAddr, reach: Reach) -> anyhow::Result<TcpListener> {
    if reach == Reach::Here && !address.ip().is_loopback() {
        bail!("{address}: other machines may reach it: add --expose if they are to");
    }
    TcpListener::bind(address).with_context(|| address.to_string())
}

/// Serves until a signal ends it.
///
/// # Errors
/// Signals cannot be asked for.
pub(crate) fn serve(
    listener: &TcpListener,
    reach: Reach,
    service: impl Service,
) -> anyhow::Result<()> {
    // Process 1 of a container is ended by no signal that it does not ask for.
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::new(true.into()))?;
    }
    let service = Arc::new(service);
    let mut clients = Clients::default();
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                let Some(has_asked) = clients.admit(&stream) else {
                    continue;
                };
                let service = Arc::clone(&service);
                // What befalls one client is no matter of the next.
                let served = thread::Builder::new().spawn(move || {
                    let _ = answer(&mut stream, reach, service.as_ref(), &has_asked);
                    let _ = stream.shutdown(Shutdown::Both);
                });
                drop(served);
            }
            Err(error) if is_ours(&error) => thread::sleep(PATIENCE),
            Err(_) => {}
        }
    }
}

/// Those that are connected, the first first.
#[derive(Default)]
struct Clients(Vec<Client>);

struct Client {
    stream: TcpStream,
    /// Whether its request is there; its thread holds the other one.
    has_asked: Arc<AtomicBool>,
}

impl Clients {
    /// Lets a client in. Where there are too many already, the one that has been there longest
    /// without asking goes; where all have asked, `None`.
    fn admit(&mut self, stream: &TcpStream) -> Option<Arc<AtomicBool>> {
        let clients = &mut self.0;
        clients.retain(|client| Arc::strong_count(&client.has_asked) > 1);
        if clients.len() >= MOST {
            let is_idle = |client: &Client| !client.has_asked.load(Ordering::Relaxed);
            let idle = clients.remove(clients.iter().position(is_idle)?);
            // Its thread reads the end, and ends.
            let _ = idle.stream.shutdown(Shutdown::Both);
        }
        let has_asked = Arc::new(AtomicBool::new(false));
        clients.push(Client {
            stream: stream.try_clone().ok()?,
            has_asked: Arc::clone(&has_asked),
        });
        Some(has_asked)
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

fn answer(
    stream: &mut TcpStream,
    reach: Reach,
    service: &impl Service,
    has_asked: &AtomicBool,
) -> io::Result<()> {
    let head = head(stream)?;
    has_asked.store(true, Ordering::Relaxed);
    let Some(head) = head else {
        let refused = Answer::line("431 Request Header Fields Too Large");
        return give(stream, refused, false);
    };
    let Some(request) = Request::parse(&head) else {
        return give(stream, Answer::line("400 Bad Request"), false);
    };
    let answer = match request.method {
        _ if reach == Reach::Here && !request.is_for_an_address() => {
            Answer::line("421 Misdirected Request")
        }
        "GET" | "HEAD" => service.answer(&request),
        _ => Answer {
            further: "Allow: GET, HEAD\r\n",
            ..Answer::line("405 Method Not Allowed")
        },
    };
    give(stream, answer, request.method == "HEAD")
}

fn give(stream: &mut TcpStream, answer: Answer, is_head: bool) -> io::Result<()> {
    send(stream, answer.head().as_bytes())?;
    match answer.body {
        _ if is_head => Ok(()),
        Body::Whole(bytes) => send(stream, &bytes),
        Body::Pieces(mut next) => {
            while let Some(piece) = next() {
                send(stream, piece.as_bytes())?;
            }
            Ok(())
        }
    }
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
    let seconds = u32::try_from(bytes.len() / A_SECOND).unwrap_or(u32::MAX);
    let end = Instant::now() + PATIENCE.saturating_mul(seconds.saturating_add(1));
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
