//! No verb panics or hangs, whatever it is given: captures whose files are damaged, and what is
//! no study and no trace.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mm::capture::Capture;
use testkit::damage::{ALL, Examples};

/// Damaged captures a fixture: each kind of damage comes first in three.
const SEEDS: u64 = 3 * ALL.len() as u64;

/// The capture's files, damaged one by one so that the capture's own format stays whole.
fn broken(capture: &Capture, seed: u64) -> Capture {
    let mut capture = capture.clone();
    let texts = capture
        .frames
        .iter_mut()
        .flat_map(|frame| frame.files.values_mut());
    for (text, file) in texts.zip(0..) {
        let number = seed + file * ALL.len() as u64;
        *text = Examples::of("kernel files", [text.as_str()])
            .nth(number)
            .text();
    }
    capture
}

#[test]
fn a_changed_capture_is_shown_or_refused_in_one_line() {
    let fixtures = testkit::checkout("fixtures");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.txt");
    for fixture in [
        "hosts/vm-24gib-6.18",
        "inspect/vm-512mib-6.12",
        "reclaim/vm-512mib-6.12",
    ] {
        let text = fs::read_to_string(fixtures.join(fixture).join("capture.txt"));
        let capture = Capture::parse(&text.expect("a fixture")).expect("a capture");
        for seed in 0..SEEDS {
            fs::write(&path, broken(&capture, seed).to_text()).expect("a file");
            for form in ["--json", "--charset=ascii"] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
                command.args(["inspect", form, "--from"]).arg(&path);
                let output = command.output().expect("the binary runs");
                let stderr = String::from_utf8_lossy(&output.stderr);
                let damage = ALL[seed as usize % ALL.len()].name;
                let place = format!("{fixture}, seed {seed}, {damage}, {form}: {stderr}");
                assert!(matches!(output.status.code(), Some(0 | 2)), "{place}");
                assert!(stderr.lines().count() <= 1, "{place}");
            }
        }
    }
}

/// Time and memory that refusing something may take. The machine may do other work too, so the
/// time is that of the CPU; the build without optimisation is several times slower than the one
/// that people have.
const MOST_CPU: Duration = Duration::from_secs(20);
const MOST_MEMORY: u64 = 256 << 20;

/// What a run of the binary came to.
struct Ran {
    code: i32,
    stderr: String,
    cpu: Duration,
    peak_bytes: u64,
}

/// Runs the binary; `feed` is written to its standard input over and over until it closes that.
fn ran(arguments: &[&str], stdout: Stdio, feed: Option<&'static [u8]>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .stdout(stdout)
        .stderr(Stdio::piped());
    command.stdin(match feed {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    });
    let mut child = command.spawn().expect("the binary runs");
    let feeder = child.stdin.take().zip(feed).map(|(mut pipe, bytes)| {
        std::thread::spawn(move || while pipe.write_all(bytes).is_ok() {})
    });
    let mut stderr = String::new();
    let pipe = child.stderr.as_mut().expect("it is piped");
    pipe.read_to_string(&mut stderr).expect("UTF-8");
    let (code, usage) = waited(child);
    feeder
        .into_iter()
        .for_each(|it| it.join().expect("it ends"));
    let time = |time: libc::timeval| {
        let micros = time.tv_sec * 1_000_000 + time.tv_usec;
        Duration::from_micros(u64::try_from(micros).expect("a time"))
    };
    Ran {
        code,
        stderr,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_bytes: u64::try_from(usage.ru_maxrss).expect("a size") << 10,
    }
}

/// Waits for a child; its exit code, or the negative signal, and what it used.
#[expect(unsafe_code, reason = "only wait4 says what one child used")]
fn waited(child: Child) -> (i32, libc::rusage) {
    let pid = i32::try_from(child.id()).expect("a process");
    let mut status = 0;
    // SAFETY: an rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables that live and are written by nobody else meanwhile.
    let ended = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!(ended, pid, "{}", std::io::Error::last_os_error());
    match libc::WIFEXITED(status) {
        true => (libc::WEXITSTATUS(status), usage),
        false => (-libc::WTERMSIG(status), usage),
    }
}

impl Ran {
    /// Asserts exit code 2, one line that says `message`, and that it took little.
    #[track_caller]
    fn assert_refused(&self, arguments: &[&str], message: &str) {
        let place = format!("{arguments:?}: {}", self.stderr);
        assert_eq!(self.code, 2, "{place}");
        assert_eq!(self.stderr.lines().count(), 1, "{place}");
        assert!(self.stderr.contains(message), "{place}");
        assert!(self.cpu < MOST_CPU, "{:?} of CPU time: {place}", self.cpu);
        let peak = self.peak_bytes;
        assert!(peak < MOST_MEMORY, "{peak} bytes of memory: {place}");
    }
}

