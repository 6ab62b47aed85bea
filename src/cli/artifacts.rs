//! `artifacts`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{OutputFormat, SpecArgs};

/// Verbs on what machines fetch and pull.
#[derive(Debug, Subcommand)]
pub enum ArtifactsVerb {
    /// List every file that the machines fetch and every image that they pull
    List(ArtifactsList),
    /// Fetch every file into a directory for a mirror, or say what would be fetched
    Mirror(ArtifactsMirror),
    /// Prove that a mirror holds every file, byte by byte
    Check(ArtifactsCheck),
    /// List every image that the cluster pulls, as it is pulled, or print how they are copied
    Images(ArtifactsImages),
}

/// `artifacts list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Sizes are known of files that lie in --mirror. The time in an SPDX document is SOURCE_DATE_EPOCH, or \
                        now. Examples:\n  firelay artifacts list\n  firelay artifacts list --output spdx > cluster.spdx.json"
)]
pub struct ArtifactsList {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// A directory that `artifacts mirror` has filled: sizes are those of its files
    #[arg(long, value_name = "DIR")]
    pub mirror: Option<PathBuf>,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: Inventory,
}

/// How `artifacts list` reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Inventory {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
    /// A bill of materials, SPDX 2.3 as JSON
    Spdx,
}

/// How files are fetched.
#[derive(Debug, Args)]
pub struct Fetching {
    /// Files at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub parallel: u8,
    /// A file of certificates (PEM) that are trusted beside those of the system
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// `artifacts mirror`.
#[derive(Debug, Args)]
#[command(
    after_help = "What an earlier run began is gone on with, what is there and right is not fetched again, and a file has its name when \
                  its SHA-256 is right. HTTPS_PROXY, HTTP_PROXY and NO_PROXY count. Examples:\n  \
                  firelay artifacts mirror mirror\n  firelay artifacts mirror mirror --plan | sh -e\n  \
                  firelay artifacts mirror mirror prod.yaml edge.yaml"
)]
pub struct ArtifactsMirror {
    /// The directory; files lie in it by host and path of their URL
    #[arg(value_name = "DIR")]
    pub mirror: PathBuf,
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Print what would be fetched, as commands for a shell, and fetch nothing
    #[arg(long)]
    pub plan: bool,
    /// How to fetch.
    #[command(flatten)]
    pub fetching: Fetching,
    /// Tries of a file after the first, with growing pauses between them
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    pub retries: u32,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `artifacts check`.
#[derive(Debug, Args)]
#[command(
    after_help = "It ends with 5 if anything is missing or wrong, with 1 if nobody answers. --quick takes the server's word: one that answers every path with \
                  200 and some bytes passes, as does a file with other bytes; nobody tells sizes beforehand. Examples:\n  firelay artifacts check mirror\n  \
                  firelay artifacts check http://files.example.com/mirror --images"
)]
pub struct ArtifactsCheck {
    /// A directory, or the URL that the spec has as `artifacts.mirror`
    #[arg(value_name = "DIR|URL")]
    pub place: String,
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Only whether each file is there and not empty: a server is asked with HEAD, nothing is fetched, and no digest is proven
    #[arg(long)]
    pub quick: bool,
    /// Ask the registries for every image as well, by the mirrors and credentials of `runtime.registries`
    #[arg(long)]
    pub images: bool,
    /// How to fetch.
    #[command(flatten)]
    pub fetching: Fetching,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// `artifacts images`.
#[derive(Debug, Args)]
#[command(
    after_help = "An image that kubeadm names has the tag of its table for this release; `kubeadm config images list` of the very \
                        release has the last word. Examples:\n  firelay artifacts images\n  \
                        firelay artifacts images --copy-to registry.example.com:5000 | sh -e"
)]
pub struct ArtifactsImages {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Print the `skopeo copy` of each image to where it is pulled: by `imageRewrites`, or else to this registry
    #[arg(long, value_name = "REGISTRY", conflicts_with = "output")]
    pub copy_to: Option<String>,
    /// How to report
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}
