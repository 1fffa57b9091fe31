//! `plimsoll lint --fix`: changes that are certain to be right, written into the files; what was
//! there is kept beside them, and `--fix --undo` puts it back.
//!
//! A file is changed that lies below what was named, and only while it is as it was looked at.
//! Where others may write, they may put another in its place meanwhile: what is written has the
//! owner of what was read, and is put there by descriptor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use files::{Attributes, Found, Lasts};
use look::lint::Report;
use look::lint::fix::{Fix, fixed};
use mm::text::one_line;

use super::targets::{LONGEST, Targets};

/// What the name of a kept file ends with. No loader reads such a name.
const KEPT: &str = ".plimsoll-old";

/// The changes of one file.
struct Change {
    file: Found,
    attributes: Attributes,
    old: String,
    new: String,
    /// Line by line, as `diff -U0` has it.
    diff: String,
}

/// What the findings' fixes would make of the files, as a diff. Empty where there is nothing to
/// change.
///
/// # Errors
/// A file that cannot be read, or is not as it was looked at.
pub(super) fn diff(report: &Report, targets: &Targets) -> anyhow::Result<String> {
    let changes = changes(report, targets)?;
    Ok(changes.iter().map(|change| change.diff.as_str()).collect())
}

/// Makes that of the files, and gives back the diff; `kept` has the copies of earlier passes.
///
/// # Errors
/// Those of [`diff`]; a file that cannot be written, or whose copy of an earlier time is still
/// there.
pub(super) fn fix(
    report: &Report,
    targets: &Targets,
    kept: &mut Vec<PathBuf>,
) -> anyhow::Result<String> {
    let changes = changes(report, targets)?;
    let copies = changes.iter().map(|change| &change.file);
    let mut earlier = copies.filter(|file| file.parent().entry(copy_of(file)).is_ok());
    if let Some(file) = earlier.find(|file| !kept.contains(&path_of(file))) {
        let path = path_of(file);
        let path = path.display();
        bail!(
            "{path}{KEPT} is there from an earlier --fix: take it back with --undo, or remove it"
        );
    }
    for change in &changes {
        let path = path_of(&change.file);
        if !kept.contains(&path) {
            let keeping = change.put(copy_of(&change.file), &change.old);
            keeping.with_context(|| format!("{}: cannot be kept", path.display()))?;
            kept.push(path.clone());
        }
        let writing = change.put(change.file.name().to_owned(), &change.new);
        writing.with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(changes.iter().map(|change| change.diff.as_str()).collect())
}

/// Puts back what `--fix` kept of these files; says which.
///
/// # Errors
/// A file that cannot be put back.
pub(super) fn undo(targets: &Targets) -> anyhow::Result<Vec<PathBuf>> {
    let mut back = Vec::new();
    for text in targets.texts() {
        if let Some(file) = targets
            .file(&text.path)
            .with_context(|| text.path.clone())?
        {
            let path = path_of(&file);
            let put = put_back(&file).with_context(|| format!("{}{KEPT}", path.display()));
            back.extend(put?.then_some(path));
        }
    }
    Ok(back)
}

/// Whether something was kept of a file, which is as it was then.
fn put_back(file: &Found) -> anyhow::Result<bool> {
    let (folder, copy) = (file.parent(), copy_of(file));
    let kept = match folder.entry(&copy) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        kept => kept?,
    };
    let (bytes, about) = kept.read_open(LONGEST)?;
    if about.uid() != file.owner() {
        bail!("it is of another owner than the file it would replace; remove it");
    }
    let attributes = Attributes::of(&about);
    folder.replace(file.name(), &bytes, attributes, Lasts::PowerCut)?;
    folder.remove(&copy)?;
    Ok(true)
}

fn changes(report: &Report, targets: &Targets) -> anyhow::Result<Vec<Change>> {
    let mut by_path: BTreeMap<&str, Vec<&Fix>> = BTreeMap::new();
    for finding in &report.findings {
        let Some(fix) = &finding.fix else { continue };
        let of_file = by_path.entry(&finding.path).or_default();
        if of_file.iter().all(|other| other.line() != fix.line()) {
            of_file.push(fix);
        }
    }
    let mut changes = Vec::new();
    for text in targets.texts() {
        if let Some(mut fixes) = by_path.remove(text.path.as_str())
            && let Some(file) = targets
                .file(&text.path)
                .with_context(|| text.path.clone())?
            && !is_of_package(&file)
        {
            fixes.retain(|fix| is_one_line(&text.text, fix.line()));
            let change = Change::of(file, &text.text, &fixes);
            changes.push(change.with_context(|| text.path.clone())?);
        }
    }
    changes.retain(|change| change.old != change.new);
    Ok(changes)
}

/// Whether loaders see one line there, too: systemd's ends at a lone CR and at NUL.
fn is_one_line(text: &str, number: usize) -> bool {
    let line = text.lines().nth(number - 1);
    line.is_some_and(|line| !line.contains(['\r', '\0']))
}

/// Whether a package brings a file, which is not ours to change then.
fn is_of_package(file: &Found) -> bool {
    let folder = file.parent().path();
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let whole = whole.join("");
    let whole = whole.to_string_lossy();
    whole.contains("/usr/lib/") || whole.starts_with("/lib/")
}

