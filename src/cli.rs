//! The command line, as types: `firelay VERB [SPEC]`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod artifacts;

pub use artifacts::*;

/// From one cluster spec, one bootable document per node.
#[derive(Debug, Parser)]
#[command(
    name = "firelay",
    version,
    about = "From one cluster spec, one bootable cloud-init or Ignition document per Kubernetes node",
    long_about = "firelay works out every certificate, token, configuration and manifest of a Kubernetes cluster and writes \
                  for each node the one document with which that node bootstraps itself on first boot: no SSH, no \
                  Ansible, no management cluster.",
    after_help = "A first cluster:\n  firelay init > cluster.yaml\n  firelay check\n  firelay render --new-secrets\n\n\
                  Exit codes: 0 done, 1 could not run, 2 usage, 3 the spec is refused, 4 secrets missing, wrong or sealed, \
                  5 verification or a policy failed (size, secrets where they must not be).",
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a commented spec to start from, from answers on a terminal or from flags
    Init(Init),
    /// Parse, validate and resolve a spec; print every finding
    Check(Check),
    /// Make, inspect and seal the secrets bundle
    #[command(subcommand)]
    Secrets(SecretsVerb),
    /// Write one bootable document per node
    Render(Render),
    /// Say whether the machines of a rendered tree would come up: offline, from nothing but the tree
    Verify(Verify),
    /// Say how payloads come to where machines fetch them, or lay them there
    Publish(Publish),
    /// Answer Terraform's `external` data source from a rendered tree
    Terraform(Terraform),
    /// Show the bytes of each document against its platform's limit
    Size(Size),
    /// Show what each document of a tree opens to who reads it, and who can read it
    Audit(Audit),
    /// Write the volumes from which machines read their documents
    Seed(Seed),
    /// Hand rendered documents to machines that boot from the network
    Serve(Serve),
    /// Draw which machine waits for which, with the expected times
    Graph(Graph),
    /// Tell where a value of a rendered file comes from
    Why(Why),
    /// List, fetch and check what the machines fetch and pull
    #[command(subcommand)]
    Artifacts(ArtifactsVerb),
    /// List and show the profiles of systems, platforms and Kubernetes minors
    #[command(subcommand)]
    Profile(ProfileVerb),
    /// Print the JSON Schema of the spec, for editors
    Schema,
    /// Say what a key of the spec does, or what a code of a finding means
    Explain(Explain),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual as man(1) reads it
    Man(Man),
}

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

/// The spec.
#[derive(Debug, Default, Args)]
pub struct SpecArgs {
    /// The cluster spec; further ones are laid over it, the last wins; `-` is stdin
    #[arg(value_name = "SPEC", default_value = "cluster.yaml")]
    pub specs: Vec<PathBuf>,
    /// Set a value over all specs, as often as needed: `nodes[cp1].labels.tier=app`; `null` removes
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Replace `${NAME}` and `${NAME:-default}` in values by the environment: with DOMAIN=example.com in it,
    /// `host: api.${DOMAIN}` is `host: api.example.com`. `$${` stands for `${` itself.
    /// Contents of files, commands, manifests and patches are never touched
    #[arg(long)]
    pub env: bool,
    /// Own profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
}

/// Profiles of the user.
#[derive(Debug, Default, Args)]
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

impl From<&Path> for SpecArgs {
    /// One file and nothing else.
    fn from(path: &Path) -> Self {
        Self {
            specs: vec![path.to_owned()],
            ..Self::default()
        }
    }
}

/// The spec and the bundle.
#[derive(Debug, Args)]
pub struct Inputs {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// The secrets bundle, `-` is stdin [default: firelay.secrets.yaml beside the spec]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// What opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
}

/// What opens a sealed bundle.
#[derive(Debug, Default, Args)]
pub struct IdentityArg {
    /// A file with an age identity or an SSH private key that opens a sealed bundle, as often as needed; or its text in the
    /// environment variable FIRELAY_IDENTITY
    #[arg(short = 'i', long = "identity", value_name = "FILE", env = "FIRELAY_IDENTITY_FILE")]
    pub files: Vec<PathBuf>,
}

/// How a verb reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
}

/// How `check` reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Findings {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
    /// SARIF 2.1.0, for annotations in code review
    Sarif,
}

