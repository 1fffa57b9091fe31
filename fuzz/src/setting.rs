//! Settings against the catalogue.

use crate::take::take;
use mm::catalogue;
use mm::settings::Setting;

pub(crate) fn target(bytes: &[u8]) {
    let Some(data) = take::<(&str, &str)>(bytes) else {
        return;
    };
    let (tunable, value) = (data.0.to_owned(), data.1.to_owned());
    let setting = Setting { tunable, value };
    match catalogue::check(&setting) {
        Ok(named) => assert!(named.tunable.means_same(&setting.value, &setting.value)),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}
