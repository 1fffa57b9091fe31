//! A process of our own without another program.

use rustix::io::Errno;
use rustix::process::Pid;

/// Forks a process that does `life` and ends: with 0 where it went well.
pub(crate) fn fork(life: impl FnOnce() -> Result<(), ()>) -> Result<Pid, Errno> {
    #[expect(unsafe_code, reason = "fork")]
    // SAFETY: the child runs `life` and leaves by `_exit`, never returning into the parent's
    // frames. In the VM the parent has one thread, so no lock is held by a thread that the child
    // lacks.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(life));
            let code = match done {
                Ok(Ok(())) => 0,
                Ok(Err(())) => 1,
                Err(_) => 101,
            };
            #[expect(unsafe_code, reason = "leaving without the parent's exit handlers")]
            // SAFETY: ends the process.
            unsafe {
                libc::_exit(code)
            }
        }
        1.. => Pid::from_raw(pid).ok_or(Errno::SRCH),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::AGAIN)),
    }
}
