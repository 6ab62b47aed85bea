//! `report`: one HTML page about a cluster, from a spec or from a rendered tree.
//!
//! Every figure comes from another verb: `check`, `verify`, `graph`, `size`, `certs`, `audit` and `plan`. The modules here arrange
//! them as tables and drawings, and put machines that are alike into one row.

mod boot;
mod certificates;
mod changes;
mod cluster;
mod drawing;
mod exposure;
mod findings;
mod names;
mod page;
mod sizes;
mod subject;

use std::path::Path;

use firelay_yaml::diagnostic::{self, Diagnostic};
use time::OffsetDateTime;

use self::{
    page::Page,
    subject::{Subject, of_spec, of_tree},
};
use super::{audit, clock, failure::Failure, state::whole_second, streams, verify};
use crate::{
    cli::{Inputs, Report},
    disk::{self, Access},
};

/// Runs the verb.
pub fn run(args: &Report) -> Result<(), Failure> {
    let now = whole_second(clock::now()?);
    match tree(&args.inputs) {
        Some(out) => {
            refuse_spec_flags(&args.inputs)?;
            let subject = of_tree(out, &args.inputs, now)?;
            write(args, &subject, now)?;
            verdict(&subject)
        }
        None => of_spec(args, now, |subject, update| {
            write(args, subject, now)?;
            refuse_changes(&update.findings)?;
            verdict(subject)
        }),
    }
}

/// The directory, if the argument is one.
fn tree(inputs: &Inputs) -> Option<&Path> {
    let [only] = &inputs.spec.specs[..] else { return None };
    only.is_dir().then_some(only)
}

fn refuse_spec_flags(inputs: &Inputs) -> Result<(), Failure> {
    match inputs.spec.set.is_empty() && !inputs.spec.env {
        true => Ok(()),
        false => Err(Failure::Usage(
            "--set and --env change a spec, and a rendered tree is given".to_owned(),
        )),
    }
}

/// Writes the page, unless it contains a secret.
fn write(args: &Report, subject: &Subject, now: OffsetDateTime) -> Result<(), Failure> {
    let page = Page::of(subject, now).render()?;
    audit::refuse_secrets(&subject.catalogue, &args.out, &page)?;
    if args.out == Path::new("-") {
        return streams::data(&page);
    }
    let written = disk::replace(&args.out, page.as_bytes(), Access::Umask);
    written.map_err(|error| Failure::file("write", &args.out, &error))?;
    streams::tell(format_args!("wrote {}: {} bytes", args.out.display(), page.len()));
    Ok(())
}

/// Exit code 3 for changes that the running cluster cannot take.
fn refuse_changes(findings: &[Diagnostic]) -> Result<(), Failure> {
    match diagnostic::refuse(findings) {
        true => Err(Failure::Refused(
            "the running cluster cannot take these changes\n  = help: `firelay plan` shows what overrides this"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// Exit code 5 for errors of the tree, and for secrets in wrong places.
fn verdict(subject: &Subject) -> Result<(), Failure> {
    verify::refuse(&subject.out, &subject.verified)?;
    audit::verdict(&subject.exposure)
}
