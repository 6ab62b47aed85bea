//! `secrets new` and `secrets show`.

use serde::Serialize;
use time::format_description::well_known::Rfc3339;

use super::{
    failure::{Failure, shell_word},
    project::{Project, bundle_path, load_bundle, save_bundle},
    streams,
};
use crate::cli::{Inputs, OutputFormat, SecretsShow};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Public {
    cluster: String,
    issued_at: String,
    epoch: u32,
    fingerprint: String,
}

/// Runs `secrets new`.
pub fn new(inputs: &Inputs) -> Result<(), Failure> {
    let project = Project::load(&inputs.spec)?;
    save_bundle(&bundle_path(inputs), &project.new_bundle()?)
}

/// Runs `secrets show`.
pub fn show(args: &SecretsShow) -> Result<(), Failure> {
    let path = &args.secrets;
    let bundle = load_bundle(path, || format!("firelay secrets new --secrets {}", shell_word(path)))?;
    let public = Public {
        cluster: bundle.cluster.clone(),
        issued_at: bundle.issued_at.format(&Rfc3339).map_err(|error| Failure::io(&error))?,
        epoch: bundle.epoch,
        fingerprint: bundle.fingerprint(),
    };
    match args.output {
        OutputFormat::Json => streams::json(&public),
        OutputFormat::Text if args.fingerprint => streams::data(&format!("{}\n", public.fingerprint)),
        OutputFormat::Text => streams::data(&format!(
            "cluster:     {}\nissued at:   {}\nepoch:       {}\nfingerprint: {}\n",
            public.cluster, public.issued_at, public.epoch, public.fingerprint
        )),
    }
}
