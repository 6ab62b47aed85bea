//! `artifacts`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{OutputFormat, SpecArgs};

/// Verbs on files and images that machines need.
#[derive(Debug, Subcommand)]
pub enum ArtifactsVerb {
    /// List every file that machines download and every image that they pull
    List(ArtifactsList),
    /// Download every file into a directory for a mirror, or print the commands
    Mirror(ArtifactsMirror),
    /// Check every file of a mirror by its digest
    Check(ArtifactsCheck),
    /// List every image that the cluster pulls, or print commands that copy the images
    Images(ArtifactsImages),
}

/// `artifacts list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Sizes need --mirror. The time in an SPDX document is SOURCE_DATE_EPOCH or \
                        the current time. Examples:\n  firelay artifacts list\n  firelay artifacts list --output spdx > cluster.spdx.json"
)]
pub struct ArtifactsList {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// A directory that `artifacts mirror` filled: the sizes are read from its files
    #[arg(long, value_name = "DIR")]
    pub mirror: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: Inventory,
}

/// Output formats of `artifacts list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Inventory {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// Software bill of materials: SPDX 2.3 as JSON
    Spdx,
}

/// How files are downloaded.
#[derive(Debug, Args)]
pub struct Fetching {
    /// Number of parallel downloads
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub parallel: u8,
    /// A PEM file of CA certificates to trust, besides those of the system
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// `artifacts mirror`.
#[derive(Debug, Args)]
#[command(
    after_help = "It continues interrupted downloads and skips files that are already right. A file gets its name after its \
                  SHA-256 was checked. It reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Examples:\n  \
                  firelay artifacts mirror mirror\n  firelay artifacts mirror mirror --plan | sh -e\n  \
                  firelay artifacts mirror mirror prod.yaml edge.yaml"
)]
pub struct ArtifactsMirror {
    /// The directory; the path of a file is the host and path of its URL
    #[arg(value_name = "DIR")]
    pub mirror: PathBuf,
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Print the downloads as shell commands, and download nothing
    #[arg(long)]
    pub plan: bool,
    /// How to download.
    #[command(flatten)]
    pub fetching: Fetching,
    /// Number of retries of a file, with growing pauses
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    pub retries: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `artifacts check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 5: a file is missing or wrong. Exit code 1: the server does not answer. --quick believes the server: \
                  a server that answers every path with 200 passes, and so does a file with wrong bytes. Examples:\n  firelay artifacts check mirror\n  \
                  firelay artifacts check http://files.example.com/mirror --images"
)]
pub struct ArtifactsCheck {
    /// A directory, or the mirror's URL as in `artifacts.mirror`
    #[arg(value_name = "DIR|URL")]
    pub place: String,
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Check only that each file exists and is not empty: servers get HEAD requests, and no digest is checked
    #[arg(long)]
    pub quick: bool,
    /// Also ask the registries for every image, with the mirrors and credentials of `runtime.registries`
    #[arg(long)]
    pub images: bool,
    /// How to download.
    #[command(flatten)]
    pub fetching: Fetching,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `artifacts images`.
#[derive(Debug, Args)]
#[command(
    after_help = "Tags of kubeadm's own images come from its table for this release; `kubeadm config images list` of the same \
                        release is authoritative. Examples:\n  firelay artifacts images\n  \
                        firelay artifacts images --copy-to registry.example.com:5000 | sh -e"
)]
pub struct ArtifactsImages {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Print a `skopeo copy` command for each image: to its target of `imageRewrites`, or else to this registry
    #[arg(long, value_name = "REGISTRY", conflicts_with = "output")]
    pub copy_to: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