/// Runs a verb on what it cannot use.
#[track_caller]
fn assert_refused(arguments: &[&str], message: &str) {
    ran(arguments, Stdio::null(), None).assert_refused(arguments, message);
}

#[test]
fn a_pipe_without_an_end_is_refused_at_a_bound() {
    for (verb, feed, message) in [
        (
            &["replay", "-", "--memory", "1"][..],
            &[0; 4096][..],
            "more than 32 MiB",
        ),
        (
            &["replay", "-", "--memory", "1"],
            b"no trace \xff\n",
            "/dev/stdin",
        ),
    ] {
        ran(verb, Stdio::null(), Some(feed)).assert_refused(verb, message);
    }
    let inspect = ["inspect", "-"];
    for feed in [&[0; 4096][..], &[b'\n'; 4096][..]] {
        let ran = ran(&inspect, Stdio::null(), Some(feed));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("longer than any evidence"),
            "{}",
            ran.stderr
        );
        // The evidence that is kept until then is as large as the bound.
        assert!(
            ran.peak_bytes < MOST_MEMORY + (64 << 20),
            "{} bytes",
            ran.peak_bytes
        );
    }
}

#[test]
fn an_output_that_takes_nothing_is_said_in_one_line() {
    let full = || Stdio::from(fs::File::create("/dev/full").expect("the device"));
    for arguments in [
        &["inspect", "--interval", "0"][..],
        &["inspect", "--interval", "0", "--json"],
        &["studies"],
        &["studies", "--json"],
        &["studies", "--csv"],
    ] {
        ran(arguments, full(), None).assert_refused(arguments, "No space left on device");
    }
    let save = ["inspect", "--interval", "0", "--save", "/dev/full"];
    assert_refused(&save, "/dev/full: cannot be saved");
    let zero = ["inspect", "--interval", "0", "--save", "/dev/zero"];
    let ran = ran(&zero, Stdio::null(), None);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (0, ""),
        "it takes everything"
    );
    assert!(ran.peak_bytes < MOST_MEMORY, "{} bytes", ran.peak_bytes);
}

#[test]
fn what_is_no_study_is_refused_in_one_line() {
    for verb in ["predict", "prove", "report"] {
        assert_refused(&[verb, "nosuch"], "there is `min-free-kbytes`");
        for path in ["/dev/zero", "/dev/null", "/"] {
            assert_refused(&[verb, path], "not a study: a text file of at most 1 MiB");
        }
    }
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes, message) in [
        ("empty", &b""[..], "the trace is empty"),
        ("one-byte", b"\x01", "has 1 of 24 bytes"),
        ("nul", &[0; 4800], "200 records, all of size 0"),
        ("nul.csv", &[0; 480], "the trace is empty"),
        (
            "packed.csv",
            b"\x1f\x8b\x08",
            "unpack it first (`gunzip FILE`)",
        ),
        ("a.twr", &[0; 48], "it is a twr trace, which is not read"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("a file");
        let path = path.to_str().expect("a name");
        assert_refused(&["replay", path, "--memory", "1"], message);
    }
    for path in ["/dev/zero", "/"] {
        assert_refused(
            &["replay", path, "--memory", "1"],
            "neither a file nor a pipe",
        );
    }
    let binary = env!("CARGO_BIN_EXE_plimsoll");
    assert_refused(
        &["replay", binary, "--memory", "1"],
        "no oracleGeneral trace",
    );
}

#[test]
fn a_study_that_would_take_days_or_all_memory_is_refused_with_the_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("study.toml");
    for (steps, message) in [
        (
            "{ repeat = { times = 1000000000000, steps = [{ sleep = \"0 s\" }] } }",
            "1.0e12 steps",
        ),
        (
            "{ map = { region = \"r\", size = \"512 TiB\" } }",
            "needs about 1.7 TiB",
        ),
        (
            "{ read = { file = \"f\", block = \"1 B\", amount = \"1 kB\", pattern = \"zipf 1\" } }",
            "4.3e9 blocks",
        ),
    ] {
        let text = format!(
            "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
             [[machine.disk]]\nname = \"d\"\nsize = \"8 GiB\"\nbandwidth = \"1 GB/s\"\n\
             [[machine.file]]\nname = \"f\"\ndisk = \"d\"\nsize = \"4 GiB\"\n\
             [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [{steps}]\n"
        );
        fs::write(&path, text).expect("a file");
        let path = path.to_str().expect("a name");
        let memory = message.replace("4.3e9 blocks", "needs about");
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let output = command.args(["predict", path]).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        // Which of memory and time is too little first depends on this machine.
        let said = stderr.contains(message) || stderr.contains(&memory);
        assert!(said && stderr.contains("give --even-so"), "{stderr}");
    }
}
