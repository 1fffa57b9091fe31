//! What an arm's dirty limits come to where they are not what they say.

use mm::settings::Settings;

use super::Study;
use super::arm::Arm;

/// A limit as it is set: a share of the dirtyable memory in percent, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Percent(u64),
    Bytes(u64),
}

/// The tunables of a limit, and what holds where nobody sets one, in percent.
struct Pair {
    ratio: &'static str,
    bytes: &'static str,
    default: u64,
}

const BACKGROUND: Pair = Pair {
    ratio: "vm.dirty_background_ratio",
    bytes: "vm.dirty_background_bytes",
    default: 10,
};
const HARD: Pair = Pair {
    ratio: "vm.dirty_ratio",
    bytes: "vm.dirty_bytes",
    default: 20,
};

impl Study {
    /// Arms whose background limit is not below the hard one, and what the kernel, which takes
    /// that, uses instead: half of the hard limit. A share against bytes depends on the machine's
    /// memory and is not told.
    #[must_use]
    pub fn limits(&self) -> Vec<(String, String)> {
        let of_arm = |arm: &Arm| Some((arm.name.clone(), halved(arm)?));
        self.arms.iter().filter_map(of_arm).collect()
    }
}

fn halved(arm: &Arm) -> Option<String> {
    let (background, hard) = (BACKGROUND.of(arm), HARD.of(arm));
    let half = match (background, hard) {
        (Limit::Percent(background), Limit::Percent(hard)) if background >= hard => {
            let point = if hard % 2 == 1 { ".5" } else { "" };
            format!("{}{point} %", hard / 2)
        }
        (Limit::Bytes(background), Limit::Bytes(hard)) if background >= hard => {
            format!("{} bytes", hard / 2)
        }
        _ => return None,
    };
    let (background, hard) = (BACKGROUND.shown(background), HARD.shown(hard));
    Some(format!(
        "{background} is not below {hard}: the kernel uses half of that, {half}"
    ))
}

impl Pair {
    /// What the arm sets, else what the study's base sets, else the kernel's default.
    fn of(&self, arm: &Arm) -> Limit {
        let set = self
            .set_by(&arm.settings)
            .or_else(|| self.set_by(&arm.base));
        set.unwrap_or(Limit::Percent(self.default))
    }

    fn set_by(&self, settings: &Settings) -> Option<Limit> {
        let number = |name| settings.get(name)?.parse().ok();
        let bytes = number(self.bytes).map(Limit::Bytes);
        bytes.or_else(|| number(self.ratio).map(Limit::Percent))
    }

    fn shown(&self, limit: Limit) -> String {
        match limit {
            Limit::Percent(percent) => format!("{} = {percent}", self.ratio),
            Limit::Bytes(bytes) => format!("{} = {bytes}", self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Study;

    fn said(base: &str, settings: &str) -> Vec<String> {
        let text = format!(
            "name = \"m\"\ntitle = \"m\"\nquestion = \"m\"\nbase = {{ {base} }}\n\
             [machine]\nmemory = \"1 GiB\"\n[[arm]]\nname = \"a\"\nsettings = {{ {settings} }}\n\
             [[process]]\nname = \"p\"\nsteps = [{{ sleep = \"1 s\" }}]\n"
        );
        let limits = Study::parse(&text, "test").unwrap().limits();
        limits.into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn a_background_limit_that_is_not_below_the_hard_one_is_said_to_be_half_of_it() {
        let both = "\"vm.dirty_ratio\" = 90, \"vm.dirty_background_ratio\" = 90";
        let line = "vm.dirty_background_ratio = 90 is not below vm.dirty_ratio = 90: the kernel \
                    uses half of that, 45 %";
        assert_eq!(said("", both), [line]);
        let bytes = "\"vm.dirty_bytes\" = 8192, \"vm.dirty_background_bytes\" = 9000";
        assert!(said("", bytes)[0].ends_with("half of that, 4096 bytes"));
        // The hard limit's default is 20 %, the background limit's 10 %.
        let alone = said("", "\"vm.dirty_background_ratio\" = 30");
        assert!(alone[0].ends_with("vm.dirty_ratio = 20: the kernel uses half of that, 10 %"));
        let odd = said("\"vm.dirty_ratio\" = 5", "");
        assert!(odd[0].ends_with("half of that, 2.5 %"), "{odd:?}");
    }

    #[test]
    fn nothing_is_said_of_limits_that_are_what_they_say() {
        assert!(said("", "").is_empty());
        assert!(
            said(
                "",
                "\"vm.dirty_ratio\" = 90, \"vm.dirty_background_ratio\" = 80"
            )
            .is_empty()
        );
        // An arm's bytes switch the base's ratio off, and only the machine tells which is more.
        let mixed = said("\"vm.dirty_ratio\" = 5", "\"vm.dirty_bytes\" = 1048576");
        assert!(mixed.is_empty(), "{mixed:?}");
    }
}
