//! The report of `render`: a line for each node, or the same as JSON.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    super::{command_line::publish_command, failure::Failure, project::Project, streams},
    Render,
};
use crate::{
    cli::OutputFormat,
    delivery::{
        Artifact, ManifestFile,
        tree::{self, TreeWriter},
    },
    plan::NodePlan,
    secrets::Bundle,
    spec::DeliveryForm,
};

/// Lines of a table that are still worth printing.
const SCREEN: usize = 40;

/// One line of the report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Written {
    pub(super) node: String,
    platform: String,
    file: String,
    attribute: String,
    form: DeliveryForm,
    bytes: u64,
    limit: Option<u64>,
    /// Where the payload of a pointer has to lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    pub(super) expires: OffsetDateTime,
}

impl Written {
    /// A node's, whose document is this one and whose certificates hold so long.
    pub(super) fn new(node: &NodePlan, artifact: Artifact, expires: OffsetDateTime) -> Self {
        let handover = artifact.handover;
        Self {
            node: node.name.clone(),
            platform: node.platform.name.clone(),
            file: format!("nodes/{}/{}", node.name, handover.file),
            attribute: handover.attribute,
            form: handover.form,
            payload: artifact.payload.map(|payload| payload.url),
            bytes: handover.counted,
            limit: handover.limit,
            expires,
        }
    }

    /// Those of machines that keep their documents, from the last manifest.
    pub(super) fn of_kept(tree: &TreeWriter, kept: &BTreeSet<&str>) -> Vec<Self> {
        let files = tree.last().into_iter().flat_map(|last| &last.files);
        let own = files.filter(|file| file.node.as_deref().is_some_and(|node| kept.contains(node)));
        let (handed, others): (Vec<_>, Vec<_>) = own.partition(|file| file.attribute.is_some());
        let urls = others
            .iter()
            .filter_map(|file| Some((file.node.as_deref()?, file.url.as_ref()?)));
        let urls: BTreeMap<_, _> = urls.collect();
        let one = |file: &ManifestFile| {
            let node = file.node.clone()?;
            Some(Self {
                platform: file.platform.clone()?,
                file: file.path.clone(),
                attribute: file.attribute.clone()?,
                form: file.form?,
                payload: urls.get(node.as_str()).map(|url| (*url).clone()),
                bytes: file.counted?,
                limit: file.limit,
                expires: file.expires?,
                node,
            })
        };
        handed.into_iter().filter_map(one).collect()
    }
}

/// Prints where the documents are.
pub(super) fn report(
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
            let payloads = nodes.iter().filter(|node| node.payload.is_some()).count();
            if payloads > 0 {
                streams::tell(format_args!(
                    "{payloads} of them fetch the rest, which has to be there before a machine boots: {}",
                    publish_command(&args.out)
                ));
            }
            streams::data(&table(nodes))
        }
    }
}

/// The documents, a line for each node, for clusters that fit on a screen.
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
            "{:width$}  {:>6} bytes {limit:<10} for {}, {}\n",
            node.file,
            node.bytes,
            node.attribute,
            node.form.name()
        )
    };
    nodes.iter().map(line).collect()
}

/// How many there are of each.
fn counted(words: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    counts.join(", ")
}

fn summary(out: &Path, nodes: &[Written], written: &tree::Report) -> String {
    let platforms = counted(nodes.iter().map(|node| format!("for {}", node.platform)));
    let forms = counted(nodes.iter().map(|node| node.form.name().to_owned()));
    let first = nodes.iter().map(|node| node.expires).min();
    let expires = first.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default();
    format!(
        "wrote {} ({platforms}; {forms}) to {}: {} new or changed, {} unchanged, {} removed; certificates hold until {expires}",
        streams::counted(nodes.len(), "document"),
        out.display(),
        streams::counted(written.written.len(), "file"),
        written.unchanged.len(),
        written.removed.len(),
    )
}
