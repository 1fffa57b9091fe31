//! Going back and on through looks.

use super::*;

fn reel() -> Reel {
    let capture = testkit::capture("fixtures/series/captures.txt");
    Reel::of("captures.txt".to_owned(), capture).expect("it tells of memory")
}

#[test]
fn evidence_begins_with_its_last_moment_and_ends_at_its_ends() {
    let mut reel = reel();
    assert_eq!(reel.shown().place, "captures.txt: 16 of 16");
    reel.step(1);
    assert_eq!(reel.shown().place, "captures.txt: 16 of 16");
    reel.step(-10);
    assert_eq!(reel.shown().place, "captures.txt: 6 of 16");
    reel.step(isize::MIN);
    assert_eq!(reel.shown().place, "captures.txt: 1 of 16");
    let first = reel.shown().look.expect("a look").moment;
    assert!(first.moving.is_none(), "nothing came before it");
    reel.step(isize::MAX);
    assert_eq!(reel.shown().place, "captures.txt: 16 of 16");
}

#[test]
fn evidence_without_memory_is_refused_with_the_way_out() {
    let refused = Reel::of("a".to_owned(), Capture::default()).expect_err("nothing is in it");
    let said = "no moment of it tells of memory; plimsoll inspect says what it is";
    assert_eq!(refused.to_string(), said);
}

#[test]
fn a_stopped_reel_stays_while_it_goes_on_looking() {
    let mut reel = Reel::live();
    reel.look();
    reel.look();
    assert_eq!((reel.at, reel.stays), (1, false));
    reel.step(-1);
    reel.look();
    assert_eq!((reel.at, reel.stays, reel.count()), (0, true, 3));
    assert!(reel.shown().place.ends_with("(1 of 3)"));
    reel.stop_or_go();
    assert_eq!((reel.at, reel.stays), (2, false));
    assert_eq!(reel.shown().place, "live");
}

#[test]
fn as_many_looks_are_kept_as_are_told_and_the_shown_one_stays_itself() {
    let mut reel = Reel::live();
    reel.look();
    let Source::Here(_, looks) = &mut reel.source else {
        panic!("a reel of this machine");
    };
    let look = looks[0].clone();
    looks.resize(KEPT, look);
    reel.step(isize::MAX);
    reel.step(-7);
    let at = reel.at;
    reel.look();
    assert_eq!((reel.count(), reel.at), (KEPT, at - 1));
    reel.step(isize::MIN);
    reel.look();
    assert_eq!(reel.at, 0);
}
