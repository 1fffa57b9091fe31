//! What users do, and what then stands in files.

use std::thread;
use std::time::{Duration, Instant};

use crate::place::{Place, State, stop_watchers};
use crate::schema::Schema;

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

/// Waits until something is so; a test that waits for what never comes fails.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{what} does not come"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn a_change_that_nobody_confirms_is_taken_back_in_time(place: &Place) {
    place.run(&["apply", "swappiness=10", "--confirm", "5s"]);
    assert_eq!(place.read(SWAPPINESS), "10");
    until("the way back", || place.read(SWAPPINESS) == "60");
    until("its end", || {
        place.status().is_ok_and(|it| it.standing == 0)
    });
    let history = place.run(&["history"]);
    assert!(history.contains("nobody confirmed it in time"), "{history}");
    let (code, said) = place.ends_plainly(&["confirm", "1"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("cannot be confirmed: it is taken back"),
        "{said}"
    );
}

pub(crate) fn a_confirmed_change_stays_and_its_watcher_ends(place: &Place) {
    place.run(&[
        "apply",
        "swappiness=10",
        "--confirm",
        "1h",
        "--why",
        "a reason",
    ]);
    assert!(place.is_watched(1));
    let said = place.run(&["confirm"]);
    assert!(said.contains("confirmed, until the next boot"), "{said}");
    until("the watcher's end", || !place.is_watched(1));
    assert_eq!(place.read(SWAPPINESS), "10");
    assert!(!place.has_native());
    let again = place.run(&["apply", "swappiness=10"]);
    assert!(again.contains("so already, not written"), "{again}");
    place.run(&["undo"]);
    assert_eq!(place.state(), State::Old);
}

/// A sets 10, B sets 20, A is undone: 20 stays; B is undone: 60.
pub(crate) fn changes_overlap_and_are_undone_in_any_order(place: &Place) {
    place.run(&["apply", "swappiness=10", "--now"]);
    place.run(&["apply", "swappiness=20", "--now"]);
    let said = place.run(&["undo", "1"]);
    assert!(said.contains("change 2 covers it"), "{said}");
    assert_eq!(place.read(SWAPPINESS), "20");
    place.run(&["undo", "2"]);
    assert_eq!(place.read(SWAPPINESS), "60");
}

pub(crate) fn what_an_administrator_sets_later_stays_and_is_named(place: &Place) {
    place.run(&["apply", "swappiness=10", "vfs_cache_pressure=50", "--now"]);
    place.write(SWAPPINESS, "33");
    let (code, said) = place.ends_plainly(&["status"]);
    assert_eq!(code, 1);
    assert!(
        said.contains("/proc/sys/vm/swappiness is 33: somebody changed it"),
        "{said}"
    );
    let said = place.run(&["undo"]);
    assert!(said.contains("/proc/sys/vm/swappiness stays 33"), "{said}");
    assert_eq!(place.read(SWAPPINESS), "33");
    assert_eq!(place.read("/proc/sys/vm/vfs_cache_pressure"), "100");
}

pub(crate) fn a_lasting_change_takes_a_name_that_wins_here(place: &Place) {
    place.write("/etc/sysctl.d/99-sysctl.conf", "vm.swappiness = 99");
    let words = [
        "apply",
        "swappiness=10",
        "--persist",
        "--confirm",
        "1h",
        "--why",
        "a test",
    ];
    place.run(&words);
    assert_eq!(place.natives(), ["/etc/sysctl.d/99-sysctl.conf"]);
    place.run(&["confirm"]);
    let ours = "/etc/sysctl.d/99-zz-plimsoll.conf";
    let text = place.read(ours);
    assert!(
        text.contains("# plimsoll change 1: a test\nvm.swappiness = 10\n"),
        "{text}"
    );
    let (code, said) = place.ends_plainly(&["status"]);
    assert_eq!(code, 0, "{said}");
    place.write("/etc/sysctl.d/zzz.conf", "vm.swappiness = 98");
    let (code, said) = place.ends_plainly(&["status"]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("at the next boot vm.swappiness comes from"),
        "{said}"
    );
    place.run(&["undo"]);
    assert!(!place.natives().contains(&ours.to_owned()));
}

pub(crate) fn a_watched_change_is_taken_back_when_pages_are_swapped_in(place: &Place) {
    let vmstat = |pages: u32| {
        let text = format!("allocstall_normal 0\npswpin {pages}\noom_kill 0");
        place.write("/run/vmstat", &text);
    };
    vmstat(5);
    place.cover_file("/proc/vmstat", "/run/vmstat");
    let words = [
        "apply",
        "swappiness=10",
        "--watch",
        "1h",
        "--baseline",
        "10",
    ];
    place.run(&words);
    assert_eq!(place.read(SWAPPINESS), "10");
    let mut pages = 5;
    until("the way back", || {
        pages += 1000;
        vmstat(pages);
        place.read(SWAPPINESS) == "60"
    });
    until("its end", || {
        place.status().is_ok_and(|it| it.standing == 0)
    });
    let history = place.run(&["history"]);
    assert!(
        history.contains("taken back: pages swapped in: "),
        "{history}"
    );
    place.uncover_file("/proc/vmstat");
}

