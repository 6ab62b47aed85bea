//! `verify`: whether the machines of a rendered tree would start.

use std::path::Path;

use firelay_verify::{self as verify, Chosen, Finding, Level, Verified};
use serde::Serialize;
use time::OffsetDateTime;

use super::{
    against,
    failure::Failure,
    progress,
    streams::{self, counted},
};
use crate::{
    cli::{OutputFormat, Verify},
    delivery::{Manifest, tree::TreeWriter},
};

/// Codes of certificates that are not valid today.
const TIME: [&str; 2] = ["FL1036", "FL1037"];

/// Runs the verb.
pub fn run(args: &Verify) -> Result<(), Failure> {
    let out = args.tree.path();
    let mut verified = progress::during("verifying", || verify::verify(out, OffsetDateTime::now_utc()))?;
    if !args.against.is_empty() {
        verified.findings.extend(against::findings(args)?);
        verified.findings.sort();
    }
    let counts = Counts::of(&verified.findings);
    report(args, &verified, counts)?;
    verdict(args.tree.path(), counts)?;
    match args.output {
        OutputFormat::Json => Ok(()),
        OutputFormat::Text => streams::data(&summary(args, &verified, counts)),
    }
}

fn report(args: &Verify, verified: &Verified, counts: Counts) -> Result<(), Failure> {
    let findings = &verified.findings;
    match args.output {
        OutputFormat::Json => streams::json(&VerifyReport {
            out: args.tree.path().display().to_string(),
            cluster: &verified.cluster,
            machines: verified.machines,
            counts,
            findings,
        })?,
        OutputFormat::Text if findings.is_empty() => {}
        OutputFormat::Text => streams::tell(text(findings)),
    }
    Ok(())
}

fn summary(args: &Verify, verified: &Verified, counts: Counts) -> String {
    let same = match args.against.is_empty() {
        true => "",
        false => ", the same bytes as its spec makes",
    };
    format!(
        "{} is verified: cluster {}, {}, {}{same}{}\n",
        args.tree.path().display(),
        verified.cluster,
        counted(verified.machines, "document"),
        counted(verify::CHECKS.len(), "check"),
        counts.also()
    )
}

/// Verifies a tree before a render puts it in place: one with an error never gets there. A warning is printed once; notes are
/// left to the verb.
///
/// Only checks run that can fail by something that the spec brings: no hand was at these documents yet.
///
/// Machines wait for a clock inside of their certificates' validity. That of this machine may be wrong, so the bundle's day is
/// the earliest that counts.
pub fn staged(
    out: &Path,
    writer: &TreeWriter,
    manifest: &Manifest,
    issued: OffsetDateTime,
    chosen: &Chosen,
) -> Result<(), Failure> {
    let fetch = |path: &str| writer.content(path);
    let now = OffsetDateTime::now_utc().max(issued);
    let (manifest, founded) = (manifest.to_json(), manifest.founded);
    let check = || verify::verify_chosen(manifest.as_bytes(), &fetch, out, now, verify::PART, chosen);
    let verified = progress::during("verifying", check);
    let mut findings = verified?.findings;
    // In an existing cluster machines have their own dates, which the record's rules have checked.
    let is_dated = |finding: &Finding| founded && TIME.contains(&finding.code);
    findings.retain(|finding| finding.level != Level::Note && !is_dated(finding));
    if !findings.is_empty() {
        streams::tell(briefly(&findings));
    }
    verdict(out, Counts::of(&findings))
}

/// Every error, and the first of equal warnings.
fn briefly(findings: &[Finding]) -> String {
    let same = |one: &Finding, other: &Finding| one.code == other.code && one.message == other.message;
    let mut texts = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        let warns = finding.level == Level::Warning;
        if warns && findings[..at].iter().any(|earlier| same(earlier, finding)) {
            continue;
        }
        let elsewhere = match warns {
            true => "   = note: other files may have the same: firelay verify shows all\n",
            false => "",
        };
        texts.push(one(finding) + elsewhere);
    }
    texts.join("\n")
}

/// Reports parts of the tree that a drawing lacks; then the exit code is 5.
pub fn undrawn(out: &Path, findings: &[Finding]) -> Result<(), Failure> {
    if findings.is_empty() {
        return Ok(());
    }
    streams::tell(text(findings));
    let errors = counted(findings.len(), "error");
    Err(Failure::Policy(format!(
        "{} is not drawn as a whole: {errors}",
        out.display()
    )))
}

/// Exit code 5 for an error among the findings.
pub(super) fn refuse(out: &Path, findings: &[Finding]) -> Result<(), Failure> {
    verdict(out, Counts::of(findings))
}

/// Exit code 5 for an error.
fn verdict(out: &Path, counts: Counts) -> Result<(), Failure> {
    if counts.errors == 0 {
        return Ok(());
    }
    let errors = counted(counts.errors, "error");
    Err(Failure::Policy(format!(
        "{} would not come up as it should: {errors}{}",
        out.display(),
        counts.also()
    )))
}

/// The report for machines.
#[derive(Serialize)]
struct VerifyReport<'a> {
    out: String,
    cluster: &'a str,
    machines: usize,
    #[serde(flatten)]
    counts: Counts,
    findings: &'a [Finding],
}

/// How many there are of each level.
#[derive(Clone, Copy, Serialize)]
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Counts {
    fn of(findings: &[Finding]) -> Self {
        let count = |level| findings.iter().filter(|finding| finding.level == level).count();
        Self {
            errors: count(Level::Error),
            warnings: count(Level::Warning),
            notes: count(Level::Note),
        }
    }

    /// Warnings and notes.
    fn also(self) -> String {
        let parts = [(self.warnings, "warning"), (self.notes, "note")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        parts
            .map(|(count, word)| format!(", {}", counted(count, word)))
            .collect()
    }
}

/// The findings for people, a blank line between them.
fn text(findings: &[Finding]) -> String {
    let texts: Vec<_> = findings.iter().map(one).collect();
    texts.join("\n")
}

/// A finding for people.
pub(super) fn one(finding: &Finding) -> String {
    let Finding {
        document,
        path,
        code,
        level,
        message,
        help,
    } = finding;
    let path = path.as_ref().map_or_else(String::new, |path| format!(": {path}"));
    let help = help
        .as_ref()
        .map_or_else(String::new, |help| format!("   = help: {help}\n"));
    format!("{}[{code}]: {message}\n  --> {document}{path}\n{help}", level.name())
}
