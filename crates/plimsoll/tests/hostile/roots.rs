//! Repositories and images whose files lead elsewhere, and folders whose owner swaps files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::place::{PROMPT, Place, VICTIM, give_away};
use crate::process::ends;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "an_image_that_leads_to_a_file",
        must_not: "a link in an image leads lint to no file of the host, to read or to write",
        run: leads_to_a_file,
    },
    Attack {
        name: "an_image_that_leads_up",
        must_not: "a link with .. leads out of no image",
        run: leads_up,
    },
    Attack {
        name: "an_image_that_leads_to_a_folder",
        must_not: "a link in the place of a folder leads out of no image",
        run: leads_to_a_folder,
    },
    Attack {
        name: "an_image_that_has_such_a_file_itself",
        must_not: "what an image holds at a link's path is not written to the host's",
        run: has_such_a_file_itself,
    },
    Attack {
        name: "an_image_and_undo",
        must_not: "--fix --undo of an image puts back no file of the host",
        run: an_image_and_undo,
    },
    Attack {
        name: "an_image_that_swaps",
        must_not: "1000 swaps of a file and a link lead lint --fix to no file of the host",
        run: an_image_that_swaps,
    },
    Attack {
        name: "a_repository_that_swaps_lines",
        must_not: "a text that is another when lint --fix changes it loses no line that is right",
        run: a_repository_that_swaps_lines,
    },
    Attack {
        name: "a_repository_with_other_line_ends",
        must_not: "lint --fix changes the line that it found wrong, however lines end",
        run: a_repository_with_other_line_ends,
    },
    Attack {
        name: "a_folder_of_theirs_and_fix",
        must_not: "lint --fix in the attacker's folder gives no file of root's away",
        run: a_folder_of_theirs_and_fix,
    },
    Attack {
        name: "a_kept_copy_that_is_a_link",
        must_not: "lint --fix keeps the old text through no link or FIFO",
        run: a_kept_copy_that_is_a_link,
    },
];

const IMAGE: &str = "/tmp/image";
const HOST: &str = "/tmp/host/a.conf";
const WRONG: &str = "vm.swapiness = 10";
/// What the host's file has that no image may show.
const HOSTS: &str = "vm.swapiness = 10 # of the host alone";

/// Everything that reads an image, and what it prints.
const READERS: &[&[&str]] = &[
    &["lint", "--fix", IMAGE],
    &["lint", "--diff", IMAGE],
    &["lint", IMAGE],
    &["lint", "--json", IMAGE],
    &["explain", "vm.swappiness", "--of", IMAGE],
    &["inspect", IMAGE],
];

fn host(place: &Place) {
    place.file(HOST, &format!("{HOSTS}\n{HOSTS}"));
}

fn host_is_whole(place: &Place) -> Outcome {
    let text = place.read(HOST);
    let entries = fs::read_dir("/tmp/host").expect("a folder").count();
    held_if(text == format!("{HOSTS}\n{HOSTS}") && entries == 1, || {
        format!("{entries} files beside the host's, which holds: {text}")
    })
}

/// An image with a link at each place where files are read.
fn image(place: &Place, link: impl Fn(&Path)) {
    host(place);
    for path in [
        "etc/sysctl.d/a.conf",
        "etc/tmpfiles.d/a.conf",
        "etc/udev/rules.d/a.rules",
        "etc/sysctl.conf",
        "proc/meminfo",
        "proc/sys/vm/swappiness",
    ] {
        let path = Path::new(IMAGE).join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        link(&path);
    }
    place.file("/tmp/image/etc/sysctl.d/b.conf", "vm.page-cluster = 0");
}

fn read_and_whole(place: &Place) -> Outcome {
    for words in READERS {
        let ended = place.run(words)?;
        let said = ended.said();
        held_if(!said.contains("of the host alone"), || {
            format!("{words:?} shows the host's text")
        })?;
        host_is_whole(place).map_err(|what| format!("{words:?}: {what}"))?;
    }
    Ok(())
}

fn leads_to_a_file(place: &Place) -> Outcome {
    image(place, |path| symlink(HOST, path).expect("a link"));
    read_and_whole(place)
}

fn leads_up(place: &Place) -> Outcome {
    let up = "../".repeat(9) + HOST.trim_start_matches('/');
    image(place, |path| symlink(&up, path).expect("a link"));
    read_and_whole(place)
}

fn leads_to_a_folder(place: &Place) -> Outcome {
    host(place);
    for path in ["etc/sysctl.d", "etc/tmpfiles.d", "proc"] {
        let path = Path::new(IMAGE).join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        symlink("/tmp/host", path).expect("a link");
    }
    read_and_whole(place)
}

fn has_such_a_file_itself(place: &Place) -> Outcome {
    image(place, |path| symlink(HOST, path).expect("a link"));
    let line = "w /proc/sys/vm/drop_caches - - - - 3";
    place.file(format!("{IMAGE}{HOST}"), &format!("{WRONG}\n{line}"));
    read_and_whole(place)
}

fn an_image_and_undo(place: &Place) -> Outcome {
    image(place, |path| symlink(HOST, path).expect("a link"));
    let kept = place.file(format!("{HOST}.plimsoll-old"), "older");
    place.run(&["lint", "--fix", "--undo", IMAGE])?;
    held_if(kept.exists(), || {
        format!("the host's file holds: {}", place.read(HOST))
    })
}

