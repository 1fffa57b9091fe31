//! `GET /metrics`.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use look::metrics::Form;

use super::here::Machine;
use crate::server::{self, Answer, Body, Reach, Request, Service};
use crate::term;

/// What one that asks for OpenMetrics says it takes.
const OPEN: &str = "application/openmetrics-text";

/// Serves until a signal ends it.
///
/// # Errors
/// Those of [`server::listen`].
pub(super) fn serve(address: SocketAddr, reach: Reach) -> anyhow::Result<()> {
    let listener = server::listen(address, reach)?;
    let address = listener.local_addr()?;
    term::talk(format_args!("serves http://{address}/metrics"));
    let mut machine = Machine::default();
    machine.look();
    server::serve(&listener, reach, Metrics(Mutex::new(machine)))
}

struct Metrics(Mutex<Machine>);

impl Service for Metrics {
    fn answer(&self, request: &Request<'_>) -> Answer {
        if request.path != "/metrics" {
            return Answer::line("404 Not Found");
        }
        let form = form(request);
        // A reading that panicked has left nothing half-done.
        let facts = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .facts();
        match facts {
            Ok(facts) => Answer {
                status: "200 OK",
                further: "",
                media_type: form.media_type(),
                body: Body::Whole(facts.text(form).into_bytes().into()),
            },
            Err(_) => Answer::line("500 Internal Server Error"),
        }
    }
}

/// OpenMetrics for who says that it takes it.
fn form(request: &Request<'_>) -> Form {
    let mut takes = request.field("accept");
    match takes.any(|value| value.to_ascii_lowercase().contains(OPEN)) {
        true => Form::OpenMetrics,
        false => Form::Prometheus,
    }
}
