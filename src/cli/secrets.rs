//! The bundle: the verbs that create and seal it, and its flags for every verb.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{OUT, OutputFormat, SpecArgs, spec_or_tree};

/// Verbs on the bundle.
#[derive(Debug, Subcommand)]
pub enum SecretsVerb {
    /// Create a bundle for a spec; an existing bundle is never overwritten
    New(SecretsNew),
    /// Show a bundle's metadata, without secrets
    Show(SecretsShow),
    /// Encrypt a bundle with age for its recipients
    Seal(SecretsSeal),
    /// Rotate keys of a running cluster, one step at a time
    Rotate(SecretsRotate),
    /// Print the bootstrap token as a Secret for kubectl apply
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
    /// The CAs, and all keys and certificates of machines with them: 3 steps
    Ca,
}

/// `secrets rotate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each call does one step, and says what to do before the next one. The file is replaced atomically; \
                  a sealed bundle stays sealed. docs/rotate.md has the steps of each kind. Examples:\n  \
                  firelay secrets rotate service-account\n  firelay secrets rotate leaves --node cp1",
    mut_arg("specs", spec_or_tree)
)]
pub struct SecretsRotate {
    /// The keys
    #[arg(value_enum, value_name = "KEYS")]
    pub keys: RotationKind,
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Only leaf keys of this machine; may be repeated
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// Before the last step of service-account, encryption and ca: confirm that no token, no stored object and no kubelet needs the
    /// old key
    #[arg(long)]
    pub old_key_unused: bool,
    /// Before the second step of ca: confirm that all pods and kubeconfigs have both CAs
    #[arg(long)]
    pub new_key_trusted: bool,
    /// The tree of the last render; it must contain no update scripts
    #[arg(short, long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// The record of the cluster [default: as for `render`]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
}

/// `secrets token`.
#[derive(Debug, Args)]
#[command(after_help = "The Secret adds the token to a running cluster. Example:\n  \
                  firelay secrets token --ttl 24h | kubectl --kubeconfig out/admin.kubeconfig apply -f -")]
pub struct SecretsToken {
    /// The bundle.
    #[command(flatten)]
    pub bundle: BundleArg,
    /// How long machines can join with the token, as a Go duration: 30m, 24h; 0s means forever
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub ttl: String,
    /// The file to write, readable only by its owner; `-` is stdout
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
}

/// A bundle without its spec.
#[derive(Clone, Debug, Args)]
pub struct BundleArg {
    /// The secrets bundle, `-` is stdin
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "FIRELAY_SECRETS",
        default_value = "firelay.secrets.yaml"
    )]
    pub secrets: PathBuf,
    /// The identity that decrypts it.
    #[command(flatten)]
    pub identity: IdentityArg,
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
    /// The identity that decrypts it.
    #[command(flatten)]
    pub identity: IdentityArg,
}

/// The identity that decrypts a sealed bundle.
#[derive(Clone, Debug, Default, Args)]
pub struct IdentityArg {
    /// A file with an age identity or an SSH private key that decrypts a sealed bundle; may be repeated. Or its text in the
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
    /// Encrypt it for this recipient: `age1…`, or a line of authorized_keys with an SSH key; may be repeated
    #[arg(short, long = "recipient", value_name = "RECIPIENT")]
    pub recipients: Vec<String>,
    /// The record, which refuses a second bundle for a cluster that is founded [default: as for `render`]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
}

/// `secrets seal`.
#[derive(Debug, Args)]
#[command(
    after_help = "The file is replaced atomically. A sealed bundle is encrypted again, only for these recipients. \
                        `age -d -i FILE` also decrypts it. Examples:\n  \
                        firelay secrets seal --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\n  \
                        firelay secrets seal --recipient \"$(cat ~/.ssh/id_ed25519.pub)\"\n  \
                        sops -d old.yaml | firelay secrets seal -s - --recipient age1… > firelay.secrets.yaml"
)]
pub struct SecretsSeal {
    /// The secrets bundle; with `-` it is read from stdin, and the sealed bundle goes to stdout
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "FIRELAY_SECRETS",
        default_value = "firelay.secrets.yaml"
    )]
    pub secrets: PathBuf,
    /// A recipient: `age1…`, or a line of authorized_keys with an SSH key (Ed25519, RSA); may be repeated
    #[arg(short, long = "recipient", value_name = "RECIPIENT", required = true)]
    pub recipients: Vec<String>,
    /// The identity that decrypts a bundle that is already sealed.
    #[command(flatten)]
    pub identity: IdentityArg,
}

/// `secrets show`.
#[derive(Debug, Args)]
pub struct SecretsShow {
    /// The bundle.
    #[command(flatten)]
    pub bundle: BundleArg,
    /// Print only the fingerprint: it identifies the bundle and reveals no secret
    #[arg(long)]
    pub fingerprint: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
