//! A process of the workload that becomes the guard: the daemon as it is packaged.

use std::ffi::CString;

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::error::Why;
use crate::place::Place;

/// Where the daemon lies in the VM.
const PROGRAM: &str = "/plimsoll/plimsoll-guard";
/// Its configuration.
const CONFIG: &str = "etc/plimsoll/guard.toml";

/// The kernel lets everybody write the root of its first file system, and the daemon believes only
/// what root alone can have written.
fn believe_in_root(place: &Place) -> Result<(), Errno> {
    rustix::fs::chmod(place.root.path(), Mode::from_raw_mode(0o755))
}

/// Runs the daemon in place of this process. Returns only where it cannot be run.
pub(crate) fn become_it(place: &Place, config: &[(String, String)]) -> Result<(), Why> {
    believe_in_root(place).map_err(|error| Why::of("/", &error.into()))?;
    let path = place.root.join(CONFIG);
    let put = |path: &std::path::Path| {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        std::fs::write(path, guard::config::to_toml(config))
    };
    put(&path).map_err(|error| Why::of(CONFIG, &error))?;
    let text = |text: &str| CString::new(text).map_err(|_| Errno::INVAL);
    let config = text(&path.to_string_lossy())?;
    let arguments = [text("plimsoll-guard")?, text("--config")?, config];
    let mut pointers: Vec<_> = arguments.iter().map(|text| text.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let program = text(PROGRAM)?;
    #[expect(unsafe_code, reason = "another program in place of this one")]
    // SAFETY: both arguments are terminated: the path by its NUL, the list by a null pointer. They
    // live until the call returns, which it does only on failure.
    unsafe {
        libc::execv(program.as_ptr(), pointers.as_ptr())
    };
    let error = std::io::Error::last_os_error();
    Err(Why::of(PROGRAM.trim_start_matches('/'), &error))
}
