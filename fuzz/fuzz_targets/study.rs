//! The study reader.
#![no_main]

use lab::study::Study;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(study) = Study::parse(text, "study.toml") {
        for arm in &study.arms {
            assert!(study.scenario(&arm.name, 1).is_ok());
        }
    }
});
