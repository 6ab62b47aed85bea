//! `adopt`.

use std::path::PathBuf;

use clap::Args;

use super::{ProfilesArg, SPEC};

/// `adopt`.
#[derive(Debug, Args)]
#[command(
    after_help = "Copy /etc/kubernetes/pki of a control plane, as root. With --kubeconfig the objects come from the cluster:\n  \
                  firelay adopt --pki pki --kubeconfig admin.conf --os ubuntu-24.04 --platform metal\n\n\
                  Without a connection, print them with kubectl:\n  \
                  kubectl --namespace kube-system get configmaps --output yaml >objects.yaml\n  \
                  kubectl get nodes --output yaml >nodes.yaml\n  \
                  firelay adopt --pki pki --from objects.yaml --from nodes.yaml --os ubuntu-24.04 --platform metal\n\n\
                  It writes the spec, the secrets bundle and the record. If the spec exists it stays as it is, and is compared \
                  with the cluster. Without objects it writes only the bundle:\n  \
                  firelay adopt --pki pki --name prod"
)]
pub struct Adopt {
    /// The PKI of the cluster: a copy of /etc/kubernetes/pki of a control plane
    #[arg(long, value_name = "DIR")]
    pub pki: PathBuf,
    /// Objects of the cluster as `kubectl get --output yaml` prints them: a file, or a directory of them; may be repeated
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,
    /// Read the objects from the cluster with this kubeconfig of an administrator; nothing is written to the cluster
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub kubeconfig: Option<PathBuf>,
    /// Its context [default: the current one]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub context: Option<String>,
    /// The cluster's name [default: kubeadm's clusterName]
    #[arg(long)]
    pub name: Option<String>,
    /// Operating system of machines that firelay creates, a name of `firelay profile list`
    #[arg(long, value_name = "PROFILE")]
    pub os: Option<String>,
    /// Platform of machines that firelay creates, a name of `firelay profile list`
    #[arg(long, value_name = "PROFILE")]
    pub platform: Option<String>,
    /// The spec: written if it does not exist, otherwise compared with the cluster
    #[arg(value_name = "SPEC", default_value = SPEC)]
    pub spec: PathBuf,
    /// The new secrets bundle [default: firelay.secrets.yaml beside the spec]
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The new record [default: as for `render`]
    #[arg(long = "state", value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Encrypt the bundle for this recipient: `age1…`, or a line of authorized_keys with an SSH key; may be repeated
    #[arg(short, long = "recipient", value_name = "RECIPIENT")]
    pub recipients: Vec<String>,
    /// The user's profiles.
    #[command(flatten)]
    pub profiles: ProfilesArg,
}
