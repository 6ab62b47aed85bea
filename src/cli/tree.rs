//! Verbs on a tree that `render` wrote.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{IdentityArg, OutputFormat, ProfilesArg};

/// `terraform`.
#[derive(Debug, Args)]
#[command(
    after_help = "stdin is a JSON object of texts, stdout too:\n  out      the tree, in place of --out\n  \
                        node     only this node or pool; without it `nodes` and `pools` are JSON of all\n  \
                        content  `true`: the documents themselves, too. Terraform keeps them in its state\n\n\
                        Example:\n  echo '{\"node\": \"cp1\"}' | firelay terraform"
)]
pub struct Terraform {
    /// The tree that `render` wrote
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
}

/// `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 5 says that a machine would not come up as it should, or that the tree is not what the spec makes. \
                        `firelay explain FL10` tells what each code means.\n\n\
                        Examples:\n  firelay verify\n  firelay verify out --output json | jq -r '.findings[].message'\n  \
                        firelay verify out --against cluster.yaml --secrets firelay.secrets.yaml"
)]
pub struct Verify {
    /// The tree that `render` wrote
    #[arg(value_name = "OUT", default_value = "out")]
    pub out: PathBuf,
    /// Render this spec again and compare every file of the tree with it, byte by byte; further ones are laid over it
    #[arg(long, value_name = "SPEC")]
    pub against: Vec<PathBuf>,
    /// For `--against`: the secrets bundle, `-` is stdin [default: firelay.secrets.yaml beside the spec]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// Set a value over the spec, as at the render
    #[arg(long, value_name = "PATH=VALUE", requires = "against")]
    pub set: Vec<String>,
    /// Replace `${NAME}` in values by the environment, as at the render
    #[arg(long, requires = "against")]
    pub env: bool,
    /// Own profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `publish`.
#[derive(Debug, Args)]
#[command(
    after_help = "stdout is one command a payload, for a shell; they are run in the directory in which this one is:\n  \
                        firelay publish | sh -e\n  firelay publish --to /srv/www/firelay"
)]
pub struct Publish {
    /// The tree that `render` wrote
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Copy the payloads into a directory, under the names that they have below `delivery.pointer.base`, instead of
    /// printing commands. What lies there already stays
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `audit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 5 if a document holds what its machine must not have, or opens more than `security.maxExposure`.\n\n\
                  Examples:\n  firelay audit out --secrets firelay.secrets.yaml\n  \
                  firelay audit --output json | jq '.documents[] | select(.exposure == \"signs\") | .node'"
)]
pub struct Audit {
    /// The tree that `render` wrote
    #[arg(value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// The bundle that it was rendered with: each of its secrets is searched for in every encoding. Without it only what
    /// shows by itself is found, such as keys whose certificates are in the tree
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// Own profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `graph`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay graph\n  firelay graph out --output svg > order.svg\n  \
                  firelay graph --output dot | dot -Tpng > order.png"
)]
pub struct Graph {
    /// The rendered tree
    #[arg(value_name = "OUT", default_value = "out")]
    pub out: PathBuf,
    /// How to draw; `--format` is the same
    #[arg(long, alias = "format", value_enum, default_value_t)]
    pub output: GraphOutput,
}

/// How `graph` draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GraphOutput {
    /// For people, in lines
    #[default]
    Text,
    /// For programs: the data of the drawings
    Json,
    /// For Graphviz
    Dot,
    /// A flowchart in Mermaid
    Mermaid,
    /// An image
    Svg,
}

/// `seed`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay seed\n  firelay seed cp1 w1 --to /srv/images\n  firelay seed --form fw-cfg cp1\n\n\
                  A volume is an ISO 9660 image. cloud-init reads one that is labelled CIDATA, Ignition one labelled \
                  config-2. They hold secrets, as the documents do."
)]
pub struct Seed {
    /// Only these nodes or pools
    #[arg(value_name = "NODE")]
    pub nodes: Vec<String>,
    /// The rendered tree
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// The directory to write NAME.iso into [default: seed/ in the tree]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// How the document is brought [default: cidata for cloud-init, config-drive for Ignition]
    #[arg(long, value_enum)]
    pub form: Option<SeedForm>,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// How a document is brought to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeedForm {
    /// A volume labelled CIDATA: NoCloud; Ignition on Proxmox VE and KubeVirt
    Cidata,
    /// A volume labelled config-2, as OpenStack has: Ignition
    ConfigDrive,
    /// Arguments of qemu-system on stdout, and no volume: Ignition
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
    /// The rendered tree
    #[arg(value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Address and port for HTTP [default: 127.0.0.1:8080 without --listen-tls]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// Address and port for HTTPS
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen_tls: Vec<SocketAddr>,
    /// A name or address by which machines reach this server, for its certificate [default: the addresses of --listen-tls]
    #[arg(long, value_name = "HOST")]
    pub name: Vec<String>,
    /// A bundle from whose seed the CA is derived, so that its fingerprint stays [default: a new CA each time]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The identity that opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// A directory whose files are handed to everybody below /mirror/
    #[arg(long, value_name = "DIR")]
    pub mirror: Option<PathBuf>,
    /// Know machines by a token each, which is printed, and no longer by MAC address or UUID
    #[arg(long)]
    pub tokens: bool,
    /// Hand documents out again and again
    #[arg(long)]
    pub reusable: bool,
    /// Forget that this node had its document, as often as needed
    #[arg(long, value_name = "NODE")]
    pub again: Vec<String>,
    /// Where it is kept who had a document [default: .firelay-serve in the tree]
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Where a line of JSON is appended for each request [default: stderr]
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Requests per second of one address, on average; 0 is any number
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub rate: u32,
    /// Connections at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub connections: u32,
}
