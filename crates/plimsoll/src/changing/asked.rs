//! What is asked for: settings on the command line, in a file, or those of a study's arm.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use conf::sysctl_d::{self, Loader, Says};
use conf::{Origin, Tree, tuned};
use host::Root;
use mm::catalogue;
use mm::quantity;
use mm::settings::Setting;
use mm::units::PageSize;

/// The longest file of settings, in bytes.
const LONGEST: u64 = 1 << 20;

/// Roots of sysctl keys that set no memory tunable.
const OTHERS: [&str; 9] = [
    "abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user",
];

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The settings, in the order in which they are written; a tunable that is named twice has its
    /// last value.
    pub(crate) settings: Vec<Setting>,
    /// What was left alone, and which numbers the kernel reads otherwise than people do.
    pub(crate) notes: Vec<String>,
    /// Bytes in a page of the machine that they are for.
    page: PageSize,
}

/// The machine that is asked about, as far as it tells what words mean.
#[derive(Clone, Copy)]
pub(crate) struct Where<'a> {
    /// A setting under the one name that its value has there.
    pub(crate) one_name: &'a dyn Fn(Setting) -> Setting,
    /// The files that set tunables there at boot.
    pub(crate) configuration: &'a dyn Fn() -> Tree,
}

/// The settings of the words of the command line, as this machine's kernel reads them with pages of
/// this size.
///
/// # Errors
/// As for [`read_for`].
pub(crate) fn read(words: &[String], page: PageSize) -> anyhow::Result<Asked> {
    let root = Root::default();
    let here = Where {
        one_name: &|setting| host::one_name::of(&root, setting),
        configuration: &|| host::configuration::read(&root),
    };
    read_for(words, page, here)
}

/// The same for a machine of which something else tells the names.
///
/// # Errors
/// The first word or line that means nothing, in one line.
pub(crate) fn read_for(
    words: &[String],
    page: PageSize,
    place: Where<'_>,
) -> anyhow::Result<Asked> {
    let mut asked = Asked {
        page,
        ..Asked::default()
    };
    for word in words {
        asked.add_word(word, place)?;
    }
    if asked.settings.is_empty() {
        let left = asked.notes.join("; ");
        let left = if left.is_empty() {
            left
        } else {
            format!(" ({left})")
        };
        bail!(
            "nothing to set{left}: write vm.swappiness=10, a sysctl.d file, a profile of TuneD or \
             STUDY:ARM"
        );
    }
    Ok(asked)
}

impl Asked {
    fn add_word(&mut self, word: &str, place: Where<'_>) -> anyhow::Result<()> {
        // A file that somebody called like a setting or an arm is none of them.
        if let Some((key, value)) = word.split_once('=') {
            return self.add(key.trim(), value.trim(), place);
        }
        let is_path = word.contains('/');
        if let Some((study, arm)) = word.split_once(':').filter(|_| !is_path) {
            for setting in of_arm(study, arm)? {
                self.add(&setting.tunable, &setting.value, place)?;
            }
            return Ok(());
        }
        match is_path || Path::new(word).exists() {
            true => self.add_file(word, place),
            false => bail!("{word}: neither KEY=VALUE, nor a file, nor STUDY:ARM"),
        }
    }

    /// The lines of a `sysctl.d` file; keys of `/sys` may stand there too.
    fn add_file(&mut self, path: &str, place: Where<'_>) -> anyhow::Result<()> {
        let text = files::named::text(Path::new(path), LONGEST);
        let text = text.with_context(|| format!("{path}: cannot be read"))?;
        if Path::new(path)
            .file_name()
            .is_some_and(|name| name == "tuned.conf")
        {
            return self.add_profile(path, &text, place);
        }
        for line in sysctl_d::lines(&text, Loader::Systemd) {
            let at = || format!("{path}: line {}", line.number);
            match line.says {
                Says::Sets { key, .. } | Says::Excludes(key) if is_of_others(key) => {
                    let note = format!("{}: {key} is left alone: it sets no memory", at());
                    self.notes.push(note);
                }
                Says::Sets { key, value, .. } => self.add(key, value, place).with_context(at)?,
                Says::Excludes(key) => {
                    bail!(
                        "{}: -{key} leaves a key alone, which is nothing to set",
                        at()
                    )
                }
                Says::Nothing | Says::Comment(_) => {}
                Says::Nonsense(_) => bail!("{}: write it as vm.swappiness = 10", at()),
            }
        }
        Ok(())
    }

    /// What a profile of TuneD wishes, with those that it includes.
    fn add_profile(&mut self, path: &str, text: &str, place: Where<'_>) -> anyhow::Result<()> {
        let wishes = tuned::wishes(&(place.configuration)(), path, text);
        let at = |origin: &Origin| match origin.path == path {
            true => format!("{path}: line {}", origin.line),
            false => origin.to_string(),
        };
        for lost in &wishes.lost {
            let note = format!("{}: {}: {}", at(&lost.origin), lost.path, lost.why);
            self.notes.push(note);
        }
        for write in &wishes.writes {
            let (file, at) = (format!("/{}", write.path), at(&write.origin));
            if catalogue::resolve(&file).is_err() {
                let note = format!("{at}: {file} is left alone: it sets no memory");
                self.notes.push(note);
                continue;
            }
            let added = self.add(&file, &write.value, place);
            added.with_context(|| at)?;
        }
        Ok(())
    }

