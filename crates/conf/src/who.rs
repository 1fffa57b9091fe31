//! Who sets a tunable at the next boot: the winner, the runner-up, every other mention and why it
//! does not count, and where another loader would end differently.

mod mentions;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::boot::{Boot, Effect, Stages};
use crate::live::Live;
use crate::origin::Origin;
use crate::stage;
use crate::sysctl_d::{self, Loader, Which};
use crate::tree::{Entry, Found, Tree};
use mentions::{mentions, standing};

pub use mentions::{Mention, Role};

/// What a machine's files say about one tunable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The tunable's file, as a capture writes it.
    pub path: String,
    /// The loader of `sysctl.d` here.
    pub which: Which,
    /// Every line that names the tunable: first those that write it, in order of boot, then those
    /// that lead to no write, then those in files that are not read.
    pub mentions: Vec<Mention>,
    /// The write of the tunable's partner that stands, and so makes this one 0.
    pub partner: Option<Mention>,
    /// What the kernel does to it by itself while the machine runs.
    pub at_run_time: Option<&'static str>,
    /// The loaders that may also run here, and with which the boot would end with something else.
    pub elsewhere: Vec<Elsewhere>,
    /// The line that would win without the winner's.
    second: Option<Mention>,
}

/// How a boot with another loader would end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The loader.
    pub loader: Loader,
    /// The value that would stand and the line that sets it; none where no file would.
    pub stands: Option<(String, Origin)>,
}

/// The next boot of a machine, of which several tunables may be asked.
#[derive(Clone, Debug)]
pub struct Next<'a> {
    tree: &'a Tree,
    which: Which,
    stages: Stages,
    /// With this machine's loader.
    here: Boot,
    /// With each of the others that may run here.
    others: Vec<Boot>,
}

/// Who sets the tunable with this file, such as `proc/sys/vm/swappiness`. Patterns expand to the
/// paths of `live` and of the catalogue; its values do not count. Whoever asks for several tunables
/// asks [`Next`].
#[must_use]
pub fn who(tree: &Tree, path: &str, live: &Live) -> Answer {
    let mut live = live.clone();
    live.know(path);
    Next::of(tree, &live).who(path)
}

impl<'a> Next<'a> {
    /// The next boot. Patterns expand to the paths of `live` and of the catalogue.
    #[must_use]
    pub fn of(tree: &'a Tree, live: &Live) -> Self {
        let which = sysctl_d::which(tree);
        let stages = Stages::of(tree, live);
        let others = which.loader.others().iter();
        Self {
            tree,
            here: stages.boot(tree, which.loader),
            others: others.map(|loader| stages.boot(tree, *loader)).collect(),
            stages,
            which,
        }
    }

    /// The whole boot with this machine's loader.
    #[must_use]
    pub fn boot(&self) -> &Boot {
        &self.here
    }

    /// Who sets a tunable.
    #[must_use]
    pub fn who(&self, path: &str) -> Answer {
        let partner = self.here.switched_off_by(path);
        let partner = partner.and_then(|step| standing(&self.here, &step.write.path));
        let end_here = end(&self.here, path);
        let others = self.which.loader.others().iter().zip(&self.others);
        let elsewhere = others.map(|(loader, boot)| Elsewhere {
            loader: *loader,
            stands: end(boot, path),
        });
        let differs = |other: &Elsewhere| !same(other.stands.as_ref(), end_here.as_ref());
        Answer {
            path: path.to_owned(),
            mentions: mentions(self.tree, path, &self.here, self.which.loader),
            partner,
            at_run_time: stage::at_run_time(path),
            elsewhere: elsewhere.filter(differs).collect(),
            which: self.which.clone(),
            second: self.second(path),
        }
    }

    /// What would stand if the winner's line were not there.
    fn second(&self, path: &str) -> Option<Mention> {
        let winner = standing(&self.here, path)?;
        let mut tree = self.tree.clone();
        if let Found::File { path: real, text } = self.tree.find(&winner.origin.path) {
            let text = without_line(text, &winner.origin);
            tree.put(&real, Entry::File(text));
        }
        let again = self.stages.with(winner.stage, &tree, self.which.loader);
        standing(&again, path)
    }
}

