//! Targets of patches: the document or unit of a machine.

use std::ops::Range;

use crate::{
    UNITS,
    node::{NodeFile, NodeFiles},
    spec::Target,
};
use firelay_yaml::{
    Node, Spanned, Tree,
    diagnostic::{Diagnostic, Span, nearest},
};

/// The paths of certificates, keys and kubeconfigs, and of the key of encryption at rest.
const SECRETS: &[&str] = &[
    "/etc/firelay/pki/",
    "/etc/firelay/kubeconfig/",
    "/etc/firelay/kubelet/",
    "/etc/kubernetes/apiserver/encryption.yaml",
];
/// The unit that brings a machine into its cluster.
const OWN_UNIT: &str = "firelay.service";

/// A part of a machine's files that can be patched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A document of a YAML file, by its number.
    Document {
        /// Index among the machine's files.
        file: usize,
        /// Number of the document in the file, empty ones counted.
        document: usize,
    },
    /// A unit, or a drop-in of it.
    Unit {
        /// Index among the machine's units.
        unit: usize,
        /// Index among the unit's drop-ins.
        dropin: Option<usize>,
    },
}

impl Place {
    /// The text of the file, unit or drop-in.
    pub fn text<'f>(&self, files: &'f NodeFiles) -> &'f str {
        match *self {
            Self::Document { file, .. } => &files.files[file].content,
            Self::Unit { unit, dropin } => {
                let unit = &files.units[unit];
                dropin.map_or(&unit.content, |number| &unit.dropins[number].1)
            }
        }
    }
}

/// The reason why a target is not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// It may be on another machine.
    Absent(Box<Diagnostic>),
    /// It is on no machine.
    Refused(Box<Diagnostic>),
}

/// A document of a machine.
pub struct YamlDocument {
    /// Index among the machine's files.
    pub file: usize,
    /// Number of the document in the file.
    pub number: usize,
    /// Its content, without places.
    pub root: Node<'static>,
}

/// A field by which a target narrows documents.
struct Field {
    title: &'static str,
    wanted: fn(&Target) -> &Option<Spanned<String>>,
    path: &'static [&'static str],
}

/// From the most specific one.
const FIELDS: [Field; 4] = [
    Field {
        title: "kind",
        wanted: |target| &target.kind,
        path: &["kind"],
    },
    Field {
        title: "name",
        wanted: |target| &target.name,
        path: &["metadata", "name"],
    },
    Field {
        title: "namespace",
        wanted: |target| &target.namespace,
        path: &["metadata", "namespace"],
    },
    Field {
        title: "apiVersion",
        wanted: |target| &target.api_version,
        path: &["apiVersion"],
    },
];

impl Field {
    fn wanted<'t>(&self, target: &'t Target) -> Option<&'t Spanned<String>> {
        (self.wanted)(target).as_ref()
    }

    fn of<'d>(&self, document: &'d YamlDocument) -> Option<&'d str> {
        document.text(self.path)
    }
}

impl YamlDocument {
    fn text(&self, pointer: &[&str]) -> Option<&str> {
        let node = pointer.iter().try_fold(&self.root, |node, key| node.get(key));
        node.and_then(Node::text)
    }

    /// The document's `kind`.
    pub fn kind(&self) -> Option<&str> {
        self.text(&["kind"])
    }

    fn fits(&self, target: &Target) -> bool {
        let fits = |field: &Field| {
            field
                .wanted(target)
                .is_none_or(|wanted| field.of(self) == Some(wanted.as_str()))
        };
        FIELDS.iter().all(fits)
    }

    /// `ConfigMap kube-flannel-cfg`.
    fn title(&self) -> String {
        let kind = self.kind().unwrap_or("a document without a kind");
        match self.text(&["metadata", "name"]) {
            Some(name) => format!("{kind} {name}"),
            None => kind.to_owned(),
        }
    }
}

/// Whether a file contains certificates or keys.
pub fn is_secret(path: &str) -> bool {
    SECRETS.iter().any(|folder| path.starts_with(folder))
}

/// Whether a file can contain documents for patches.
pub fn is_yaml(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "yaml" | "yml" | "json") && !is_secret(path)
}

/// The documents of a file that are not empty.
pub fn documents(index: usize, file: &NodeFile) -> Vec<YamlDocument> {
    let read = |(number, bytes): (usize, Range<usize>)| {
        let mut root = Tree::parse(&file.content[bytes]).ok()?.root.detached();
        root.place(&|_| Span::default());
        let file = index;
        Some(YamlDocument { file, number, root })
    };
    firelay_yaml::split(&file.content)
        .into_iter()
        .enumerate()
        .filter_map(read)
        .collect()
}

/// The one place of a target.
pub(super) fn find(target: &Spanned<Target>, files: &NodeFiles) -> Result<Place, Miss> {
    match &target.unit {
        Some(unit) => find_unit(target, unit, files),
        None => find_document(target, files),
    }
}

fn absent(label: String, help: Option<String>, at: Span) -> Miss {
    let mut finding = Diagnostic::error("FL0703", "a patch that hits nothing").at(at);
    finding.help = help;
    Miss::Absent(Box::new(finding.label(label)))
}

/// A name that is not there: with the one that was probably meant, and a list of those that are.
fn no_such(what: &str, name: &Spanned<String>, list: &str, names: &[&str]) -> Miss {
    let label = match nearest(name, names.iter().copied()) {
        Some(near) if near != name.value => format!("no {what} {}: did you mean {near}?", name.value),
        _ => format!("no {what} {} on the machines that it is for", name.value),
    };
    absent(label, listed(list, names), name.span)
}

