//! Verbs on a tree that `render` wrote.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};

use super::{IdentityArg, OUT, OutputFormat, ProfilesArg};

/// The rendered tree of a command that reads one: an argument or `--out`.
#[derive(Clone, Debug, Args)]
pub struct TreeArg {
    /// The rendered tree [default: out]
    #[arg(value_name = "DIR", conflicts_with = "out")]
    tree: Option<PathBuf>,
    /// The rendered tree, named as for `render`
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl TreeArg {
    /// Its directory.
    pub fn path(&self) -> &Path {
        let named = self.tree.as_deref().or(self.out.as_deref());
        named.unwrap_or(Path::new(OUT))
    }
}

/// `terraform`.
#[derive(Debug, Args)]
#[command(
    after_help = "stdin and stdout are JSON objects of strings:\n  out      the tree, instead of --out\n  \
                        node     only this node or pool; otherwise `nodes` and `pools` are JSON of all\n  \
                        content  `true`: also the documents. Terraform keeps them in its state\n\n\
                        Example:\n  echo '{\"node\": \"cp1\"}' | firelay terraform"
)]
pub struct Terraform {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
}

/// `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 5: a machine would not start as it should, or the tree differs from its spec. \
                        `firelay explain FL10` describes each code.\n\n\
                        Examples:\n  firelay verify\n  firelay verify out --output json | jq -r '.findings[].message'\n  \
                        firelay verify out --against cluster.yaml --secrets firelay.secrets.yaml"
)]
pub struct Verify {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
    /// Render this spec again and compare every file of the tree, byte by byte; further files are merged over it
    #[arg(long, value_name = "SPEC")]
    pub against: Vec<PathBuf>,
    /// For `--against`: the secrets bundle, `-` is stdin [default: firelay.secrets.yaml beside the spec]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that decrypts it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// Set a value after the spec, as for the render
    #[arg(long, value_name = "PATH=VALUE", requires = "against")]
    pub set: Vec<String>,
    /// Replace `${NAME}` in values by environment variables, as for the render
    #[arg(long, requires = "against")]
    pub env: bool,
    /// The user's profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `publish`.
#[derive(Debug, Args)]
#[command(
    after_help = "stdout has one shell command for each payload. Run them in the current directory:\n  \
                        firelay publish | sh -e\n  firelay publish --to /srv/www/firelay"
)]
pub struct Publish {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
    /// Copy the payloads into a directory, with their names below `delivery.pointer.base`, instead of
    /// printing commands. Existing files stay
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `audit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 5: a document contains another machine's secret, or gives more access than `security.maxExposure`.\n\n\
                  Examples:\n  firelay audit out --secrets firelay.secrets.yaml\n  \
                  firelay audit --output json | jq '.documents[] | select(.exposure == \"signs\") | .node'"
)]
pub struct Audit {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
    /// The bundle of the render: each of its secrets is searched for in every encoding. Without it, audit finds only
    /// recognizable secrets, such as keys whose certificates are in the tree
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that decrypts it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// The user's profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `graph`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay graph\n  firelay graph out --output svg > order.svg\n  firelay graph --output timeline > first-boot.svg\n  \
                  firelay graph --output dot | dot -Tpng > order.png"
)]
pub struct Graph {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
    /// Format of the drawing; `--format` is the same
    #[arg(long, alias = "format", value_enum, default_value_t)]
    pub output: GraphOutput,
}

/// Formats of `graph`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GraphOutput {
    /// Text for people
    #[default]
    Text,
    /// Data of the drawing, for programs
    Json,
    /// DOT, for Graphviz
    Dot,
    /// Mermaid flowchart
    Mermaid,
    /// SVG image
    Svg,
    /// SVG image of the times alone, 800 pixels wide: for a README
    Timeline,
}

/// `seed`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay seed\n  firelay seed out --node cp1 --node w1 --to /srv/images\n  firelay seed --node cp1 --form fw-cfg\n\n\
                  A volume is an ISO 9660 image. cloud-init reads one that is labelled CIDATA, Ignition one labelled \
                  config-2. They hold secrets, as the documents do."
)]
pub struct Seed {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
    /// Write only the volume of this node or pool; may be repeated
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// The directory for NAME.iso [default: seed/ in the tree]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// How the machine gets the document [default: cidata for cloud-init, config-drive for Ignition]
    #[arg(long, value_enum)]
    pub form: Option<SeedForm>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// How a machine gets its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeedForm {
    /// A volume with label CIDATA: cloud-init's NoCloud; Ignition on Proxmox VE and KubeVirt
    Cidata,
    /// A volume with label config-2, as on OpenStack: Ignition
    ConfigDrive,
    /// No volume: arguments for qemu-system on stdout: Ignition
    FwCfg,
}

/// `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay serve --listen 10.0.0.5:8080 --mirror /srv/mirror\n  \
                  firelay serve --listen-tls 10.0.0.5:8443 --name boot.lan --tokens\n\n\
                  A machine asks for /m/WHO/FILE, where WHO is its MAC address (52-54-00-12-34-56), its UUID or its \
                  token, or `self` with the header X-Firelay-Node. What nobody may have is 404 for everybody."
)]
pub struct Serve {
    /// The tree.
    #[command(flatten)]
    pub tree: TreeArg,
    /// Address and port for HTTP [default: 127.0.0.1:8080 without --listen-tls]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// Address and port for HTTPS
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen_tls: Vec<SocketAddr>,
    /// A name or address of this server for its certificate; may be repeated [default: the addresses of --listen-tls]
    #[arg(long, value_name = "HOST")]
    pub name: Vec<String>,
    /// Derive the server's CA from this bundle, so that its fingerprint stays the same [default: a new CA each time]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that decrypts it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// Serve this directory to everybody below /mirror/
    #[arg(long, value_name = "DIR")]
    pub mirror: Option<PathBuf>,
    /// Identify machines by a printed token each, instead of MAC address or UUID
    #[arg(long)]
    pub tokens: bool,
    /// Serve each document any number of times
    #[arg(long)]
    pub reusable: bool,
    /// Serve the document of this node again; may be repeated
    #[arg(long, value_name = "NODE")]
    pub again: Vec<String>,
    /// The file with the list of served documents [default: .firelay-serve in the tree]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Append one line of JSON for each request to this file [default: stderr]
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Average requests per second of one address; 0 means no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub rate: u32,
    /// Maximum number of connections
    #[arg(long, value_name = "NUMBER", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub connections: u32,
}
