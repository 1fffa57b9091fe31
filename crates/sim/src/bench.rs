//! What only exists because somebody measures: the kernel beside it knows nothing of this.

pub(crate) mod held;
pub(crate) mod observer;
pub(crate) mod own;
pub(crate) mod state;
pub(crate) mod tap;
pub(crate) mod turns;
