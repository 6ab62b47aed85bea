//! `certs`: the dates on which credentials end.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Inputs, OUT, spec_or_tree};

/// `certs`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --within the exit code is 6 if something expires in that time or has expired, and no machine renews it.\n\n\
                  Examples:\n  firelay certs\n  firelay certs --within 30d\n  firelay certs --output ics > certificates.ics\n  \
                  firelay certs --output json | jq '.credentials[] | select(.machine == \"cp1\")'",
    mut_arg("specs", spec_or_tree)
)]
pub struct Certs {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The tree of the last render
    #[arg(short, long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// The record of the cluster [default: as for `render`]
    #[arg(long = "state", value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Exit with 6 if something expires within this time: 30d, 720h
    #[arg(long, value_name = "DURATION")]
    pub within: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: CertsOutput,
}

/// Output formats of `certs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CertsOutput {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// iCalendar (RFC 5545)
    Ics,
}
