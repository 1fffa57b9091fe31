//! The table, the pages and the fixtures belong together.
