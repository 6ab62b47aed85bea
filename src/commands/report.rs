//! `report`: one HTML page about a cluster, from a spec or from a rendered tree.
//!
//! Every figure comes from another verb: `check`, `verify`, `graph`, `size`, `certs`, `audit` and `plan`. The modules here arrange
//! them as tables and drawings, and put machines that are alike into one row.

mod axis;
mod boot;
mod certificates;
mod changes;
mod cluster;
mod drawing;
mod exposure;
mod findings;
mod names;
mod page;
mod serve;
mod sizes;
mod subject;

use std::path::Path;

use firelay_yaml::diagnostic::{self, Diagnostic};
use time::OffsetDateTime;

use self::{
    page::Page,
    subject::{Subject, accept, of_spec, of_tree, resolve},
};
use super::{
    audit, clock,
    failure::Failure,
    progress,
    project::{Resolution, tree},
    state::whole_second,
    streams, verify,
    watch::{self, Files},
};
use crate::{
    cli::Report,
    disk::{self, Access},
};

/// Runs the verb.
pub fn run(args: &Report) -> Result<(), Failure> {
    match args.serve {
        Some(address) => serve::run(args, address),
        None if args.out.is_dir() => Err(Failure::Usage(format!(
            "{0} is a directory, and --out is the page to write: for the page of a tree, run `firelay report {0} --out FILE`",
            args.out.display()
        ))),
        None => with_subject(args, &mut Files::new(), |subject, now| write(args, subject, now)),
    }
}

/// Hands over the data of the page, and notes the files of the spec. Then findings decide the exit code.
fn with_subject(
    args: &Report,
    files: &mut Files,
    done: impl FnOnce(&Subject, OffsetDateTime) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let now = whole_second(clock::now()?);
    if let Some(out) = tree(&args.inputs)? {
        let subject = progress::during("reading the documents", || of_tree(out, &args.inputs, now))?;
        done(&subject, now)?;
        return verdict(&subject);
    }
    let resolution = resolve(args, now)?;
    files.extend(read_files(&resolution));
    of_spec(args, &accept(resolution)?, now, |subject, update| {
        done(subject, now)?;
        refuse_changes(&update.findings)?;
        verdict(subject)
    })
}

fn read_files(resolution: &Resolution) -> Files {
    watch::files(match resolution {
        Ok(project) => &project.spec,
        Err(refused) => &refused.spec,
    })
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
