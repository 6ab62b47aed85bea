//! `report`.

use std::path::PathBuf;

use clap::Args;

use super::Inputs;

/// `report`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page needs no network and holds no secret. It shows a spec, or the rendered tree in a directory.\n\n\
                  Exit codes are those of `plan`, `verify` and `audit`: the page is written before, with all findings.\n\n\
                  Examples:\n  firelay report --out cluster.html\n  firelay report out --secrets firelay.secrets.yaml\n  \
                  firelay report out --out - | ssh web 'cat >/srv/www/cluster.html'",
    mut_arg("specs", |arg| arg.value_name("SPEC|OUT").help(
        "The cluster spec; further files are merged over it in order; `-` is stdin. Or the directory of a rendered tree"
    )),
    mut_arg("secrets", |arg| arg.help(
        "The secrets bundle, `-` is stdin [default: firelay.secrets.yaml beside the spec; none for a tree, where only secrets with \
         a typical form are found without it]"
    ))
)]
pub struct Report {
    /// Spec or tree, and bundle.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The page to write; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// For a spec: the tree of the last render, for the changes since
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub tree: PathBuf,
    /// For a spec: the record of the cluster [default: as `render` has it]
    #[arg(long = "state", value_name = "FILE")]
    pub state: Option<PathBuf>,
}
