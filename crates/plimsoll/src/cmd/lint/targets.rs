//! What is looked at: this machine, a root directory, a folder, a file, or evidence.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use ::evidence::path::is_configuration;
use ::evidence::{COMMANDS, NOTE};
use anyhow::{Context as _, bail};
use conf::{Entry, Tree};
use files::{Folder, Found, Kind, named, output};
use host::Root;
use host::configuration::MOST as MOST_TEXT;
use look::lint::Scope;
use look::lint::machine::Machine;
use look::lint::read::{self, Form};
use look::lint::scope::Extent;
use look::lint::text::Text;
use look::lint::tree::{self, Known, PLACES};
use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::text::weight;

use super::super::inspect::evidence;
use super::own_host;

/// The longest file that is read.
pub(super) const LONGEST: u64 = 4 << 20;

/// The kernel's command line, a kernel file that sets tunables.
const CMDLINE: &str = conf::command_line::PATH;

/// Files of a folder that are looked at.
const MOST: usize = 200_000;

/// All that is looked at.
#[derive(Debug, Default)]
pub(super) struct Targets {
    targets: Vec<Target>,
    /// Of which machine the numbers are.
    pub(super) machine: Option<String>,
    /// What could not be read, one line each.
    pub(super) problems: Vec<String>,
    places: Vec<Place>,
    /// What the texts below folders take together, by their [`weight`].
    taken: u64,
}

/// A folder, held open, below which texts lie.
#[derive(Debug)]
struct Place {
    /// What their paths begin with as they are shown.
    shown: String,
    folder: Folder,
    /// The only one, by its name; all texts below it where there is none.
    name: Option<OsString>,
}

#[derive(Debug)]
struct Target {
    what: What,
    machine: std::rc::Rc<Machine>,
}

#[derive(Debug)]
enum What {
    /// The configuration of a machine, behind a prefix.
    Tree {
        tree: Tree,
        known: Known,
        prefix: String,
    },
    /// Texts that act together: a folder of sysctl.d, or one file.
    Texts(Vec<Text>),
}

impl Targets {
    /// Reads all of it.
    ///
    /// # Errors
    /// What cannot be read, or holds no settings.
    pub(super) fn read(
        what: &[PathBuf],
        of: Option<&Path>,
        at: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut targets = Self::default();
        if what.is_empty() {
            if of.is_some() {
                bail!("--of is for files: give one, or leave --of out to look at this machine");
            }
            targets.live()?;
            return Ok(targets);
        }
        let machine = std::rc::Rc::new(match of {
            None => Machine::default(),
            Some(of) => machine_of(of)?,
        });
        targets.machine = of.map(|of| of.display().to_string());
        for path in what {
            let name = path.display().to_string();
            targets.one(path, &machine, at).with_context(|| name)?;
        }
        Ok(targets)
    }

    /// What a capture says of its machine.
    pub(super) fn of_frame(frame: &Frame, name: &Path) -> Self {
        let mut targets = Self::default();
        targets.frame(frame, name);
        targets
    }

