//! `inspect` takes what people have, and says what it took it for.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    testkit::checkout("fixtures/evidence").join(name)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("inspect").args(arguments);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn done(output: Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What is shown of evidence.
fn json(evidence: &[&str]) -> Value {
    let mut command = command(&["--json"]);
    let output = command.args(evidence).output().expect("the binary runs");
    serde_json::from_str(&done(output)).expect("JSON")
}

/// What is shown of evidence, but for where it came from.
fn shown(evidence: &[&str]) -> Value {
    let mut json = json(evidence);
    json.as_object_mut().expect("an object").remove("evidence");
    json
}

/// What `inspect -` shows of this.
fn piped(bytes: &[u8]) -> Value {
    let mut child = command(&["--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(bytes).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_str(&done(output)).expect("JSON")
}

fn put(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, content).expect("a file");
    path
}

#[test]
fn cr_lf_and_nul_padding_lose_nothing() {
    let whole = json(&[text(&fixture("crlf-inside.txt"))]);
    let minimum = &whole["watermark_rule"]["min_free_kbytes"];
    assert_eq!(minimum, 1227, "{whole}");
    for damaged in ["crlf.txt", "nul.txt", "nul-all.txt"] {
        assert_eq!(json(&[text(&fixture(damaged))]), whole, "{damaged}");
    }
}

#[test]
fn a_folder_its_tar_and_its_loose_files_say_the_same() {
    let tree = fixture("tree");
    let whole = shown(&[text(&tree)]);
    assert_eq!(
        whole["memory"]["total_bytes"],
        8_164_548_u64 * 1024,
        "{whole}"
    );
    assert_eq!(shown(&[text(&fixture("sosreport.tar"))]), whole);
    let loose: Vec<PathBuf> = ["meminfo", "zoneinfo", "vmstat", "buddyinfo"]
        .iter()
        .map(|name| tree.join("proc").join(name))
        .chain(
            ["min_free_kbytes", "swappiness", "watermark_scale_factor"]
                .map(|name| tree.join("proc/sys/vm").join(name)),
        )
        .collect();
    let loose: Vec<&str> = loose.iter().map(|path| text(path)).collect();
    assert_eq!(shown(&loose), whole);
}

#[test]
fn a_paste_is_split_at_its_prompts() {
    let paste = json(&[text(&fixture("paste.txt"))]);
    assert_eq!(paste["machine"]["kernel"], "5.4.0-99-generic");
    assert_eq!(paste["memory"]["total_bytes"], 4_026_036_u64 * 1024);
    let read = paste["evidence"][0]["read"]
        .as_str()
        .expect("what was read");
    assert_eq!(read, "release, meminfo, 3 settings");
    assert!(paste["evidence"][0]["passed_over"].is_null(), "{paste}");
}

#[test]
fn a_part_of_a_file_is_known_by_its_lines() {
    let part = json(&[text(&fixture("zone-normal.txt"))]);
    assert_eq!(part["evidence"][0]["read"], "zoneinfo");
    assert_eq!(part["zones"][0]["name"], "Normal", "{part}");
}

#[test]
fn standard_input_and_a_pipe_are_evidence() {
    let paste = fs::read(fixture("paste.txt")).expect("the paste");
    let mut from_file = json(&[text(&fixture("paste.txt"))]);
    from_file["evidence"][0]["source"] = "standard input".into();
    assert_eq!(piped(&paste), from_file);
}

#[test]
fn what_was_not_taken_is_said_with_its_line() {
    let shown = piped(b"MemTotal: 8 kB\nMemFree: 4 kB\n\nHelp, it swaps!\n");
    let passed = shown["evidence"][0]["passed_over"][0]
        .as_str()
        .expect("one place");
    assert_eq!(passed, "line 4: \"Help, it swaps!\" not recognised");
}

#[test]
fn tables_and_logs_are_named_for_what_they_are() {
    let read = |name: &str| json(&[text(&fixture(name))])["evidence"][0]["read"].clone();
    assert_eq!(read("vmstat-5.txt"), "vmstat's table");
    assert_eq!(read("oom.log"), "kernel log");
}

#[test]
fn compressed_archives_say_what_the_tar_says() {
    let whole = shown(&[text(&fixture("sosreport.tar"))]);
    for end in ["gz", "xz", "zst"] {
        let path = fixture(&format!("sosreport.tar.{end}"));
        assert_eq!(shown(&[text(&path)]), whole, "{end}");
    }
}

#[test]
fn what_people_paste_beside_kernel_files_is_taken_from_one_mail() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("saved.txt");
    let shown = json(&[text(&fixture("beside.txt")), "--save", text(&saved)]);
    assert_eq!(
        shown["memory"]["total_bytes"],
        16_303_428_u64 * 1024,
        "{shown}"
    );
    assert_eq!(shown["machine"]["kernel"], "5.15.0-91-generic");
    let capture = fs::read_to_string(saved).expect("the capture");
    for path in [
        "proc/sys/vm/swappiness 3\n60\n",
        "sys/kernel/mm/transparent_hugepage/enabled 23\n",
        "proc/pressure/memory ",
        "proc/swaps ",
        "proc/vmstat ",
        "plimsoll/tools/free ",
        "plimsoll/tools/ps ",
        "plimsoll/tools/slabtop ",
        "proc/812/smaps_rollup ",
        "etc/sysctl.conf ",
        "plimsoll/facts 15\npage_size\t4096\n",
        "plimsoll/unreadable ",
    ] {
        assert!(
            capture.contains(&format!("\n= {path}")),
            "{path}: {capture}"
        );
    }
    let passed: Vec<&str> = shown["evidence"][0]["passed_over"]
        .as_array()
        .expect("prose")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(passed[0].starts_with("line 1: \"Hi, here is"), "{passed:?}");
    assert!(passed.len() <= 6, "{passed:?}");
}

