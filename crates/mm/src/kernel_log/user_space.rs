//! Kills that are not the kernel's: who in user space says that it killed.

/// A program that kills for lack of memory, or a sign that somebody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killer {
    /// systemd-oomd, by pressure or swap of a control group.
    SystemdOomd,
    /// earlyoom, by available memory and free swap.
    Earlyoom,
    /// nohang.
    Nohang,
    /// oomd, the program from which systemd-oomd came.
    Oomd,
    /// The controller of Talos Linux.
    Talos,
    /// A kubelet that evicts pods.
    Kubelet,
    /// Android's daemon, or the old driver of the same name.
    Lmkd,
    /// Exit code 137 or "signal 9": SIGKILL, by anyone.
    Exit137,
}

impl Killer {
    const ALL: [Self; 8] = [
        Self::SystemdOomd,
        Self::Earlyoom,
        Self::Nohang,
        Self::Oomd,
        Self::Talos,
        Self::Kubelet,
        Self::Lmkd,
        Self::Exit137,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SystemdOomd => "systemd-oomd",
            Self::Earlyoom => "earlyoom",
            Self::Nohang => "nohang",
            Self::Oomd => "oomd",
            Self::Talos => "talos",
            Self::Kubelet => "kubelet",
            Self::Lmkd => "lowmemorykiller",
            Self::Exit137 => "exit 137",
        }
    }

    /// Whose kill a message tells, by the program that wrote it ("" where nothing says).
    #[must_use]
    pub fn of(program: &str, text: &str) -> Option<Self> {
        if text.contains("invoked oom-killer") {
            return None; // the program asked for memory, and the kernel kills
        }
        Self::ALL
            .into_iter()
            .find(|killer| killer.wrote(program, text))
    }

    fn wrote(self, program: &str, text: &str) -> bool {
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let named = program.starts_with(self.name()) || text.starts_with(self.name());
        match self {
            Self::SystemdOomd => {
                says(&[
                    "due to memory pressure for",
                    "due to memory used",
                    "due to swap used",
                ]) || (named && says(&["Killed ", "killed "]))
                    || says(&["systemd-oomd killed"])
            }
            Self::Earlyoom => {
                // At its start it says when it would: "sending SIGTERM when mem <= 4.00%".
                let plans = says(&["sending SIGTERM when", "sending SIGKILL when"]);
                let acts = says(&[
                    "sending SIG",
                    "low memory! ",
                    "Low memory! ",
                    "escalating to SIG",
                ]);
                (named && acts && !plans) || text.starts_with("Low memory! mem avail:")
            }
            Self::Oomd => named && says(&["Running Action=kill", "Killed ", "killed "]),
            Self::Talos => {
                says(&["Sending SIGKILL to cgroup"]) && says(&["OOMController", "talos"])
            }
            Self::Nohang => named && says(&["Sending SIG", "sending SIG", "SIGKILL", "SIGTERM"]),
            Self::Kubelet => {
                let evicts = says(&["eviction_manager", "eviction manager", "Eviction manager"]);
                says(&["The node was low on resource: memory"])
                    || (evicts && says(&["evict", "pod"]) && says(&["memory", "Evict", "evicted"]))
            }
            Self::Lmkd => {
                let names = ["lowmemorykiller", "lmkd"];
                let named = names
                    .iter()
                    .any(|name| program.starts_with(name) || text.starts_with(name));
                named && says(&["Kill", "kill"])
            }
            Self::Exit137 => {
                let code = ["exit 137", "exit code 137", "exitCode=137", "exitCode: 137"];
                let more = [
                    "status=137",
                    "code 137",
                    "Exit Code:    137",
                    "xitCode\": 137",
                    "xitCode\":137",
                    "Exited (137)",
                    "exit status 137",
                ];
                let code = says(&code) || says(&more);
                code || says(&["code=killed, status=9/KILL"])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_own_kill_is_its_own() {
        let of = |program, text| Killer::of(program, text).map(Killer::name);
        let oomd = "Killed /user.slice/a due to memory pressure for /user.slice being 60.00% > \
                    50.00% for > 20s with reclaim activity";
        assert_eq!(of("systemd-oomd", oomd), Some("systemd-oomd"));
        assert_eq!(of("", oomd), Some("systemd-oomd"));
        let low = "Low memory! mem avail: 227 of 4875 MiB (4) % <= min 10 %";
        assert_eq!(of("", low), Some("earlyoom"));
        let named = "earlyoom: Low memory! mem avail: 227 of 4875 MiB (4) % <= min 10 %";
        assert_eq!(of("", named), Some("earlyoom"));
        for code in [
            "\"exitCode\": 137,",
            "\"ExitCode\":137",
            "Exited (137) 2 hours ago",
        ] {
            assert_eq!(of("", code), Some("exit 137"), "{code}");
        }
        assert_eq!(
            of(
                "earlyoom",
                "sending SIGTERM to process 12 uid 1000 \"x\": badness 900"
            ),
            Some("earlyoom")
        );
        assert_eq!(
            of(
                "",
                "x.service: Main process exited, code=killed, status=9/KILL"
            ),
            Some("exit 137")
        );
        assert_eq!(
            of(
                "kubelet",
                "eviction_manager.go:1] \"Eviction manager: pods a evicted, \
            successfully cleaned up\""
            ),
            Some("kubelet")
        );
        assert_eq!(
            of("", "lowmemorykiller: Killing 'x' (12), adj 900"),
            Some("lowmemorykiller")
        );
        assert_eq!(of("sshd", "Accepted publickey"), None);
        assert_eq!(of("", "lmkd invoked oom-killer: gfp_mask=0xcc0"), None);
    }
}