/// `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "On a terminal and without flags it asks. Examples:\n  firelay init cluster.yaml\n  \
                        firelay init --name lab --os debian-13 --platform metal --control-plane cp1=10.0.0.11 \
                        --worker 'w{1..3}=10.0.0.21-10.0.0.23' --endpoint-provider local lab.yaml"
)]
pub struct Init {
    /// What the spec says.
    #[command(flatten)]
    pub answers: InitAnswers,
    /// Write to a file that must not exist yet, and the schema for editors beside it, instead of to stdout
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Answers that are given as flags.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct InitAnswers {
    /// The cluster's name [default: my-cluster]
    #[arg(long)]
    pub name: Option<String>,
    /// Version of Kubernetes [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub kubernetes: Option<String>,
    /// System of the machines, see `firelay profile list` [default: the most usual]
    #[arg(long, value_name = "PROFILE")]
    pub os: Option<String>,
    /// Where they run, likewise
    #[arg(long, value_name = "PROFILE")]
    pub platform: Option<String>,
    /// A control plane, or a row: cp{1..3}=10.0.0.11-10.0.0.13; may be repeated
    #[arg(long = "control-plane", value_name = "NAME=ADDRESS")]
    pub control_planes: Vec<String>,
    /// A worker, or a row; may be repeated. Without any, pods run on the control planes that are named
    #[arg(long = "worker", value_name = "NAME=ADDRESS")]
    pub workers: Vec<String>,
    /// Who leads to the API servers: external, local or kubeVip=ADDRESS [default: external]
    #[arg(long, value_name = "PROVIDER")]
    pub endpoint_provider: Option<String>,
    /// Name under which everybody reaches the API [default: api.NAME.example.com]
    #[arg(long, value_name = "HOST")]
    pub endpoint: Option<String>,
    /// Public SSH key of who may log in; may be repeated
    #[arg(long = "ssh-key", value_name = "KEY")]
    pub ssh_keys: Vec<String>,
}

impl InitAnswers {
    /// There is no answer among the flags.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Warnings are errors
    #[arg(long)]
    pub strict: bool,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: Findings,
}

/// `explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay explain\n  firelay explain nodes.taints\n  firelay explain kubernetes --recursive\n  \
                        firelay explain FL0103\n  firelay explain FL01"
)]
pub struct Explain {
    /// A path of keys (`nodes.taints`), a code (`FL0103`) or the beginning of codes (`FL01`); without it the whole spec
    #[arg(value_name = "PATH|CODE")]
    pub what: Option<String>,
    /// List the keys below the keys, too
    #[arg(long)]
    pub recursive: bool,
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
    /// Who can open it, as often as needed: `age1…`, or a line of authorized_keys with an SSH key (Ed25519, RSA)
    #[arg(short, long = "recipient", value_name = "RECIPIENT", required = true)]
    pub recipients: Vec<String>,
    /// What opens one that is sealed already.
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
    /// What opens it.
    #[command(flatten)]
    pub identity: IdentityArg,
    /// Only the fingerprint, which names the bundle without revealing it
    #[arg(long)]
    pub fingerprint: bool,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `render`.
#[derive(Debug, Args)]
pub struct Render {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The directory to write; `-` prints the document of the one `--node` to stdout
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Only this node or pool, as often as needed: its files are replaced, all others stay as the last render left them,
    /// and manifest.json tells of both. Files of the whole cluster (admin.kubeconfig, node-names) are left to a render of all
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// With `--out -`: escape the document for a template engine that reads it first
    #[arg(long = "for", value_enum, value_name = "ENGINE")]
    pub engine: Option<TemplateEngine>,
    /// Make a bundle if there is none
    #[arg(long)]
    pub new_secrets: bool,
    /// The cluster stands: write no `kubeadm init`, so that a replaced founder can never found a second one
    #[arg(long)]
    pub founded: bool,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// What reads a document before the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TemplateEngine {
    /// Terraform's templatefile()
    Terraform,
    /// Jinja, as behind `## template: jinja`
    Jinja,
}

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
    after_help = "Exit code 5 says that a machine would not come up as it should. `firelay explain FL10` tells what each code means.\n\n\
                        Examples:\n  firelay verify\n  firelay verify out --output json | jq -r '.findings[].message'"
)]
pub struct Verify {
    /// The tree that `render` wrote
    #[arg(value_name = "OUT", default_value = "out")]
    pub out: PathBuf,
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

/// `size`.
#[derive(Debug, Args)]
pub struct Size {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Only this node
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
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
    /// What opens it.
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
    after_help = "Examples:\n  firelay graph\n  firelay graph out --format svg > order.svg\n  \
                  firelay graph --format dot | dot -Tpng > order.png"
)]
pub struct Graph {
    /// The rendered tree
    #[arg(value_name = "OUT", default_value = "out")]
    pub out: PathBuf,
    /// How to draw
    #[arg(long, value_enum, default_value_t)]
    pub format: GraphFormat,
    /// How to report; JSON has what the drawings are made from
    #[arg(long, value_enum, default_value_t, conflicts_with = "format")]
    pub output: OutputFormat,
}

/// How `graph` draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// For people, in lines
    #[default]
    Text,
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
    /// What opens it.
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

/// `why`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay why 'cp1:/etc/firelay/kubeadm/init.yaml#ClusterConfiguration/networking/podSubnet'\n  \
                        firelay why 'cp1:kubelet.service#Service/RestartSec'\n  firelay why 'cp1:/etc/firelay/node.env#3'"
)]
pub struct Why {
    /// NODE:/path#/json/pointer, NODE:UNIT#Section/Key, NODE:/path#LINE, or NODE:/path for the whole file
    #[arg(value_name = "WHAT")]
    pub address: String,
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  firelay man | man -l -\n  firelay man --out /usr/local/share/man/man1")]
pub struct Man {
    /// A directory to write into, a page for each verb, instead of all pages to stdout
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