    /// A scope for each of them.
    pub(super) fn scopes(&self) -> Vec<Scope<'_>> {
        self.targets.iter().map(Target::scope).collect()
    }

    /// The texts that were read.
    pub(super) fn texts(&self) -> impl Iterator<Item = Text> {
        let scopes = self.scopes().into_iter();
        scopes.flat_map(|scope| scope.texts)
    }

    /// The file of a text by its path, below what was named; `None` where it is of evidence, or is
    /// not there any more.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn file(&self, path: &str) -> io::Result<Option<Found>> {
        let below = |place| Place::below(place, path).map(|below| (place, below));
        let places = self.places.iter().filter_map(below);
        let nearest = places.max_by_key(|(place, _)| place.shown.len());
        match nearest.map(|(place, below)| place.folder.find(below)) {
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found.transpose(),
        }
    }

    /// Of which machine the numbers are, as a sentence behind another.
    pub(super) fn machine_name(&self) -> String {
        match self.machine.as_deref() {
            None => " No machine was looked at: numbers that depend on one are missing.".to_owned(),
            Some("this") => " Numbers are those of this machine.".to_owned(),
            Some(name) => format!(" Numbers are those of {name}."),
        }
    }

    fn live(&mut self) -> anyhow::Result<()> {
        let (root, prefix) = own_host::root();
        let what = What::Tree {
            tree: tree(&root),
            known: Known::Everything,
            prefix: prefix.clone(),
        };
        let machine = std::rc::Rc::new(this_machine());
        self.targets.push(Target { what, machine });
        self.machine = Some("this".to_owned());
        self.place(prefix, root.folder()?, None);
        Ok(())
    }

    fn place(&mut self, shown: String, folder: Folder, name: Option<OsString>) {
        self.places.push(Place {
            shown,
            folder,
            name,
        });
    }

    fn one(
        &mut self,
        path: &Path,
        machine: &std::rc::Rc<Machine>,
        at: Option<&str>,
    ) -> anyhow::Result<()> {
        if path.is_dir() {
            return self.folder(path, machine);
        }
        let bytes = bytes_of(path)?;
        let text = text_in(&bytes);
        let form = text.as_deref().and_then(|text| form(path, text));
        let (Some(form), Some(text)) = (form, text) else {
            if text_in(&bytes).is_some() && is_configuration_file(path) {
                let name = path.display();
                self.problems
                    .push(format!("{name}: no setting that is known is in it"));
                return Ok(());
            }
            let capture = match is_stdin(path) {
                true => piped(&bytes),
                false => evidence::one(path),
            };
            let commands = text_in(&bytes).filter(|text| read::as_commands(text).is_some());
            let is_alone = capture.as_ref().map_or(true, are_commands);
            return match (capture, commands) {
                (_, Some(text)) if is_alone => {
                    self.text(path, text, Form::Script, machine);
                    Ok(())
                }
                (capture, _) => self.evidence(&capture?, path, at),
            };
        };
        self.text(path, text, form, machine);
        // A link that is named is the user's own.
        if let Ok(whole) = path.canonicalize()
            && let Some(name) = whole.file_name()
        {
            let folder = Folder::at(output::folder_of(&whole))?;
            self.place(path.display().to_string(), folder, Some(name.to_owned()));
        }
        Ok(())
    }

    /// A text that stands for itself.
    fn text(&mut self, path: &Path, text: String, form: Form, machine: &std::rc::Rc<Machine>) {
        let text = Text::new(path.display().to_string(), text, form);
        self.push(What::Texts(vec![text]), machine);
    }

    fn push(&mut self, what: What, machine: &std::rc::Rc<Machine>) {
        let machine = std::rc::Rc::clone(machine);
        self.targets.push(Target { what, machine });
    }

    fn folder(&mut self, path: &Path, machine: &std::rc::Rc<Machine>) -> anyhow::Result<()> {
        if self.machine.is_none() && own_host::is_its_root(path) {
            return self.live();
        }
        let folder = Folder::at(path)?;
        let prefix = path.join("").display().to_string();
        self.place(prefix.clone(), folder.clone(), None);
        let root = Root::from(folder.clone());
        let tree = tree(&root);
        if !tree::is_machine(&tree) {
            return self.walk(&folder, path, machine);
        }
        let has_kernel_files = root.is_directory("proc") || root.is_directory("sys");
        let own = has_kernel_files
            .then(|| lab::evidence::read_folder(&folder).ok())
            .flatten();
        let frame = own.and_then(|found| found.frames.into_iter().next_back());
        let machine = match frame {
            Some(frame) => std::rc::Rc::new(Machine::of(Snapshot::parse(&frame))),
            None => std::rc::Rc::clone(machine),
        };
        let what = What::Tree {
            tree,
            known: Known::Everything,
            prefix,
        };
        self.push(what, &machine);
        Ok(())
    }

    /// Every file below a folder that holds settings; those of one sysctl.d act together.
    fn walk(
        &mut self,
        top: &Folder,
        path: &Path,
        machine: &std::rc::Rc<Machine>,
    ) -> anyhow::Result<()> {
        let mut folders = vec![PathBuf::new()];
        let mut looked = 0;
        while let Some(below) = folders.pop() {
            let whole = path.join(&below);
            let listed = top.folder(&below).and_then(|folder| {
                let names = folder.names(MOST - looked)?;
                Ok((folder, names))
            });
            let (folder, names) = match listed {
                Ok(listed) => listed,
                Err(error) if below.as_os_str().is_empty() => return Err(error.into()),
                Err(error) => {
                    self.problems.push(format!("{}: {error}", whole.display()));
                    continue;
                }
            };
            looked += names.len();
            let mut texts = Vec::new();
            for (name, kind) in names {
                match kind {
                    Kind::Folder if !is_of_git(&name) => folders.push(below.join(name)),
                    Kind::Regular => texts.extend(self.text_among(&folder, &name, &whole)),
                    _ => {}
                }
            }
            self.group(&whole, texts, machine);
            if looked == MOST {
                let problem = format!("more than {MOST} files: the rest was not looked at");
                self.problems.push(problem);
                break;
            }
        }
        Ok(())
    }

    /// The files of a sysctl.d act together; each other stands for itself.
    fn group(&mut self, folder: &Path, texts: Vec<Text>, machine: &std::rc::Rc<Machine>) {
        let together = folder.file_name().is_some_and(|name| name == "sysctl.d");
        let (sysctl, others): (Vec<Text>, Vec<Text>) = texts
            .into_iter()
            .partition(|text| together && text.form == Form::Sysctl);
        if !sysctl.is_empty() {
            self.push(What::Texts(sysctl), machine);
        }
        for text in others {
            self.push(What::Texts(vec![text]), machine);
        }
    }

    /// A file among others: one that holds settings.
    fn text_among(&mut self, folder: &Folder, name: &OsString, whole: &Path) -> Option<Text> {
        let path = whole.join(name);
        if !is_configuration_file(&path) {
            return None;
        }
        let shown = path.display().to_string();
        let bytes = folder.entry(name).and_then(|entry| entry.read(LONGEST));
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                let most = LONGEST >> 20;
                self.problems.push(match error.kind() {
                    ErrorKind::FileTooLarge => format!("{shown}: longer than {most} MiB"),
                    _ => format!("{shown}: {error}"),
                });
                return None;
            }
        };
        let text = text_in(&bytes)?;
        let form = form(&path, &text)?;
        let taken = self.taken + weight(&bytes);
        if taken > MOST_TEXT {
            let most = MOST_TEXT >> 20;
            self.problems.push(format!(
                "{shown}: not looked at: the others are {most} MiB, a line counted as 64 bytes more"
            ));
            return None;
        }
        self.taken = taken;
        Some(Text::new(shown, text, form))
    }

    fn evidence(&mut self, capture: &Capture, path: &Path, at: Option<&str>) -> anyhow::Result<()> {
        self.frame(frame(capture, at)?, path);
        Ok(())
    }

    fn frame(&mut self, frame: &Frame, path: &Path) {
        let machine = std::rc::Rc::new(Machine::of(Snapshot::parse(frame)));
        let texts = frame
            .files
            .iter()
            .filter(|(path, _)| is_configuration(path) || *path == CMDLINE);
        let texts = texts.map(|(path, text)| (path.clone(), Entry::File(text.clone())));
        let what = What::Tree {
            tree: texts.collect(),
            known: Known::Texts,
            prefix: format!("{}:/", path.display()),
        };
        self.targets.push(Target { what, machine });
        self.machine = Some(path.display().to_string());
    }
}

