//! This machine as Server-Sent Events: a capture each, of the state before and of that now.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mm::capture::{Capture, Frame};
use serde_json::Value;

use crate::cmd::inspect;

/// The most that look at a time.
const MOST_VIEWERS: usize = 8;

/// What this machine was when somebody last looked. It is not read while nobody does.
pub(super) struct Live {
    interval: Duration,
    last: Mutex<Option<Reading>>,
    viewers: Arc<()>,
}

/// A reading, and the event that was made of it.
struct Reading {
    at: Instant,
    frame: Frame,
    event: Arc<str>,
}

impl Live {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            last: Mutex::default(),
            viewers: Arc::default(),
        }
    }

    /// The events for one viewer more; `None` where there are enough.
    pub(super) fn watch(live: &Arc<Self>) -> Option<Box<dyn FnMut() -> Option<String>>> {
        let (live, one_of) = (Arc::clone(live), Arc::clone(&live.viewers));
        if Arc::strong_count(&live.viewers) > MOST_VIEWERS + 1 {
            return None;
        }
        let mut first = true;
        Some(Box::new(move || {
            let _held = &one_of;
            if !std::mem::take(&mut first) {
                thread::sleep(live.interval);
            }
            Some(live.event().to_string())
        }))
    }

    /// The event of now. Those who look at about the same time have the same one.
    fn event(&self) -> Arc<str> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |it: &&Reading| it.at.elapsed() < self.interval / 2;
        if let Some(known) = last.as_ref().filter(is_new) {
            return Arc::clone(&known.event);
        }
        let is_near = |it: &Reading| it.at.elapsed() < self.interval * 3;
        let before = last.take().filter(is_near).map(|it| it.frame);
        let (at, frame) = (Instant::now(), inspect::frame());
        let frames = before.into_iter().chain([frame.clone()]);
        let event = event(&Capture {
            frames: frames.collect(),
        });
        *last = Some(Reading {
            at,
            frame,
            event: Arc::clone(&event),
        });
        event
    }
}

/// A capture as one line, whatever stands in it.
fn event(capture: &Capture) -> Arc<str> {
    format!("data: {}\n\n", Value::from(capture.to_text())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_and_again_when_one_goes() {
        let live = Arc::new(Live::new(Duration::from_secs(1)));
        let mut viewers: Vec<_> = (0..MOST_VIEWERS)
            .filter_map(|_| Live::watch(&live))
            .collect();
        assert_eq!(viewers.len(), MOST_VIEWERS);
        assert!(Live::watch(&live).is_none());
        viewers.pop();
        assert!(Live::watch(&live).is_some());
    }

    #[test]
    fn an_event_is_one_line_whatever_stands_in_it() {
        let frame = Frame {
            at: mm::units::Nanos(0),
            label: None,
            files: [("proc/a".to_owned(), "x\r\n\ndata: y\n".to_owned())].into(),
        };
        let capture = Capture {
            frames: vec![frame],
        };
        let event = event(&capture);
        let data = event.strip_prefix("data: ").expect("data");
        let data = data.strip_suffix("\n\n").expect("an end");
        assert!(!data.contains(['\n', '\r']), "{data}");
        let text: String = serde_json::from_str(data).expect("a string");
        assert_eq!(Capture::parse(&text).expect("a capture"), capture);
    }
}
