//! `check`: every finding of a spec.

use anstream::println;

use super::{
    failure::Failure,
    project::{Project, print_findings, refusal},
};
use crate::{
    cli::{Check, OutputFormat},
    diagnostic::{self, Diagnostic, Severity, Source},
    plan::Plan,
};

/// Runs the verb.
pub fn run(args: &Check) -> Result<(), Failure> {
    let outcome = Project::open(&args.spec)?;
    let (source, findings, plan) = match &outcome {
        Ok(project) => (&project.source, &project.warnings, Some(&project.plan)),
        Err((source, findings)) => (source, findings, None),
    };
    print(args.output, source, findings)?;
    let strict = args.strict && !findings.is_empty();
    match plan {
        Some(plan) if !strict => summary(args.output, source, plan),
        Some(_) => {
            return Err(Failure::Refused(format!(
                "{} is refused: warnings, and --strict",
                source.name
            )));
        }
        None => return Err(Failure::Refused(refusal(source, findings))),
    }
    Ok(())
}

fn print(format: OutputFormat, source: &Source, findings: &[Diagnostic]) -> Result<(), Failure> {
    match format {
        OutputFormat::Text => print_findings(source, findings),
        OutputFormat::Json => {
            let json = serde_json::json!({
                "valid": findings.iter().all(|finding| finding.severity != Severity::Error),
                "findings": diagnostic::to_json(source, findings),
            });
            println!(
                "{}",
                serde_json::to_string_pretty(&json).map_err(|error| Failure::io(&error))?
            );
        }
    }
    Ok(())
}

fn summary(format: OutputFormat, source: &Source, plan: &Plan) {
    if format == OutputFormat::Text {
        let count = |wanted: fn(&crate::plan::NodePlan) -> bool| plan.nodes.iter().filter(|node| wanted(node)).count();
        println!(
            "{} is valid: cluster {}, Kubernetes {}, {} control planes, {} workers, {} etcd members, {} pools",
            source.name,
            plan.name,
            plan.kubernetes.version,
            count(|node| node.roles.control_plane),
            count(|node| node.roles.worker && !node.pool),
            count(|node| node.roles.etcd),
            count(|node| node.pool),
        );
    }
}
