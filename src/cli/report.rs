//! `report`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::{Inputs, OUT};

/// `report`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The page needs no network and holds no secret. It shows a spec, or the rendered tree in a directory.\n\n\
                  Exit codes are those of `check`, `plan`, `verify` and `audit`: the page is written before, with all findings.\n\n\
                  Examples:\n  firelay report --out cluster.html\n  firelay report out --secrets firelay.secrets.yaml\n  \
                  firelay report cluster.yaml --serve\n  \
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
    /// Show the page on this machine instead, and again after each change of a file, until Ctrl-C. Address and port for HTTP
    /// [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0",
          value_parser = address, conflicts_with = "out")]
    pub serve: Option<SocketAddr>,
    /// For a spec: the tree of the last render, for the changes since
    #[arg(long, value_name = "DIR", default_value = OUT)]
    pub tree: PathBuf,
    /// For a spec: the record of the cluster [default: as `render` has it]
    #[arg(long = "state", value_name = "FILE")]
    pub state: Option<PathBuf>,
}

/// Where a page is shown.
fn address(text: &str) -> Result<SocketAddr, String> {
    let help = "no address with a port, such as 127.0.0.1:8080; the spec stands before --serve";
    text.parse().map_err(|_| help.to_owned())
}
