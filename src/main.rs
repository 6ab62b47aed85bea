//! Parses the arguments, runs one command, and turns its outcome into an exit code.

use std::process::ExitCode;

use firelay::{cli::Cli, commands};
use mimalloc::MiMalloc;

/// Large renders allocate on all cores: that of musl, which released programs have, makes all threads wait for one lock.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    commands::harden_process();
    let cli = Cli::read();
    match commands::run(&cli.verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    }
}
