//! Scenarios over the real binary.
