//! The command line, as types: `firelay VERB [SPEC]`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod artifacts;
mod catalog;
mod certs;
mod kubeconfig;
mod profile;
mod report;
mod secrets;
mod tree;

pub use artifacts::*;
pub use catalog::*;
pub use certs::*;
pub use kubeconfig::*;
pub use profile::*;
pub use report::*;
pub use secrets::*;
pub use tree::*;

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
                  Exit codes: 0 done, 1 could not run, 2 usage, 3 the spec or a change is refused, 4 secrets missing, wrong or sealed, \
                  5 verification or a policy failed (size, secrets where they must not be), 6 a plan has changes \
                  (--detailed-exitcode), or a credential ends soon (certs --within).",
    max_term_width = 100
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Cli {
    /// The arguments of the process. A variable that is set to nothing, as pipelines do for one that they lack, is none.
    pub fn read() -> Self {
        let matches = without_empty_variables(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut Self::command()).exit())
    }
}

fn without_empty_variables(command: Command) -> Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| match arg.get_env().is_some_and(is_empty) {
        true => arg.env(None::<&'static str>),
        false => arg,
    });
    command.mut_subcommands(without_empty_variables)
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
    /// Show what a render would change, machine by machine, and in which order
    Plan(Plan),
    /// Render, and write a script for each running machine that changes it in place
    Update(Update),
    /// Record that the cluster stands, so that no later render contains `kubeadm init`
    Founded(Founded),
    /// Sign a kubeconfig for one user, offline
    Kubeconfig(Kubeconfig),
    /// List certificates and credentials with the days on which they end
    Certs(Certs),
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
    /// Write one HTML page about a cluster: machines, first boot, sizes, certificates, exposure, findings and changes
    Report(Report),
    /// Tell where a value of a rendered file comes from
    Why(Why),
    /// List, fetch and check what the machines fetch and pull
    #[command(subcommand)]
    Artifacts(ArtifactsVerb),
    /// Add newer releases to the catalog of binaries
    #[command(subcommand)]
    Catalog(CatalogVerb),
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

/// The spec.
#[derive(Clone, Debug, Default, Args)]
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

impl From<&Path> for SpecArgs {
    /// One file and nothing else.
    fn from(path: &Path) -> Self {
        Self {
            specs: vec![path.to_owned()],
            ..Self::default()
        }
    }
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
    /// The values of the spec.
    #[command(flatten)]
    pub answers: InitAnswers,
    /// Write to a file that must not exist yet, and the schema for editors beside it, instead of to stdout
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Add entries to .gitignore beside the spec, for the secrets bundle and the rendered tree
    #[arg(long)]
    pub gitignore: bool,
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
    /// Provider of the endpoint: external, local or kubeVip=ADDRESS [default: external]
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
    /// The record, and changes of a cluster that stands.
    #[command(flatten)]
    pub state: StateArgs,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// The record of the cluster, and how a render changes it.
#[derive(Clone, Debug, Default, Args)]
pub struct StateArgs {
    /// The record of the cluster [default: NAME.state.yaml beside the bundle NAME.secrets.yaml; firelay.state.yaml beside the spec
    /// for a bundle of another name]
    #[arg(long = "state", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The cluster stands: write no `kubeadm init`, so that a replaced founder can never found a second one. The record keeps
    /// it for all later renders
    #[arg(long)]
    pub founded: bool,
    /// The cluster does not stand any more: write `kubeadm init` again
    #[arg(long, conflicts_with = "founded")]
    pub refound: bool,
    /// This machine is created anew: its certificates get today's date; as often as needed
    #[arg(long, value_name = "NAME")]
    pub replace: Vec<String>,
    /// Override the findings of a code about a change of a running cluster, as often as needed. The record keeps code and date
    #[arg(long, value_name = "CODE", value_parser = overridable)]
    pub accept: Vec<String>,
    /// Make the record, which is missing, of the tree in --out
    #[arg(long)]
    pub adopt_tree: bool,
}

/// A code that `--accept` takes.
fn overridable(code: &str) -> Result<String, String> {
    let known = crate::record::OVERRIDABLE;
    match known.contains(&code) {
        true => Ok(code.to_owned()),
        false => Err(format!(
            "no finding of this code can be accepted; those of a change are {}",
            known.join(", ")
        )),
    }
}

/// `plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 3 if the running cluster cannot take the change. Examples:\n  firelay plan\n  \
                        firelay plan --detailed-exitcode --output json | jq '.counts'"
)]
pub struct Plan {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The tree of the last render
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// The record, and changes of a cluster that stands.
    #[command(flatten)]
    pub state: StateArgs,
    /// End with 0 if nothing changes and with 6 if anything does
    #[arg(long)]
    pub detailed_exitcode: bool,
    /// How to report; SARIF has the findings alone
    #[arg(long, value_enum, default_value_t)]
    pub output: Findings,
}

/// `update`.
#[derive(Debug, Args)]
#[command(
    after_help = "It does what `render` does, and writes OUT/update/NUMBER/NAME.sh for each machine that takes its change in place, and \
                  ORDER with the steps beside them. Run each as root on its machine, through whichever channel; what it does goes \
                  on by itself, also after a power cut. `firelay plan` shows the same changes and writes nothing.\n\n\
                  Examples:\n  firelay plan\n  firelay update\n  ssh cp1 sudo bash -s <out/update/1/cp1.sh\n  firelay update --done"
)]
pub struct Update {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The tree of the last render, which the running machines have; the new one takes its place
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Only this node or pool, as often as needed; all others stay as the last render left them
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// The running machines have the documents of this tree, and not those in --out
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Apply kubeadm's configuration of the cluster also when the record has it already
    #[arg(long, conflicts_with = "node")]
    pub configuration: bool,
    /// Apply the manifests of plugins and add-ons also when the record has them already
    #[arg(long, conflicts_with = "node")]
    pub manifests: bool,
    /// All machines have their updates: remove the scripts from the tree, and do nothing else
    #[arg(long, conflicts_with_all = ["node", "from", "configuration", "manifests"])]
    pub done: bool,
    /// The record, and changes of a cluster that stands.
    #[command(flatten)]
    pub state: StateArgs,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

impl Update {
    /// The render that it is.
    pub fn render(&self) -> Render {
        Render {
            inputs: self.inputs.clone(),
            out: self.out.clone(),
            node: self.node.clone(),
            engine: None,
            new_secrets: false,
            state: self.state.clone(),
            output: self.output,
        }
    }
}

/// `founded`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firelay founded\n  firelay founded --at 2026-11-22T12:00:00Z\n\n\
                        The next render writes no `kubeadm init`, and machines that are added get certificates of that day."
)]
pub struct Founded {
    /// The spec, beside which the record is
    #[arg(value_name = "SPEC", default_value = "cluster.yaml")]
    pub spec: PathBuf,
    /// The secrets bundle, beside which the record is; it is not read
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The record of the cluster [default: as `render` has it]
    #[arg(long = "state", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// When it was founded, in RFC 3339 [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

/// A template engine that reads a document before the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TemplateEngine {
    /// Terraform's templatefile()
    Terraform,
    /// Jinja, as behind `## template: jinja`
    Jinja,
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
