//! `plimsoll top` on a real terminal, tmux's: keys, sizes, signals, and the terminal afterwards.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::programs::tmux;

/// A server of tmux with one shell, which ends with its test.
struct Shell {
    socket: String,
    /// Holds the socket's folder.
    folder: tempfile::TempDir,
}

impl Shell {
    /// A shell with a prompt of its own; `None`, and the reason is said, without tmux.
    fn new(name: &str, environment: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let shell = Self {
            socket: format!("plimsoll-{name}"),
            folder,
        };
        let words = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
        ];
        let start = ["env", "PS1=READY> "];
        let end = ["bash", "--norc", "--noprofile"];
        let words = [&words[..], &start, environment, &end].concat();
        shell.tmux(&words)?;
        shell.wait("a prompt", |screen| screen.contains("READY>"));
        Some(shell)
    }

    fn tmux(&self, words: &[&str]) -> Option<String> {
        tmux(self.folder.path(), &[&["-L", &self.socket], words].concat())
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).unwrap_or_default()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat())
            .expect("tmux is there");
    }

    /// Types a command.
    fn run(&self, line: &str) {
        self.keys(&[line, "Enter"]);
    }

    fn top(&self, words: &str) {
        self.run(&format!("{} top {words}", env!("CARGO_BIN_EXE_plimsoll")));
        self.wait("a screen", |screen| screen.contains("Load lines"));
    }

    fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(
                since.elapsed() < Duration::from_secs(60),
                "{what}:\n{screen}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The shell is there, echoes what is typed, and the screen of before is back.
    fn is_restored(&self) {
        let modes = ["display-message", "-p", "#{alternate_on} #{cursor_flag}"];
        let is_so = |_: &str| self.tmux(&modes).is_some_and(|modes| modes.trim() == "0 1");
        self.wait("the screen of before, with a cursor", is_so);
        self.run("clear; stty -a | grep -o -e ' -\\?icanon' -e ' -\\?echo '; echo se''en");
        let screen = self.wait("an echo", |screen| screen.contains("seen"));
        assert!(
            screen.contains(" icanon") && screen.contains(" echo"),
            "{screen}"
        );
    }

    fn pid(&self) -> String {
        let shell = self
            .tmux(&["display-message", "-p", "#{pane_pid}"])
            .expect("a pane");
        let children = format!("/proc/{0}/task/{0}/children", shell.trim());
        let children = std::fs::read_to_string(children).expect("a process");
        children.trim().to_owned()
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.pid()])
            .status();
        assert!(sent.expect("kill is there").success());
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn whatever_ends_it_the_terminal_is_as_it_was() {
    let Some(shell) = Shell::new("ends", &[]) else {
        return;
    };
    for key in ["q", "Escape", "C-c"] {
        shell.top("");
        shell.keys(&[key]);
        shell.is_restored();
    }
    for signal in ["TERM", "HUP", "INT"] {
        shell.top("");
        shell.signal(signal);
        shell.is_restored();
    }
}

#[test]
fn one_that_is_killed_leaves_a_terminal_that_two_commands_mend() {
    let Some(shell) = Shell::new("killed", &[]) else {
        return;
    };
    shell.top("");
    shell.signal("KILL");
    shell.wait("it is told", |screen| screen.contains("Killed"));
    shell.run("stty sane; tput rmcup; tput cnorm");
    shell.is_restored();
}

#[test]
fn one_whose_terminal_vanishes_ends() {
    let Some(shell) = Shell::new("vanishes", &[]) else {
        return;
    };
    shell.top("");
    let process = format!("/proc/{}", shell.pid());
    assert!(std::path::Path::new(&process).exists());
    drop(shell);
    let since = Instant::now();
    while std::path::Path::new(&process).exists() {
        let elapsed = since.elapsed();
        assert!(elapsed < Duration::from_secs(60), "it goes on without one");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_stops_and_goes_on() {
    let Some(shell) = Shell::new("stops", &[]) else {
        return;
    };
    for stop in [true, false] {
        shell.top("");
        match stop {
            true => shell.keys(&["C-z"]),
            false => shell.signal("TSTP"),
        }
        shell.wait("it is told", |screen| screen.contains("Stopped"));
        shell.is_restored();
        shell.run("fg");
        shell.wait("a screen", |screen| screen.contains("Load lines"));
        shell.keys(&["q"]);
        shell.is_restored();
    }
}

#[test]
fn keys_go_back_and_on_and_it_follows_the_size() {
    let Some(shell) = Shell::new("keys", &["LC_ALL=C.UTF-8"]) else {
        return;
    };
    let capture = testkit::checkout("fixtures/series/captures.txt");
    shell.top(&capture.display().to_string());
    let at = |place: &'static str| move |screen: &str| screen.contains(place);
    for (keys, place) in [
        (&["["][..], "15 of 16"),
        (&["Left"], "14 of 16"),
        (&["PageUp"], " 4 of 16"),
        (&["Home"], " 1 of 16"),
        (&["]", "Right"], " 3 of 16"),
        (&["PageDown"], "13 of 16"),
        (&["End"], "16 of 16"),
    ] {
        shell.keys(keys);
        shell.wait(place, at(place));
    }
    for (width, height) in [(40, 12), (200, 60), (80, 24)] {
        let [width, height] = [width, height].map(|size: usize| size.to_string());
        shell.tmux(&["resize-window", "-x", &width, "-y", &height]);
        let rows: usize = height.parse().expect("a number");
        let last = |screen: &str| {
            screen
                .lines()
                .nth(rows - 1)
                .is_some_and(|it| it.contains("q quit"))
        };
        shell.wait("it fits", last);
    }
    shell.keys(&["q"]);
    shell.is_restored();
}

#[test]
fn it_stays_where_it_is_stopped() {
    let Some(shell) = Shell::new("space", &["LC_ALL=C"]) else {
        return;
    };
    shell.top("");
    shell.keys(&["Space"]);
    let screen = shell.wait("it stops", |screen| screen.contains("stopped, "));
    assert!(screen.is_ascii(), "{screen}");
    shell.keys(&["Space"]);
    shell.wait("it goes on", |screen| screen.contains(" live"));
    shell.keys(&["q"]);
    shell.is_restored();
}

#[test]
fn without_colours_and_a_terminal_nothing_but_text_comes() {
    let plimsoll = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.arg("top").args(words).output().expect("it runs")
    };
    let refused = plimsoll(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).expect("text");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("plimsoll top --once"), "{said}");
    let once = plimsoll(&["--once"]);
    assert!(once.status.success());
    let screen = String::from_utf8(once.stdout).expect("text");
    assert!(
        screen.contains("Load lines") && !screen.contains('\x1b'),
        "{screen}"
    );
    let Some(shell) = Shell::new("colour", &["NO_COLOR=1"]) else {
        return;
    };
    shell.top("");
    let styled = shell
        .tmux(&["capture-pane", "-p", "-e"])
        .expect("tmux is there");
    assert!(!styled.contains("\x1b["), "{styled:?}");
}
