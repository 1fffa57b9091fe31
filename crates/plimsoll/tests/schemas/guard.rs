//! Real output of the guard's verbs against the schemas.

use std::fs;
use std::process::{Child, Command};

use crate::output::assert_is;

const CONFIG: &str = "\
[floor]
clean_min = \"5 %\"
anon_min = \"10 %\"
keep = [\"/usr\", \"/missing\", \"/proc/self\"]
[ceiling]
total = \"20 %\"
[ceiling.groups]
\"a/b\" = \"64 MiB\"
[watermarks]
most = \"4 %\"
[writeback]
flush_within = \"2 s\"
[ksm]
most_cpu = \"20 %\"
";

#[test]
fn a_check_of_this_machine_and_of_a_capture_is_as_its_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("guard.toml"), CONFIG).expect("a file");
    fs::write(folder.path().join("off.toml"), "").expect("a file");
    let check = |more: &[&str]| {
        let words = [&["guard", "check", "--json", "--config"], more].concat();
        assert_is("guard-check", &words, folder.path())
    };
    let here = check(&["guard.toml"]);
    assert_eq!(here["floor"]["keep"].as_array().map(Vec::len), Some(3));
    assert_eq!(here["watermarks"]["most_scale_factor"], 200);
    assert_eq!(here["writeback"]["unmeasured_bytes"], 8 << 20);
    assert_eq!(here["ksm"]["most_cpu_thousandths"], 200);
    let off = check(&["off.toml"]);
    for policy in ["floor", "ceiling", "watermarks", "writeback", "ksm"] {
        assert!(off[policy].is_null(), "{policy}");
    }
    let fixtures = testkit::checkout("fixtures");
    let capture = fixtures.join("hosts/vm-24gib-6.18/capture.txt");
    let there = check(&["guard.toml", &capture.to_string_lossy()]);
    assert!(there["floor"]["keep"][0]["bytes"].is_null());
    assert_eq!(there["watermarks"]["scale_factor"], 10);
}

#[test]
fn what_a_guard_holds_and_did_is_as_its_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("guard.state");
    let state = state.to_str().expect("a name");
    let status = |schema: &str, verb: &str| {
        assert_is(
            schema,
            &["guard", verb, "--json", "--state", state],
            folder.path(),
        )
    };
    let none = status("guard-status", "status");
    assert!(none["guard"].is_null());
    let none = status("guard-events", "events");
    assert_eq!(none["events"].as_array().map(Vec::len), Some(0));

    let guard = StandIn::start();
    let figures = guard.figures();
    fs::write(folder.path().join("guard.prom"), figures).expect("a file");
    let events = "time=1764235319123 policy=floor action=lock file=ab/12 bytes=5 what=a why=b\n\
                  time=1764235319124 what=\"on: floor\"\n";
    fs::write(folder.path().join("guard.events"), events).expect("a file");
    let held = status("guard-status", "status");
    assert_eq!(held["guard"]["locked_bytes"], 5);
    assert_eq!(held["guard"]["ceilings"][0]["group"], "a/b");
    let told = status("guard-events", "events");
    assert_eq!(told["events"][0]["file"], "ab/12");
    drop(guard);
    assert!(
        status("guard-status", "status")["guard"].is_null(),
        "it was killed"
    );
}

/// A process in the place of the daemon.
struct StandIn(Child);

impl StandIn {
    fn start() -> Self {
        Self(Command::new("sleep").arg("60").spawn().expect("it runs"))
    }

    fn figures(&self) -> String {
        let pid = self.0.id();
        let started = host::processes::started(&host::Root::default(), pid);
        let ticks = started.expect("it runs");
        format!(
            "plimsoll_guard_info{{version=\"1\",pid=\"{pid}\",ticks=\"{ticks}\"}} 1\n\
             plimsoll_guard_policy_enabled{{policy=\"floor\"}} 1\n\
             plimsoll_guard_locked_bytes 5\n\
             plimsoll_guard_ceiling_bytes{{group=\"a/b\"}} 7\n\
             plimsoll_guard_ceiling_bytes{{group=\"\"}} 8\n\
             plimsoll_guard_setting_held{{tunable=\"vm.swappiness\",before=\"60\"}} 1\n\
             plimsoll_guard_released{{place=\"ab\"}} 1\n\
             plimsoll_guard_actions_total{{policy=\"floor\",action=\"lock\"}} 1\n\
             plimsoll_guard_failures_total{{policy=\"floor\",action=\"lock\"}} 1\n"
        )
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}
