//! A limit of a control group in one arm more: `--limit GROUP=8G`.

use mm::suggest;
use mm::units::Bytes;
use toml::de::DeTable;

use super::{ArmError, Study};

/// A limit of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The group, by its path, or by the last name of it where only one has that.
    pub group: String,
    /// Its memory, of all kinds.
    pub memory: Bytes,
}

impl Study {
    /// The study whose arm of this name writes `memory.max` of groups before all else. What a group
    /// had beside the page cache, where the recording says it, stays used: it is taken off, and a
    /// note says so.
    ///
    /// # Errors
    /// No such group, or one that has more than its limit beside the page cache.
    pub fn with_limits(
        &self,
        arm: &str,
        limits: &[Limit],
    ) -> Result<(Self, Vec<String>), ArmError> {
        let (mut steps, mut notes) = (String::new(), Vec::new());
        for limit in limits {
            let group = self.group(&limit.group)?;
            let used = self.observed.as_ref().and_then(|it| it.used.get(group));
            let left = left(group, limit.memory, used.copied())?;
            notes.push(note(group, limit.memory, used.copied()));
            let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
            steps += &format!(
                ",\n  {{ set-cgroup = {{ cgroup = {}, file = \"memory.max\", \
                 value = \"{} KiB\" }}, arms = [{}] }}",
                quoted(group),
                left.0 >> 10,
                quoted(arm)
            );
        }
        let failed = |what: String| ArmError {
            what,
            way_out: "add the step set-cgroup to it".to_owned(),
        };
        let place = behind_first_step(&self.text);
        let place = place.ok_or_else(|| failed("its first process has no step".to_owned()))?;
        let mut text = self.text.clone();
        text.insert_str(place, &steps);
        let limited = Self::parse_with(&text, &self.file, self.recorded.clone());
        let study = limited.map_err(|error| failed(error.what))?;
        Ok((study, notes))
    }

    /// The path of the group that is meant.
    fn group(&self, named: &str) -> Result<&str, ArmError> {
        let groups = self.arms.first().map(|arm| &arm.workload.cgroups[..]);
        let paths = groups.unwrap_or_default().iter();
        let paths: Vec<&str> = paths.map(|group| group.path.as_str()).collect();
        let named = named.trim_matches('/');
        let ends = |path: &&&str| path.rsplit('/').next() == Some(named);
        let ending: Vec<&str> = paths.iter().filter(ends).copied().collect();
        match (paths.iter().find(|path| **path == named), &ending[..]) {
            (Some(path), _) | (None, [path]) => Ok(path),
            (None, []) => Err(ArmError {
                what: format!("there is no control group `{named}` in it"),
                way_out: suggest::way_out(named, paths),
            }),
            (None, several) => Err(ArmError {
                what: format!("several control groups are called `{named}`"),
                way_out: format!("give the path of one: {}", suggest::listed(several)),
            }),
        }
    }
}

/// What of a limit is left for the page cache.
fn left(group: &str, memory: Bytes, used: Option<Bytes>) -> Result<Bytes, ArmError> {
    let left = memory.0.saturating_sub(used.unwrap_or_default().0);
    (left >= 4096)
        .then_some(Bytes(left))
        .ok_or_else(|| ArmError {
            what: format!(
                "control group `{group}` had {} beside the page cache",
                used.unwrap_or_default()
            ),
            way_out: "give it more than that".to_owned(),
        })
}

fn note(group: &str, memory: Bytes, used: Option<Bytes>) -> String {
    match used {
        Some(used) => format!(
            "control group {group} with {memory}: {used} that it had beside the page cache are \
             taken off"
        ),
        None => format!(
            "control group {group} with {memory} of page cache: what it had beside is not known"
        ),
    }
}

/// The end of the first step of the first process.
fn behind_first_step(text: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let process = document.get("process")?.get_ref().as_array()?.first()?;
    let steps = process.get_ref().get("steps")?.get_ref().as_array()?;
    Some(steps.first()?.span().end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mm::settings::Settings;
    use scenario::recording::Recorded;

    use super::*;
    use crate::recording::Recording;

    const TEXT: &str = r#"
name = "web"
title = "A load"
question = "What?"
[recorded]
kernel = "6.12"
for = "1 s"
by = "filemap_read"
read-in = "0 KiB"
[recorded.used]
"a/db" = "1 GiB"
[machine]
memory = "4 GiB"
[[arm]]
name = "as recorded"
[[cgroup]]
path = "a"
[[cgroup]]
path = "a/db"
[[cgroup]]
path = "b"
[[cgroup]]
path = "b/db"
[[cgroup]]
path = "b/web"
[[process]]
name = "all"
steps = [
  { apply = "arm" },
  { label = "s", sleep = "1 s" },
]
[[measure]]
name = "m"
step = "s"
take = "duration"
"#;

    fn limited(group: &str, memory: u64) -> Result<(Study, Vec<String>), String> {
        let recording = Recording {
            recorded: Arc::new(Recorded::default()),
            ..Recording::default()
        };
        let study = Study::parse_with(TEXT, "web.rec", recording).expect("a study");
        let study = study
            .with_arm("yours", &Settings::default())
            .expect("an arm");
        let limit = Limit {
            group: group.to_owned(),
            memory: Bytes(memory),
        };
        let limited = study.with_limits("yours", &[limit]);
        limited.map_err(|error| error.to_string())
    }

    fn written(study: &Study, arm: &str) -> Vec<(String, String)> {
        use scenario::workload::Action;
        let steps = &study.arm(arm).expect("an arm").workload.processes[0].steps;
        let written = steps.iter().filter_map(|step| match &step.action {
            Action::SetCgroup { cgroup, file } => Some((cgroup.clone(), file.1.clone())),
            _ => None,
        });
        written.collect()
    }

    #[test]
    fn only_the_arm_of_ones_own_has_the_limit() {
        let (study, notes) = limited("web", 1 << 30).expect("a study");
        let expected = [("b/web".to_owned(), (1_u64 << 30).to_string())];
        assert_eq!(written(&study, "yours"), expected);
        assert_eq!(written(&study, "as recorded"), []);
        assert!(notes[0].contains("is not known"), "{notes:?}");
    }

    #[test]
    fn what_a_group_had_beside_the_page_cache_stays_used() {
        let (study, notes) = limited("/a/db", 3 << 30).expect("a study");
        assert_eq!(written(&study, "yours")[0].1, (2_u64 << 30).to_string());
        assert!(notes[0].contains("1 GiB that it had"), "{notes:?}");
        let error = limited("a/db", 1 << 30).expect_err("nothing is left");
        assert!(error.contains("had 1 GiB beside the page cache"), "{error}");
    }

    #[test]
    fn a_group_that_is_not_there_or_not_clear_is_refused_with_those_there_are() {
        let error = limited("mail.service", 1 << 30).expect_err("it is not there");
        assert!(
            error.ends_with("there is `a`, `a/db`, `b`, `b/db`, `b/web`"),
            "{error}"
        );
        let error = limited("db", 1 << 30).expect_err("there are two");
        assert!(
            error.ends_with("give the path of one: `a/db`, `b/db`"),
            "{error}"
        );
    }
}
