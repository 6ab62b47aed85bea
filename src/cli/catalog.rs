//! `catalog`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Fetching, OutputFormat, ProfilesArg};
use crate::spec::Arch;

/// Verbs on the catalog of binaries.
#[derive(Debug, Subcommand)]
pub enum CatalogVerb {
    /// Add digests of newer releases to your own profiles, from upstream's checksum files or a table
    Update(CatalogUpdate),
}

/// `catalog update`.
#[derive(Debug, Args)]
#[command(
    after_help = "It writes DIR/catalog.yaml, and for Kubernetes DIR/kubernetes/MINOR.yaml. It reads digests over HTTPS from the \
                  checksum file that each project publishes with its release. Examples:\n  \
                  firelay catalog update kubernetes=1.36.5 runc=1.5.2 --profiles profiles\n  \
                  firelay catalog update kubernetes=1.36.5 --from kubespray/roles/kubespray_defaults/vars/main/checksums.yml --profiles profiles\n  \
                  firelay render --profiles profiles --set kubernetes.version=1.36.5"
)]
pub struct CatalogUpdate {
    /// A release: `containerd=2.3.7`; `kubernetes=1.36.5` means kubeadm, kubelet and kubectl
    #[arg(value_name = "NAME=VERSION", required = true)]
    pub releases: Vec<String>,
    /// Your own profiles, where the digests are written.
    #[command(flatten)]
    pub profiles: ProfilesArg,
    /// Only this processor architecture [default: all architectures of the catalog]
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub arch: Vec<Arch>,
    /// Read the digests from this file, without network: Kubespray's checksums.yml or asset data of kops
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// How files are downloaded.
    #[command(flatten)]
    pub fetching: Fetching,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

fn arch(text: &str) -> Result<Arch, String> {
    serde_json::from_value(text.into()).map_err(|_| "amd64 or arm64".to_owned())
}