#[test]
fn a_file_of_another_kernel_takes_its_facts_from_flags() {
    let evidence = fixture("zone-normal.txt");
    let flags = ["--kernel", "5.15.0", "--page-size", "64K", "--cpus", "4"];
    let shown = json(&[&flags[..], &[text(&evidence)]].concat());
    assert_eq!(shown["machine"]["kernel"], "5.15.0");
    assert_eq!(shown["machine"]["page_size"], 65536);
}

#[test]
fn what_collects_a_machine_reads_nothing_that_acts_and_is_understood() {
    let guide = testkit::checkout("docs/inspect.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let lines = guide.lines();
    let line = lines
        .clone()
        .find(|line| line.contains("> machine.txt"))
        .expect("the line");
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "lowmem_reserve_ratio",
        "drop_caches",
        "compact_memory",
        "stat_refresh",
    ] {
        put(&folder, &format!("proc/sys/vm/{name}"), "trap\n");
    }
    put(&folder, "proc/sys/vm/swappiness", "60\n");
    put(&folder, "proc/meminfo", "MemTotal: 8 kB\nMemFree: 4 kB\n");
    let script = line.replace("cd /;", "cd .;");
    let shell = Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(folder.path())
        .status();
    assert!(shell.expect("a shell").success());
    let machine = folder.path().join("machine.txt");
    assert!(
        !fs::read_to_string(&machine)
            .expect("it wrote")
            .contains("trap")
    );
    let shown = json(&[text(&machine)]);
    assert_eq!(shown["memory"]["total_bytes"], 8192, "{shown}");
    let read = shown["evidence"][0]["read"]
        .as_str()
        .expect("what was read");
    assert_eq!(read, "meminfo, setting, page_size, cpus", "{shown}");
}

#[test]
fn two_with_the_same_file_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let before =
        "MemTotal: 80 kB\nMemFree: 40 kB\nvm.swappiness = 60\nnr_free_pages 10\npgfault 100\n";
    let after = before
        .replace("40 kB", "16 kB")
        .replace("= 60", "= 10")
        .replace("100", "150");
    let (before, after) = (put(&folder, "a.txt", before), put(&folder, "b.txt", &after));
    let changed = json(&[text(&before), text(&after)]);
    assert_eq!(changed["schema"], "plimsoll-compare");
    assert_eq!(changed["settings"][0]["after"], "10");
    assert_eq!(changed["meminfo"][0]["before_bytes"], 40 * 1024);
    assert_eq!(changed["counters"][0]["grown"], 50, "{changed}");
    let back = json(&[text(&after), text(&before)]);
    assert_eq!(back["counters"].as_array().map(Vec::len), Some(0));
    assert!(
        back["counters_apart"]
            .as_str()
            .expect("why")
            .contains("pgfault is lower"),
        "{back}"
    );
}

