//! Parses the arguments, runs one command, and turns its outcome into an exit code.

use std::process::ExitCode;

use firelay::{cli::Cli, commands};

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
