//! `size`: the bytes of each document, its platform's limit, and the largest parts, of a spec or of a tree. Writes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use firelay_base::table::{Column, red, table, yellow};
use firelay_verify::{Machine, Tree};
use rayon::prelude::*;
use serde::Serialize;

use super::{
    assembly::{Assembly, for_each_node},
    failure::Failure,
    measure::{self, Basis},
    progress,
    project::{Project, did_you_mean, tree},
    state::is_founded,
    streams,
};
use crate::{
    cli::{OutputFormat, Size},
    delivery::{CompressedSizes, NodeSize},
    plan::NodePlan,
    profile::{Counted, DocumentFormat, Encoding},
    tree::{Manifest, ManifestFile, TreeReader},
};

/// One row of the report.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    size: NodeSize,
    /// Absent for a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    takes: Option<Takes<'a>>,
}

/// The documents of one kind that a platform accepts, and their readers.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Takes<'a> {
    #[serde(skip)]
    platform: &'a str,
    document: DocumentFormat,
    /// Resource and attribute of Terraform.
    terraform: Option<String>,
    api: Option<&'a str>,
    encodings: &'a [Encoding],
    counted: Counted,
    inner_compression: bool,
    #[serde(skip)]
    limit: Option<u64>,
    readable_by: &'a str,
}

impl<'a> Takes<'a> {
    fn of(node: &'a NodePlan) -> Option<Self> {
        let platform = &*node.platform;
        let data = node.os.user_data(platform)?;
        let resource = data.terraform.as_ref();
        Some(Self {
            platform: &platform.name,
            document: node.os.document,
            terraform: resource.map(|resource| format!("{resource}.{}", data.attribute)),
            api: data.api.as_deref(),
            encodings: &data.encodings,
            counted: data.counted,
            inner_compression: data.inner_compression,
            limit: data.limit,
            readable_by: &platform.readable_by,
        })
    }
}

/// Runs the verb.
pub fn run(args: &Size) -> Result<(), Failure> {
    match args.out.as_deref().or(tree(&args.inputs)?) {
        Some(out) => of_tree(args, out),
        None => of_spec(args),
    }
}

fn of_spec(args: &Size) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let nodes = chosen(&project, args.node.as_deref())?;
    let bundle = project.bundle_or_placeholder(&args.inputs, "size", "measured")?;
    let founded = is_founded(&args.inputs, &project.plan.name);
    let assembly = Assembly::new(&project, &bundle, founded)?;
    let compressed = CompressedSizes::default();
    let sizes = for_each_node(nodes, |node| {
        let files = assembly.files(node, &assembly.pki(node)?)?;
        let artifact = assembly.artifact(node, &files)?;
        let payload = artifact.payload.as_ref().map(|payload| payload.bytes);
        let mut size = NodeSize::new(node, &files, (&artifact.handover, payload), &compressed);
        if args.output == OutputFormat::Text && args.node.is_none() {
            size.files = Vec::new();
        }
        Ok(size)
    });
    let sizes = sizes.map_err(|failure| measure::explained(&project, Basis::of(&assembly), failure))?;
    let takes = nodes.iter().map(Takes::of);
    let rows = sizes.into_iter().zip(takes);
    let rows: Vec<_> = rows.map(|(size, takes)| Row { size, takes }).collect();
    streams::report(args.output, &rows, || text(&rows, args.node.is_some()))
}

/// The documents of a tree, as they are on the disk.
fn of_tree(args: &Size, out: &Path) -> Result<(), Failure> {
    let manifest = TreeReader::open(out)?.manifest;
    let given = given(&manifest);
    if let Some(name) = args.node.as_deref().filter(|name| !given.contains_key(name)) {
        let help = did_you_mean(name, given.keys().copied());
        return Err(Failure::Usage(format!(
            "{} has no node or pool {name}{help}",
            out.display()
        )));
    }
    let is_chosen = |machine: &Machine| args.node.as_ref().is_none_or(|name| *name == machine.name);
    let compressed = CompressedSizes::default();
    let row = |machine: Machine| {
        let (file, payload) = given.get(machine.name.as_str()).filter(|_| is_chosen(&machine))?;
        let mut size = NodeSize::of_tree(&machine, file, *payload, &compressed);
        if args.output == OutputFormat::Text && args.node.is_none() {
            size.files = Vec::new();
        }
        Some(Row { size, takes: None })
    };
    let mut rows = Vec::new();
    progress::during("measuring", || {
        // Each machine is freed where it was measured: one processor would take a tenth of the whole time.
        Tree::open_parts(out, |part| {
            rows.par_extend(part.machines.into_par_iter().filter_map(row));
        })
    })?;
    streams::report(args.output, &rows, || text(&rows, args.node.is_some()))
}

