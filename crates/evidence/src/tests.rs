//! Texts as people send them, and what is found in them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;

const MEMINFO: &str = "MemTotal:  4026036 kB\nMemFree:  129248 kB\nCached:  2658200 kB\n";
const ZONE: &str = "Node 0, zone   Normal\n  pages free     21328\n        min      14896\n        \
    low      18620\n        high     22344\n        spanned  1835008\n        present  1835008\n        \
    managed  1796710\n        protection: (0, 0, 0)\n";

/// The files of a text, by path.
fn files(text: &str) -> Vec<(String, String)> {
    let pieces = split(text, "paste.txt").pieces.into_iter();
    pieces.map(|piece| (piece.path, piece.text)).collect()
}

/// The paths alone.
fn paths(text: &str) -> Vec<String> {
    files(text).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn a_paste_is_split_whatever_the_prompt_is() {
    for prompt in [
        "$ ",
        "# ",
        "root@h:~# ",
        "user@host:~$ ",
        "[user@host ~]$ ",
        "[root@host log]# sudo ",
        "host:~ # ",
        "bash-4.2# ",
        "sh-4.4$ ",
        "/ # ",
        "~ # ",
        "➜  ~ ",
        "+ ",
        "",
        "# /bin/",
    ] {
        let text = format!(
            "{prompt}cat /proc/meminfo\n{MEMINFO}{prompt}cat /proc/sys/vm/swappiness\n60\n"
        );
        let found = files(&text);
        let expected = [
            ("proc/meminfo".to_string(), MEMINFO.to_string()),
            ("proc/sys/vm/swappiness".to_string(), "60\n".to_string()),
        ];
        assert_eq!(found, expected, "{prompt:?}");
        assert!(split(&text, "paste.txt").passed.is_empty(), "{prompt:?}");
    }
}

#[test]
fn a_heading_names_the_file_below_it() {
    for heading in [
        "==> /proc/sys/vm/swappiness <==",
        "/proc/sys/vm/swappiness:",
        "### /proc/sys/vm/swappiness",
        "**/proc/sys/vm/swappiness**",
        "--- /proc/sys/vm/swappiness ---",
        "Output of cat /proc/sys/vm/swappiness:",
        "# cat /proc/sys/vm/swappiness | head -1",
        "$ sysctl -n vm.swappiness",
        "#==[ Command ]======================================#\n# /bin/cat /proc/sys/vm/swappiness",
    ] {
        let found = files(&format!("{heading}\n60\n"));
        assert_eq!(
            found,
            [("proc/sys/vm/swappiness".into(), "60\n".into())],
            "{heading}"
        );
    }
}

#[test]
fn names_before_the_lines_are_files() {
    let text = "/proc/sys/vm/dirty_ratio:20\n/proc/sys/vm/swappiness:60\n\
        /sys/kernel/mm/ksm/run:0\n/proc/meminfo:MemTotal:  8 kB\n/proc/meminfo:MemFree:  4 kB\n\
        min_free_kbytes:67584\n";
    let expected = [
        ("proc/sys/vm/dirty_ratio", "20\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("sys/kernel/mm/ksm/run", "0\n"),
        ("proc/meminfo", "MemTotal:  8 kB\nMemFree:  4 kB\n"),
        ("proc/sys/vm/min_free_kbytes", "67584\n"),
    ];
    assert_eq!(
        files(text),
        expected.map(|(path, text)| (path.into(), text.into()))
    );
}

#[test]
fn what_sysctl_prints_is_its_files_and_names_of_hosts_are_left_out() {
    let text = "vm.swappiness = 60\nkernel.hostname = secret\nkernel.osrelease = 5.4.0\n\
        vm.lowmem_reserve_ratio = 256\t256\t32\t0\t0\nnet.ipv4.ip_forward = 0\n";
    assert_eq!(
        paths(text),
        [
            "proc/sys/vm/swappiness",
            "proc/sys/kernel/osrelease",
            "proc/sys/vm/lowmem_reserve_ratio"
        ]
    );
}

#[test]
fn settings_without_blanks_are_configuration_and_not_what_the_kernel_has() {
    let found = files("vm.swappiness=10\nvm.dirty_ratio=5\nand it still swaps\n");
    let text = "vm.swappiness=10\nvm.dirty_ratio=5\n";
    assert_eq!(found, [("etc/sysctl.d/pasted.conf".into(), text.into())]);
}

#[test]
fn quoting_colours_blanks_and_stamps_are_no_part_of_a_file() {
    for (before, after) in [
        ("> ", ""),
        (">> ", ""),
        ("\u{1b}[1m", "\u{1b}[0m"),
        ("\u{a0}\u{a0}", "\r"),
        ("[   12.345678] ", ""),
        ("Nov 25 10:00:00 host kernel: ", ""),
        ("2024-11-25T10:00:00.123+01:00 host kernel: ", ""),
        ("\0\0", ""),
    ] {
        let lines = MEMINFO
            .lines()
            .map(|line| format!("{before}{line}{after}\n"));
        let text: String = lines.collect();
        let found = files(&text);
        assert_eq!(found.len(), 1, "{before:?}: {found:?}");
        let items = mm::meminfo::Meminfo::parse(&found[0].1).expect("meminfo");
        assert_eq!(
            items.mem_total.map(|kib| kib.0),
            Some(4_026_036),
            "{before:?}"
        );
    }
}

#[test]
fn encodings_of_windows_are_read() {
    let utf16: Vec<u8> = "\u{feff}MemTotal: 8 kB\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(paths(&clean::decode(&utf16).0), ["proc/meminfo"]);
    let marked = clean::decode(b"\xef\xbb\xbfMemTotal: 8 kB\n").0;
    assert_eq!(paths(&marked), ["proc/meminfo"]);
    let (text, why) = clean::decode(b"MemTotal: 8 kB\nna\xefve\n");
    assert_eq!(paths(&text), ["proc/meminfo"]);
    assert_eq!(
        why.as_deref(),
        Some("bytes that are no UTF-8, first in line 2")
    );
}

#[test]
fn a_nul_within_a_line_costs_that_line_and_is_said() {
    let reading = split("MemTotal: 8 kB\nMemFree: \x004 kB\nCached: 2 kB\n", "x");
    assert_eq!(reading.pieces[0].text, "MemTotal: 8 kB\nCached: 2 kB\n");
    assert_eq!(reading.passed[0].line, 2);
    assert!(
        reading.passed[0]
            .why
            .ends_with("a NUL byte within the line")
    );
}

#[test]
fn a_zone_that_is_cut_off_does_not_lose_the_others() {
    let half = ZONE.split("        spanned").next().expect("a beginning");
    let reading = split(&format!("{ZONE}{}", half.replace("Normal", "Movable")), "x");
    assert_eq!(reading.pieces.len(), 1);
    assert_eq!(reading.pieces[0].text, ZONE);
    assert_eq!(reading.passed[0].line, 10);
    assert_eq!(
        reading.passed[0].why,
        "Node 0, zone   Movable: cut off, it has no \"spanned\""
    );
}

#[test]
fn a_number_that_is_cut_off_is_not_taken() {
    let reading = split("MemTotal:  4026036 kB\nMemFree:  1292", "x");
    assert_eq!(reading.pieces[0].text, "MemTotal:  4026036 kB\n");
    assert_eq!(reading.passed[0].why, "\"MemFree:  1292\" not recognised");
}

#[test]
fn free_is_a_part_of_meminfo_only_where_its_numbers_say_enough() {
    let new = "       total   used   free  shared  buff/cache  available\n\
        Mem:  16303428 4821112 812344 401228 10669972 10742660\nSwap:  2097148 1024 2096124\n";
    let items = "MemTotal: 16303428 kB\nMemFree: 812344 kB\nShmem: 401228 kB\n\
        MemAvailable: 10742660 kB\nSwapTotal: 2097148 kB\nSwapFree: 2096124 kB\n";
    let meminfo = |text: &str| {
        let found = files(text)
            .into_iter()
            .find(|(path, _)| path == "proc/meminfo");
        found.map(|(_, text)| text)
    };
    assert_eq!(meminfo(&format!("$ free\n{new}")).as_deref(), Some(items));
    assert_eq!(
        meminfo(new).as_deref(),
        Some(items),
        "whole pages are multiples of 4 KiB"
    );
    assert_eq!(
        meminfo(&format!("$ free -g\n{new}")),
        None,
        "0 GiB may be much"
    );
    let mib = "       total   used   free  shared  buff/cache  available\n\
        Mem:  31372 10740 8444 596 13234 20631\nSwap:  2454 0 2454\n";
    let found = meminfo(&format!("$ free -m\n{mib}")).expect("MiB");
    assert!(found.contains("MemFree: 8646656 kB\n"), "{found}");
    let old = "             total       used       free     shared    buffers     cached\n\
        Mem:       2054816    1926328     128488          0      76180    1309364\n\
        -/+ buffers/cache:     540784    1514032\nSwap:      1052248          0    1052248\n";
    let found = meminfo(&format!("$ free -k\n{old}")).expect("exact");
    assert!(
        found.contains("Buffers: 76180 kB\nCached: 1309364 kB\n"),
        "{found}"
    );
}

#[test]
fn a_note_behind_an_amount_is_left_out() {
    let text = "Slab:  2055028 kB   (~1.96 GB)\nSReclaimable: 1275592 kB // 可收回\n\
        SUnreclaim: 779436 kB <-- here\n";
    let found = files(text);
    let items = "Slab:  2055028 kB\nSReclaimable: 1275592 kB\nSUnreclaim: 779436 kB\n";
    assert_eq!(found, [("proc/meminfo".into(), items.into())]);
}

#[test]
fn what_stands_beside_kernel_files_is_known_too() {
    let text = "$ uname -a\nLinux box 5.15.0-91-generic #101-Ubuntu SMP x86_64 GNU/Linux\n\
        $ getconf PAGESIZE\n4096\n$ nproc\n8\n\
        $ ps aux\nUSER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nroot 1 0.0 0.1 2 3 ? Ss 1 0:01 init\n\n\
        $ df\nFilesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 1 2 3 4% /\n";
    let reading = split(text, "x");
    let facts: String = reading
        .pieces
        .iter()
        .filter(|piece| piece.path == "plimsoll/facts")
        .map(|piece| piece.text.as_str())
        .collect();
    assert_eq!(facts, "page_size\t4096\ncpus\t8\n");
    let release = reading
        .pieces
        .iter()
        .find(|piece| piece.path == "proc/sys/kernel/osrelease");
    assert_eq!(
        release.map(|piece| piece.text.as_str()),
        Some("5.15.0-91-generic\n")
    );
    assert!(
        reading
            .pieces
            .iter()
            .any(|piece| piece.path == "plimsoll/tools/ps")
    );
    assert_eq!(reading.passed[0].why, "df: says nothing of memory");
}

#[test]
fn the_same_file_twice_is_two_moments() {
    let later = MEMINFO.replace("129248", "99248");
    let text = format!("$ cat /proc/meminfo\n{MEMINFO}{ZONE}$ cat /proc/meminfo\n{later}");
    let frames = frames(&[split(&text, "x")]);
    assert_eq!(frames.len(), 2);
    assert!(frames[0].file("proc/zoneinfo").is_some());
    assert_eq!(frames[1].file("proc/meminfo"), Some(later.as_str()));
}

#[test]
fn the_trees_of_two_machines_stay_apart_and_settings_join_the_only_one() {
    let of = |tree: &str, text: &str| {
        let mut reading = split(text, "x");
        reading.tree = tree.into();
        reading
    };
    let two = frames(&[of("a", MEMINFO), of("b", "MemTotal: 8 kB\n")]);
    let labels: Vec<_> = two.iter().map(|frame| frame.label.as_deref()).collect();
    assert_eq!(labels, [Some("a"), Some("b")]);
    let one = frames(&[of("", "vm.swappiness = 1\n"), of("b", MEMINFO)]);
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].files.len(), one[0].label.as_deref()), (2, None));
}

