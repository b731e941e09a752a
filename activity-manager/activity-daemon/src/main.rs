//! The program `xavantes-am`, an activity manager on a network, and the executor beside it: one
//! file, started in two ways.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    // The executor is started first: it closes every inherited descriptor.
    if arguments
        .nth(1)
        .is_some_and(|first| first == activity_executor::ARGUMENT)
    {
        return activity_executor::main(arguments);
    }
    shell::program::main::<activity_daemon::Service>(std::env::args_os())
}