#[test]
fn a_folder_of_captures_is_a_series_in_order_of_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = |at: u64, faults: u64| {
        let vmstat = format!("nr_free_pages 5\npgmajfault {faults}\n");
        let length = vmstat.len();
        format!(
            "plimsoll-capture 1\n@ {at}\n= proc/meminfo 15\nMemTotal: 8 kB\n\n= proc/vmstat {length}\n{vmstat}\n"
        )
    };
    put(&folder, "a-later.txt", capture(3_000_000_000, 30));
    put(&folder, "b-first.txt", capture(1_000_000_000, 10));
    let shown = json(&[text(folder.path())]);
    assert_eq!(shown["reclaim"]["seconds"], 2.0, "{shown}");
    assert_eq!(shown["machine"]["at_nanoseconds"], 3_000_000_000_u64);
}

#[test]
fn an_archive_that_expands_without_end_is_refused_and_one_that_breaks_off_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = Command::new("sh")
        .arg("-c")
        .arg("head -c 300000000 /dev/zero | tr '\\0' 'x' | gzip -1")
        .output();
    let bomb = put(&folder, "bomb.gz", zeros.expect("a shell").stdout);
    let output = command(&[text(&bomb)]).output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("longer than any evidence") && stderr.lines().count() == 1,
        "{stderr}"
    );
    let tar = fs::read(fixture("sosreport.tar")).expect("the tar");
    let cut = put(&folder, "cut.tar", &tar[..tar.len() / 2]);
    let shown = json(&[text(&cut)]);
    assert_eq!(
        shown["memory"]["total_bytes"],
        8_164_548_u64 * 1024,
        "{shown}"
    );
    assert!(
        shown["evidence"].to_string().contains("breaks off"),
        "{shown}"
    );
}

/// A member of a tar archive, by hand: no library makes these.
fn member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 512];
    head[..name.len()].copy_from_slice(name.as_bytes());
    head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    head[148..156].fill(b' ');
    head[156] = kind;
    head[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = content.len().next_multiple_of(512) - content.len();
    [head, content.to_owned(), vec![0; padding]].concat()
}

#[test]
fn a_name_without_end_takes_no_memory_and_long_names_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let meminfo = b"MemTotal: 8 kB\nMemFree: 4 kB\n";
    let deep = format!("{}proc/meminfo", "long/".repeat(60));
    let pax = format!("{} path={deep}\n", deep.len() + 10);
    for before in [
        member("././@LongLink", b'L', &vec![b'x'; 300 << 20]),
        member("././@LongLink", b'L', format!("{deep}\0").as_bytes()),
        member("PaxHeaders/x", b'x', pax.as_bytes()),
        member("PaxHeaders/x", b'x', &vec![b'1'; 300 << 20]),
    ] {
        let short = member("x", b'0', meminfo);
        let own = member("proc/meminfo", b'0', meminfo);
        let tar = [before, short, own, vec![0; 1024]].concat();
        let tar = put(&folder, "x.tar", tar);
        let shown = Command::new("sh")
            .args(["-c", "ulimit -v 250000; exec \"$0\" inspect --json \"$1\""])
            .args([env!("CARGO_BIN_EXE_plimsoll"), text(&tar)])
            .output()
            .expect("the binary runs");
        let shown: Value = serde_json::from_str(&done(shown)).expect("JSON");
        assert_eq!(shown["memory"]["total_bytes"], 8192, "{shown}");
    }
}

#[test]
fn what_is_no_file_in_an_archive_is_not_taken_for_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = b"MemTotal: 16 kB\nMemFree: 4 kB\n";
    let mut tar = member("/proc/meminfo", b'0', b"MemTotal: 8 kB\nMemFree: 4 kB\n");
    for kind in *b"123456S" {
        tar.extend(member("proc/meminfo", kind, other));
    }
    tar.extend([0; 1024]);
    let shown = json(&[text(&put(&folder, "x.tar", tar))]);
    assert_eq!(shown["memory"]["total_bytes"], 8192, "{shown}");
}