#[test]
fn a_name_says_what_its_lines_do_not() {
    for (name, path) in [
        (
            "sosreport-x/proc/sys/vm/swappiness",
            "proc/sys/vm/swappiness",
        ),
        (
            "x/sys/kernel/mm/transparent_hugepage/enabled",
            "sys/kernel/mm/transparent_hugepage/enabled",
        ),
        ("host/etc/sysctl.d/99-x.conf", "etc/sysctl.d/99-x.conf"),
        ("swappiness", "proc/sys/vm/swappiness"),
        (
            "sos_commands/kernel/cat_.proc.sys.vm.swappiness",
            "proc/sys/vm/swappiness",
        ),
    ] {
        let pieces = split("60\n", name).pieces;
        assert_eq!(pieces.len(), 1, "{name}");
        assert_eq!(
            (pieces[0].path.as_str(), pieces[0].text.as_str()),
            (path, "60\n")
        );
    }
    for unknown in [
        "x/proc/sys/vm/drop_caches",
        "x/proc/sys/kernel/hostname",
        "x/etc/shadow",
    ] {
        assert_eq!(split("60\n", unknown).pieces, [], "{unknown}");
    }
}

#[test]
fn prose_is_no_evidence() {
    let text =
        "My server swaps.\nI set vm.swappiness to 10: no help\n\nWhat # of pages is $ right?\n";
    let reading = split(text, "mail.txt");
    assert_eq!(reading.pieces, []);
    assert!(!reading.passed.is_empty());
}