impl Place {
    /// Where a text lies below the folder, by its path as it is shown.
    fn below(&self, path: &str) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.shown)?;
        match &self.name {
            Some(name) => rest.is_empty().then(|| name.into()),
            None => Some(rest.into()),
        }
    }
}

impl Target {
    fn scope(&self) -> Scope<'_> {
        match &self.what {
            What::Tree {
                tree,
                known,
                prefix,
            } => tree::scope(tree, *known, prefix, &self.machine).with_live_values(),
            What::Texts(texts) => Scope::of(texts.clone(), Extent::Part, &self.machine),
        }
    }
}

/// How a file is read. What `sysctl -a` prints is evidence.
fn form(path: &Path, text: &str) -> Option<Form> {
    let form = read::form(&path.to_string_lossy(), text)?;
    let is_output = text
        .lines()
        .any(|line| line.starts_with("kernel.osrelease"));
    Some(form).filter(|_| !is_output)
}

/// Whether a name is one that files of configuration have.
fn is_configuration_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = ["conf", "rules", "yml", "yaml", "sysctl", "sh", "bash"];
    let name = path.file_name().and_then(|name| name.to_str());
    extension.is_some_and(|extension| known.contains(&extension))
        || name.is_some_and(read::is_image)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// What a file or standard input holds, up to the longest text that is read and a byte.
fn bytes_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reader: &mut dyn Read = match is_stdin(path) {
        true => &mut io::stdin().lock(),
        false => &mut named::open(path)?,
    };
    reader.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What git keeps for itself.
fn is_of_git(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(b".git")
}

fn tree(root: &Root) -> Tree {
    let places: Vec<_> = conf::places::WHERE.iter().chain(PLACES).copied().collect();
    host::configuration::read_places(root, &places)
}

/// The text of these bytes; `None` where they are none, or too many.
fn text_in(bytes: &[u8]) -> Option<String> {
    let long = bytes.len() as u64 > LONGEST || weight(bytes) > MOST_TEXT;
    let text = std::str::from_utf8(bytes).ok().filter(|_| !long);
    text.map(str::to_owned)
}

/// Whether all that was taken is a text whose commands set something.
fn are_commands(capture: &Capture) -> bool {
    let is = |path: &String| path.starts_with(COMMANDS) || path == NOTE;
    let mut paths = capture.frames.iter().flat_map(|frame| frame.files.keys());
    paths.all(is)
}

/// Evidence that came by standard input.
fn piped(bytes: &[u8]) -> anyhow::Result<Capture> {
    let found = lab::evidence::read_stream(bytes, "standard input")?;
    let frames = found.frames;
    Ok(Capture { frames })
}

fn this_machine() -> Machine {
    let frame = host::read::full(&Root::default(), host::facts::since_boot());
    Machine::of(Snapshot::parse(&frame))
}

fn machine_of(of: &Path) -> anyhow::Result<Machine> {
    if of == Path::new("this") {
        return Ok(this_machine());
    }
    let capture = evidence::one(of)?;
    Ok(Machine::of(Snapshot::parse(frame(&capture, None)?)))
}

/// The frame of a name, or the last.
fn frame<'a>(capture: &'a Capture, at: Option<&str>) -> anyhow::Result<&'a Frame> {
    let found = match at {
        Some(name) => capture.labelled(name),
        None => capture.frames.last(),
    };
    found.with_context(|| match at {
        Some(name) => format!("no snapshot is named \"{name}\""),
        None => "it is empty".to_owned(),
    })
}