/// The delivered file of each machine of a tree, and the bytes of its payload.
pub(super) fn given(manifest: &Manifest) -> BTreeMap<&str, (&ManifestFile, Option<u64>)> {
    let payloads = manifest.files.iter().filter(|file| file.url.is_some());
    let payloads: BTreeMap<_, _> = payloads.map(|file| (file.node.as_deref(), file.bytes)).collect();
    let given = manifest.files.iter().filter(|file| file.attribute.is_some());
    let payload = |file: &ManifestFile| payloads.get(&file.node.as_deref()).copied();
    given
        .filter_map(|file| Some((file.node.as_deref()?, (file, payload(file)))))
        .collect()
}

/// The node or pool of that name, or all.
fn chosen<'a>(project: &'a Project, name: Option<&str>) -> Result<&'a [NodePlan], Failure> {
    match name {
        None => Ok(&project.plan.nodes),
        Some(name) => project.node(name).map(std::slice::from_ref),
    }
}

/// The nodes, then each platform once for each kind of document.
fn text(rows: &[Row<'_>], every_file: bool) -> String {
    let platforms: BTreeSet<_> = rows.iter().filter_map(|row| row.takes.as_ref()).collect();
    let platforms = platforms.into_iter().map(|takes| format!("\n{}", legend(takes)));
    let nodes: Vec<_> = rows.iter().flat_map(|row| lines(&row.size, every_file)).collect();
    let note =
        "\nBYTES as the platform counts them, with the estimated part of each kind of files; RAW on the machine.\n";
    table(&COLUMNS, &nodes) + note + &platforms.collect::<String>()
}

/// All sizes are bytes.
const COLUMNS: [Column<'_>; 8] = [
    Column::left("MACHINE"),
    Column::right("BYTES"),
    Column::right("RAW"),
    Column::right("LIMIT"),
    Column::right("USED"),
    Column::right("FETCHED"),
    Column::left("FORM"),
    Column::left("HANDED OVER AS"),
];

/// The node's line and, below it, its groups; with `every_file` its files as well.
fn lines(size: &NodeSize, every_file: bool) -> Vec<Vec<String>> {
    let number = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    let head = vec![
        size.node.clone(),
        size.counted.to_string(),
        size.groups.iter().map(|group| group.raw).sum::<u64>().to_string(),
        number(size.limit),
        used(size.percent),
        number(size.payload),
        size.form.name().to_owned(),
        format!("{} on {}", size.attribute, size.platform),
    ];
    let part = |raw: u64, share: u64, what: String| vec![what, share.to_string(), raw.to_string()];
    let groups = size.groups.iter();
    let groups = groups.map(|group| part(group.raw, group.share, format!("  {}", group.group.title())));
    let files = size.files.iter().filter(|_| every_file);
    let files = files.map(|file| part(file.raw, file.share, format!("    {}", file.path)));
    std::iter::once(head).chain(groups).chain(files).collect()
}

/// A document that uses more percent than this hardly has room for another key.
const TIGHT: u64 = 95;

/// The part of the limit, in red above it and in yellow just below.
fn used(percent: Option<u64>) -> String {
    match percent.map(|percent| (percent, format!("{percent} %"))) {
        Some((percent, text)) if percent > 100 => red(&text),
        Some((percent, text)) if percent > TIGHT => yellow(&text),
        Some((_, text)) => text,
        None => "-".to_owned(),
    }
}

/// The documents that a platform accepts, in some lines.
fn legend(takes: &Takes<'_>) -> String {
    let counted = match takes.counted {
        Counted::Decoded => "counted before base64",
        Counted::Encoded => "counted after base64",
        Counted::Sent => "counted as they are sent",
    };
    let limit = match takes.limit {
        Some(limit) => format!("of up to {limit} bytes, {counted}"),
        None => "of any size".to_owned(),
    };
    let forms = takes.encodings.iter().map(ToString::to_string);
    let inner = takes.inner_compression.then(|| "compressed inside".to_owned());
    let rows = [
        ("as", Some(forms.chain(inner).collect::<Vec<_>>().join(", or "))),
        ("Terraform", takes.terraform.clone()),
        ("otherwise", takes.api.map(str::to_owned)),
        ("read by", Some(takes.readable_by.to_owned())),
    ];
    let rows = rows.into_iter().filter_map(|(what, text)| Some((what, text?)));
    let rows: String = rows.map(|(what, text)| format!("    {what:<10} {text}\n")).collect();
    let format = takes.document;
    format!("{} takes {format} documents {limit}\n{rows}", takes.platform)
}