#[test]
fn a_pipe_without_a_writer_and_a_folder_without_end_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    for verb in [
        &["inspect"][..],
        &["lint"],
        &["replay", "--memory", "10%"],
        &["predict"],
    ] {
        let words = [verb, &[text(&pipe)]].concat();
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(&words)
            .output();
        let output = output.expect("the binary runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        let said = ["pipe", "not a study: a text file"];
        assert!(
            said.iter().any(|said| stderr.contains(said)),
            "{words:?}: {stderr}"
        );
    }
    fs::create_dir_all(folder.path().join("in/".repeat(300))).expect("folders");
    put(&folder, "proc/meminfo", "MemTotal: 8 kB\nMemFree: 4 kB\n");
    let shown = json(&[text(folder.path())]);
    assert!(
        shown["evidence"].to_string().contains("too deep"),
        "{shown}"
    );
}

#[test]
fn a_name_that_leads_out_of_an_archive_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    put(
        &folder,
        "in/proc/meminfo",
        "MemTotal: 8 kB\nMemFree: 4 kB\n",
    );
    let tar = Command::new("tar")
        .args([
            "-cPf",
            "../out.tar",
            "--transform",
            "s,^,../../evil/,",
            "proc/meminfo",
        ])
        .current_dir(folder.path().join("in"))
        .status();
    assert!(tar.expect("tar runs").success());
    let shown = json(&[text(&folder.path().join("out.tar"))]);
    assert_eq!(shown["memory"]["total_bytes"], 8192, "{shown}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
}

#[test]
fn links_and_pipes_in_a_folder_are_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    put(&folder, "proc/meminfo", "MemTotal: 8 kB\nMemFree: 4 kB\n");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).expect("a link");
    let pipe = Command::new("mkfifo")
        .arg(folder.path().join("proc/vmstat"))
        .status();
    assert!(pipe.expect("mkfifo runs").success());
    assert_eq!(json(&[text(folder.path())])["memory"]["total_bytes"], 8192);
}

#[test]
fn two_machines_in_a_folder_stay_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    put(
        &folder,
        "one/proc/meminfo",
        "MemTotal: 8 kB\nMemFree: 4 kB\n",
    );
    put(
        &folder,
        "two/proc/meminfo",
        "MemTotal: 16 kB\nMemFree: 4 kB\n",
    );
    let folder = text(folder.path());
    let total = |at: &str| json(&["--at", at, folder])["memory"]["total_bytes"].clone();
    assert_eq!((total("one"), total("two")), (8192.into(), 16384.into()));
}

#[test]
fn the_machines_own_proc_is_not_walked() {
    let output = command(&["/proc"]).output().expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("this machine's own /proc"), "{stderr}");
}

#[test]
fn a_redacted_capture_has_no_name_of_the_evidence() {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("acmehost");
    put(
        &folder,
        "acmehost/proc/meminfo",
        "MemTotal: 8 kB\nMemFree: 4 kB\n",
    );
    put(
        &folder,
        "acmehost/proc/cmdline",
        "root=/dev/mapper/acmevg\n",
    );
    put(
        &folder,
        "acmehost/sys/fs/cgroup/payroll.slice/memory.current",
        "4096\n",
    );
    put(
        &folder,
        "acmehost/ps.txt",
        "USER PID %MEM RSS COMMAND\nbob 1 0.1 4 ledgerd --key x\n",
    );
    let saved = folder.path().join("saved.txt");
    let arguments = [text(&tree), "--save", text(&saved), "--redact"];
    done(command(&arguments).output().expect("the binary runs"));
    let saved = fs::read_to_string(&saved).expect("the capture");
    for name in ["acme", "payroll", "bob", "ledgerd", "key"] {
        assert!(!saved.contains(name), "{name}: {saved}");
    }
    assert!(
        saved.contains("group-1/memory.current") && saved.contains("process-1"),
        "{saved}"
    );
}