/// Runs `lint --fix` again and again beside an actor, until that has swapped 1000 times and lint
/// has run 60 times.
fn beside_swaps(
    place: &Place,
    [one, other]: [&Path; 2],
    mut outcome: impl FnMut() -> Outcome,
) -> Outcome {
    let folder = one.parent().expect("a folder");
    fill(place, folder);
    let (swapper, _) = Actor::start("swap", &[one, other]);
    let target = folder.to_str().expect("a path").to_owned();
    let since = Instant::now();
    for run in 0.. {
        if run >= 60 && since.elapsed() > Duration::from_secs(3) {
            break;
        }
        place.run(&["lint", "--fix", &target])?;
        outcome()?;
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            if entry
                .path()
                .extension()
                .is_some_and(|end| end == "plimsoll-old")
            {
                fs::remove_file(entry.path()).expect("a file");
            }
        }
    }
    let swaps: u64 = swapper.end().parse().expect("a number");
    assert!(swaps >= 1000, "{swaps} swaps");
    Ok(())
}

fn an_image_that_swaps(place: &Place) -> Outcome {
    host(place);
    let folder = place.theirs("/tmp/image");
    let [one, other] = ["a.conf", "b.conf"].map(|name| folder.join(name));
    fs::write(&one, format!("{WRONG}\n")).expect("a file");
    give_away(&one);
    symlink(HOST, &other).expect("a link");
    beside_swaps(place, [&one, &other], || host_is_whole(place))
}

/// One file is wrong in its first line, which is right in the other: they are swapped as soon as lint
/// has looked at the first.
fn a_repository_that_swaps_lines(place: &Place) -> Outcome {
    const RIGHT: &str = "vm.dirty_ratio = 20\nvm.min_free_kbytes = 67584";
    let folder = place.theirs("/tmp/image");
    fill(place, &folder);
    let [one, other] = ["a.conf", "other"].map(|name| folder.join(name));
    for (path, text) in [(&one, "vm.drop_caches = 3"), (&other, RIGHT)] {
        place.file(path, text);
        give_away(path);
    }
    let (swapper, _) = Actor::start("swap-when-read", &[&one, &other]);
    place.run(&["lint", "--fix", "/tmp/image"])?;
    assert_eq!(swapper.end(), "swapped");
    let text = place.read("/tmp/image/a.conf");
    held_if(text == RIGHT, || {
        format!("what was right holds now: {text}")
    })
}

/// A loader's line ends at a NUL, too: what it counts as the third line is none for an editor.
fn a_repository_with_other_line_ends(place: &Place) -> Outcome {
    const RIGHT: &str = "vm.dirty_ratio = 20\nvm.min_free_kbytes = 67584";
    for end in ['\0', '\r'] {
        let text = format!("# a{end}# b{end}vm.drop_caches = 3\n{RIGHT}");
        place.file("/tmp/image/etc/sysctl.d/a.conf", &text);
        place.run(&["lint", "--fix", "/tmp/image"])?;
        let left = place.read("/tmp/image/etc/sysctl.d/a.conf");
        held_if(left.ends_with(RIGHT), || {
            format!("what was right holds now: {left}")
        })?;
        fs::remove_dir_all("/tmp/image").expect("a folder");
    }
    Ok(())
}

/// Others, so that there is time between a look and the change.
fn fill(place: &Place, folder: &Path) {
    for number in 0..300 {
        place.file(
            folder.join(format!("c{number}.conf")),
            "vm.page-cluster = 0",
        );
    }
}

fn a_folder_of_theirs_and_fix(place: &Place) -> Outcome {
    let folder = place.theirs("/tmp/theirs");
    let file = folder.join("a.conf");
    let text = format!("{WRONG}\n{}", "# filler\n".repeat(50_000));
    let renew = || {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            fs::remove_file(entry.path()).ok();
        }
        fs::write(&file, &text).expect("a file");
        give_away(&file);
    };
    renew();
    let (catcher, _) = Actor::start("catch-draft", &[&folder, Path::new(VICTIM)]);
    for _ in 0..40 {
        place.run(&["lint", "--fix", "/tmp/theirs"])?;
        place.victim_is_whole()?;
        renew();
    }
    let caught = catcher.end();
    assert!(caught.parse::<u64>().is_ok(), "{caught}");
    Ok(())
}

fn a_kept_copy_that_is_a_link(place: &Place) -> Outcome {
    for kind in ["link", "FIFO"] {
        place.reset();
        place.theirs("/tmp/theirs");
        place.file("/tmp/theirs/a.conf", WRONG);
        let copy = Path::new("/tmp/theirs/a.conf.plimsoll-old");
        match kind {
            "link" => symlink(VICTIM, copy).expect("a link"),
            _ => drop(Command::new("mkfifo").arg(copy).status().expect("mkfifo")),
        }
        for words in [
            &["lint", "--fix", "/tmp/theirs"][..],
            &["lint", "--fix", "--undo", "/tmp/theirs"],
        ] {
            let ended = ends(&mut place.plimsoll(words), PROMPT);
            held_if(ended.is_some(), || format!("{words:?} waits for a {kind}"))?;
        }
        place.victim_is_whole()?;
    }
    Ok(())
}
