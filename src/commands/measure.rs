//! The sizes of documents against their platforms' limits, and changes with which large documents fit.
//!
//! Each suggested change was tried: the spec is resolved with it, and the documents are rendered again.

use std::collections::BTreeMap;

use firelay_yaml::diagnostic::Diagnostic;
use rayon::prelude::*;

use super::{
    assembly::Assembly,
    bundle,
    failure::Failure,
    project::{Project, print_findings},
};
use crate::{
    delivery::{self, CompressedSizes, MARGIN, NodeSize, Overrun},
    plan::{self, ManifestSource, NodePlan, Plan},
    profile::Store,
    redact::redact_spec,
    secrets::Bundle,
    spec::{Algorithm, CaKeys},
};

/// Kinds of files that are named as the largest.
const LARGEST: usize = 3;

/// A document that does not fit, or hardly.
struct Tight<'p> {
    node: &'p NodePlan,
    counted: u64,
    limit: u64,
    /// Absent for one that fits.
    overrun: Option<Box<Overrun>>,
}

/// The inputs of a measurement beside the spec.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    /// The bundle, or a placeholder for it.
    pub bundle: &'a Bundle,
    /// No document of a founded cluster has `kubeadm init`.
    pub founded: bool,
}

impl<'a> Basis<'a> {
    /// The inputs with which an assembly renders documents.
    pub fn of(assembly: &'a Assembly<'_>) -> Self {
        Self {
            bundle: assembly.bundle(),
            founded: assembly.is_founded(),
        }
    }
}

/// The findings about documents that do not fit, measured with a placeholder for the cluster's bundle.
pub fn findings(project: &Project, founded: bool) -> Result<Vec<Diagnostic>, Failure> {
    if !project.plan.nodes.iter().any(is_limited) {
        return Ok(Vec::new());
    }
    let bundle = &bundle::placeholder(&project.plan)?;
    of_bundle(project, Basis { bundle, founded })
}

/// Prints the finding about a document that is too large, before the failure that lists its files.
pub fn explained(project: &Project, basis: Basis<'_>, failure: Failure) -> Failure {
    if matches!(failure, Failure::TooLarge(_))
        && let Ok(findings) = of_bundle(project, basis)
    {
        print_findings(&redact_spec(&project.spec), &findings);
    }
    failure
}

