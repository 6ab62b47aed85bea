//! `check`: every finding of a spec.

use std::path::Path;

use firelay_yaml::diagnostic::{self, Diagnostic};

use super::{
    failure::Failure,
    git,
    measure::{self, Subject},
    project::{Outcome, Project, print_findings, refusal},
    streams,
};
use crate::{
    cli::{Check, Findings, SpecArgs},
    plan::{NodePlan, Plan},
    redact::redact_spec,
    secrets,
};

/// Runs the verb.
pub fn run(args: &Check) -> Result<(), Failure> {
    let outcome = measured(Project::open(&args.spec)?)?;
    let (layers, findings, plan) = match &outcome {
        Ok(project) => (&project.layers, &project.warnings, Some(&project.plan)),
        Err((layers, findings)) => (layers, findings, None),
    };
    // What a reader of annotations sees is what ends the run.
    let findings = &match args.strict {
        true => findings.iter().cloned().map(Diagnostic::strict).collect(),
        false => findings.clone(),
    };
    let (name, source) = (layers.name(), &redact_spec(layers));
    let verdict = match plan {
        None => Err(Failure::Refused(refusal(&name, findings))),
        Some(_) if args.strict && !findings.is_empty() => {
            let text = format!("{name} is refused: it has warnings, and --strict was given");
            Err(Failure::Refused(text))
        }
        Some(plan) => Ok(plan),
    };
    match args.output {
        Findings::Text => print_findings(source, findings),
        Findings::Json => streams::json(&serde_json::json!({
            "valid": verdict.is_ok(),
            "findings": diagnostic::to_json(source, findings),
        }))?,
        Findings::Sarif => streams::json(&diagnostic::to_sarif(source, findings))?,
    }
    warn_of_bundle(&args.spec);
    let plan = verdict?;
    match args.output {
        Findings::Text => streams::data(&summary(&name, plan)),
        Findings::Json | Findings::Sarif => Ok(()),
    }
}

/// Of the bundle beside the first spec, which `check` does not need.
fn warn_of_bundle(args: &SpecArgs) {
    let first = args.specs.first().filter(|spec| *spec != Path::new("-"));
    if let Some(folder) = first.and_then(|spec| spec.parent()) {
        git::warn_of_bundle(&folder.join(secrets::FILE));
    }
}

/// A spec whose documents do not fit is refused as well.
fn measured(outcome: Outcome) -> Result<Outcome, Failure> {
    let mut project = match outcome {
        Ok(project) => project,
        refused => return Ok(refused),
    };
    let warnings = std::mem::take(&mut project.warnings);
    project.warnings = with_sizes(project.subject(), warnings)?;
    Ok(match diagnostic::refuse(&project.warnings) {
        true => Err((project.layers, project.warnings)),
        false => Ok(project),
    })
}

/// The findings of a spec that can be resolved, those about the sizes of its documents among them.
pub fn with_sizes(subject: Subject<'_>, mut findings: Vec<Diagnostic>) -> Result<Vec<Diagnostic>, Failure> {
    findings.extend(measure::findings(subject)?);
    diagnostic::sort(&mut findings);
    Ok(findings)
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
        .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
        .collect();
    format!(
        "{name} is valid: cluster {}, Kubernetes {}, {}\n",
        plan.name,
        plan.kubernetes.version,
        parts.join(", ")
    )
}
