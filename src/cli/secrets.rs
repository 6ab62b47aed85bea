//! The bundle: the verbs that create and seal it, and its flags for every verb.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    /// Take keys of a running cluster one step towards new ones
    Rotate(SecretsRotate),
    /// Print the bootstrap token as a Secret, for kubectl apply
    Token(SecretsToken),
}

/// Keys that rotate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RotationKind {
    /// Keys and certificates of machines and of the administrator: 1 step
    Leaves,
    /// The bootstrap token: 2 steps
    Token,
    /// The key that signs tokens of service accounts: 3 steps
    ServiceAccount,
    /// The key of encryption at rest: 3 steps
    Encryption,
}

/// `secrets rotate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each call takes the bundle one step forward, and says what to do before the next one. The file is replaced, whole or not \
                  at all; a sealed bundle stays sealed. docs/rotate.md has the steps of each kind. Examples:\n  \
                  firelay secrets rotate service-account\n  firelay secrets rotate leaves --node cp1"
)]
pub struct SecretsRotate {
    /// The keys
    #[arg(value_enum, value_name = "KEYS")]
    pub keys: RotationKind,
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Leaves of this machine alone, as often as needed
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// Before the last step of service-account and encryption: no token that is in use, and no stored object, needs the old key
    #[arg(long)]
    pub old_key_unused: bool,
    /// The tree of the last render, in which no script of an update may be left
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// The record of the cluster [default: as `render` has it]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
}

/// `secrets token`.
#[derive(Debug, Args)]
#[command(after_help = "The Secret makes the token known to a running cluster. Example:\n  \
                  firelay secrets token --ttl 24h | kubectl --kubeconfig out/admin.kubeconfig apply -f -")]
pub struct SecretsToken {
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
    /// How long machines can join with it, as Go writes durations: 30m, 24h; 0s never ends
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub ttl: String,
    /// The file to write, readable by its owner alone; `-` is stdout
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
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