    fn add(&mut self, key: &str, text: &str, place: Where<'_>) -> anyhow::Result<()> {
        let setting = catalogue::typed_of(key, text, self.page)?;
        let named = catalogue::check(&setting)?;
        if named.tunable.is_number() && quantity::size(text).is_err() && text != setting.value {
            self.notes.push(format!(
                "{key} = {text}: the kernel reads {}",
                setting.value
            ));
        }
        let known = (place.one_name)(setting.clone());
        if known.tunable != setting.tunable {
            let note = format!("{} is {} here", setting.tunable, known.tunable);
            self.notes.push(note);
        }
        let setting = known;
        self.settings
            .retain(|known| known.tunable != setting.tunable);
        self.settings.push(setting);
        Ok(())
    }
}

fn is_of_others(key: &str) -> bool {
    let key = key.trim_start_matches('/').trim_start_matches("proc/sys/");
    let root = key.split(['.', '/']).next().unwrap_or_default();
    OTHERS.contains(&root)
}

fn of_arm(study: &str, arm: &str) -> anyhow::Result<Vec<Setting>> {
    let study = lab::find::find(study)?;
    let names = || {
        let names = study.arms.iter().map(|arm| arm.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let found = study.arms.iter().find(|it| it.name == arm);
    let found = found.ok_or_else(|| anyhow!("{}: no arm {arm}; it has {}", study.name, names()))?;
    if found.settings.is_empty() {
        bail!("{}:{arm} sets no tunable of the machine", study.name);
    }
    Ok(found.settings.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let asked = read(&words, PageSize::FOUR_KIB).map_err(|error| format!("{error:#}"))?;
        Ok(asked.settings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_last_value_of_a_tunable_counts() {
        let asked = asked(&["swappiness=10", "vm.dirty_bytes=64M", "vm/swappiness=20"]);
        assert_eq!(
            asked.expect("settings"),
            ["vm.dirty_bytes = 67108864", "vm.swappiness = 20"]
        );
    }

    #[test]
    fn a_studys_arm_is_what_it_sets() {
        let settings = asked(&["memory-hogs:swappiness 30"]);
        assert_eq!(settings.expect("an arm"), ["vm.swappiness = 30"]);
        let error = asked(&["memory-hogs:nothing"]).unwrap_err();
        assert!(error.contains("no arm nothing; it has"), "{error}");
    }

    #[test]
    fn a_file_that_is_called_like_a_setting_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| {
            folder
                .path()
                .join(name)
                .to_str()
                .expect("a path")
                .to_owned()
        };
        for name in ["vm.swappiness=10", "memory-hogs:swappiness 30"] {
            std::fs::write(path(name), "vm.panic_on_oom = 2\n").expect("a file");
        }
        let error = asked(&[&path("vm.swappiness=10")]).unwrap_err();
        assert!(!error.contains("panic_on_oom"), "{error}");
        let arm = asked(&[&path("memory-hogs:swappiness 30")]);
        assert_eq!(arm.expect("a file"), ["vm.panic_on_oom = 2"]);
    }

    #[test]
    fn what_sets_no_memory_is_left_alone_and_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = "net.core.somaxconn = 9\nvm.swappiness = 010\n-kernel/panic = 1\n-net.ipv4.*\n";
        std::fs::write(&file, text).expect("a file");
        let path = file.path().to_str().expect("a path").to_owned();
        let asked = read(std::slice::from_ref(&path), PageSize::FOUR_KIB).expect("settings");
        assert_eq!(asked.settings[0].to_string(), "vm.swappiness = 8");
        let expected = [
            format!("{path}: line 1: net.core.somaxconn is left alone: it sets no memory"),
            "vm.swappiness = 010: the kernel reads 8".to_owned(),
            format!("{path}: line 3: kernel/panic is left alone: it sets no memory"),
            format!("{path}: line 4: net.ipv4.* is left alone: it sets no memory"),
        ];
        assert_eq!(asked.notes, expected);
        std::fs::write(&file, "net.core.somaxconn = 9\n").expect("a file");
        let error = read(&[path], PageSize::FOUR_KIB)
            .expect_err("nothing is left")
            .to_string();
        assert!(
            error.starts_with("nothing to set (") && error.contains("somaxconn"),
            "{error}"
        );
    }

    #[test]
    fn a_profile_of_tuned_is_what_it_wishes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tuned.conf");
        let text = "[main]\nsummary=x\n[vm]\ntransparent_hugepages=never\n[sysctl]\n\
                    vm.swappiness = 10\nnet.core.somaxconn=>2048\n[sysfs]\n/sys/block/x/y=1\n";
        std::fs::write(&path, text).expect("a file");
        let path = path.to_str().expect("a path").to_owned();
        let asked = read(std::slice::from_ref(&path), PageSize::FOUR_KIB).expect("settings");
        let settings: Vec<String> = asked.settings.iter().map(ToString::to_string).collect();
        assert_eq!(settings, ["thp.enabled = never", "vm.swappiness = 10"]);
        let noted = |what: &str| asked.notes.iter().any(|note| note.contains(what));
        assert!(noted("/sys/block/x/y is left alone"), "{:?}", asked.notes);
        assert!(noted("depends on the value before"), "{:?}", asked.notes);
        std::fs::write(&path, "[sysctl]\nvm.swappiness=many\n").expect("a file");
        let error = read(&[path], PageSize::FOUR_KIB).expect_err("no number");
        assert!(
            format!("{error:#}").contains("tuned.conf: line 2: "),
            "{error:#}"
        );
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "# mine\nvm.swappiness = 10\nvm.swapines = 3\n").expect("a file");
        let path = file.path().to_str().expect("a path");
        let error = asked(&[path]).unwrap_err();
        assert!(error.contains("line 3: vm.swapines"), "{error}");
        for (word, what) in [
            ("vm.swappiness", "neither KEY=VALUE"),
            ("vm.swappiness=many", "expected an integer"),
            ("vm.drop_caches=3x", "vm.drop_caches"),
        ] {
            let error = asked(&[word]).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
