//! `size`: the bytes of each document against its platform's limit, and what takes them. Writes nothing.

use anstream::println;

use super::{assembly::Assembly, failure::Failure, project::Project};
use crate::{
    cli::{OutputFormat, Size},
    delivery::NodeSize,
};

/// Runs the verb.
pub fn run(args: &Size) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let bundle = project.bundle(&args.inputs, false)?;
    let assembly = Assembly::new(&project, &bundle, false)?;
    let sizes = project
        .plan
        .nodes
        .iter()
        .filter(|node| args.node.as_ref().is_none_or(|name| *name == node.name))
        .map(|node| {
            let files = assembly.files(node, &assembly.pki(node)?)?;
            let artifact = assembly.artifact(node, &files)?;
            Ok(NodeSize::new(node, &files, &artifact.handover))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    if let (Some(name), true) = (&args.node, sizes.is_empty()) {
        return Err(unknown_node(&project, name));
    }
    match args.output {
        OutputFormat::Json => {
            println!(
                "{}",
                serde_json::to_string_pretty(&sizes).map_err(|error| Failure::io(&error))?
            );
        }
        OutputFormat::Text => sizes.iter().for_each(|size| print(size, args.node.is_some())),
    }
    Ok(())
}

fn unknown_node(project: &Project, name: &str) -> Failure {
    let help = match crate::diagnostic::nearest(name, project.plan.nodes.iter().map(|node| node.name.as_str())) {
        Some(near) => format!("\n  = help: did you mean {near}?"),
        None => String::new(),
    };
    Failure::Usage(format!("{} has no node or pool {name}{help}", project.source.name))
}

/// One line a node; with `every_file` its groups and files below it.
fn print(size: &NodeSize, every_file: bool) {
    let limit = match (size.limit, size.percent) {
        (Some(limit), Some(percent)) => format!("of {limit} ({percent} %)"),
        _ => "no limit".to_owned(),
    };
    println!(
        "{:<24} {:>7} {limit}  {} on {}",
        size.node, size.counted, size.attribute, size.platform
    );
    for group in &size.groups {
        println!(
            "    {:>7} raw {:>7} share  {}",
            group.raw,
            group.share,
            group.group.title()
        );
    }
    if every_file {
        println!();
        for file in &size.files {
            println!("    {:>7} raw {:>7} share  {}", file.raw, file.share, file.path);
        }
    }
}