impl Change {
    /// The changes of a file, which must hold the text that was looked at.
    fn of(file: Found, looked_at: &str, fixes: &[&Fix]) -> anyhow::Result<Self> {
        let (bytes, about) = file.read_open(LONGEST)?;
        if bytes != looked_at.as_bytes() {
            bail!("it was changed while it was looked at; lint again");
        }
        let path = path_of(&file).display().to_string();
        let mut diff = format!("--- {0}\n+++ {0}\n", one_line(&path));
        for fix in fixes {
            let line = fix.line();
            let was = looked_at.lines().nth(line - 1).unwrap_or_default();
            diff.push_str(&format!("@@ -{line} @@\n-{was}\n"));
            if let Some(with) = fix.with() {
                with.lines()
                    .for_each(|line| diff.push_str(&format!("+{line}\n")));
            }
        }
        Ok(Self {
            file,
            attributes: Attributes::of(&about),
            old: looked_at.to_owned(),
            new: fixed(looked_at, fixes),
            diff,
        })
    }

    /// Puts a text beside the file or in its place, with its owner and mode.
    fn put(&self, name: OsString, text: &str) -> std::io::Result<()> {
        let (folder, bytes) = (self.file.parent(), text.as_bytes());
        folder.replace(&name, bytes, self.attributes, Lasts::PowerCut)
    }
}

/// Where a file lies, without links below what was named.
fn path_of(file: &Found) -> PathBuf {
    file.parent().path().join(file.name())
}

fn copy_of(file: &Found) -> OsString {
    let mut name = file.name().to_owned();
    name.push(KEPT);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use look::lint::Choice;
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::path::Path;

    /// Bad settings, and what they become.
    const BAD: &str = "vm.drop_caches = 3\nvm.swapiness = 10\n";
    const FIXED: &str = "vm.swappiness = 10\n";

    fn looked_at(path: &Path) -> (Targets, Report) {
        let targets = Targets::read(&[path.to_owned()], None, None).expect("texts");
        let report = Report::of(&targets.scopes(), &Choice::default());
        (targets, report)
    }

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
        let directory = tempfile::tempdir().expect("a folder");
        let path = directory.path().to_owned();
        let at = move |name: &str| path.join(name);
        for (name, text) in files {
            fs::create_dir_all(at(name).parent().expect("a parent")).expect("a folder");
            fs::write(at(name), text).expect("a file");
        }
        (directory, at)
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn a_file_that_is_another_by_then_is_left_alone() {
        let (_directory, at) = folder(&[("a.conf", BAD), ("other/a.conf", "1\n2\n3\n")]);
        let (targets, report) = looked_at(&at("a.conf"));
        fs::write(at("a.conf"), format!("# mine\n{BAD}")).expect("a file");
        for _ in 0..2 {
            let error = fix(&report, &targets, &mut Vec::new()).expect_err("another");
            assert!(
                format!("{error:#}").contains("while it was looked at"),
                "{error:#}"
            );
            fs::rename(at("other/a.conf"), at("a.conf")).ok();
        }
        assert_eq!(text(&at("a.conf")), "1\n2\n3\n");
        assert!(!at("a.conf.plimsoll-old").exists());
    }

    #[test]
    fn a_folder_that_is_swapped_stays_the_one_that_was_looked_at() {
        let (_directory, at) = folder(&[("repository/a.conf", BAD), ("other/a.conf", BAD)]);
        let (targets, report) = looked_at(&at("repository"));
        fs::rename(at("repository"), at("moved")).expect("renamed");
        symlink("other", at("repository")).expect("a link");
        fix(&report, &targets, &mut Vec::new()).expect("fixed");
        assert_eq!(text(&at("other/a.conf")), BAD);
        assert_eq!(text(&at("moved/a.conf")), FIXED);
    }

    #[test]
    fn a_file_of_a_package_is_one_from_wherever_it_is_named() {
        let (_directory, at) = folder(&[("usr/lib/sysctl.d/a.conf", BAD)]);
        symlink("usr/lib", at("lib")).expect("a link");
        for named in [at(""), at("usr/lib/sysctl.d"), at("lib/sysctl.d/a.conf")] {
            let (targets, report) = looked_at(&named);
            fix(&report, &targets, &mut Vec::new()).expect("nothing to do");
            assert_eq!(text(&at("usr/lib/sysctl.d/a.conf")), BAD, "{named:?}");
        }
    }

    #[test]
    fn what_is_put_back_is_a_file_of_the_same_owner() {
        let (_directory, at) = folder(&[("a.conf", BAD), ("secret", "secret\n")]);
        let copy = at("a.conf.plimsoll-old");
        let undo = || undo(&looked_at(&at("a.conf")).0);
        symlink("secret", &copy).expect("a link");
        let error = format!("{:#}", undo().expect_err("a link"));
        assert!(
            error.contains("a.conf.plimsoll-old: it is a link"),
            "{error}"
        );
        fs::remove_file(&copy).expect("a link");
        fs::write(&copy, "vm.swappiness = 1\n").expect("a file");
        if chown(&copy, Some(65534), None).is_ok() {
            let error = format!("{:#}", undo().expect_err("somebody else's"));
            assert!(error.contains("another owner"), "{error}");
            chown(&copy, Some(0), None).expect("given back");
        } else {
            println!("skipped: only root can give a file away");
        }
        assert_eq!(text(&at("a.conf")), BAD);
        assert_eq!(undo().expect("put back"), [at("a.conf")]);
        assert_eq!(text(&at("a.conf")), "vm.swappiness = 1\n");
        assert!(!copy.exists());
    }
}
