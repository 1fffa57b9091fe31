//! What README.md and docs/ show of the command is what it prints.
//!
//! A block ```` ```console ```` is lines `$ plimsoll ...`, each with what it prints below it; a line
//! `...` stands for any lines. A block ```` ```toml NAME ```` (or `conf`, or `yaml`) is a file that
//! the commands behind it, and those of later documents, find in their directory, or the end of one
//! that was there. `UPDATE_EXPECT=1` rewrites what has no `...` in it.
//!
//! A block ```` ```sh ```` is for the reader's own machine (`asked`). Numbers of figures that hold
//! are those of the score (`counts`).

mod asked;
mod counts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of a document, and what it shows of it.
struct Shown {
    command: String,
    lines: Vec<String>,
}

/// A piece of a document.
enum Piece {
    File { name: String, text: String },
    Console(Vec<Shown>),
    Shell(Vec<String>),
}

/// README.md and all below docs/.
fn documents() -> Vec<PathBuf> {
    let mut documents = texts_below(&testkit::checkout("docs"));
    documents.push(testkit::checkout("README.md"));
    documents.sort();
    documents
}

fn texts_below(folder: &Path) -> Vec<PathBuf> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts.extend(texts_below(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            texts.push(path);
        }
    }
    texts
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            Some(("toml" | "conf" | "yaml", name)) => pieces.push(Piece::File {
                name: name.to_owned(),
                text: body.join("\n") + "\n",
            }),
            _ if info == "console" => pieces.push(Piece::Console(shown(&body))),
            _ if info == "sh" => pieces.push(Piece::Shell(
                body.iter().map(|line| (*line).to_owned()).collect(),
            )),
            _ => {}
        }
    }
    pieces
}

fn shown(body: &[&str]) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for line in body {
        match line.strip_prefix("$ ") {
            Some(command) => shown.push(Shown {
                command: command.to_owned(),
                lines: Vec::new(),
            }),
            None => {
                let last = shown.last_mut().expect("a block begins with a command");
                last.lines.push((*line).to_owned());
            }
        }
    }
    shown
}

/// What a command prints in 80 columns.
fn printed(command: &str, directory: &Path) -> String {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("plimsoll"), "{command}");
    let mut plimsoll = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    plimsoll.args(words).current_dir(directory);
    let output = plimsoll.env("COLUMNS", "80").env("LC_ALL", "C.UTF-8");
    let output = output.output().expect("it runs");
    assert!(!output.stdout.is_empty(), "{command}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Whether lines are as they are shown.
fn is_as_shown(shown: &[String], printed: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else {
        return printed.is_empty();
    };
    match (first.as_str(), printed.split_first()) {
        ("...", _) => (0..=printed.len()).any(|from| is_as_shown(rest, &printed[from..])),
        (line, Some((printed, behind))) => line == *printed && is_as_shown(rest, behind),
        (_, None) => false,
    }
}

/// The commands of a document that print something else than it shows, and what they print.
fn wrong(document: &Path, directory: &Path) -> Vec<(Shown, String)> {
    let text = fs::read_to_string(document).expect("a document");
    let mut wrong = Vec::new();
    for piece in pieces(&text) {
        match piece {
            Piece::File { name, text } => {
                let path = directory.join(name);
                let before = fs::read_to_string(&path).unwrap_or_default();
                fs::write(path, before + &text).expect("a file");
            }
            Piece::Shell(_) => {}
            Piece::Console(commands) => {
                for shown in commands {
                    let printed = printed(&shown.command, directory);
                    let lines: Vec<&str> = printed.lines().collect();
                    if !is_as_shown(&shown.lines, &lines) {
                        wrong.push((shown, printed));
                    }
                }
            }
        }
    }
    wrong
}

#[test]
fn documents_show_what_the_command_prints() {
    let directory = tempfile::tempdir().expect("a directory");
    let fixtures = testkit::checkout("fixtures")
        .canonicalize()
        .expect("a folder");
    std::os::unix::fs::symlink(fixtures, directory.path().join("fixtures")).expect("a link");
    let mut commands = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        let consoles = pieces(&text).into_iter().filter_map(|piece| match piece {
            Piece::Console(commands) => Some(commands.len()),
            Piece::File { .. } | Piece::Shell(_) => None,
        });
        commands += consoles.sum::<usize>();
        let mut new = text.clone();
        for (shown, printed) in wrong(&document, directory.path()) {
            let name = document.file_name().expect("a name").display();
            let is_whole = !shown.lines.iter().any(|line| line == "...");
            assert!(
                is_whole && std::env::var_os("UPDATE_EXPECT").is_some(),
                "{name}: {}\nshows\n{}\nand prints\n{printed}",
                shown.command,
                shown.lines.join("\n"),
            );
            let old = format!("$ {}\n{}\n", shown.command, shown.lines.join("\n"));
            new = new.replacen(&old, &format!("$ {}\n{printed}", shown.command), 1);
        }
        if new != text {
            fs::write(&document, new).expect("it is written");
        }
    }
    assert!(commands >= 5, "{commands} commands are shown");
}
