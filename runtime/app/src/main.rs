//! The program: everything is in the library.

use std::process::ExitCode;

/// Sessions come and go on many threads, for days. glibc keeps what they held, a heap for each thread; this allocator
/// gives it back.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    acp_runtime::cli::main()
}
