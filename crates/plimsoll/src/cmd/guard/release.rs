//! `plimsoll guard release` and `keep`: the guard lets go of a file system before an `umount`.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use guard::request::{Place, Request};
use mm::text::counted;
use mm::units::Bytes;

use super::shared::StateArg;
use crate::exit::{ExitCode, heard};
use crate::term;

/// Let the guard release the file system at a path, so that it can be unmounted, or one file
///
/// Nothing there is locked again until plimsoll guard keep, or until it is unmounted. As root.
/// Where no guard runs it succeeds: nothing is locked then.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A folder stands for the whole file system on which it lies
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    state: StateArg,
}

/// Let the guard lock files again at a path that it was told to release; as root
#[derive(Debug, clap::Args)]
pub(super) struct KeepArgs {
    /// A folder stands for the whole file system on which it lies
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    state: StateArg,
}

/// How long an answer is waited for.
const ANSWER: Duration = Duration::from_secs(10);

/// What is said where nobody answers.
const NONE: &str = "no guard runs: nothing is locked";

/// Asks for the release.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let path = args.path.display();
    let Some(answer) = ask(Request::Release, &args.path, &args.state)? else {
        writeln!(term::out(), "{NONE}")?;
        return Ok(ExitCode::Done);
    };
    let mut words = answer.split(' ');
    let (Some("released"), Some(files), Some(bytes)) = (words.next(), words.next(), words.next())
    else {
        bail!("{path}: the guard: {answer}");
    };
    let files = counted(files.parse::<u64>()?, "file");
    let bytes = Bytes(bytes.parse()?);
    let done = format!(
        "let go of {bytes} of {files}; until plimsoll guard keep {path}, nothing there is locked"
    );
    told(&done)?;
    Ok(ExitCode::Done)
}

/// Asks for the opposite.
pub(super) fn keep(args: KeepArgs) -> anyhow::Result<ExitCode> {
    let path = args.path.display();
    match ask(Request::Keep, &args.path, &args.state)?.as_deref() {
        Some("kept") => told(&format!("{path}: what is used there is locked again"))?,
        Some(answer) => bail!("{path}: the guard: {answer}"),
        None => writeln!(term::out(), "{NONE}")?,
    }
    Ok(ExitCode::Done)
}

fn told(done: &str) -> anyhow::Result<()> {
    heard(writeln!(term::out(), "{done}").map_err(Into::into), done)
}

/// The guard's answer; `None` where none runs. The path becomes numbers here, so that a server that
/// does not answer holds up this command and not the guard.
fn ask(
    verb: fn(Place) -> Request,
    path: &Path,
    state: &StateArg,
) -> anyhow::Result<Option<String>> {
    let place =
        place(path).map_err(|error| anyhow!("{}: {}", path.display(), host::reason(&error)))?;
    let socket = state.beside("sock");
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::PermissionDenied => anyhow!("{}: ask as root", socket.display()),
        ErrorKind::WouldBlock => anyhow!("{}: the guard does not answer", socket.display()),
        _ => anyhow!("{}: {}", socket.display(), host::reason(&error)),
    };
    let mut stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => return Ok(None),
            _ => return Err(failed(error)),
        },
    };
    stream.set_read_timeout(Some(ANSWER)).map_err(failed)?;
    stream
        .write_all(format!("{}\n", verb(place)).as_bytes())
        .map_err(failed)?;
    let mut answer = String::new();
    stream
        .take(4096)
        .read_to_string(&mut answer)
        .map_err(failed)?;
    Ok(Some(answer.trim().to_owned()))
}

/// A path as the guard names it: its file system, and for a regular file its inode number.
fn place(path: &Path) -> std::io::Result<Place> {
    let metadata = std::fs::metadata(path)?;
    Ok(Place {
        fsid: host::kept::file_system(path)?,
        inode: metadata.is_file().then(|| metadata.ino()),
    })
}