/// The statistics of a group within a report stay with it, with stamps and without.
#[test]
fn a_groups_statistics_belong_to_the_report_around_them() {
    for stamp in ["", "Jun 29 07:24:44 c kernel: "] {
        let lines = [
            "memory: usage 1024kB, limit 1024kB, failcnt 1",
            "Memory cgroup stats for /a:",
            "anon 4096",
            "file 8192",
            "pgfault 12",
            "Memory cgroup out of memory: Killed process 12 (x) total-vm:8kB, anon-rss:4kB",
        ];
        let text: String = lines
            .iter()
            .map(|line| format!("{stamp}{line}\n"))
            .collect();
        let reading = split(&text, "log");
        let whats: Vec<&str> = reading
            .pieces
            .iter()
            .map(|piece| piece.what.as_str())
            .collect();
        assert_eq!(whats, ["kernel log"], "{stamp}");
    }
}

#[test]
fn sysctl_names_what_it_may_not_read() {
    let text = "vm.swappiness = 60\nsysctl: permission denied on key 'vm.mmap_rnd_bits'\n\
                sysctl: reading key \"vm.stat_refresh\": Permission denied\n";
    let reading = split(text, "sysctl");
    let refused = reading
        .pieces
        .iter()
        .filter(|piece| piece.what == "unreadable");
    assert_eq!(refused.count(), 2);
    assert!(reading.passed.is_empty());
}

