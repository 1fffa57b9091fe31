//! Programs of the system that the bench uses.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::interrupt;
use answer::bench::BenchError;

/// Where Debian keeps an administrator's programs, which is not in every user's `PATH`.
const ADMINISTRATOR: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Finds a program.
///
/// # Errors
/// The Debian package that has it.
pub(super) fn find(program: &str, package: &str) -> Result<PathBuf, BenchError> {
    on_path(program).ok_or_else(|| {
        BenchError::Unavailable(format!(
            "{program} is missing: as root, `apt-get install {package}`; no other step needs root"
        ))
    })
}

/// Finds a program, if it is there.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(ADMINISTRATOR.map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

/// Runs a command to its end and hands back what it printed.
///
/// # Errors
/// The command and the last line of its complaint.
pub(super) fn run(command: &mut Command) -> Result<Vec<u8>, BenchError> {
    run_with_input(command, &[])
}

/// Runs a command that reads `input`.
///
/// # Errors
/// The command and the last line of its complaint.
pub(super) fn run_with_input(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, BenchError> {
    let output = output(command, input)
        .map_err(|error| BenchError::Failed(format!("{}: {error}", name(command))))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    interrupt::check()?;
    Err(BenchError::Failed(complaint(&name(command), &output)))
}

fn output(command: &mut Command, input: &[u8]) -> std::io::Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    std::thread::scope(|scope| {
        // A program that stops reading early says why on its standard error.
        scope.spawn(move || pipe.write_all(input).ok());
        child.wait_with_output()
    })
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program
        .file_name()
        .unwrap_or_default()
        .display()
        .to_string()
}

fn complaint(name: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    // apt marks the cause; make's last line only says that it stopped.
    let line = lines().find(|line| line.starts_with("E: ") || line.contains("error:"));
    let line = line.or_else(|| lines().next_back());
    format!(
        "{name} failed ({}): {}",
        output.status,
        line.unwrap_or("it does not say why")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let error = find("no-such-program", "some-package").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no-such-program is missing: as root, `apt-get install some-package`; no other step \
             needs root"
        );
    }

    #[test]
    fn a_failure_is_one_line_with_the_cause() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'E: no such thing' >&2; echo later >&2; exit 3"]);
        let error = run(&mut command).unwrap_err().to_string();
        assert_eq!(error, "sh failed (exit status: 3): E: no such thing");
    }

    #[test]
    fn input_larger_than_a_pipe_passes() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(
            run_with_input(&mut Command::new("cat"), &input).unwrap(),
            input
        );
        run_with_input(&mut Command::new("true"), &input).unwrap();
    }
}
