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

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use firelay_yaml::diagnostic::{self, Diagnostic};
use time::OffsetDateTime;

use self::{
    page::Page,
    refused::RefusedSpec,
    subject::{Subject, of_spec, of_tree, resolve},
};
use super::{
    audit,
    bundle::bundle_path,
    clock,
    failure::Failure,
    progress,
    project::{Refused, Resolution, print_findings, refusal, tree},
    state::{record_path, whole_second},
    streams, verify,
    watch::{self, Files},
};
use crate::{
    audit::Catalogue,
    cli::Report,
    disk::{self, Access},
    redact::redact_spec,
    tree::MANIFEST,
};

/// The beginning of a page, up to its title.
const HEAD: u64 = 4096;

/// Runs the verb.
pub fn run(args: &Report) -> Result<(), Failure> {
    match args.serve {
        Some(address) => serve::run(args, address),
        None if args.out.is_dir() => Err(Failure::Usage(format!(
            "{0} is a directory, and --out is the page to write: for the page of a tree, run `firelay report {0} --out FILE`",
            args.out.display()
        ))),
        None => with_page(args, &mut files_beside(args), |page, secrets, read| {
            refuse_other(&args.out, read)?;
            write(args, &page, secrets)
        }),
    }
}

/// Files that belong to no spec: bundle, identities, record and manifest.
fn files_beside(args: &Report) -> Files {
    let inputs = &args.inputs;
    let out = tree(inputs).ok().flatten().unwrap_or(&args.tree);
    let own = [
        bundle_path(inputs),
        record_path(args.state.as_deref(), inputs),
        out.join(MANIFEST),
    ];
    own.into_iter().chain(inputs.identity.files.clone()).collect()
}

/// Hands over the page, the secrets that may not be in it and the files that were read, and notes those of the spec. Then findings
/// decide the exit code.
fn with_page(
    args: &Report,
    files: &mut Files,
    done: impl FnOnce(Page<'_>, &Catalogue, &Files) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let now = whole_second(clock::now()?);
    if let Some(out) = tree(&args.inputs)? {
        let subject = progress::during("reading the documents", || of_tree(out, &args.inputs, now))?;
        done(Page::of(&subject, now), &subject.catalogue, files)?;
        return verdict(&subject);
    }
    let resolution = resolve(args, now)?;
    files.extend(read_files(&resolution));
    let project = match resolution {
        Ok(project) => project,
        Err(refused) => return refuse(*refused, now, |page, secrets| done(page, secrets, files)),
    };
    of_spec(args, &project, now, |subject, update| {
        done(Page::of(subject, now), &subject.catalogue, files)?;
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

/// A file is replaced if it is empty or an earlier page, and if nothing was read from it: `--out` is the tree in other verbs, and
/// `-o` stands near `-s`.
fn refuse_other(out: &Path, read: &Files) -> Result<(), Failure> {
    let Ok(found) = fs::metadata(out) else {
        return Ok(());
    };
    let place = |path: &PathBuf| fs::canonicalize(path).ok();
    let here = fs::canonicalize(out).ok();
    let why = if here.is_some() && read.iter().any(|path| place(path) == here) {
        "was read for the page"
    } else if found.is_file() && found.len() > 0 && !is_page(out) {
        "exists, and is not a page of `firelay report`"
    } else {
        return Ok(());
    };
    Err(Failure::Refused(format!(
        "{} {why}: it is not overwritten\n  = help: name another file with --out",
        out.display()
    )))
}

/// Whether the file begins as every page does.
fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && head.trim_start().starts_with("<!doctype html>") && head.contains(": firelay report</title>")
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