#[test]
fn commands_that_stand_together_are_answered_in_their_order() {
    let row = "dentry 9 9 192 21 1 : tunables 0 0 0 : slabdata 1 1 0\n";
    let text = format!(
        "cat` `/proc/sys/fs/dentry-state\ngrep ^dentry `/proc/slabinfo\n______\n9 8 45 0 7 0\n{row}"
    );
    let expected = [
        (
            "proc/sys/fs/dentry-state".to_string(),
            "9 8 45 0 7 0\n".to_string(),
        ),
        ("proc/slabinfo".to_string(), row.to_string()),
    ];
    assert_eq!(files(&text), expected);
    let prompts = "$ cat /proc/sys/vm/swappiness\n$ cat /proc/sys/vm/dirty_ratio\n20\n";
    assert_eq!(paths(prompts), ["proc/sys/vm/dirty_ratio"]);
}

#[test]
fn the_tasks_of_a_group_are_its_files_too() {
    let text = "u@h:/sys/fs/cgroup/a$ cat pids.max\n20\nu@h:/sys/fs/cgroup/a$ cat pids.events\n\
                max 31\n";
    assert_eq!(
        paths(text),
        ["sys/fs/cgroup/a/pids.max", "sys/fs/cgroup/a/pids.events"]
    );
}

