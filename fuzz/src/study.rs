//! The study reader.

use crate::take::take;
use study::Study;

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    if let Ok(study) = Study::parse(text, "study.toml") {
        for arm in &study.arms {
            assert!(study.scenario(&arm.name, 1).is_ok());
        }
    }
}
