//! What each kind of consumer does, and the process that applies the arm and looks.

use super::super::drawn::{Consumer, Drawn, Kind};

/// The process that applies the arm, starts the consumers and takes the snapshots.
pub(super) fn admin(drawn: &Drawn) -> String {
    let mut steps = vec!["{ apply = \"arm\" }".to_owned()];
    let each = |verb: &str| -> Vec<String> {
        let names = drawn.consumers.iter().map(|one| &one.name);
        names
            .map(|name| format!("{{ {verb} = \"{name}\" }}"))
            .collect()
    };
    steps.extend(each("start"));
    for (time, label) in [(drawn.warm, "warm"), (drawn.span, "end")] {
        steps.push(format!("{{ sleep = \"{time} ms\" }}"));
        steps.push(format!("{{ snapshot = \"{label}\" }}"));
    }
    steps.extend(each("wait"));
    let head = "name = \"admin\"\noom-score-adj = -900\n";
    process(head, &steps)
}

fn process(head: &str, steps: &[String]) -> String {
    let lines: String = steps.iter().map(|step| format!("  {step},\n")).collect();
    format!("\n[[process]]\n{head}steps = [\n{lines}]\n")
}

/// A consumer's process, and the one that it starts where it starts one.
pub(super) fn of(one: &Consumer, drawn: &Drawn) -> String {
    let own = process(&head(one, &one.name, one.count), &steps(one, drawn));
    match one.kind {
        Kind::Jobs => own + &job(one),
        _ => own,
    }
}

fn head(one: &Consumer, name: &str, count: u64) -> String {
    let mut head = format!("name = \"{name}\"\nstart = \"on demand\"\n");
    if count > 1 {
        head += &format!("count = {count}\n");
    }
    if let Some(group) = one.group {
        head += &format!("cgroup = \"{group}\"\n");
    }
    if one.oom_score_adj != 0 {
        head += &format!("oom-score-adj = {}\n", one.oom_score_adj);
    }
    head
}

/// A short process: it maps, touches what it mapped and ends.
fn job(one: &Consumer) -> String {
    let steps = [
        map(one, ""),
        touch("block = \"64 KiB\", write-percent = 100"),
    ];
    process(&head(one, &format!("{}-run", one.name), 1), &steps)
}

fn map(one: &Consumer, more: &str) -> String {
    let heap = one.heap;
    format!("{{ map = {{ region = \"heap\", size = \"{heap} MiB\", huge = \"never\"{more} }} }}")
}

fn touch(how: &str) -> String {
    format!("{{ touch = {{ region = \"heap\", {how} }} }}")
}

/// The first touch of a heap, for at most half of the time before the first snapshot.
fn fill(one: &Consumer, drawn: &Drawn) -> String {
    let (size, time) = (one.heap, drawn.warm / 2);
    let how = format!(
        "block = \"1 MiB\", write-percent = 100, amount = \"{size} MiB\", for = \"{time} ms\""
    );
    touch(&how)
}

/// The step once for the time before the first snapshot, then with a label for the time to the
/// second; `{for}` in it is that time.
fn twice(one: &Consumer, before: u64, after: u64, step: &str) -> [String; 2] {
    let with = |time: u64| step.replace("{for}", &format!("for = \"{time} ms\""));
    let name = &one.name;
    [
        format!("{{ {} }}", with(before)),
        format!("{{ label = \"{name}\", {} }}", with(after)),
    ]
}