#[test]
fn commands_that_set_a_tunable_are_known() {
    for text in [
        "FROM debian\nRUN sysctl -w vm.swappiness=10\n",
        "#!/bin/sh\necho 10 > /proc/sys/vm/swappiness # less\n",
        "runcmd:\n  - echo never | tee /sys/kernel/mm/transparent_hugepage/enabled\n",
    ] {
        assert!(sets_by_commands(text), "{text}");
    }
    for text in [
        "# sysctl -w vm.swappiness=10\n",
        "cat /proc/sys/vm/swappiness\n",
        "1:M # WARNING overcommit_memory is set to 0! run 'sysctl vm.overcommit_memory=1'\n",
        "",
    ] {
        assert!(!sets_by_commands(text), "{text}");
    }
}

#[test]
fn sentences_of_programs_are_gathered_and_end_no_log() {
    let heap = "java.lang.OutOfMemoryError: Java heap space\n";
    let kill = "[    1.000000] Out of memory: Killed process 1 (x)\n";
    let fork = "bash: fork: Cannot allocate memory\n";
    let text = format!("{heap}{kill}{fork}{kill}max user processes (-u) 7\n");
    let expected = [
        mm::programs::PATH,
        mm::programs::PATH,
        mm::kernel_log::PATH,
        "plimsoll/tools/limits",
    ];
    assert_eq!(paths(&text), expected);
    let frames = frames(&[split(&text, "")]);
    let said = format!("{heap}{fork}");
    assert_eq!(frames[0].file(mm::programs::PATH), Some(said.as_str()));
}

#[test]
fn lines_of_meminfo_that_were_asked_for_in_turn_are_of_one_moment() {
    let text = "$ grep Commit /proc/meminfo\nCommitLimit: 8 kB\nCommitted_AS: 4 kB\n\
                $ grep MemTotal /proc/meminfo\nMemTotal: 16 kB\n";
    let both = frames(&[split(text, "")]);
    assert_eq!(both.len(), 1);
    let meminfo = both[0].file("proc/meminfo").expect("a meminfo");
    assert!(meminfo.contains("CommitLimit: 8") && meminfo.contains("MemTotal: 16"));
    let again = format!("{text}\n$ cat /proc/meminfo\nMemTotal: 16 kB\nMemFree: 1 kB\n");
    assert_eq!(frames(&[split(&again, "")]).len(), 2);
}

#[test]
fn outputs_of_commands_in_one_line_are_laid_to_their_files() {
    let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
    let of = |command: &str| paths(&format!("root@h:~# {command}\n{pressure}"));
    for command in [
        "at /proc/pressure/memory",
        "date; cat /proc/pressure/memory",
        "cat /proc/meminfo && cat /proc/pressure/memory",
        "for f in /proc/meminfo /proc/pressure/memory; do cat $f; done",
    ] {
        assert_eq!(of(command), ["proc/pressure/memory"], "{command}");
    }
    let both = "root@h:~# cat /proc/meminfo && cat /proc/vmstat\nMemTotal: 8 kB\nMemFree: 4 kB\n\
                nr_free_pages 1\nnr_zone_inactive_anon 2\n";
    assert_eq!(paths(both), ["proc/meminfo", "proc/vmstat"]);
    let keys = "root@h:~# sysctl -a | grep vm.\nvm.swappiness = 60\n";
    assert_eq!(paths(keys), ["proc/sys/vm/swappiness"]);
    let huge = "/sys/kernel/mm/transparent_hugepage/enabled";
    let grep = format!(
        "root@h:~# grep -r . /sys/kernel/mm/transparent_hugepage/\n\
                        {huge}:always [madvise] never\n"
    );
    assert_eq!(paths(&grep), [&huge[1..]]);
}
