//! The command line, as types: `firelay VERB [SPEC]`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::spec::ExtraOutput;

mod adopt;
mod artifacts;
mod catalog;
mod certs;
mod diff;
mod kubeconfig;
mod profile;
mod recover;
mod report;
mod secrets;
mod tree;

pub use adopt::*;
pub use artifacts::*;
pub use catalog::*;
pub use certs::*;
pub use diff::*;
pub use kubeconfig::*;
pub use profile::*;
pub use recover::*;
pub use report::*;
pub use secrets::*;
pub use tree::*;

/// From one cluster spec, one bootable document per node.
#[derive(Debug, Parser)]
#[command(
    name = "firelay",
    version,
    about = "From one cluster spec, one bootable cloud-init or Ignition document per Kubernetes node",
    long_about = "firelay computes all certificates, tokens, configuration and manifests of a Kubernetes cluster. It writes \
                  one document for each node. With it the node bootstraps itself at first boot: no SSH, no \
                  Ansible, no management cluster.",
    after_help = "A first cluster:\n  firelay init > cluster.yaml\n  firelay check\n  firelay render --new-secrets\n\n\
                  Exit codes: 0 done, 1 could not run, 2 usage, 3 the spec or a change is refused, 4 secrets missing, wrong or sealed, \
                  5 verification or a policy failed (size, misplaced secrets), 6 a plan or diff has changes \
                  (--detailed-exitcode), or a credential expires soon (certs --within).",
    max_term_width = 100
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Cli {
    /// The arguments of the process. An empty environment variable counts as unset: pipelines set missing ones so.
    pub fn read() -> Self {
        let matches = without_empty_variables(Self::command()).get_matches();
        let read = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut Self::command()).exit());
        Self {
            verb: read.verb.with_tree(),
        }
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
    /// Write a commented cluster spec, from answers on a terminal or from flags
    Init(Init),
    /// Parse, validate and resolve a spec; print every finding
    Check(Check),
    /// Create, inspect, rotate and encrypt the secrets bundle
    #[command(subcommand)]
    Secrets(SecretsVerb),
    /// Write one bootable document for each node
    Render(Render),
    /// Show the changes of a render: each machine, the reason and the order
    Plan(Plan),
    /// Compare two rendered trees or two specs: files and fields, without secrets
    Diff(Diff),
    /// Render, and write scripts that update running machines in place
    Update(Update),
    /// Record that the cluster exists, so that no later render contains `kubeadm init`
    Founded(Founded),
    /// Show the commands that bring etcd back from a snapshot, machine by machine
    Recover(Recover),
    /// Take over a cluster that kubeadm, Kubespray or Cluster API created: write its bundle, spec and record
    Adopt(Adopt),
    /// Sign a kubeconfig for one user, offline
    Kubeconfig(Kubeconfig),
    /// List certificates and credentials with their expiry dates
    Certs(Certs),
    /// Check offline whether the machines of a rendered tree would start
    Verify(Verify),
    /// Print commands that upload payloads, or copy payloads into a directory
    Publish(Publish),
    /// Serve a rendered tree to Terraform's `external` data source
    Terraform(Terraform),
    /// Show the size of each document and its platform's limit
    Size(Size),
    /// Show which access each document gives to its readers, and who can read it
    Audit(Audit),
    /// Write seed volumes from which machines read their documents
    Seed(Seed),
    /// Serve rendered documents to machines that boot from the network
    Serve(Serve),
    /// Draw the join order of the machines, with expected times
    Graph(Graph),
    /// Write an HTML page about a cluster: machines, first boot, sizes, certificates, exposure, findings and changes
    Report(Report),
    /// Explain where a value of a rendered file comes from
    Why(Why),
    /// List, download and check the files and images that machines need
    #[command(subcommand)]
    Artifacts(ArtifactsVerb),
    /// Add newer releases to the catalog of binaries
    #[command(subcommand)]
    Catalog(CatalogVerb),
    /// List and show profiles of operating systems, platforms and Kubernetes minors
    #[command(subcommand)]
    Profile(ProfileVerb),
    /// Print the JSON Schema of the spec, for editors
    Schema,
    /// Describe a key of the spec or the code of a finding
    Explain(Explain),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual pages
    Man(Man),
    /// Print the version, and the versions of Kubernetes that it installs
    Version(Version),
}

impl Verb {
    /// A directory among the specs is the tree: `firelay plan cluster.yaml out` is `firelay plan cluster.yaml --out out`.
    fn with_tree(mut self) -> Self {
        let (specs, out) = match &mut self {
            Self::Plan(own) => (&mut own.inputs.spec.specs, &mut own.out),
            Self::Update(own) => (&mut own.inputs.spec.specs, &mut own.out),
            Self::Secrets(SecretsVerb::Rotate(own)) => (&mut own.inputs.spec.specs, &mut own.out),
            Self::Certs(own) => (&mut own.inputs.spec.specs, &mut own.out),
            Self::Recover(own) => (&mut own.spec.specs, &mut own.out),
            _ => return self,
        };
        let is_tree = |path: &PathBuf| path.is_dir() && out.as_path() == Path::new(OUT);
        if let Some(at) = specs.iter().position(is_tree) {
            *out = specs.remove(at);
        }
        if specs.is_empty() {
            specs.push(SPEC.into());
        }
        self
    }
}

