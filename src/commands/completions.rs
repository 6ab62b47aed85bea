//! `completions`: a script for a shell, on stdout.

use clap::CommandFactory;
use clap_complete::Shell;

use super::failure::Failure;
use crate::cli::Cli;

/// Runs the verb.
pub fn run(shell: Shell) -> Result<(), Failure> {
    clap_complete::generate(shell, &mut Cli::command(), "firelay", &mut std::io::stdout());
    Ok(())
}
