//! `plimsoll serve`: the model's page, with this machine live in it.

mod live;
mod page;
mod token;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{seconds, time};
use crate::exit::ExitCode;
use crate::server::{self, Answer, Body, Reach, Request, Service};
use crate::term;

use self::live::Live;
use self::token::Token;

/// Show this machine live in a browser, beside the model
///
/// Prints the address of a page, which no one else can guess, and serves it until interrupted: the
/// load lines, dirty limits and pressure as they move, what inspect says, what settings would
/// change, two moments compared, and every study on the model. The page reads; a change is a line
/// of apply to copy. Needs no root and changes nothing. From another machine use ssh -L; what
/// --expose serves crosses the network in the clear, the address with it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen there
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9754")]
    listen: SocketAddr,
    /// Let other machines reach it
    #[arg(long)]
    expose: bool,
    /// Serve this page, which cargo xtask page makes [default: that of the package,
    /// /usr/share/plimsoll/plimsoll.html]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Read this machine that often, as long as somebody looks
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time(seconds(1, 60)))]
    interval: Duration,
}

/// Serves.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let reach = match args.expose {
        true => Reach::Others,
        false => Reach::Here,
    };
    let page = page::read(args.page.as_deref())?;
    let token = Token::new()?;
    let listener = server::listen(args.listen, reach)?;
    let mut out = term::out();
    writeln!(out, "http://{}/{token}/", listener.local_addr()?)?;
    out.flush()?;
    let live = Arc::new(Live::new(args.interval));
    server::serve(&listener, reach, Page { token, page, live })?;
    Ok(ExitCode::Done)
}

/// The page and what it asks for, to who knows the token.
struct Page {
    token: Token,
    page: Arc<[u8]>,
    live: Arc<Live>,
}

/// What the page does not tell others: its address, and what stands in it.
const PRIVATE: &str = "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
                       X-Content-Type-Options: nosniff\r\n\
                       Cross-Origin-Resource-Policy: same-origin\r\n\
                       Content-Security-Policy: frame-ancestors 'none'\r\n";

impl Service for Page {
    fn answer(&self, request: &Request<'_>) -> Answer {
        let (media_type, body) = match self.token.behind(request.path) {
            Some("") => ("text/html; charset=utf-8", Body::Whole(self.page.clone())),
            Some("live") => match Live::watch(&self.live) {
                Some(events) => ("text/event-stream", Body::Pieces(events)),
                None => return Answer::line("503 Service Unavailable"),
            },
            _ => return Answer::line("404 Not Found"),
        };
        Answer {
            status: "200 OK",
            further: PRIVATE,
            media_type,
            body,
        }
    }
}
