//! Who writes tunables while a recording is made: it goes by what was set when it began.

use std::collections::BTreeMap;

use host::Root;
use host::sysctls::Sysctls;
use recorder::Set;
use study::Written;

/// The most pairs of a tunable and a program; writes of others are not told apart.
const MOST: usize = 64;
const OTHERS: &str = "others";

/// How often which program wrote which tunable.
pub(super) struct Writers {
    sysctls: Sysctls,
    all: BTreeMap<(String, String), u64>,
}

impl Writers {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            sysctls: Sysctls::open(root),
            all: BTreeMap::new(),
        }
    }

    /// Notes a write; of a file that is no tunable of memory nothing.
    pub(super) fn wrote(&mut self, set: &Set) {
        let Some(tunable) = self.sysctls.name(set.inode) else {
            return;
        };
        let program = set.name.split(|byte| *byte == 0).next().unwrap_or_default();
        let program = String::from_utf8_lossy(program).into_owned();
        let mut key = (tunable.to_owned(), program);
        if self.all.len() >= MOST && !self.all.contains_key(&key) {
            key.1 = OTHERS.to_owned();
        }
        *self.all.entry(key).or_default() += 1;
    }

    pub(super) fn all(&self) -> Vec<Written> {
        let all = self.all.iter();
        let all = all.map(|((tunable, program), &times)| Written {
            tunable: tunable.clone(),
            program: program.clone(),
            times,
        });
        all.collect()
    }
}
