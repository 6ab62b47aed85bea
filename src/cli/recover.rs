//! `recover`: the way back from a snapshot of etcd.

use std::path::PathBuf;

use clap::Args;

use super::{IdentityArg, Inputs, OUT, OutputFormat, SpecArgs, spec_or_tree};

/// `recover`.
#[derive(Debug, Args)]
#[command(
    after_help = "It writes nothing, and connects to nothing: run the commands on the machines that it names. The member that took a snapshot\n\
                  founds etcd anew, unless --on names another. Examples:\n  \
                  firelay recover --snapshot /var/backups/etcd/etcd-cp1-20261123T030010Z.db\n  \
                  firelay recover --snapshot s3://example-backups/prod/etcd-cp1-20261123T030010Z.db --on cp2 --lost cp1 --lost cp3",
    mut_arg("specs", spec_or_tree)
)]
pub struct Recover {
    /// The spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// The snapshot: a path on the machine that founds etcd anew, or its name in the bucket
    #[arg(long, value_name = "FILE|s3://…")]
    pub snapshot: String,
    /// The member that founds etcd anew [default: the one that took the snapshot]
    #[arg(long, value_name = "NAME")]
    pub on: Option<String>,
    /// A member whose machine or disk does not come back; may be repeated
    #[arg(long, value_name = "NAME")]
    pub lost: Vec<String>,
    /// The secrets bundle; the record is beside it. It is not read
    #[arg(short, long, value_name = "FILE", env = "FIRELAY_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The record of the cluster [default: as for `render`]
    #[arg(long = "state", value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// The tree of the last render: its documents show whether the machines have firelay-recover
    #[arg(short, long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

impl Recover {
    /// Where the record is.
    pub fn inputs(&self) -> Inputs {
        Inputs {
            spec: self.spec.clone(),
            secrets: self.secrets.clone(),
            identity: IdentityArg::default(),
        }
    }
}
