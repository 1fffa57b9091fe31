//! Bytes as something else.

use libfuzzer_sys::arbitrary::{Arbitrary, Unstructured};

/// The bytes as a value of this type, where they can be one.
pub(crate) fn take<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}
