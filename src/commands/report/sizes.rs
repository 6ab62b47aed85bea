//! Documents against the limits of their platforms. Of machines that are alike the largest document is shown.
//! Those of a refused spec are measured, and not made.

use std::collections::BTreeMap;

use firelay_verify::{Format, Machine};
use serde::Serialize;

use super::{super::size::given, names::Names, subject::Subject};
use crate::{
    delivery::{CompressedSizes, Group, NodeSize},
    plan::NodePlan,
    tree::ManifestFile,
};

#[derive(Serialize)]
pub(super) struct Sizes {
    /// A document does not fit.
    over: bool,
    documents: Vec<Documents>,
    legend: Vec<Legend>,
}

/// Documents of machines that are alike.
#[derive(Serialize)]
struct Documents {
    names: Names,
    platform: String,
    attribute: String,
    form: &'static str,
    /// Width of the bar: the limit, or all bytes where there is none.
    scale: u64,
    /// The limit, if the document is longer.
    over: Option<u64>,
    counted: u64,
    smallest: u64,
    limit: Option<u64>,
    percent: Option<u64>,
    payload: Option<u64>,
    parts: Vec<Part>,
}

/// Files of one kind.
#[derive(Serialize)]
struct Part {
    kind: Group,
    title: &'static str,
    /// The position in the bar.
    from: u64,
    share: u64,
    raw: u64,
}

/// A kind of files.
#[derive(Serialize)]
struct Legend {
    kind: Group,
    title: &'static str,
}

/// Kinds of files, in the order of the bars.
const KINDS: [Group; 7] = [
    Group::Pki,
    Group::Scripts,
    Group::Addons,
    Group::Kubeadm,
    Group::Units,
    Group::Configs,
    Group::Other,
];

impl Sizes {
    pub(super) fn of(subject: &Subject) -> Self {
        let documents: Vec<_> = groups(subject)
            .into_iter()
            .filter_map(|group| Documents::of(&group))
            .collect();
        Self::new(documents)
    }

    /// Documents of which some do not fit, each with its machines.
    pub(super) fn measured(sizes: Vec<Measured<'_>>) -> Self {
        Self::new(measured_groups(sizes).filter_map(Documents::measured).collect())
    }

    fn new(documents: Vec<Documents>) -> Self {
        let is_used = |kind: &Group| {
            documents
                .iter()
                .flat_map(|own| &own.parts)
                .any(|part| part.kind == *kind)
        };
        let legend = { KINDS.into_iter().filter(is_used) }.map(|kind| Legend {
            kind,
            title: kind.title(),
        });
        Self {
            over: documents.iter().any(|own| own.over.is_some()),
            legend: legend.collect(),
            documents,
        }
    }

    /// The document nearest to its limit.
    pub(super) fn fullest(&self) -> Option<String> {
        let fullest = self.documents.iter().max_by_key(|own| own.percent)?;
        let percent = fullest.percent?;
        Some(format!("{percent} % of {}'s limit", fullest.platform))
    }
}

/// A machine's delivered file, and the bytes of its payload.
type Given<'s> = (&'s Machine, &'s ManifestFile, Option<u64>);

/// The size of a document, and the machines that are set up like its own.
type Measured<'p> = (NodeSize, Vec<&'p NodePlan>);

/// Machines with the same task on the same platform, whose documents have the same form, and fit or do not.
fn measured_groups(sizes: Vec<Measured<'_>>) -> impl Iterator<Item = Vec<Measured<'_>>> {
    let mut groups: BTreeMap<_, Vec<Measured<'_>>> = BTreeMap::new();
    for (size, nodes) in sizes {
        let of_node = nodes.first().map(|node| (!node.founder, node.pool, node.role()));
        let fits = size.limit.is_none_or(|limit| size.counted <= limit);
        let document = (size.platform.clone(), size.attribute.clone(), size.form, size.encoding);
        groups.entry((of_node, document, fits)).or_default().push((size, nodes));
    }
    groups.into_values()
}

/// Machines whose first boot is alike, and whose documents have the same form.
fn groups(subject: &Subject) -> Vec<Vec<Given<'_>>> {
    let of_boot = subject.picture.groups.iter().enumerate();
    let of_boot: BTreeMap<_, _> = of_boot
        .flat_map(|(at, group)| group.machines.iter().map(move |name| (name.as_str(), at)))
        .collect();
    let given = given(&subject.manifest);
    let mut groups: BTreeMap<_, Vec<Given<'_>>> = BTreeMap::new();
    for machine in &subject.tree.machines {
        let Some((file, payload)) = given.get(machine.name.as_str()) else {
            continue;
        };
        let ignition = machine.format == Format::Ignition;
        let kind = (ignition, &machine.platform, &file.attribute, file.form, file.encoding);
        let key = (of_boot.get(machine.name.as_str()), kind);
        groups.entry(key).or_default().push((machine, file, *payload));
    }
    groups.into_values().collect()
}

impl Documents {
    fn of(group: &[Given<'_>]) -> Option<Self> {
        let counted = |given: &&Given<'_>| given.1.counted.unwrap_or(given.1.bytes);
        let (machine, file, payload) = group.iter().max_by_key(counted)?;
        let size = NodeSize::of_tree(machine, file, *payload, &CompressedSizes::default());
        let names = Names::of(group.iter().map(|(machine, ..)| machine.name.as_str()));
        Some(Self::new(names, group.iter().map(|given| counted(&given)).min()?, size))
    }

    fn measured(group: Vec<Measured<'_>>) -> Option<Self> {
        let smallest = group.iter().map(|(size, _)| size.counted).min()?;
        let nodes = group.iter().flat_map(|(_, nodes)| nodes);
        let names = Names::of(nodes.map(|node| node.name.as_str()));
        let largest = group
            .into_iter()
            .map(|(size, _)| size)
            .max_by_key(|size| size.counted)?;
        Some(Self::new(names, smallest, largest))
    }

    fn new(names: Names, smallest: u64, size: NodeSize) -> Self {
        let all = size.payload.unwrap_or(size.counted);
        let limit = size.limit.filter(|_| size.payload.is_none());
        Self {
            names,
            form: size.form.name(),
            scale: limit.unwrap_or(all).max(all).max(1),
            over: limit.filter(|limit| *limit < all),
            smallest,
            counted: size.counted,
            limit: size.limit,
            percent: size.percent,
            payload: size.payload,
            parts: parts(&size),
            platform: size.platform,
            attribute: size.attribute,
        }
    }
}

/// The kinds of files, one beside the other.
fn parts(size: &NodeSize) -> Vec<Part> {
    let mut from = 0;
    let groups = KINDS
        .iter()
        .filter_map(|kind| size.groups.iter().find(|own| own.group == *kind));
    let part = |own: &crate::delivery::GroupSize| {
        let part = Part {
            kind: own.group,
            title: own.group.title(),
            from,
            share: own.share,
            raw: own.raw,
        };
        from += own.share;
        part
    };
    groups.map(part).collect()
}
