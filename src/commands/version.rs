//! `version`: this program, and the versions of Kubernetes that it knows.

use std::env::consts;

use semver::Version;
use serde::Serialize;

use super::{failure::Failure, streams};
use crate::{cli, profile::Profiles, spec::API_VERSION};

/// Where the program comes from, and its data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct About {
    version: &'static str,
    /// The commit of the sources; `packaging/release` sets it.
    commit: Option<&'static str>,
    os: &'static str,
    architecture: &'static str,
    /// `apiVersion` of specs.
    spec: &'static str,
    /// Every version of Kubernetes with digests, in ascending order.
    kubernetes: Vec<Version>,
}

/// Runs the verb.
pub fn run(args: &cli::Version) -> Result<(), Failure> {
    let profiles = Profiles::embedded()?;
    let mut kubernetes: Vec<_> = profiles
        .kubernetes
        .values()
        .flat_map(|minor| minor.versions.clone())
        .collect();
    kubernetes.sort();
    let about = About {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("FIRELAY_COMMIT"),
        os: consts::OS,
        architecture: consts::ARCH,
        spec: API_VERSION,
        kubernetes,
    };
    streams::report(args.output, &about, || text(&about))
}

fn text(about: &About) -> String {
    let commit = about
        .commit
        .map(|commit| format!("commit {commit}, "))
        .unwrap_or_default();
    let (first, last) = (about.kubernetes.first(), about.kubernetes.last());
    let range = first.zip(last).map(|(first, last)| format!("{first} to {last}"));
    format!(
        "firelay {} ({commit}{} {})\nspec        {}\nKubernetes  {}\n",
        about.version,
        about.os,
        about.architecture,
        about.spec,
        range.unwrap_or_default()
    )
}
