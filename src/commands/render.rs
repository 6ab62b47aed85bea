//! `render`: check, resolve, issue, assemble, write.

use std::{collections::BTreeMap, path::Path};

use anstream::{eprintln, println};
use rayon::prelude::*;
use serde::Serialize;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{assembly::Assembly, failure::Failure, project::Project};
use crate::{
    cli::{OutputFormat, Render},
    delivery::{
        Manifest, ManifestFile,
        tree::{self, TreeWriter},
    },
    plan::NodePlan,
    secrets::Bundle,
};

/// A certificate that ends within this time is worth a word.
const SOON: Duration = Duration::days(30);

/// Runs the verb.
pub fn run(args: &Render) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let bundle = project.bundle(&args.inputs, args.new_secrets)?;
    let assembly = Assembly::new(&project, &bundle, args.founded)?;
    let tree = TreeWriter::begin(&args.out).map_err(|error| Failure::io(&error))?;
    let nodes = project
        .plan
        .nodes
        .par_iter()
        .map(|node| write_node(&assembly, &tree, node))
        .collect::<Result<Vec<_>, _>>()?;
    put(
        &tree,
        ManifestFile::new("admin.kubeconfig"),
        assembly.admin_kubeconfig()?.expose().as_bytes(),
    )?;
    let manifest = Manifest::new(
        &project.plan.name,
        &project.plan.kubernetes.version.to_string(),
        &bundle.fingerprint(),
    );
    let written = tree.finish(manifest).map_err(|error| Failure::io(&error))?;
    warn_of_expiry(&nodes, OffsetDateTime::now_utc());
    report(args, &project, &bundle, &nodes, &written)
}

/// One line of the report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    node: String,
    platform: String,
    file: String,
    attribute: String,
    bytes: u64,
    limit: Option<u64>,
    #[serde(with = "time::serde::rfc3339")]
    expires: OffsetDateTime,
}

fn write_node(assembly: &Assembly<'_>, tree: &TreeWriter, node: &NodePlan) -> Result<Written, Failure> {
    let pki = assembly.pki(node)?;
    let files = assembly.files(node, &pki)?;
    let artifact = assembly.artifact(node, &files)?;
    for (described, bytes) in artifact.tree_files(node, Some(pki.expires)) {
        put(tree, described, bytes)?;
    }
    let handover = artifact.handover;
    Ok(Written {
        node: node.name.clone(),
        platform: node.platform.name.clone(),
        file: format!("nodes/{}/{}", node.name, handover.file),
        attribute: handover.attribute,
        bytes: handover.counted,
        limit: handover.limit,
        expires: pki.expires,
    })
}

fn put(tree: &TreeWriter, described: ManifestFile, bytes: &[u8]) -> Result<(), Failure> {
    tree.put(described, bytes).map_err(|error| Failure::io(&error))
}

fn warn_of_expiry(nodes: &[Written], now: OffsetDateTime) {
    let Some(first) = nodes.iter().min_by_key(|node| node.expires) else {
        return;
    };
    if first.expires < now + SOON {
        let verb = if first.expires < now { "ended" } else { "end" };
        eprintln!(
            "warning: the certificates of {} {verb} on {}",
            first.node,
            first.expires.date()
        );
    }
}

fn report(
    args: &Render,
    project: &Project,
    bundle: &Bundle,
    nodes: &[Written],
    written: &tree::Report,
) -> Result<(), Failure> {
    match args.output {
        OutputFormat::Json => {
            let json = serde_json::json!({
                "cluster": project.plan.name,
                "out": args.out,
                "bundle": bundle.fingerprint(),
                "nodes": nodes,
            });
            println!(
                "{}",
                serde_json::to_string_pretty(&json).map_err(|error| Failure::io(&error))?
            );
        }
        OutputFormat::Text => print_report(&args.out, nodes, written)?,
    }
    Ok(())
}

/// What to hand over, by platform; the table is for clusters that fit on a screen.
fn print_report(out: &Path, nodes: &[Written], written: &tree::Report) -> Result<(), Failure> {
    let mut platforms: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        *platforms.entry(&node.platform).or_default() += 1;
    }
    if nodes.len() <= 40 {
        let width = nodes.iter().map(|node| node.file.len()).max().unwrap_or_default();
        for node in nodes {
            let limit = node
                .limit
                .map_or_else(|| "no limit".to_owned(), |limit| format!("of {limit}"));
            println!(
                "{:width$}  {:>6} bytes {limit:<10} for {}",
                node.file, node.bytes, node.attribute
            );
        }
    }
    let platforms: Vec<_> = platforms
        .iter()
        .map(|(platform, count)| format!("{count} for {platform}"))
        .collect();
    let first = nodes.iter().map(|node| node.expires).min();
    let expires = first.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default();
    eprintln!(
        "wrote {} documents ({}) to {}: {} files new or changed, {} unchanged, {} removed; certificates hold until {expires}",
        nodes.len(),
        platforms.join(", "),
        out.display(),
        written.written.len(),
        written.unchanged.len(),
        written.removed.len(),
    );
    Ok(())
}