pub(crate) fn what_is_told_as_json_is_as_its_schema_says(place: &Place) {
    let holds = |schema: &str, words: &[&str]| {
        let said = place.run(words);
        let document = serde_json::from_str(&said).expect("one document");
        let faults = Schema::named(schema).faults(&document);
        assert_eq!(faults, Vec::<String>::new(), "{words:?}");
        document
    };
    let words = ["apply", "swappiness=10", "--confirm", "1h", "--json"];
    let applied = holds("apply", &words);
    assert_eq!(applied["change"]["phase"], "pending");
    holds("changes", &["status", "--json"]);
    let confirmed = holds("changes", &["confirm", "--persist", "--json"]);
    assert_eq!(confirmed["changes"][0]["lasts"], true);
    let undone = holds("changes", &["undo", "--json"]);
    assert_eq!(undone["changes"][0]["undone_because"], "asked for");
    holds("changes", &["history", "--json"]);
}

pub(crate) fn a_change_that_nothing_watches_is_a_trouble_of_status(place: &Place) {
    place.run(&["apply", "swappiness=10", "--confirm", "1h"]);
    stop_watchers();
    until("the watcher's end", || !place.is_watched(1));
    let (code, said) = place.ends_plainly(&["status"]);
    assert_eq!(code, 1);
    assert!(said.contains("nothing waits to take it back"), "{said}");
    place.run(&["undo"]);
}

pub(crate) fn a_value_that_kills_is_refused_and_even_so_written(place: &Place) {
    place.write("/proc/sys/vm/max_map_count", "65530");
    let words = ["apply", "max_map_count=100"];
    let (code, said) = place.ends_plainly(&words);
    assert_eq!(code, 2);
    assert!(
        said.contains("its next mmap fails") && said.contains("--even-so"),
        "{said}"
    );
    assert_eq!(place.read("/proc/sys/vm/max_map_count"), "65530");
    let (code, _) = place.ends_plainly(&[&words[..], &["--dry-run"]].concat());
    assert_eq!(code, 1, "the answer is no");
    place.run(&[&words[..], &["--even-so", "--now"]].concat());
    assert_eq!(place.read("/proc/sys/vm/max_map_count"), "100");
}

pub(crate) fn nothing_is_written_without_root_from_a_container_or_where_it_is_read_only(
    place: &Place,
) {
    let words = ["apply", "swappiness=10"];
    let nobody = ["setpriv", "--reuid", "65534", "--clear-groups"];
    let cases = [
        (&nobody[..], "run it as root"),
        (&["unshare", "--pid", "--fork"], "this is a container"),
        (
            &[
                "sh",
                "-c",
                "mount -o remount,ro /proc/sys; \"$@\"; x=$?; mount -o remount,rw /proc/sys; exit $x",
                "sh",
            ],
            "mounted read-only",
        ),
    ];
    for (by, what) in cases {
        let (code, said) = place.ends(by, &words);
        assert!(code == 2 && said.contains(what), "{by:?}: {code}: {said}");
        assert_eq!(place.state(), State::Old, "{by:?}");
        let (code, said) = place.ends(by, &["apply", "swappiness=10", "--dry-run"]);
        assert_eq!(code, 0, "a plan needs nothing: {said}");
    }
    let (code, said) = place.ends(&nobody, &["apply", "usb-copy:stick 5 %", "--dry-run"]);
    assert!(
        code == 2 && said.contains("this machine has no block device stick"),
        "{code}: {said}"
    );
    place.run(&["apply", "swappiness=10", "--confirm", "1h"]);
    let (code, said) = place.ends(&nobody, &["status"]);
    assert!(
        code == 0 && said.contains("waits for a confirmation"),
        "{said}"
    );
}

pub(crate) fn a_damaged_journal_is_an_error_that_says_how_to_go_on(place: &Place) {
    place.run(&["apply", "swappiness=10", "--confirm", "1h"]);
    let journal = place.read("/run/plimsoll/journal");
    place.write(
        "/run/plimsoll/journal",
        &journal.replace("planned id=1", "planned id=2"),
    );
    for words in [&["status"][..], &["undo"], &["apply", "swappiness=20"]] {
        let (code, said) = place.ends_plainly(words);
        assert_eq!(code, 2, "{said}");
        assert!(
            said.contains("line 2 is damaged") && said.contains("move it away"),
            "{said}"
        );
    }
    assert_eq!(place.read(SWAPPINESS), "10");
}