/// The help of the specs of a verb that also reads a tree.
fn spec_or_tree(arg: Arg) -> Arg {
    arg.value_name("SPEC|DIR").help(
        "The cluster spec; further files are merged over it in order; `-` is stdin. A directory is the rendered tree, as with --out",
    )
}

/// The default spec.
pub const SPEC: &str = "cluster.yaml";

/// The default directory of a rendered tree.
pub const OUT: &str = "out";

/// The spec.
#[derive(Clone, Debug, Default, Args)]
pub struct SpecArgs {
    /// The cluster spec; further files are merged over it in order; `-` is stdin
    #[arg(value_name = "SPEC", default_value = SPEC)]
    pub specs: Vec<PathBuf>,
    /// Set a value after all specs: `nodes[cp1].labels.tier=app`; `null` removes it; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Replace `${NAME}` and `${NAME:-default}` in values by environment variables: with DOMAIN=example.com,
    /// `host: api.${DOMAIN}` is `host: api.example.com`. `$${` stands for `${` itself.
    /// Files, commands, manifests and patches are never changed
    #[arg(long)]
    pub env: bool,
    /// The user's profiles.
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

/// Output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// Output formats of `check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Findings {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// SARIF 2.1.0 for code review
    Sarif,
}

/// `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without flags, on a terminal, it asks questions. Examples:\n  firelay init cluster.yaml\n  \
                        firelay init --name lab --os debian-13 --platform metal --control-plane cp1=10.0.0.11 \
                        --worker 'w{1..3}=10.0.0.21-10.0.0.23' --endpoint-provider local lab.yaml\n  \
                        firelay init --nodes inventory.csv --platform metal --cni calico site.yaml"
)]
pub struct Init {
    /// The values of the spec.
    #[command(flatten)]
    pub answers: InitAnswers,
    /// Write this new file, and the schema for editors beside it, instead of stdout
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Files beside the documents, a value of `firelay explain delivery.extraOutputs`; may be repeated
    #[arg(long = "extra-output", value_name = "OUTPUT", value_parser = extra_output)]
    pub extra_outputs: Vec<String>,
    /// Add the secrets bundle and the rendered tree to .gitignore beside the spec
    #[arg(long)]
    pub gitignore: bool,
}

/// A value of `delivery.extraOutputs`.
fn extra_output(text: &str) -> Result<String, String> {
    match serde_json::from_value::<ExtraOutput>(text.into()) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
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
    /// Operating system of the machines, a name of `firelay profile list` [default: the most common one]
    #[arg(long, value_name = "PROFILE")]
    pub os: Option<String>,
    /// Platform of the machines, a name of `firelay profile list`
    #[arg(long, value_name = "PROFILE")]
    pub platform: Option<String>,
    /// The machines, as rows of a CSV file with the columns name, role, address and, if needed, mac, uuid and labels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["control_planes", "workers", "macs"])]
    pub nodes: Option<PathBuf>,
    /// One control plane or a range of them: cp{1..3}=10.0.0.11-10.0.0.13; may be repeated
    #[arg(long = "control-plane", value_name = "NAME=ADDRESS")]
    pub control_planes: Vec<String>,
    /// One worker or a range of them; may be repeated. Without workers, pods run on the control planes
    #[arg(long = "worker", value_name = "NAME=ADDRESS")]
    pub workers: Vec<String>,
    /// MAC address of a machine, or those of a range with commas between: w{1..2}=52:54:00:12:34:21,52:54:00:12:34:22;
    /// may be repeated
    #[arg(long = "mac", value_name = "NAME=MAC")]
    pub macs: Vec<String>,
    /// Provider of the endpoint: external, local or kubeVip=ADDRESS [default: external]
    #[arg(long, value_name = "PROVIDER")]
    pub endpoint_provider: Option<String>,
    /// DNS name of the API endpoint [default: api.NAME.example.com]
    #[arg(long, value_name = "HOST")]
    pub endpoint: Option<String>,
    /// Network plugin: a key of `firelay explain network.cni` [default: flannel]
    #[arg(long, value_name = "PLUGIN")]
    pub cni: Option<String>,
    /// Public SSH key that may log in; may be repeated
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
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Check again whenever one of the files changes, until Ctrl-C
    #[arg(long, conflicts_with = "output")]
    pub watch: bool,
    /// Output format
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
    /// A path of keys (`nodes.taints`), a code (`FL0103`) or a prefix of codes (`FL01`); without it the whole spec
    #[arg(value_name = "PATH|CODE")]
    pub what: Option<String>,
    /// Also list nested keys
    #[arg(long)]
    pub recursive: bool,
}

