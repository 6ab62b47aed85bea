//! `render`: check, resolve, issue, assemble, write.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    assembly::{Assembly, for_each_node},
    failure::Failure,
    project::{Project, bundle_path, save_bundle},
    streams,
};
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

/// Lines of a table that are still worth printing.
const SCREEN: usize = 40;

/// Runs the verb.
pub fn run(args: &Render) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let path = bundle_path(&args.inputs);
    let new = args.new_secrets && !path.exists();
    let bundle = if new {
        project.new_bundle()?
    } else {
        project.bundle(&args.inputs)?
    };
    let assembly = Assembly::new(&project, &bundle, args.founded)?;
    still_valid(&project, &bundle, OffsetDateTime::now_utc())?;
    let tree = TreeWriter::begin(&args.out).map_err(|error| Failure::io(&error))?;
    same_cluster(&args.out, tree.last(), &project.plan.name, &bundle)?;
    let nodes = for_each_node(&project.plan.nodes, |node| write_node(&assembly, &tree, node))?;
    put(
        &tree,
        ManifestFile::new("admin.kubeconfig"),
        assembly.admin_kubeconfig()?.expose().as_bytes(),
    )?;
    put(
        &tree,
        ManifestFile::new("node-names"),
        node_names(&project.plan.nodes).as_bytes(),
    )?;
    let manifest = Manifest::new(
        &project.plan.name,
        &project.plan.kubernetes.version.to_string(),
        &bundle.fingerprint(),
    );
    if new {
        tree.check().map_err(|error| Failure::io(&error))?;
        save_bundle(&path, &bundle)?;
    }
    let written = tree.finish(manifest).map_err(|error| Failure::io(&error))?;
    warn_of_expiry(&nodes, OffsetDateTime::now_utc());
    report(args, &project, &bundle, &nodes, &written)
}

/// A node waits for a clock inside its certificates' validity: with ones that have ended it would wait for ever.
fn still_valid(project: &Project, bundle: &Bundle, now: OffsetDateTime) -> Result<(), Failure> {
    let end = bundle.issued_at + project.plan.pki.leaf_validity;
    if now < end {
        return Ok(());
    }
    Err(Failure::Secrets(format!(
        "the certificates of this bundle ended on {}, pki.leafValidity after it was made\n  \
         = help: a longer pki.leafValidity makes new ones of the same keys; every node then gets a new document",
        end.date()
    )))
}

/// A tree of another cluster, or of the same name with other secrets, is not replaced: its machines would be, too.
fn same_cluster(out: &Path, last: Option<&Manifest>, cluster: &str, bundle: &Bundle) -> Result<(), Failure> {
    let Some(last) = last else { return Ok(()) };
    let out = out.display();
    if last.cluster != cluster {
        return Err(Failure::Secrets(format!(
            "{out} holds the documents of cluster {}, the spec describes cluster {cluster}: name another directory with --out",
            last.cluster
        )));
    }
    if last.bundle_fingerprint != bundle.fingerprint() {
        return Err(Failure::Secrets(format!(
            "{out} was rendered with the secrets {}, these are {}: other secrets are another cluster\n  \
             = help: bring the first bundle back, or name another directory with --out",
            last.bundle_fingerprint,
            bundle.fingerprint()
        )));
    }
    Ok(())
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
    // A pool's document has no certificate, and its token counts from the day of founding.
    for (described, bytes) in artifact.tree_files(node, (!node.pool).then_some(pki.expires)) {
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

/// One line for each node of the spec that registers under its own name: what `firelay-status --cluster --expect` reads.
fn node_names(nodes: &[NodePlan]) -> String {
    let named = nodes.iter().filter(|node| node.roles.kubernetes() && !node.pool);
    named.map(|node| node.name.clone() + "\n").collect()
}

fn put(tree: &TreeWriter, described: ManifestFile, bytes: &[u8]) -> Result<(), Failure> {
    tree.put(described, bytes).map_err(|error| Failure::io(&error))
}

fn warn_of_expiry(nodes: &[Written], now: OffsetDateTime) {
    let Some(first) = nodes.iter().min_by_key(|node| node.expires) else {
        return;
    };
    if first.expires < now + SOON {
        streams::tell(format_args!(
            "warning: the certificates of {} end on {}; they count from the day that the bundle was made",
            first.node,
            first.expires.date()
        ));
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
        OutputFormat::Json => streams::json(&serde_json::json!({
            "cluster": project.plan.name,
            // Not every path is text.
            "out": args.out.display().to_string(),
            "bundle": bundle.fingerprint(),
            "nodes": nodes,
        })),
        OutputFormat::Text => {
            streams::tell(summary(&args.out, nodes, written));
            streams::data(&table(nodes))
        }
    }
}

/// What to hand over, a line a node, for clusters that fit on a screen.
fn table(nodes: &[Written]) -> String {
    if nodes.len() > SCREEN {
        return String::new();
    }
    let width = nodes.iter().map(|node| node.file.len()).max().unwrap_or_default();
    let line = |node: &Written| {
        let limit = match node.limit {
            Some(limit) => format!("of {limit}"),
            None => "no limit".to_owned(),
        };
        format!(
            "{:width$}  {:>6} bytes {limit:<10} for {}\n",
            node.file, node.bytes, node.attribute
        )
    };
    nodes.iter().map(line).collect()
}

fn summary(out: &Path, nodes: &[Written], written: &tree::Report) -> String {
    let mut platforms: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        *platforms.entry(&node.platform).or_default() += 1;
    }
    let platforms: Vec<_> = platforms
        .iter()
        .map(|(platform, count)| format!("{count} for {platform}"))
        .collect();
    let first = nodes.iter().map(|node| node.expires).min();
    let expires = first.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default();
    format!(
        "wrote {} documents ({}) to {}: {} files new or changed, {} unchanged, {} removed; certificates hold until {expires}",
        nodes.len(),
        platforms.join(", "),
        out.display(),
        written.written.len(),
        written.unchanged.len(),
        written.removed.len(),
    )
}
