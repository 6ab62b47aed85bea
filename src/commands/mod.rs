//! The verbs, one file each: the only place that connects the stages and uses clock, randomness and disk.

mod adopt;
mod against;
mod artifacts;
pub mod assembly;
mod audit;
mod bundle;
mod catalog;
mod certs;
pub mod check;
mod clock;
mod command_line;
mod completions;
mod diff;
mod documents;
mod explain;
mod failure;
mod founded;
mod git;
mod graph;
mod harden;
mod in_place;
pub mod init;
pub mod input;
mod kept;
pub mod known_secrets;
mod kubeconfig;
mod last_tree;
mod man;
pub mod measure;
mod plan;
pub mod preview;
mod profile;
mod progress;
pub mod project;
mod publish;
mod recover;
mod render;
mod rendered;
mod report;
mod rotate;
mod schema;
mod secrets;
mod seed;
mod serve;
mod signals;
mod size;
mod state;
mod streams;
mod terraform;
mod update;
mod variables;
mod verify;
mod version;
mod watch;
mod why;

pub use failure::Failure;
pub use harden::harden_process;

use crate::cli::{ArtifactsVerb, CatalogVerb, ProfileVerb, SecretsVerb, Verb};

/// Runs a verb.
pub fn run(verb: &Verb) -> Result<(), Failure> {
    command_line::keep(verb);
    match verb {
        Verb::Init(args) => init::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Secrets(SecretsVerb::New(args)) => secrets::new(args),
        Verb::Secrets(SecretsVerb::Show(args)) => secrets::show(args),
        Verb::Secrets(SecretsVerb::Seal(args)) => secrets::seal(args),
        Verb::Secrets(SecretsVerb::Rotate(args)) => rotate::run(args),
        Verb::Secrets(SecretsVerb::Token(args)) => secrets::token(args),
        Verb::Render(args) => render::run(args),
        Verb::Plan(args) => plan::run(args),
        Verb::Diff(args) => diff::run(args),
        Verb::Update(args) => update::run(args),
        Verb::Founded(args) => founded::run(args),
        Verb::Recover(args) => recover::run(args),
        Verb::Adopt(args) => adopt::run(args),
        Verb::Kubeconfig(args) => kubeconfig::run(args),
        Verb::Certs(args) => certs::run(args),
        Verb::Terraform(args) => terraform::run(args),
        Verb::Publish(args) => publish::run(args),
        Verb::Verify(args) => verify::run(args),
        Verb::Size(args) => size::run(args),
        Verb::Audit(args) => audit::run(args),
        Verb::Seed(args) => seed::run(args),
        Verb::Serve(args) => serve::run(args),
        Verb::Graph(args) => graph::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Why(args) => why::run(args),
        Verb::Artifacts(ArtifactsVerb::List(args)) => artifacts::list(args),
        Verb::Artifacts(ArtifactsVerb::Mirror(args)) => artifacts::mirror(args),
        Verb::Artifacts(ArtifactsVerb::Check(args)) => artifacts::check(args),
        Verb::Artifacts(ArtifactsVerb::Images(args)) => artifacts::images(args),
        Verb::Schema => schema::run(),
        Verb::Explain(args) => explain::run(args),
        Verb::Catalog(CatalogVerb::Update(args)) => catalog::update(args),
        Verb::Profile(ProfileVerb::List(args)) => profile::list(args),
        Verb::Profile(ProfileVerb::Show(args)) => profile::show(args),
        Verb::Man(args) => man::run(args),
        Verb::Version(args) => version::run(args),
        Verb::Completions { shell } => completions::run(*shell),
    }
}
