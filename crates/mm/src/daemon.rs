//! Daemons of others that tune memory, whose rules `guard` knows.

/// A daemon that an administrator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// The ksmtuned service.
    Ksmtuned,
    /// Oracle's adaptivemmd.
    Adaptivemmd,
    /// The agent of Katalyst.
    Katalyst,
}
