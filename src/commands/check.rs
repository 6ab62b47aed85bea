//! `check`: every finding of a spec.

mod watch;

use std::path::Path;

use time::Date;

use super::{
    clock,
    failure::Failure,
    git, measure,
    project::{Project, Resolution, print_findings, refusal},
    state::is_founded,
    streams,
    watch::{Files, files},
};
use crate::{
    cli::{Check, Findings, IdentityArg, Inputs, SpecArgs},
    plan::{self, NodePlan, Plan},
    redact::redact_spec,
    secrets,
};
use firelay_yaml::diagnostic::{self, Diagnostic, Source};

/// The result of one check.
struct Checked {
    /// The spec's texts, without secrets if there are findings.
    source: Source,
    findings: Vec<Diagnostic>,
    /// The summary of a valid spec, or the refusal.
    verdict: Result<String, String>,
    /// The files that were read.
    files: Files,
}

/// Runs the verb.
pub fn run(args: &Check) -> Result<(), Failure> {
    if args.watch {
        return watch::run(args);
    }
    let checked = checked(args)?;
    checked.report(args.output)?;
    warn_of_bundle(&args.spec);
    checked.conclude(args.output)
}

fn checked(args: &Check) -> Result<Checked, Failure> {
    let outcome = match Project::open(&args.spec)? {
        Ok(project) => {
            let inputs = Inputs {
                spec: args.spec.clone(),
                secrets: None,
                identity: IdentityArg::default(),
            };
            let founded = is_founded(&inputs, &project.plan.name);
            check_sizes(check_age(project, clock::now()?.date()), founded)?
        }
        refused => refused,
    };
    let (spec, findings) = match &outcome {
        Ok(project) => (&project.spec, &project.warnings),
        Err(refused) => (&refused.spec, &refused.findings),
    };
    // Annotations have the severity that decides the exit code.
    let findings = match args.strict {
        true => findings.iter().cloned().map(Diagnostic::strict).collect(),
        false => findings.clone(),
    };
    let name = spec.name();
    let verdict = match &outcome {
        Err(_) => Err(refusal(&name, &findings)),
        Ok(_) if args.strict && !findings.is_empty() => {
            Err(format!("{name} is refused: it has warnings, and --strict was given"))
        }
        Ok(project) => Ok(summary(&name, &project.plan)),
    };
    Ok(Checked {
        source: match findings.is_empty() {
            true => spec.source().clone(),
            false => redact_spec(spec),
        },
        findings,
        verdict,
        files: files(spec),
    })
}

impl Checked {
    fn report(&self, output: Findings) -> Result<(), Failure> {
        report(output, &self.source, &self.findings, self.verdict.is_ok())
    }

    fn conclude(self, output: Findings) -> Result<(), Failure> {
        let summary = self.verdict.map_err(Failure::Refused)?;
        match output {
            Findings::Text => streams::data(&summary),
            Findings::Json | Findings::Sarif => Ok(()),
        }
    }
}

fn report(output: Findings, source: &Source, findings: &[Diagnostic], valid: bool) -> Result<(), Failure> {
    match output {
        Findings::Text => print_findings(source, findings),
        Findings::Json => streams::json(&serde_json::json!({
            "valid": valid,
            "findings": diagnostic::to_json(source, findings),
        }))?,
        Findings::Sarif => streams::json(&diagnostic::to_sarif(source, findings))?,
    }
    Ok(())
}

/// Warns about the bundle beside the first spec, which `check` does not need.
fn warn_of_bundle(args: &SpecArgs) {
    let first = args.specs.first().filter(|spec| *spec != Path::new("-"));
    if let Some(folder) = first.and_then(|spec| spec.parent()) {
        git::warn_of_bundle(&folder.join(secrets::FILE));
    }
}

/// Warns of a release without further patches.
pub fn check_age(project: Project, today: Date) -> Project {
    let spec = project.spec.draft.value.as_ref();
    let finding = spec.and_then(|spec| plan::end_of_life(spec, &project.profiles, today));
    project.with_warnings(finding)
}

/// Refuses a spec whose documents do not fit.
pub fn check_sizes(project: Project, founded: bool) -> Result<Resolution, Failure> {
    let findings = measure::findings(&project, founded)?;
    Ok(project.with_findings(findings))
}

fn summary(name: &str, plan: &Plan) -> String {
    let count = |wanted: fn(&NodePlan) -> bool| plan.nodes.iter().filter(|node| wanted(node)).count();
    let parts = [
        (count(|node| node.roles.control_plane), "control plane"),
        (count(|node| node.roles.worker && !node.pool), "worker"),
        (count(|node| node.roles.etcd), "external etcd member"),
        (count(|node| node.pool), "pool"),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| streams::counted(count, what))
        .collect();
    format!(
        "{name} is valid: cluster {}, Kubernetes {}, {}\n",
        plan.name,
        plan.kubernetes.version,
        parts.join(", ")
    )
}
