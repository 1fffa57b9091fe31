//! Settings against the catalogue.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mm::catalogue;
use mm::settings::Setting;

fuzz_target!(|data: (&str, &str)| {
    let (tunable, value) = (data.0.to_owned(), data.1.to_owned());
    let setting = Setting { tunable, value };
    match catalogue::check(&setting) {
        Ok(named) => assert!(named.tunable.means_same(&setting.value, &setting.value)),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
