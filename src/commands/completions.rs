//! `completions`: a script for a shell, on stdout.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{failure::Failure, streams};
use crate::cli::Cli;

/// Runs the verb.
pub fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "firelay", &mut script);
    streams::data(&String::from_utf8_lossy(&script))
}
