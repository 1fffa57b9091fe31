//! What systemd is told: entries with fields for its journal, by their native protocol, a datagram
//! of `NAME=VALUE` lines; and how the daemon is.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use guard::Event;
use sd_notify::NotifyState;

/// Where the journal listens.
const SOCKET: &str = "/run/systemd/journal/socket";
/// Priorities of syslog.
const WARNING: u8 = 4;
const INFO: u8 = 6;
/// How long a service manager that does not read is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A way to the journal.
#[derive(Debug)]
pub(crate) struct Journal(UnixDatagram);

impl Journal {
    /// The journal, where standard error goes there: systemd says so by the file's numbers.
    pub(crate) fn of_stderr() -> Option<Self> {
        let stream = std::env::var("JOURNAL_STREAM").ok()?;
        let stderr = std::fs::metadata("/proc/self/fd/2").ok()?;
        let is_journal = stream == format!("{}:{}", stderr.dev(), stderr.ino());
        is_journal.then(|| Self::at(Path::new(SOCKET))).flatten()
    }

    fn at(path: &Path) -> Option<Self> {
        let socket = UnixDatagram::unbound().ok()?;
        socket.connect(path).ok()?;
        // A journal that does not keep up must not keep the daemon waiting.
        socket.set_nonblocking(true).ok()?;
        Some(Self(socket))
    }

    /// Whether the journal took it.
    pub(crate) fn send(&self, event: &Event) -> bool {
        self.0.send(entry(event).as_bytes()).is_ok()
    }
}

/// Tells the service manager, where it wants to know.
pub(crate) fn tell(state: NotifyState<'_>) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let told = UnixDatagram::unbound().and_then(|socket| {
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.connect(path)?;
        socket.send(state.to_string().as_bytes())
    });
    told.ok();
}

fn entry(event: &Event) -> String {
    let priority = if event.is_failed { WARNING } else { INFO };
    let bytes = match event.bytes.0 {
        0 => String::new(),
        bytes => bytes.to_string(),
    };
    let fields = [
        ("MESSAGE", event.said()),
        ("PRIORITY", priority.to_string()),
        ("SYSLOG_IDENTIFIER", "plimsoll-guard".to_owned()),
        ("PLIMSOLL_POLICY", event.policy.clone()),
        ("PLIMSOLL_ACTION", event.action.clone()),
        ("PLIMSOLL_FILE", event.file.clone()),
        ("PLIMSOLL_BYTES", bytes),
        ("PLIMSOLL_WHY", event.why.clone()),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    // A line end would end the value.
    let fields = fields.map(|(name, value)| format!("{name}={}\n", value.replace('\n', " ")));
    fields.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::units::Bytes;

    #[test]
    fn an_event_is_a_datagram_of_fields() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        let journal = Journal::at(&path).expect("it listens");
        let event = Event {
            policy: "floor".to_owned(),
            action: "lock".to_owned(),
            file: "00ab/12".to_owned(),
            bytes: Bytes(5),
            what: "lock 5 B\nof file 00ab/12".to_owned(),
            why: "named".to_owned(),
            ..Event::default()
        };
        assert!(journal.send(&event));
        let mut buffer = [0; 1024];
        let length = socket.recv(&mut buffer).expect("a datagram");
        let text = String::from_utf8_lossy(&buffer[..length]);
        assert_eq!(
            text,
            "MESSAGE=floor: lock 5 B of file 00ab/12: named\nPRIORITY=6\n\
             SYSLOG_IDENTIFIER=plimsoll-guard\nPLIMSOLL_POLICY=floor\nPLIMSOLL_ACTION=lock\n\
             PLIMSOLL_FILE=00ab/12\nPLIMSOLL_BYTES=5\nPLIMSOLL_WHY=named\n"
        );
        drop(socket);
        assert!(!journal.send(&event), "then it goes to standard error");
    }
}
