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
mod outline;
mod page;
mod refused;
mod serve;
mod sizes;
mod subject;

use std::path::Path;

use firelay_yaml::diagnostic::{self, Diagnostic};
use time::OffsetDateTime;

use self::{
    page::Page,
    refused::RefusedSpec,
    subject::{Subject, of_spec, of_tree, resolve},
};
use super::{
    audit, clock,
    failure::Failure,
    progress,
    project::{Refused, Resolution, print_findings, refusal, tree},
    state::whole_second,
    streams, verify,
    watch::{self, Files},
};
use crate::{
    audit::Catalogue,
    cli::Report,
    disk::{self, Access},
    redact::redact_spec,
};

/// Runs the verb.
pub fn run(args: &Report) -> Result<(), Failure> {
    match args.serve {
        Some(address) => serve::run(args, address),
        None if args.out.is_dir() => Err(Failure::Usage(format!(
            "{0} is a directory, and --out is the page to write: for the page of a tree, run `firelay report {0} --out FILE`",
            args.out.display()
        ))),
        None => with_page(args, &mut Files::new(), |page, secrets| write(args, &page, secrets)),
    }
}

/// Hands over the page and the secrets that may not be in it, and notes the files of the spec. Then findings decide the exit code.
fn with_page(
    args: &Report,
    files: &mut Files,
    done: impl FnOnce(Page<'_>, &Catalogue) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let now = whole_second(clock::now()?);
    if let Some(out) = tree(&args.inputs)? {
        let subject = progress::during("reading the documents", || of_tree(out, &args.inputs, now))?;
        done(Page::of(&subject, now), &subject.catalogue)?;
        return verdict(&subject);
    }
    let resolution = resolve(args, now)?;
    files.extend(read_files(&resolution));
    let project = match resolution {
        Ok(project) => project,
        Err(refused) => return refuse(*refused, now, done),
    };
    of_spec(args, &project, now, |subject, update| {
        done(Page::of(subject, now), &subject.catalogue)?;
        refuse_changes(&update.findings)?;
        verdict(subject)
    })
}

/// Prints the findings of a refused spec, and hands over their page. It has nothing of a bundle.
fn refuse(
    refused: Refused,
    now: OffsetDateTime,
    done: impl FnOnce(Page<'_>, &Catalogue) -> Result<(), Failure>,
) -> Result<(), Failure> {
    print_findings(&redact_spec(&refused.spec), &refused.findings);
    let verdict = refusal(&refused.spec.name(), &refused.findings);
    let spec = RefusedSpec::of(refused);
    let name = spec.name.clone();
    done(
        Page::of_refused(spec, &name, verdict.clone(), now),
        &Catalogue::new(Vec::new()),
    )?;
    Err(Failure::Refused(verdict))
}

fn read_files(resolution: &Resolution) -> Files {
    watch::files(match resolution {
        Ok(project) => &project.spec,
        Err(refused) => &refused.spec,
    })
}

/// Writes the page, unless it contains a secret.
fn write(args: &Report, page: &Page<'_>, secrets: &Catalogue) -> Result<(), Failure> {
    let page = page.render()?;
    audit::refuse_secrets(secrets, &args.out, &page)?;
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