/// `render`.
#[derive(Debug, Args)]
pub struct Render {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The output directory; `-` prints the document of one `--node` to stdout
    #[arg(short, long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// Render only this node or pool; may be repeated. The files of all others stay as they are.
    /// Files of the whole cluster (admin.kubeconfig, node-names) are written only by a render of all nodes
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// With `--out -`: escape the document for this template engine
    #[arg(long = "for", value_enum, value_name = "ENGINE")]
    pub engine: Option<TemplateEngine>,
    /// Create the secrets bundle if there is none
    #[arg(long)]
    pub new_secrets: bool,
    /// The record, and changes of a running cluster.
    #[command(flatten)]
    pub state: StateArgs,
    /// Output format
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
    /// The cluster exists: write no `kubeadm init`, so that a replaced founder cannot create a second cluster. The record keeps
    /// this for all later renders
    #[arg(long)]
    pub founded: bool,
    /// The cluster no longer exists: write `kubeadm init` again
    #[arg(long, conflicts_with = "founded")]
    pub refound: bool,
    /// This machine is created again: its certificates begin today; may be repeated
    #[arg(long, value_name = "NAME")]
    pub replace: Vec<String>,
    /// Override findings with this code about a change of a running cluster; may be repeated. The record keeps code and date
    #[arg(long, value_name = "CODE", value_parser = overridable)]
    pub accept: Vec<String>,
    /// Create the missing record from the tree in --out
    #[arg(long)]
    pub adopt_tree: bool,
}

/// A code that `--accept` takes.
fn overridable(code: &str) -> Result<String, String> {
    let known = crate::record::OVERRIDABLE;
    match known.contains(&code) {
        true => Ok(code.to_owned()),
        false => Err(format!(
            "findings with this code cannot be accepted; these can: {}",
            known.join(", ")
        )),
    }
}

/// `plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 3 if the running cluster cannot take the change. Examples:\n  firelay plan\n  \
                        firelay plan --detailed-exitcode --output json | jq '.counts'",
    mut_arg("specs", spec_or_tree)
)]
pub struct Plan {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The tree of the last render
    #[arg(short, long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// The record, and changes of a running cluster.
    #[command(flatten)]
    pub state: StateArgs,
    /// Compare the record with the machines that run, too: read the objects with this kubeconfig; nothing is written to the cluster
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Its context [default: the current one]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub context: Option<String>,
    /// The same with objects as `kubectl get --output yaml` prints them: a file, or a directory of them; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "kubeconfig")]
    pub from: Vec<PathBuf>,
    /// Exit with 0 without changes and with 6 with changes
    #[arg(long)]
    pub detailed_exitcode: bool,
    /// Output format; SARIF contains only the findings
    #[arg(long, value_enum, default_value_t)]
    pub output: Findings,
}

/// `update`.
#[derive(Debug, Args)]
#[command(
    after_help = "It does what `render` does. It also writes OUT/update/NUMBER/NAME.sh for each machine that changes in place, and \
                  ORDER with the steps. Run each script as root on its machine, through any channel. The update continues \
                  by itself, also after a power cut. `firelay plan` shows the same changes and writes nothing.\n\n\
                  Examples:\n  firelay plan\n  firelay update\n  ssh cp1 sudo bash -s <out/update/1/cp1.sh\n  firelay update --done",
    mut_arg("specs", spec_or_tree)
)]
pub struct Update {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The tree of the last render, which the running machines have; the new tree replaces it
    #[arg(short, long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// Update only this node or pool; may be repeated. The files of all others stay as they are
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// The running machines have the documents of this tree instead of those in --out
    #[arg(long, value_name = "DIR", conflicts_with = "replace")]
    pub from: Option<PathBuf>,
    /// Apply kubeadm's configuration of the cluster even if the record has it already
    #[arg(long, conflicts_with = "node")]
    pub configuration: bool,
    /// Apply the manifests of plugins and add-ons even if the record has them already
    #[arg(long, conflicts_with = "node")]
    pub manifests: bool,
    /// All machines are updated or created anew: only remove the scripts from the tree, and say so in the record
    #[arg(long, conflicts_with_all = ["node", "from", "configuration", "manifests"])]
    pub done: bool,
    /// The record, and changes of a running cluster.
    #[command(flatten)]
    pub state: StateArgs,
    /// Output format
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
                        Later renders contain no `kubeadm init`. Certificates of added machines begin on the day of their render."
)]
pub struct Founded {
    /// The spec; the record is beside it [default: cluster.yaml]
    #[arg(value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// The secrets bundle; the record is beside it. It is not read
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The record of the cluster [default: as for `render`]
    #[arg(long = "state", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// When the cluster was founded, in RFC 3339 [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

/// A template engine that reads a document before the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TemplateEngine {
    /// Terraform's templatefile()
    Terraform,
    /// Jinja, as with `## template: jinja`
    Jinja,
}

/// `size`.
#[derive(Debug, Args)]
#[command(mut_arg("specs", spec_or_tree))]
pub struct Size {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Measure this rendered tree instead of a spec
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["specs", "set", "env"])]
    pub out: Option<PathBuf>,
    /// Show only this node
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Output format
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
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `version`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  firelay version --output json | jq -r '.kubernetes[-1]'")]
pub struct Version {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  firelay man | man -l -\n  firelay man --out /usr/local/share/man/man1")]
pub struct Man {
    /// Write one page for each verb into this directory, instead of all pages to stdout
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
