//! `size`: the bytes of each document against its platform's limit, and what takes them. Writes nothing.

use super::{
    assembly::{Assembly, for_each_node},
    failure::Failure,
    project::Project,
    streams,
};
use crate::{
    cli::{OutputFormat, Size},
    delivery::NodeSize,
    plan::NodePlan,
};

/// Runs the verb.
pub fn run(args: &Size) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let nodes = chosen(&project, args.node.as_deref())?;
    let bundle = project.bundle(&args.inputs)?;
    let assembly = Assembly::new(&project, &bundle, false)?;
    let sizes = for_each_node(nodes, |node| {
        let files = assembly.files(node, &assembly.pki(node)?)?;
        let artifact = assembly.artifact(node, &files)?;
        let payload = artifact.payload.as_ref().map(|payload| payload.bytes);
        Ok(NodeSize::new(node, &files, &artifact.handover, payload))
    })?;
    match args.output {
        OutputFormat::Json => streams::json(&sizes),
        OutputFormat::Text => streams::data(
            &sizes
                .iter()
                .map(|size| table(size, args.node.is_some()))
                .collect::<String>(),
        ),
    }
}

/// The node or pool of that name, or all.
fn chosen<'a>(project: &'a Project, name: Option<&str>) -> Result<&'a [NodePlan], Failure> {
    match name {
        None => Ok(&project.plan.nodes),
        Some(name) => project.node(name).map(std::slice::from_ref),
    }
}

/// The node's line and, below it, its groups; with `every_file` its files as well.
fn table(size: &NodeSize, every_file: bool) -> String {
    let limit = match (size.limit, size.percent) {
        (Some(limit), Some(percent)) => format!("of {limit} ({percent} %)"),
        _ => "no limit".to_owned(),
    };
    let fetched = size
        .payload
        .map_or_else(String::new, |bytes| format!(", fetches {bytes}"));
    let mut table = format!(
        "{:<24} {:>7} {limit}  {} on {}, {}{fetched}\n",
        size.node,
        size.counted,
        size.attribute,
        size.platform,
        size.rung.name()
    );
    let row = |raw, share, what: &str| format!("    {raw:>7} raw {share:>7} share  {what}\n");
    let groups = size.groups.iter();
    table.extend(groups.map(|group| row(group.raw, group.share, group.group.title())));
    if every_file {
        table.push('\n');
        table.extend(size.files.iter().map(|file| row(file.raw, file.share, &file.path)));
    }
    table
}
