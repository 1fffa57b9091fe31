//! What every verb prints with `--json` is what docs/schemas says, field by field.

mod guard;
mod output;
mod recording;
mod schema;
