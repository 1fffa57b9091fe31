//! What a block ```` ```sh ```` asks of `plimsoll` is something that the command understands. It is
//! for the reader's own machine and not run.

use std::fs;
use std::process::Command;

use super::{Piece, documents, pieces, texts_below};

/// The words of each `plimsoll` in a line of shell, without its name.
fn asked(line: &str) -> Vec<Vec<String>> {
    let code = line.split(" #").next().unwrap_or_default();
    let commands = code.split(['|', ';']).flat_map(|part| part.split("&&"));
    let words = commands.map(|command| {
        let command = command.trim();
        words(command.strip_prefix("sudo ").unwrap_or(command))
    });
    let of_ours = words.filter(|words| words.first().is_some_and(|word| word == "plimsoll"));
    of_ours.map(|words| words[1..].to_vec()).collect()
}

/// Words as a shell separates them, up to where its output goes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words.into_iter().take_while(|word| word != ">").collect()
}

/// What the command says against these words, where it refuses them.
fn refusal(words: &[String], last: &[&str]) -> Option<String> {
    let mut plimsoll = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    plimsoll
        .args(words)
        .args(last)
        .current_dir(testkit::checkout(""));
    let output = plimsoll.output().expect("it runs");
    let is_refused = !output.status.success();
    is_refused.then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The settings in the words of a command, and the tunable that it is to explain.
fn settings(words: &[String]) -> Vec<String> {
    let begins = [String::new()];
    let before = begins.iter().chain(words);
    // What stands behind --limit is a control group.
    let pairs = before.zip(words).filter(|(before, _)| *before != "--limit");
    let mut settings: Vec<String> = pairs.map(|(_, word)| word.clone()).collect();
    settings.retain(|word| word.contains('=') && !word.starts_with("--"));
    if let [verb, tunable, ..] = words
        && verb == "explain"
        && !tunable.starts_with("--")
        && !tunable.ends_with(".conf")
    {
        settings.push(tunable.clone());
    }
    settings
}

/// The tunables and settings that a text has between backticks.
fn tunables(text: &str) -> Vec<String> {
    const GROUPS: [&str; 6] = ["vm.", "thp.", "ksm.", "lru_gen.", "bdi.", "zswap."];
    let spans = text.split('`').skip(1).step_by(2);
    let of_one_word = spans.filter(|span| !span.contains(char::is_whitespace));
    let named = of_one_word.filter(|span| GROUPS.iter().any(|group| span.starts_with(group)));
    named.map(str::to_owned).collect()
}

#[test]
fn what_documents_ask_of_the_command_is_understood() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        let mut named = Vec::new();
        if document
            .parent()
            .is_some_and(|folder| folder.ends_with("docs/for"))
        {
            named = tunables(&text);
        }
        for piece in pieces(&text) {
            let Piece::Shell(lines) = piece else {
                continue;
            };
            for words in lines.iter().flat_map(|line| asked(line)) {
                count += 1;
                // The command reads and checks all that stands before, and then ends.
                let refusal = refusal(&words, &["--help"]);
                assert_eq!(refusal, None, "{}: {words:?}", document.display());
                named.extend(settings(&words));
            }
        }
        for setting in named {
            let words = ["explain".to_owned(), setting.replace("DEVICE", "sda")];
            let refusal = refusal(
                &words,
                &["--of", "fixtures/hosts/vm-24gib-6.18/capture.txt"],
            );
            assert_eq!(refusal, None, "{}: {setting}", document.display());
        }
    }
    assert!(count >= 60, "{count} commands are asked");
}

#[test]
fn each_page_for_a_kind_of_machine_shows_evidence_of_one() {
    let pages = texts_below(&testkit::checkout("docs/for"));
    assert!(pages.len() >= 7, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        let shows = pieces(&text).iter().any(|piece| match piece {
            Piece::Console(commands) => {
                let mut commands = commands.iter();
                commands.any(|shown| shown.command.contains("fixtures/"))
            }
            Piece::File { .. } | Piece::Shell(_) => false,
        });
        assert!(shows, "{}", page.display());
    }
}