/// The sizes of the documents of a plan in which some do not fit, measured with a placeholder for the bundle: of machines that are set up
/// alike the one with the longest values, and all of them.
pub fn sizes(project: &Project) -> Result<Vec<(NodeSize, Vec<&NodePlan>)>, Failure> {
    let bundle = bundle::placeholder(&project.plan)?;
    let assembly = Assembly::new(project, &bundle, false)?;
    let compressed = CompressedSizes::default();
    let classes = project.plan.classes(&project.plan.nodes).into_par_iter();
    let sizes = classes.map(|class| size_of_class(&assembly, &class, &compressed));
    Ok(sizes
        .collect::<Result<Vec<_>, Failure>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn size_of_class<'p>(
    assembly: &Assembly<'_>,
    class: &[(usize, &'p NodePlan)],
    compressed: &CompressedSizes,
) -> Result<Option<(NodeSize, Vec<&'p NodePlan>)>, Failure> {
    let nodes = class.iter().map(|(_, node)| *node).collect();
    let size = longest(class)
        .map(|node| size_of(assembly, node, compressed))
        .transpose()?;
    Ok(size.map(|size| (size, nodes)))
}

/// The size of a document, whether or not it fits.
fn size_of(assembly: &Assembly<'_>, node: &NodePlan, compressed: &CompressedSizes) -> Result<NodeSize, Failure> {
    let files = assembly.files(node, &assembly.pki(node)?)?;
    match assembly.package(node, &files) {
        Ok(artifact) => {
            let payload = artifact.payload.as_ref().map(|payload| payload.bytes);
            Ok(NodeSize::new(node, &files, (&artifact.handover, payload), compressed))
        }
        Err(delivery::Error::TooLarge(overrun)) => Ok(overrun.size),
        Err(error) => Err(error.into()),
    }
}

/// Whether the documents of a spec fit.
pub enum Fit {
    /// All documents fit.
    Whole,
    /// They fit with this `delivery.pointer`.
    Pointer(String),
    /// They do not fit.
    Not(Vec<Diagnostic>),
}

/// Tries the forms of `delivery.pointer` where documents do not fit without one.
pub fn fit(project: &Project) -> Result<Fit, Failure> {
    if !project.plan.nodes.iter().any(is_limited) {
        return Ok(Fit::Whole);
    }
    let bundle = &bundle::placeholder(&project.plan)?;
    let basis = Basis { bundle, founded: false };
    let tight = tight(project, basis)?;
    let large: Vec<_> = tight.into_iter().filter(|tight| tight.overrun.is_some()).collect();
    if large.is_empty() {
        return Ok(Fit::Whole);
    }
    let way = pointers(&large)
        .into_iter()
        .find(|way| fits(project, basis, &large, way));
    let value = way.and_then(|way| Some(way.assignments.first()?.split_once('=')?.1.to_owned()));
    match value {
        Some(pointer) => Ok(Fit::Pointer(pointer)),
        None => of_bundle(project, basis).map(Fit::Not),
    }
}

/// The machines of each platform and role whose documents do not fit, or hardly.
fn tight<'p>(project: &'p Project, basis: Basis<'_>) -> Result<Vec<Tight<'p>>, Failure> {
    let assembly = Assembly::new(project, basis.bundle, basis.founded)?;
    let classes = project.plan.classes(representatives(project)).into_par_iter();
    let tight = classes.map(|class| tight_of_class(&assembly, class));
    let mut tight: Vec<_> = tight.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    tight.sort_unstable_by_key(|(row, _)| *row);
    Ok(tight.into_iter().map(|(_, tight)| tight).collect())
}

/// Those of machines that are set up alike, with their rows: none if the document with the longest values fits.
fn tight_of_class<'p>(
    assembly: &Assembly<'_>,
    class: Vec<(usize, &'p NodePlan)>,
) -> Result<Vec<(usize, Tight<'p>)>, Failure> {
    let Some(node) = longest(&class) else {
        return Ok(Vec::new());
    };
    // Labels of one length take more or less when they are compressed.
    let room = MARGIN + 2 * label_bytes(node) as u64;
    if measured(assembly, node, room)?.is_none() {
        return Ok(Vec::new());
    }
    let own = class
        .into_par_iter()
        .map(|(row, node)| Ok((row, measured(assembly, node, MARGIN)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    Ok(own.into_iter().filter_map(|(row, tight)| Some((row, tight?))).collect())
}

/// The machine of a class that has most bytes of its own.
fn longest<'p>(class: &[(usize, &'p NodePlan)]) -> Option<&'p NodePlan> {
    let nodes = class.iter().map(|(_, node)| *node);
    nodes.max_by_key(|node| node.name.len() + label_bytes(node))
}

fn label_bytes(node: &NodePlan) -> usize {
    node.labels.values().map(String::len).sum()
}

fn of_bundle(project: &Project, basis: Basis<'_>) -> Result<Vec<Diagnostic>, Failure> {
    // Machines of one platform and role have the same problem.
    let mut alike: BTreeMap<_, Vec<Tight<'_>>> = BTreeMap::new();
    for tight in tight(project, basis)? {
        let roles = tight.node.roles;
        let key = (
            tight.overrun.is_none(),
            tight.node.platform.name.as_str(),
            roles.control_plane,
            roles.etcd,
        );
        alike.entry(key).or_default().push(tight);
    }
    let findings = alike.into_values().map(|group| finding(project, basis, &group));
    let mut findings: Vec<_> = findings.collect();
    firelay_yaml::redact_env(&mut findings, &project.spec.inserted);
    Ok(findings)
}

fn is_limited(node: &NodePlan) -> bool {
    node.os
        .user_data(&node.platform)
        .is_some_and(|data| data.limit.is_some())
}

/// The founder, and of each entry of `nodes` and `pools` the machine with the longest name. Its document is the largest of the entry,
/// unless a patch is for another machine of it.
fn representatives(project: &Project) -> Vec<&NodePlan> {
    let spec = project.spec.draft.value.as_ref();
    let row_of = spec.map(plan::rows).unwrap_or_default();
    let mut rows: BTreeMap<(Option<usize>, bool), &NodePlan> = BTreeMap::new();
    let mut order = Vec::new();
    for node in project.plan.nodes.iter().filter(|node| is_limited(node)) {
        let key = (row_of.get(&node.name).copied(), node.founder);
        match rows.get(&key) {
            Some(other) if other.name.len() >= node.name.len() => {}
            Some(_) => drop(rows.insert(key, node)),
            None => {
                rows.insert(key, node);
                order.push(key);
            }
        }
    }
    order.iter().filter_map(|key| rows.get(key).copied()).collect()
}

/// The machine if its document does not fit, or has less room than `margin`.
fn measured<'p>(assembly: &Assembly<'_>, node: &'p NodePlan, margin: u64) -> Result<Option<Tight<'p>>, Failure> {
    let files = assembly.files(node, &assembly.pki(node)?)?;
    Ok(match assembly.package(node, &files) {
        Ok(artifact) => {
            let (counted, limit) = (artifact.handover.counted, artifact.handover.limit.unwrap_or(u64::MAX));
            (limit - counted < margin).then_some(Tight {
                node,
                counted,
                limit,
                overrun: None,
            })
        }
        Err(delivery::Error::TooLarge(overrun)) => Some(Tight {
            node,
            counted: overrun.size.counted,
            limit: overrun.limit,
            overrun: Some(overrun),
        }),
        Err(error) => return Err(error.into()),
    })
}

/// One finding for the machines of one platform and role, at the first of them.
fn finding(project: &Project, basis: Basis<'_>, group: &[Tight<'_>]) -> Diagnostic {
    let Some(worst) = group.iter().max_by_key(|tight| tight.counted) else {
        return Diagnostic::error("FL0931", "");
    };
    let Tight {
        node, counted, limit, ..
    } = worst;
    let platform = &node.platform.name;
    let (of, are) = match group.len() {
        1 => (format!("the document of {}", node.name), "is"),
        more => (format!("the documents of {} and {} more", node.name, more - 1), "are"),
    };
    let finding = match &worst.overrun {
        Some(overrun) => {
            let form = overrun.size.encoding;
            let over = hundreds(counted - limit);
            Diagnostic::error("FL0931", format!("{of} {are} too large for {platform}"))
                .label(format!("about {over} bytes over the limit of {limit}, as {form}"))
                .help(help(project, basis, group, overrun))
        }
        None => Diagnostic::warning("FL0931", format!("{of} may be too large for {platform}"))
            .label(format!("{} bytes below the limit of {limit}", limit - counted))
            .help("the keys of another bundle may take more: leave some room"),
    };
    let spec = project.spec.draft.value.as_ref();
    Diagnostic {
        span: spec.and_then(|spec| plan::place(spec, &node.name)),
        ..finding
    }
}

/// Rounded up: documents of other bundles differ by some bytes.
fn hundreds(bytes: u64) -> u64 {
    bytes.div_ceil(100) * 100
}

/// The largest groups of files, and each change with which the documents fit.
fn help(project: &Project, basis: Basis<'_>, group: &[Tight<'_>], overrun: &Overrun) -> String {
    let groups = overrun.size.groups.iter().take(LARGEST);
    let groups = groups.map(|group| format!("{} about {}", group.group.title(), hundreds(group.share)));
    let largest = format!("most bytes: {}", groups.collect::<Vec<_>>().join(", "));
    let fitting = |changes: Vec<Change>| {
        let fits = |change: &Change| fits(project, basis, group, change);
        changes.into_iter().filter(fits)
    };
    let smaller = changes(&project.plan, group);
    let all = combined(&smaller);
    let mut found: Vec<_> = fitting(smaller).collect();
    if found.is_empty() {
        found.extend(fitting(all.into_iter().collect()));
    }
    // The first form of a pointer is enough.
    found.extend(fitting(pointers(group)).next());
    let fits = |change: &Change| format!("fits with {}", change.text);
    let mut lines: Vec<_> = found.iter().map(fits).collect();
    if lines.is_empty() {
        lines.push("let the image bring large files, or choose a platform that takes more".to_owned());
    }
    std::iter::once(largest).chain(lines).collect::<Vec<_>>().join("\n")
}

