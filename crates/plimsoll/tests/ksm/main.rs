//! `plimsoll ksm`: the verb from outside, and against this machine's own kernel.

mod machine;
mod merging;
mod tenants;
mod verb;
