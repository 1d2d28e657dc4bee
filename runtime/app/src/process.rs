//! Starts other programs for the rooms that need them, and leaves none of them behind.
//!
//! A program runs in a process group and session of its own, without a terminal, with a minimal environment and what it
//! was given beside that. Whatever it starts ends with it: when it has ended, when its [`Running`] is dropped, when the
//! last [`Launcher`] is dropped, and when this process is killed without a chance to clean up. The last is why programs
//! are started by one long-lived thread, through our own binary in the roles of [`Role`]: the kernel's death signal
//! follows the thread that started a child and reaches the child alone, so a guardian looks after the rest of its group.
//!
//! Systems without process groups start programs directly and end the program alone. What asks this process itself to end
//! is heard here as well. Knows nothing about what the
//! programs are for. Tested over the real binary in `tests/it/process.rs`.

mod capture;
mod containment;
mod group;
mod guardian;
mod launcher;
mod program;
mod role;
mod running;
mod stops;

pub use capture::Capture;
pub use containment::unsupported as cannot_contain;
pub use launcher::{Launcher, own_executable};
pub use program::{BASE_VARIABLES, Bounds, Input, Outputs, Program, Resources, StartError};
pub use role::Role;
pub use running::{Output, Running};
pub use stops::{Stop, Stops};