fn listed(what: &str, names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

fn find_unit(target: &Target, unit: &Spanned<String>, files: &NodeFiles) -> Result<Place, Miss> {
    if unit.value == OWN_UNIT {
        let finding = Diagnostic::error("FL0704", "a unit that is not patched").at(unit.span);
        let label = "it brings the machine into its cluster";
        return Err(Miss::Refused(Box::new(
            finding
                .label(label)
                .help("what may run before and after is under commands"),
        )));
    }
    let names: Vec<_> = files
        .units
        .iter()
        .map(|unit| unit.name.as_str())
        .filter(|name| *name != OWN_UNIT)
        .collect();
    let Some(at) = files.units.iter().position(|known| known.name == unit.value) else {
        return Err(no_such("unit", unit, "units", &names));
    };
    let found = &files.units[at];
    let dropins: Vec<_> = found.dropins.iter().map(|(name, _)| name.as_str()).collect();
    match &target.dropin {
        None if found.content.is_empty() => Err(absent(
            "the image has this unit; firelay only writes a drop-in".to_owned(),
            listed("drop-ins", &dropins),
            unit.span,
        )),
        None => Ok(Place::Unit { unit: at, dropin: None }),
        Some(dropin) => match dropins.iter().position(|name| *name == dropin.value) {
            Some(number) => Ok(Place::Unit {
                unit: at,
                dropin: Some(number),
            }),
            None => Err(no_such("drop-in", dropin, "drop-ins", &dropins)),
        },
    }
}

fn find_document(target: &Spanned<Target>, files: &NodeFiles) -> Result<Place, Miss> {
    let candidates = match &target.path {
        Some(path) => documents_at(path, files)?,
        None => all_documents(files),
    };
    let fitting: Vec<_> = candidates.iter().filter(|document| document.fits(target)).collect();
    match fitting.as_slice() {
        [] => Err(no_document(target, &candidates)),
        [one] => Ok(Place::Document {
            file: one.file,
            document: one.number,
        }),
        several => Err(Miss::Refused(Box::new(ambiguous(target, several, files)))),
    }
}

/// Every document of the machine that a patch may change.
fn all_documents(files: &NodeFiles) -> Vec<YamlDocument> {
    let yaml = files.files.iter().enumerate().filter(|(_, file)| is_yaml(&file.path));
    yaml.flat_map(|(index, file)| documents(index, file)).collect()
}

fn documents_at(path: &Spanned<String>, files: &NodeFiles) -> Result<Vec<YamlDocument>, Miss> {
    if let Some(finding) = unpatchable(path) {
        return Err(Miss::Refused(Box::new(finding)));
    }
    let paths: Vec<_> = files
        .files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| is_yaml(path))
        .collect();
    match files.files.iter().position(|file| file.path == path.value) {
        Some(index) => Ok(documents(index, &files.files[index])),
        None => Err(no_such("file", path, "files that can be patched", &paths)),
    }
}

/// The finding about a file that no patch may change.
fn unpatchable(path: &Spanned<String>) -> Option<Diagnostic> {
    let text = path.as_str();
    let (label, help) = if is_secret(text) {
        (
            "it holds certificates or keys",
            "what is in certificates is under pki".to_owned(),
        )
    } else if let Some(unit) = text.strip_prefix(UNITS) {
        let target = match unit.split_once(".d/") {
            Some((unit, dropin)) => format!("{{ unit: {unit}, dropin: {dropin} }}"),
            None => format!("{{ unit: {unit} }}"),
        };
        ("it is a systemd unit", format!("write target: {target}"))
    } else if is_yaml(text) {
        return None;
    } else if text.ends_with(".toml") {
        (
            "it is TOML",
            "the container runtime's settings are under runtime".to_owned(),
        )
    } else {
        let help = "a file of your own is under files; what firelay's own say follows from the spec";
        ("only YAML and systemd units can be patched", help.to_owned())
    };
    let finding = Diagnostic::error("FL0704", "a file that is not patched").at(path.span);
    Some(finding.label(label).help(help))
}

/// Reports the first field of the target that matches no remaining document.
fn no_document(target: &Spanned<Target>, candidates: &[YamlDocument]) -> Miss {
    let mut left: Vec<_> = candidates.iter().collect();
    for field in &FIELDS {
        let Some(wanted) = field.wanted(target) else { continue };
        let mut there: Vec<_> = left.iter().filter_map(|document| field.of(document)).collect();
        there.sort_unstable();
        there.dedup();
        left.retain(|document| field.of(document) == Some(wanted.as_str()));
        if left.is_empty() {
            let what = format!("document of {}", field.title);
            return no_such(&what, wanted, "there are", &there);
        }
    }
    absent("there is no document".to_owned(), None, target.span)
}

fn ambiguous(target: &Spanned<Target>, fitting: &[&YamlDocument], files: &NodeFiles) -> Diagnostic {
    let titles: Vec<_> = fitting
        .iter()
        .map(|document| match target.path {
            Some(_) => document.title(),
            None => format!("{} in {}", document.title(), files.files[document.file].path),
        })
        .collect();
    Diagnostic::error("FL0708", "a patch that fits several documents")
        .at(target.span)
        .label(format!("{} documents fit", fitting.len()))
        .help(format!(
            "narrow it by kind, name, namespace or path: {}",
            titles.join(", ")
        ))
}
