//! `diff`: two trees or two specs.

use std::path::PathBuf;

use clap::Args;

use super::{IdentityArg, OutputFormat, ProfilesArg};

/// `diff`.
#[derive(Debug, Args)]
#[command(
    after_help = "A directory is a rendered tree; a file is a spec. Two specs are rendered with the same secrets.\n\n\
                  Examples:\n  firelay diff out.old out\n  firelay diff cluster.yaml new.yaml\n  \
                  git show HEAD:cluster.yaml | firelay diff - cluster.yaml"
)]
pub struct Diff {
    /// A rendered tree or a cluster spec; `-` is a spec from stdin
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// Another of the same kind
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// For specs: the secrets bundle [default: firelay.secrets.yaml beside NEW; without one, placeholder secrets]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that decrypts it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// For specs: replace `${NAME}` in values by environment variables
    #[arg(long)]
    pub env: bool,
    /// The user's profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// Exit with 0 without differences and with 6 with differences
    #[arg(long)]
    pub detailed_exitcode: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
