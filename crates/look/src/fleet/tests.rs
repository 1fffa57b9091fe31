//! What is counted of many hosts, and which of them differ.

use super::host::{MEMORY, RULES};
use super::*;

fn property(name: &'static str, value: &str, is_default: bool) -> Property {
    Property {
        name,
        value: value.to_owned(),
        is_default,
        worth: None,
    }
}

fn host(name: &str, properties: Vec<Property>) -> Host {
    Host {
        host: name.to_owned(),
        path: format!("all/{name}"),
        kernel: None,
        memory: None,
        findings: Vec::new(),
        lint: Vec::new(),
        properties,
    }
}

fn fleet(hosts: impl IntoIterator<Item = Host>) -> Fleet {
    let mut fleet = Fleet::default();
    hosts.into_iter().for_each(|host| fleet.add(host));
    fleet
}

#[test]
fn who_differs_is_told_where_three_quarters_share_a_value() {
    let of = |value: &str, name: &str| host(name, vec![property("vm.swappiness", value, false)]);
    let three = fleet([of("10", "a"), of("10", "b"), of("60", "c")]);
    assert!(three.document().outliers.is_empty(), "too few");
    let four = fleet([of("10", "a"), of("10", "b"), of("60", "c"), of("10", "d")]);
    let document = four.document();
    let [differs] = &document.outliers[..] else {
        panic!("{document:?}");
    };
    assert_eq!(
        differs.sentence(),
        "1 of 4 differs: vm.swappiness 60 where 3 have 10"
    );
    assert_eq!(differs.hosts, ["c"]);
    assert!(!differs.means.is_empty());
    let split = fleet([of("10", "a"), of("10", "b"), of("60", "c"), of("60", "d")]);
    assert!(split.document().outliers.is_empty(), "nothing is common");
}

#[test]
fn what_the_kernel_chooses_is_the_same_however_large_the_machine_is() {
    let of = |value: &str, is_default| {
        host("h", vec![property("vm.min_free_kbytes", value, is_default)])
    };
    let hosts = [
        of("1000", true),
        of("2000", true),
        of("3000", true),
        of("1000", false),
    ];
    let fleet = fleet(hosts);
    let document = fleet.document();
    let sentences: Vec<String> = document.outliers.iter().map(|it| it.sentence()).collect();
    let expected =
        "1 of 4 differs: vm.min_free_kbytes 1000 where 3 have 1000 (the kernel's choice)";
    assert_eq!(sentences, [expected]);
}

#[test]
fn a_pair_of_which_one_is_off_is_told_once() {
    let pair = |name: &str, ratio: &str, bytes: &str| {
        let ratio = property("vm.dirty_ratio", ratio, false);
        host(name, vec![ratio, property("vm.dirty_bytes", bytes, false)])
    };
    let fleet = fleet([
        pair("a", "20", "0"),
        pair("b", "20", "0"),
        pair("c", "20", "0"),
        pair("d", "0", "600000000"),
    ]);
    let document = fleet.document();
    let names: Vec<&str> = document.outliers.iter().map(|it| it.what).collect();
    assert_eq!(names, ["vm.dirty_bytes"]);
}

#[test]
fn rules_are_counted_by_host_and_the_worst_stands_first() {
    let said = |rule, severity| Said {
        rule,
        severity,
        what: format!("{rule} is the case"),
    };
    let mut one = host("a", Vec::new());
    one.lint = vec![said("later", (0, "note")), said("later", (0, "note"))];
    let mut two = host("b", Vec::new());
    two.lint = vec![said("later", (0, "note")), said("first", (2, "error"))];
    let fleet = fleet([one, two]);
    let document = fleet.document();
    let found: Vec<_> = document
        .lint
        .iter()
        .map(|it| (it.rule, it.hosts.len()))
        .collect();
    assert_eq!(found, [("first", 1), ("later", 2)]);
}

#[test]
fn hosts_of_one_name_are_told_apart_by_where_they_lie() {
    let mut other = host("a", Vec::new());
    other.path = "elsewhere/a".to_owned();
    let fleet = fleet([host("a", Vec::new()), other, host("b", Vec::new())]);
    assert_eq!(fleet.labels(), ["all/a", "elsewhere/a", "b"]);
}

#[test]
fn a_host_is_judged_as_inspect_and_lint_judge_it() {
    let capture = testkit::capture("fixtures/hosts/vm-24gib-6.18/capture.txt");
    let host = Host::of(None, "all/web1.capture", &capture, |_| Default::default());
    let host = host.expect("it has something to show");
    let view = crate::view::View::of(&capture, None).expect("the same");
    let rules: Vec<&str> = host.findings.iter().map(|said| said.rule).collect();
    assert_eq!(rules, view.findings.names());
    assert_eq!(host.host, "web1");
    let value = |name| host.properties.iter().find(|it| it.name == name);
    assert_eq!(value(MEMORY).map(|it| it.value.as_str()), Some("32 GiB"));
    assert!(value(RULES).is_some_and(|it| it.value.contains("6.")));
    assert!(value("vm.min_free_kbytes").is_some_and(|it| it.is_default));
}

#[test]
fn a_name_is_neither_markup_nor_a_control_character_nor_long() {
    let hostile = format!("<b>\u{1b}[2J\n{}", "x".repeat(1000));
    let mut fleet = fleet([host("a", Vec::new())]);
    fleet.add_fault(&hostile, "why");
    let (document, label) = (fleet.document(), "\\u001b");
    let html = document.html();
    assert!(html.contains(label), "{html}");
    assert!(!html.contains("<b>") && !html.contains('\u{1b}'), "{html}");
    assert!(html.len() < 3000, "{}", html.len());
}
