//! The bundle: the verbs that create and seal it, and its flags for every verb.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputFormat, SpecArgs};

/// Verbs on the bundle.
#[derive(Debug, Subcommand)]
pub enum SecretsVerb {
    /// Make a bundle for a spec; never overwrites one
    New(SecretsNew),
    /// Show what a bundle is, without a secret
    Show(SecretsShow),
    /// Encrypt a bundle with age, to whoever has to open it
    Seal(SecretsSeal),
}

/// The spec and the bundle.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// The secrets bundle, `-` is stdin [default: firelay.secrets.yaml beside the spec]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
}

/// The identity that opens a sealed bundle.
#[derive(Clone, Debug, Default, Args)]
pub struct IdentityArg {
    /// A file with an age identity or an SSH private key that opens a sealed bundle, as often as needed; or its text in the
    /// environment variable FIRELAY_IDENTITY
    #[arg(short = 'i', long = "identity", value_name = "FILE", env = "FIRELAY_IDENTITY_FILE")]
    pub files: Vec<PathBuf>,
}

/// `secrets new`.
#[derive(Debug, Args)]
pub struct SecretsNew {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Seal it to this recipient, as often as needed: `age1…`, or a line of authorized_keys with an SSH key
    #[arg(short, long = "recipient", value_name = "RECIPIENT")]
    pub recipients: Vec<String>,
}

/// `secrets seal`.
#[derive(Debug, Args)]
#[command(
    after_help = "The file is replaced, whole or not at all; one that is sealed already is sealed anew, to these recipients alone. \
                        `age -d -i FILE` opens it as well. Examples:\n  \
                        firelay secrets seal --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\n  \
                        firelay secrets seal --recipient \"$(cat ~/.ssh/id_ed25519.pub)\"\n  \
                        sops -d old.yaml | firelay secrets seal -s - --recipient age1… > firelay.secrets.yaml"
)]
pub struct SecretsSeal {
    /// The secrets bundle; `-` is stdin, and what is sealed goes to stdout
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "FIRELAY_SECRETS",
        default_value = "firelay.secrets.yaml"
    )]
    pub secrets: PathBuf,
    /// A recipient who can open it; may be repeated: `age1…`, or a line of authorized_keys with an SSH key (Ed25519, RSA)
    #[arg(short, long = "recipient", value_name = "RECIPIENT", required = true)]
    pub recipients: Vec<String>,
    /// The identity that opens a bundle that is sealed already.
    #[command(flatten)]
    pub identity: IdentityArg,
}

/// `secrets show`.
#[derive(Debug, Args)]
pub struct SecretsShow {
    /// The secrets bundle, `-` is stdin
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "FIRELAY_SECRETS",
        default_value = "firelay.secrets.yaml"
    )]
    pub secrets: PathBuf,
    /// The identity that opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// Only the fingerprint, which names the bundle without revealing it
    #[arg(long)]
    pub fingerprint: bool,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
