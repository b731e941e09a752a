//! The program `xavantes-pm`: a process manager on a network.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Gives the memory of ended processes back to the system: a process of a hundred thousand activities is
/// hundreds of thousands of small pieces between others, which the C library's allocator keeps. Its
/// settings are in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    shell::program::main::<process_daemon::Service>(std::env::args_os())
}
