//! No name of a capture is left in what is saved.

use alloc::format;

use super::*;

const SECRETS: [&str; 7] = [
    "acme",
    "bob",
    "payroll",
    "vaulthost",
    "mysecretd",
    "launch codes",
    "customer",
];

fn frame() -> Frame {
    let files = [
        ("proc/cmdline", "root=/dev/mapper/acme-vg\n"),
        ("proc/meminfo", "MemTotal: 8 kB\n"),
        (
            "proc/swaps",
            "Filename Type Size Used Priority\n/customer/swapfile file 1 0 -2\n/dev/zram0 partition 1 0 5\n",
        ),
        ("proc/self/cgroup", "0::/payroll.slice/bob.service\n"),
        ("proc/sys/kernel/core_pattern", "|/opt/acme/dump\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/7/status", "Name:\tmysecretd\n"),
        (
            "sys/fs/cgroup/payroll.slice/bob.service/memory.current",
            "4096\n",
        ),
        (
            "sys/kernel/debug/lru_gen",
            "memcg     5 /payroll.slice\n node     0\n",
        ),
        (
            "plimsoll/unreadable",
            "sys/fs/cgroup/payroll.slice/memory.max\tPermission denied\n",
        ),
        (
            "plimsoll/evidence",
            "read\tvaulthost.tar\tmeminfo\npassed\tx\tline 1: \"acme\" not recognised\n",
        ),
        (
            "plimsoll/tools/ps",
            "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nbob 7 0.0 0.1 2 3 ? Ss Nov01 0:01 mysecretd --with launch codes\n",
        ),
        (
            "plimsoll/tools/sar",
            "Linux 5.4.0 (vaulthost) \t11/25/24 \t_x86_64_\t(4 CPU)\n",
        ),
        ("plimsoll/tools/slabtop", "acme\n"),
        (
            "etc/sysctl.d/60-acme.conf",
            "# for bob\nvm.swappiness = 1\n",
        ),
        ("etc/fstab", "vaulthost:/customer /customer nfs 0 0\n"),
        (
            "dev/kmsg",
            "Nov 25 10:00:00 vaulthost kernel: mysecretd invoked oom-killer: gfp_mask=0x100cca, order=0\n\
            CPU: 1 PID: 7 Comm: mysecretd Not tainted 5.4.0 #1\nHardware name: acme\n\
            [   7]  1000     7     4500      900   61440        0             0 mysecretd\n\
            DMA free:15360kB min:180kB\n36861 total pagecache pages\n\
            oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/payroll.slice,task_memcg=/payroll.slice/bob.service,task=mysecretd,pid=7,uid=0\n\
            Memory cgroup out of memory: Killed process 7 (mysecretd) total-vm:18000kB, anon-rss:3600kB\n",
        ),
    ];
    Frame {
        label: Some("vaulthost".into()),
        files: files
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into(),
        ..Frame::default()
    }
}

#[test]
fn no_name_is_left_anywhere() {
    let text = redacted(&Capture {
        frames: alloc::vec![frame()],
    })
    .to_text();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn what_has_no_name_stays_and_a_name_has_one_placeholder() {
    let capture = redacted(&Capture {
        frames: alloc::vec![frame()],
    });
    let frame = &capture.frames[0];
    assert_eq!(frame.file("proc/meminfo"), Some("MemTotal: 8 kB\n"));
    assert_eq!(frame.file("proc/sys/vm/swappiness"), Some("60\n"));
    assert_eq!(
        frame.file("etc/sysctl.d/60-file-1.conf"),
        Some("vm.swappiness = 1\n")
    );
    assert!(
        frame
            .file("proc/swaps")
            .is_some_and(|text| text.contains("/dev/zram0 "))
    );
    let log = frame.file("dev/kmsg").expect("the report");
    assert!(
        log.contains("process-1 invoked oom-killer: gfp_mask=0x100cca, order=0\n"),
        "{log}"
    );
    assert!(
        log.contains("Killed process 7 (process-1) total-vm:18000kB"),
        "{log}"
    );
    assert!(
        log.contains("DMA free:15360kB min:180kB\n36861 total"),
        "{log}"
    );
    let own = frame.file("proc/self/cgroup").expect("the own group");
    let group = own.trim().strip_prefix("0::/").expect("a path");
    assert!(
        log.contains(&format!("task_memcg=/{group},")),
        "{own}: {log}"
    );
    assert!(
        frame
            .file(&format!("sys/fs/cgroup/{group}/memory.current"))
            .is_some(),
        "{own}"
    );
}
