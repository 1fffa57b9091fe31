//! Processes with memory of known content, and what the command says of them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Processes that live as long as this.
pub(crate) struct Tenants {
    children: Vec<Child>,
    /// Their numbers, and those of the children they forked.
    pub(crate) pids: Vec<u32>,
}

impl Tenants {
    /// Starts one process for each line of arguments, and waits until their memory is filled.
    pub(crate) fn start(tenants: &[String]) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_plimsoll"));
        let program = binary.parent().expect("a folder").join("examples/tenant");
        assert!(
            program.exists(),
            "build it: cargo build --package plimsoll --example tenant"
        );
        let mut started = Self {
            children: Vec::new(),
            pids: Vec::new(),
        };
        for (own, arguments) in tenants.iter().enumerate() {
            let mut command = Command::new(&program);
            command.arg(format!("own={own}")).args(arguments.split(' '));
            let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
            started.children.push(child.expect("a tenant"));
        }
        for child in &mut started.children {
            let mut line = String::new();
            let output = child.stdout.take().expect("it is piped");
            BufReader::new(output).read_line(&mut line).expect("a line");
            assert!(line.starts_with("ready"), "{line:?}");
            started.pids.push(child.id());
            started.pids.extend(
                line.split(' ')
                    .nth(1)
                    .and_then(|pid| pid.trim().parse::<u32>().ok()),
            );
        }
        started
    }

    /// Their anonymous memory in RAM.
    pub(crate) fn anonymous_pages(&self) -> u64 {
        let of = |pid: &u32| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
            let line = text
                .lines()
                .find(|line| line.starts_with("RssAnon:"))
                .expect("RssAnon");
            let kib = line.split_whitespace().nth(1).expect("a number");
            kib.parse::<u64>().expect("a number") / 4
        };
        self.pids.iter().map(of).sum()
    }

    /// What the command says of them, with more arguments.
    pub(crate) fn estimate(&self, more: &[&str]) -> Value {
        let output = self.command(more).output().expect("the binary runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let expected = if said["estimate"].is_null() { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{stderr}");
        said
    }

    /// The command about them, with more arguments.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["ksm", "estimate", "--json", "--pid", &pids.join(",")])
            .args(more);
        command
    }
}

impl Tenants {
    /// Ends one of them, and leaves it unasked for where `wait` is false: a zombie.
    pub(crate) fn end(&mut self, index: usize, wait: bool) {
        let child = &mut self.children[index];
        child.kill().expect("it lives");
        // Its input closes with its end; its output says when that is.
        while wait && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Drop for Tenants {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
