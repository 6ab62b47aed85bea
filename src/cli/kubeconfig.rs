//! `kubeconfig`: access for one user.

use std::path::PathBuf;

use clap::Args;

use super::Inputs;

/// `kubeconfig`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each call creates a new key, which is in no other file. Kubernetes cannot revoke client certificates: keep --ttl short.\n\
                  A user has the rights that RBAC gives to the name or to the group. Examples:\n  \
                  firelay kubeconfig --user ana --ttl 8h --out ana.kubeconfig\n  \
                  kubectl --kubeconfig out/admin.kubeconfig create clusterrolebinding ana --clusterrole view --user ana"
)]
pub struct Kubeconfig {
    /// Spec and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Name of the user: the common name of the certificate
    #[arg(short, long, value_name = "NAME")]
    pub user: String,
    /// Group of the user: the organization of the certificate. It has one; bind roles to the user for more
    #[arg(short, long, value_name = "NAME")]
    pub group: Option<String>,
    /// Validity of the certificate, as a Go duration: 30m, 24h
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub ttl: String,
    /// The file to write, readable only by its owner; `-` is stdout. Of existing files it replaces only an earlier kubeconfig of this
    /// user and cluster
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
}
