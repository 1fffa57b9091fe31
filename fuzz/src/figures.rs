//! The guard's figures, as a collector has them.

use guard::Figures;

use crate::take::take;

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    let written = Figures::parse(text).to_string();
    assert_eq!(Figures::parse(&written).to_string(), written);
}
