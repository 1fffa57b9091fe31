//! Tests of what is read from tables of generations.

use super::*;
use mm::lru_gen::parse_table;

/// A group on two nodes, with anonymous pages by generation on each.
fn table(first: &[(u64, u64)], second: &[(u64, u64)]) -> Vec<Generation> {
    let lines = |pages: &[(u64, u64)]| -> String {
        let line = |(seq, anon): &(u64, u64)| format!(" {seq} 0 {anon} 7\n");
        pages.iter().map(line).collect()
    };
    let (first, second) = (lines(first), lines(second));
    let text = format!("memcg 3 /a b\n node 0\n{first} node 1\n{second}");
    parse_table(&text).expect("a table")
}

fn reader() -> Reader {
    Reader {
        root: Root::new("/nonexistent"),
        known: Arc::default(),
        stop: Arc::default(),
        begun: BTreeMap::new(),
    }
}

fn asked(seqs: [u64; 2], at: u64) -> BTreeMap<Place, (u64, Nanos)> {
    let of = |(node, seq)| ((3, node), (seq, Nanos(at)));
    (0..).zip(seqs).map(of).collect()
}

fn seen(reader: &Reader) -> Vec<(u64, u64)> {
    let known = lock(&reader.known);
    let groups = known.groups.values().flat_map(|group| &group.seen);
    groups.map(|it| (it.time.0, it.pages.0)).collect()
}

#[test]
fn what_is_in_the_generation_before_was_used_and_what_is_new_is_taken_off() {
    let mut reader = reader();
    reader.look(
        &table(&[(3, 900), (4, 0)], &[(8, 100), (9, 0)]),
        &asked([3, 8], 100),
    );
    assert_eq!(seen(&reader), [], "only from the second on");
    // Of 300 pages 50 are new.
    let then = table(&[(3, 650), (4, 300), (5, 0)], &[(8, 80), (9, 20), (10, 0)]);
    reader.look(&then, &asked([4, 9], 350));
    assert_eq!(seen(&reader), [(250, 270)]);
    assert_eq!(lock(&reader.known).groups["a b"].most, 1050);
}

#[test]
fn a_generation_that_the_kernel_began_says_nothing() {
    let mut reader = reader();
    reader.look(
        &table(&[(3, 900), (4, 0)], &[(8, 100), (9, 0)]),
        &asked([3, 8], 100),
    );
    // On the first node there is one between.
    let then = table(&[(4, 300), (5, 600), (6, 0)], &[(8, 80), (9, 20), (10, 0)]);
    reader.look(&then, &asked([5, 9], 350));
    assert_eq!(seen(&reader), []);
    let next = table(&[(6, 300), (7, 600)], &[(9, 20), (10, 50), (11, 0)]);
    reader.look(&next, &asked([6, 10], 600));
    assert_eq!(seen(&reader), [(250, 350)]);
}

#[test]
fn the_largest_groups_are_read() {
    let text = "memcg 1 /\n node 0\n 1 0 255 0\nmemcg 2 /a\n node 0\n 1 0 200 0\n 2 0 56 0\n\
                memcg 3 /b\n node 0\n 1 0 300 0\n";
    let table = parse_table(text).expect("a table");
    assert_eq!(largest(&table), ["b", "a"]);
    let mut known = Known::default();
    known.met(&table);
    assert_eq!(
        (known.groups[""].began, known.groups["a"].began),
        (255, 256)
    );
}