fn steps(one: &Consumer, drawn: &Drawn) -> Vec<String> {
    let (warm, span) = (drawn.warm, drawn.span);
    let Consumer {
        name,
        pattern,
        think,
        write_percent,
        block,
        ..
    } = one;
    let pace = format!("think = \"{think} us\", {{for}}");
    let file = |verb: &str, how: &str| {
        let step =
            format!("{verb} = {{ file = \"{name}\", block = \"{block} KiB\", {how}{pace} }}");
        twice(one, warm, span, &step).to_vec()
    };
    let random = format!("pattern = \"{pattern}\", ");
    match one.kind {
        Kind::Heap => {
            let how = format!("{random}write-percent = {write_percent}, {pace}");
            let step = format!("touch = {{ region = \"heap\", {how} }}");
            let steps = twice(one, warm / 2, span, &step);
            [vec![map(one, ""), fill(one, drawn)], steps.to_vec()].concat()
        }
        Kind::Grower => grower(one, warm + span),
        Kind::Allocator => {
            let inner = allocation(one, (warm + span) / 5);
            let step = format!("repeat = {{ {{for}}, steps = [{inner}] }}");
            twice(one, warm, span, &step).to_vec()
        }
        Kind::Reader => file("read", &random),
        Kind::Mapped => file("read", &format!("via = \"mmap\", {random}")),
        Kind::Streamer if one.direct => file("read", "via = \"direct\", "),
        Kind::Streamer => file("read", ""),
        Kind::Writer => file("write", ""),
        Kind::Rewriter => file("write", &random),
        Kind::Logger => {
            let write = format!(
                "{{ write = {{ file = \"{name}\", block = \"{block} KiB\", \
                 pattern = \"random\", amount = \"{block} KiB\" }} }}"
            );
            let inner = [write, format!("{{ fsync = \"{name}\" }}"), sleep(*think)].join(", ");
            let step = format!("repeat = {{ {{for}}, steps = [{inner}] }}");
            twice(one, warm, span, &step).to_vec()
        }
        Kind::Database | Kind::Cache => served(one, drawn),
        Kind::Jobs => {
            let job = format!("{{ start = \"{name}-run\" }}, {{ wait = \"{name}-run\" }}");
            let step = format!("repeat = {{ {{for}}, steps = [{job}, {}] }}", sleep(*think));
            twice(one, warm, span, &step).to_vec()
        }
        Kind::Guests => {
            let contents = "[{ identical = \"40 %\", class = \"guest\" }, { zero = \"5 %\" }, \
                            { volatile = \"5 %\", every = \"2 s\" }]";
            let map = map(one, &format!(", mergeable = true, contents = {contents}"));
            let how = format!("{random}write-percent = {write_percent}, {pace}");
            let step = format!("touch = {{ region = \"heap\", {how} }}");
            let steps = twice(one, warm / 2, span, &step);
            [vec![map, fill(one, drawn)], steps.to_vec()].concat()
        }
    }
}

fn sleep(micros: u64) -> String {
    format!("{{ sleep = \"{micros} us\" }}")
}

/// It touches its heap once, in order, in four fifths of the run, and keeps it.
fn grower(one: &Consumer, time: u64) -> Vec<String> {
    let (heap, name) = (one.heap, &one.name);
    let think = time * 800 / (heap * 16);
    let how = format!(
        "block = \"64 KiB\", write-percent = 100, think = \"{think} us\", \
         amount = \"{heap} MiB\", for = \"{time} ms\""
    );
    let grow = format!("{{ label = \"{name}\", touch = {{ region = \"heap\", {how} }} }}");
    vec![
        map(one, ""),
        grow,
        format!("{{ sleep = \"{} ms\" }}", time / 5),
    ]
}

/// A heap that is touched within half of `time` ms, kept for a while and given back.
fn allocation(one: &Consumer, time: u64) -> String {
    let think = time * 500 / (one.heap * 16);
    let how = format!("block = \"64 KiB\", write-percent = 100, think = \"{think} us\"");
    let unmap = "{ unmap = \"heap\" }".to_owned();
    [map(one, ""), touch(&how), sleep(time * 200), unmap].join(", ")
}

/// Requests: some pages of the heap and blocks of the file each. A database reads and writes its
/// file, a cache server only reads it.
fn served(one: &Consumer, drawn: &Drawn) -> Vec<String> {
    let Consumer {
        name,
        pattern,
        think,
        write_percent,
        block,
        ..
    } = one;
    let how =
        format!("pattern = \"{pattern}\", amount = \"16 KiB\", write-percent = {write_percent}");
    let writes = match one.kind {
        Kind::Database => write_percent / 2,
        _ => 0,
    };
    let access = format!(
        "{{ access = {{ file = \"{name}\", pattern = \"{pattern}\", block = \"{block} KiB\", \
         amount = \"{} KiB\", write-percent = {writes} }} }}",
        block * 2
    );
    let inner = [touch(&how), access, sleep(*think)].join(", ");
    let step = format!("repeat = {{ {{for}}, steps = [{inner}] }}");
    let steps = twice(one, drawn.warm / 2, drawn.span, &step);
    [vec![map(one, ""), fill(one, drawn)], steps.to_vec()].concat()
}
