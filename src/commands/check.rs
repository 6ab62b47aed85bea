//! `check`: every finding of a spec.

use super::{
    failure::Failure,
    project::{Project, print_findings, refusal},
    streams,
};
use crate::{
    cli::{Check, Findings},
    diagnostic::{self, Source},
    plan::{NodePlan, Plan},
};

/// Runs the verb.
pub fn run(args: &Check) -> Result<(), Failure> {
    let outcome = Project::open(&args.spec)?;
    let (source, findings, plan) = match &outcome {
        Ok(project) => (&project.source, &project.warnings, Some(&project.plan)),
        Err((source, findings)) => (source, findings, None),
    };
    let verdict = match plan {
        None => Err(Failure::Refused(refusal(source, findings))),
        Some(_) if args.strict && !findings.is_empty() => {
            let text = format!("{} is refused: it has warnings, and --strict was given", source.name());
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
    let plan = verdict?;
    match args.output {
        Findings::Text => streams::data(&summary(source, plan)),
        Findings::Json | Findings::Sarif => Ok(()),
    }
}

fn summary(source: &Source, plan: &Plan) -> String {
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
        "{} is valid: cluster {}, Kubernetes {}, {}\n",
        source.name(),
        plan.name,
        plan.kubernetes.version,
        parts.join(", ")
    )
}
