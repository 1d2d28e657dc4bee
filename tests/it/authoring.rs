//! The author's side: `plugin new`, `build`, `test` and `dev`, from nothing to an answer of the installed plugin.

mod cases;
mod development;
mod projects;
pub mod workshop;