/// A change of the spec that makes documents smaller.
struct Change {
    assignments: Vec<String>,
    text: String,
}

impl Change {
    fn new(assignment: &str, text: &str) -> Self {
        Self {
            assignments: vec![assignment.to_owned()],
            text: text.to_owned(),
        }
    }
}

/// The changes that could make the documents of a group smaller.
fn changes(plan: &Plan, group: &[Tight<'_>]) -> Vec<Change> {
    let any = |has: fn(&NodePlan) -> bool| group.iter().any(|tight| has(tight.node));
    let own = |manifest: &plan::ManifestPlan| matches!(manifest.source, ManifestSource::Content(_));
    let changes = [
        (
            plan.pki.algorithm != Algorithm::EcdsaP256,
            "pki.algorithm=ecdsa-p256",
            "pki: { algorithm: ecdsa-p256 }, and a new bundle",
        ),
        (
            plan.pki.ca_keys != CaKeys::None,
            "pki.caKeys=none",
            "pki: { caKeys: none }, which leaves out the CAs' keys",
        ),
        (
            any(|node| node.delivery.form.is_some()),
            "delivery.form=",
            "no `delivery.form`: the first form that fits is taken",
        ),
        (
            plan.manifests.iter().any(own),
            "manifests=",
            "no `manifests`: apply them when the cluster is up",
        ),
        (
            any(|node| !node.host.files.is_empty()),
            "files=",
            "no `files`: let the image bring them",
        ),
    ];
    let changes = changes.into_iter().filter(|(applies, ..)| *applies);
    changes
        .map(|(_, assignment, text)| Change::new(assignment, text))
        .collect()
}

/// All changes combined, if there are several.
fn combined(changes: &[Change]) -> Option<Change> {
    let texts: Vec<_> = changes.iter().map(|change| change.text.as_str()).collect();
    (changes.len() > 1).then(|| Change {
        assignments: changes.iter().flat_map(|change| change.assignments.clone()).collect(),
        text: texts.join("; and "),
    })
}

/// Stores for which machines of the platform have an identity come first. Sealed payloads precede others, since readers
/// of the store can read the payload, too.
fn pointers(group: &[Tight<'_>]) -> Vec<Change> {
    let pointed = |tight: &Tight<'_>| tight.node.delivery.pointer.is_some();
    let Some(first) = group.first().filter(|_| !group.iter().any(pointed)) else {
        return Vec::new();
    };
    let own = first
        .node
        .platform
        .identity
        .iter()
        .filter_map(|scheme| Store::of(scheme));
    let stores = own.chain(Store::of("https"));
    let forms = stores.flat_map(|store| [", sealed: true", ""].map(|sealed| (store, sealed)));
    let change = |(store, sealed): (&Store, &str)| {
        let pointer = format!("{{ base: {}{sealed} }}", store.example);
        let text = format!("delivery: {{ pointer: {pointer} }}, from where machines fetch the rest");
        Change::new(&format!("delivery.pointer={pointer}"), &text)
    };
    forms.map(change).collect()
}

/// Whether the spec with the change is accepted, and the documents fit.
fn fits(project: &Project, basis: Basis<'_>, group: &[Tight<'_>], change: &Change) -> bool {
    let spec = project.spec.with(&change.assignments);
    let Ok(changed) = Project::resolve(spec, project.profiles.clone()) else {
        return false;
    };
    let needs_other = changed.plan.pki.algorithm != project.plan.pki.algorithm;
    let other = needs_other.then(|| bundle::placeholder(&changed.plan).ok()).flatten();
    let Ok(assembly) = Assembly::new(&changed, other.as_ref().unwrap_or(basis.bundle), basis.founded) else {
        return false;
    };
    let concerned = |node: &&NodePlan| group.iter().any(|tight| tight.node.name == node.name);
    let mut nodes = changed.plan.nodes.iter().filter(concerned);
    nodes.all(|node| matches!(measured(&assembly, node, MARGIN), Ok(None)))
}
