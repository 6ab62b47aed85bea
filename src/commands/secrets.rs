//! `secrets new` and `secrets show`.

use anstream::println;
use serde::Serialize;
use time::format_description::well_known::Rfc3339;

use super::{
    failure::{Failure, chain},
    project::{Project, bundle_path},
};
use crate::{
    cli::{Inputs, OutputFormat, SecretsShow},
    secrets,
};

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
    project.new_bundle(&bundle_path(inputs)).map(drop)
}

/// Runs `secrets show`.
pub fn show(args: &SecretsShow) -> Result<(), Failure> {
    let bundle = secrets::load(&args.secrets)
        .map_err(|error| Failure::Secrets(chain(&error)))?
        .bundle;
    let public = Public {
        cluster: bundle.cluster.clone(),
        issued_at: bundle.issued_at.format(&Rfc3339).map_err(|error| Failure::io(&error))?,
        epoch: bundle.epoch,
        fingerprint: bundle.fingerprint(),
    };
    match args.output {
        OutputFormat::Json => {
            println!(
                "{}",
                serde_json::to_string_pretty(&public).map_err(|error| Failure::io(&error))?
            );
        }
        OutputFormat::Text if args.fingerprint => println!("{}", public.fingerprint),
        OutputFormat::Text => println!(
            "cluster:     {}\nissued at:   {}\nepoch:       {}\nfingerprint: {}",
            public.cluster, public.issued_at, public.epoch, public.fingerprint
        ),
    }
    Ok(())
}
