//! `profile`, and the user's own ones.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OutputFormat;

/// The user's profiles.
#[derive(Clone, Debug, Default, Args)]
pub struct ProfilesArg {
    /// A directory with your own profiles: `os/NAME.yaml`, `platform/NAME.yaml`, `kubernetes/1.NN.yaml` and so on. A
    /// profile with a known name is merged over firelay's
    #[arg(long = "profiles", value_name = "DIR", env = "FIRELAY_PROFILES")]
    pub directory: Option<PathBuf>,
}

/// Verbs on profiles.
#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// List the profiles of operating systems, platforms and Kubernetes minors
    List(ProfileList),
    /// Show a profile as firelay uses it, with the sources of its values
    Show(ProfileShow),
}

/// `profile list`.
#[derive(Debug, Args)]
pub struct ProfileList {
    /// The user's profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `profile show`.
#[derive(Debug, Args)]
pub struct ProfileShow {
    /// The profile's name: `flatcar`, `aws`, `1.36`, `catalog`, `endpoint` or `containerd`, for example
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The user's profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
