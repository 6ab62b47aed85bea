//! `profile`, and the user's own ones.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OutputFormat;

/// Profiles of the user.
#[derive(Clone, Debug, Default, Args)]
pub struct ProfilesArg {
    /// A directory with own profiles: `os/NAME.yaml`, `platform/NAME.yaml`, `kubernetes/1.NN.yaml` and so on. One of a
    /// name that firelay has is laid over it
    #[arg(long = "profiles", value_name = "DIR", env = "FIRELAY_PROFILES")]
    pub directory: Option<PathBuf>,
}

/// Verbs on profiles.
#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// List the profiles of operating systems, platforms and Kubernetes minors
    List(ProfileList),
    /// Show a profile as it is used, with where its figures are from
    Show(ProfileShow),
}

/// `profile list`.
#[derive(Debug, Args)]
pub struct ProfileList {
    /// Own profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `profile show`.
#[derive(Debug, Args)]
pub struct ProfileShow {
    /// Its name, `flatcar`, `aws` or `1.36`; or `catalog`, `endpoint`, `containerd`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Own profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