/// A text with one line left empty. systemd's ends of lines are those of every other reader too.
fn without_line(text: &str, origin: &Origin) -> String {
    let lines = sysctl_d::lines(text, Loader::Systemd);
    let line = lines.iter().find(|line| line.number == origin.line);
    let start = line.map(|line| line.text.as_ptr().addr() - text.as_ptr().addr());
    let Some((start, line)) = start.zip(line) else {
        return text.to_owned();
    };
    [&text[..start], &text[start + line.text.len()..]].concat()
}

impl Answer {
    /// The line whose write stands at the end of the boot. None where no file sets the tunable, or
    /// its partner's write came later.
    #[must_use]
    pub fn winner(&self) -> Option<&Mention> {
        let mut mentions = self.mentions.iter().rev();
        mentions.find(|mention| mention.role == Role::Written(Effect::Stands))
    }

    /// The line that would win if the winner's were not there.
    #[must_use]
    pub fn runner_up(&self) -> Option<&Mention> {
        self.second.as_ref()
    }
}

fn same(a: Option<&(String, Origin)>, b: Option<&(String, Origin)>) -> bool {
    a.map(|(value, _)| value) == b.map(|(value, _)| value)
}

fn end(boot: &Boot, path: &str) -> Option<(String, Origin)> {
    let step = boot.standing(path)?;
    Some((step.write.value.clone(), step.write.origin.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;
    use crate::load::Why;
    use crate::stage::Stage;
    use alloc::string::ToString;

    const SWAPPINESS: &str = "proc/sys/vm/swappiness";

    fn shown(mention: Option<&Mention>) -> Option<String> {
        let mention = mention?;
        let value = mention.value.as_deref().unwrap_or("-");
        Some(alloc::format!("{value} {}", mention.origin))
    }

    #[test]
    fn the_winner_and_the_runner_up_are_lines_of_files() {
        let tree = tree_of(&[
            ("etc/sysctl.d/10-a.conf", "# a\nvm.swappiness = 10\n"),
            ("usr/lib/sysctl.d/50-b.conf", "vm.swappiness = 20\n"),
            ("usr/lib/sysctl.d/10-a.conf", "vm.swappiness = 30\n"),
            ("etc/sysctl.conf", "vm.swap* = 40\n"),
            ("etc/init.d/procps", ""),
        ]);
        let answer = who(&tree, SWAPPINESS, &Live::default());
        assert_eq!(answer.which.loader, Loader::Procps);
        let winner = shown(answer.winner());
        assert_eq!(winner.as_deref(), Some("20 /usr/lib/sysctl.d/50-b.conf:1"));
        let second = shown(answer.runner_up());
        assert_eq!(second.as_deref(), Some("10 /etc/sysctl.d/10-a.conf:2"));
        let rest: Vec<String> = answer.mentions[2..].iter().map(said).collect();
        assert_eq!(
            rest,
            [
                "/etc/sysctl.conf:1 the pattern passes over what \
                 /usr/lib/sysctl.d/50-b.conf:1 names",
                "/usr/lib/sysctl.d/10-a.conf:1 hidden by /etc/sysctl.d/10-a.conf",
            ]
        );
        assert!(answer.elsewhere.is_empty());
    }

    fn said(mention: &Mention) -> String {
        let origin = mention.origin.to_string();
        match &mention.role {
            Role::Written(effect) => alloc::format!("{origin} {effect:?}"),
            Role::Lost(why) => alloc::format!("{origin} {why}"),
            Role::Unread(fate) => alloc::format!("{origin} {fate}"),
        }
    }

    #[test]
    fn under_systemd_the_runner_up_is_a_line_that_is_never_written() {
        let mut tree = tree_of(&[
            ("etc/sysctl.d/10-a.conf", "vm.swappiness = 10\n"),
            (
                "etc/sysctl.d/20-b.conf",
                "-vm.swappiness\nvm.swappiness = 20\r\n",
            ),
            (
                "etc/sysctl.d/30-c.conf",
                "vm.swap* = 5\nvm.swappiness = 30 # x\n",
            ),
        ]);
        let next = |tree: &Tree| who(tree, SWAPPINESS, &Live::default());
        let second = shown(next(&tree).runner_up());
        assert_eq!(second.as_deref(), Some("20 /etc/sysctl.d/20-b.conf:2"));
        tree.remove("etc/sysctl.d/20-b.conf");
        tree.remove("etc/sysctl.d/10-a.conf");
        let answer = next(&tree);
        let second = shown(answer.runner_up());
        assert_eq!(second.as_deref(), Some("5 /etc/sysctl.d/30-c.conf:1"));
        let exclusion = Entry::File("-vm.swappiness\n".into());
        tree.put("etc/sysctl.d/30-c.conf", exclusion);
        let answer = next(&tree);
        assert_eq!(answer.mentions[0].role, Role::Lost(Why::Excludes));
        assert!(answer.winner().is_none() && answer.runner_up().is_none());
    }

    #[test]
    fn hidden_files_of_tmpfiles_are_named_too() {
        let path = "sys/kernel/mm/ksm/run";
        let tree = tree_of(&[
            (
                "etc/tmpfiles.d/ksm.conf",
                "w /sys/kernel/mm/ksm/run - - - - 0\n",
            ),
            (
                "usr/lib/tmpfiles.d/ksm.conf",
                "# on\nw /sys/kernel/mm/k*/run - - - - 1\n",
            ),
        ]);
        let answer = who(&tree, path, &Live::default());
        assert_eq!(answer.mentions.len(), 2);
        let hidden = said(&answer.mentions[1]);
        assert_eq!(
            hidden,
            "/usr/lib/tmpfiles.d/ksm.conf:2 hidden by /etc/tmpfiles.d/ksm.conf"
        );
    }

    #[test]
    fn another_loader_that_reads_sysctl_conf_ends_elsewhere() {
        let tree = tree_of(&[
            ("etc/sysctl.d/10-a.conf", "vm.swappiness = 10\n"),
            ("etc/sysctl.conf", "vm.swappiness = 40\n"),
        ]);
        let answer = who(&tree, SWAPPINESS, &Live::default());
        assert_eq!(answer.which.because, None);
        let winner = shown(answer.winner());
        assert_eq!(winner.as_deref(), Some("10 /etc/sysctl.d/10-a.conf:1"));
        let unread = said(&answer.mentions[1]);
        assert!(
            unread.starts_with("/etc/sysctl.conf:1 not read"),
            "{unread}"
        );
        let elsewhere = &answer.elsewhere[0];
        assert_eq!(elsewhere.loader, Loader::Procps);
        let stands = elsewhere.stands.as_ref().expect("a value");
        assert_eq!(stands.0, "40");
    }

    #[test]
    fn a_partner_that_is_written_later_is_named() {
        let text = "vm.dirty_ratio = 20\nvm.dirty_bytes = 1048576\n";
        let tree = tree_of(&[("etc/sysctl.d/a.conf", text)]);
        let answer = who(&tree, "proc/sys/vm/dirty_ratio", &Live::default());
        assert_eq!(answer.winner(), None);
        let partner = shown(answer.partner.as_ref());
        assert_eq!(partner.as_deref(), Some("1048576 /etc/sysctl.d/a.conf:2"));
    }

    #[test]
    fn what_comes_later_than_sysctl_d_stands() {
        let rule = "KERNEL==\"zram0\", SYSCTL{vm.swappiness}=\"150\"\n";
        let mut tree = tree_of(&[
            ("proc/cmdline", "sysctl.vm.swappiness=5"),
            ("etc/sysctl.d/a.conf", "vm.swappiness = 10\n"),
            ("usr/lib/udev/rules.d/30-zram.rules", rule),
        ]);
        let answer = who(&tree, SWAPPINESS, &Live::default());
        let winner = answer.winner().expect("a winner");
        assert_eq!((winner.stage, winner.origin.line), (Stage::Udev, 1));
        assert_eq!(answer.runner_up().map(|it| it.stage), Some(Stage::Sysctl));
        assert_eq!(answer.mentions[0].stage, Stage::CommandLine);
        let race = Entry::File("w /proc/sys/vm/swappiness - - - - 1\n".into());
        tree.put("etc/tmpfiles.d/a.conf", race);
        let answer = who(&tree, SWAPPINESS, &Live::default());
        let raced = Role::Written(Effect::Races(Origin::new("etc/tmpfiles.d/a.conf", 1)));
        assert_eq!(answer.mentions[1].role, raced);
    }

    #[test]
    fn nobody_sets_what_no_file_names() {
        let answer = who(&Tree::default(), SWAPPINESS, &Live::default());
        assert!(answer.mentions.is_empty() && answer.winner().is_none());
        assert!(answer.elsewhere.is_empty() && answer.runner_up().is_none());
    }
}
