//! Whether configuration is what the programs of a minor of Kubernetes take: fields, values, feature gates.

mod gates;
mod pointer;
mod value;
mod wanted;

use std::{collections::BTreeMap, sync::Arc};

use firelay_yaml::{
    Branch, Content, Node, Spanned,
    diagnostic::{Diagnostic, Span, nearest},
};

use crate::profile::{FeatureGates, Field, Fields, Kinds, Minor, Profiles, UnitSections};

pub(super) use gates::GateSetting;

/// What the programs of one minor take.
#[derive(Clone, Debug)]
pub struct Accepted {
    kinds: Arc<Kinds>,
    gates: Arc<FeatureGates>,
    units: Arc<UnitSections>,
    minor: Minor,
}

/// Under which codes is told what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// For a field that the minor does not have.
    pub field: &'static str,
    /// For a value that is not taken.
    pub value: &'static str,
}

/// A field that is only taken when a feature gate is on.
pub(super) struct Gated {
    gate: String,
    path: String,
    span: Span,
}

/// What came out of a judgement.
#[derive(Default)]
pub(super) struct Judgement {
    pub(super) findings: Vec<Diagnostic>,
    pub(super) gated: Vec<Gated>,
}

/// A judgement under way.
struct Judge<'a> {
    accepted: &'a Accepted,
    kind: &'a str,
    codes: Codes,
    /// Directives of strategic merge stand among the fields.
    partial: bool,
    judgement: Judgement,
}

/// Where a value stands.
#[derive(Clone)]
struct Place {
    /// `authentication.anonymous`.
    path: String,
    /// The last key of it.
    key: String,
    span: Span,
}

impl Accepted {
    pub(super) fn new(profiles: &Profiles, minor: Minor) -> Self {
        Self {
            kinds: profiles.kinds.clone(),
            gates: profiles.feature_gates.clone(),
            units: profiles.units.clone(),
            minor,
        }
    }

    /// The minor.
    pub fn minor(&self) -> Minor {
        self.minor
    }

    /// Sections and keys of units.
    pub fn units(&self) -> &UnitSections {
        &self.units
    }

    /// Whether documents of a kind and version can be judged.
    pub fn has_document(&self, kind: &str, api_version: &str) -> bool {
        self.kinds.has_document(kind, api_version)
    }

    /// What is wrong with a document. What has no place of its own is told at the nearest that has one above it, or at `at`.
    pub fn document(&self, kind: &str, root: &Node<'_>, at: Span, codes: Codes) -> Vec<Diagnostic> {
        let judgement = self.run(kind, codes, false, |judge, fields| judge.top(fields, root, at));
        judgement.findings
    }

    /// What is wrong with a strategic or merge patch of a document.
    pub fn patch(&self, kind: &str, root: &Node<'_>, at: Span, codes: Codes) -> Vec<Diagnostic> {
        let judgement = self.run(kind, codes, true, |judge, fields| judge.top(fields, root, at));
        judgement.findings
    }

    /// What is wrong with fields of the spec that become fields of a document.
    pub(super) fn settings(&self, kind: &str, settings: &BTreeMap<Spanned<String>, Branch>, codes: Codes) -> Judgement {
        self.run(kind, codes, false, |judge, fields| {
            for (name, branch) in settings {
                let place = Place::top(name, name.span);
                judge.field(fields, "", name, place, &branch.node);
            }
        })
    }

    fn run(&self, kind: &str, codes: Codes, partial: bool, work: impl FnOnce(&mut Judge<'_>, &Fields)) -> Judgement {
        let mut judge = Judge {
            accepted: self,
            kind,
            codes,
            partial,
            judgement: Judgement::default(),
        };
        if let Some(fields) = self.kinds.fields(kind) {
            work(&mut judge, fields);
        }
        judge.judgement
    }
}

impl Place {
    fn top(name: &str, span: Span) -> Self {
        Self {
            path: name.to_owned(),
            key: name.to_owned(),
            span,
        }
    }

    fn below(&self, name: &str, span: Span) -> Self {
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        Self {
            path,
            key: name.to_owned(),
            span,
        }
    }
}

/// The first place that was written; what firelay itself wrote has none.
fn written(spans: [Span; 3]) -> Span {
    let none = Span::default();
    spans.into_iter().find(|span| *span != none).unwrap_or(none)
}

impl Judge<'_> {
    /// A document; its `apiVersion` and `kind` are known to be right.
    fn top(&mut self, fields: &Fields, root: &Node<'_>, at: Span) {
        let place = Place::top("", at);
        for (key, value) in entries(root) {
            if !matches!(key.text(), Some("apiVersion" | "kind")) {
                self.entry(fields, &place, key, value);
            }
        }
    }

    fn entry(&mut self, fields: &Fields, above: &Place, key: &Node<'_>, value: &Node<'_>) {
        let name = key.text().unwrap_or_default();
        let place = above.below(name, written([key.span, value.span, above.span]));
        self.field(fields, &above.path, name, place, value);
    }

    fn field(&mut self, fields: &Fields, above: &str, name: &str, place: Place, value: &Node<'_>) {
        if self.partial && name.starts_with('$') {
            return;
        }
        match fields.get(name).filter(|field| field.is_of(self.accepted.minor)) {
            Some(field) => {
                let before = self.judgement.findings.len();
                self.value(&field.takes, value, &place);
                if self.judgement.findings.len() == before {
                    self.judgement.gated.extend(gated(field, value, place));
                }
            }
            None => {
                let finding = self.unknown(fields, above, name);
                self.judgement.findings.push(finding.at(place.span));
            }
        }
    }

    fn unknown(&self, fields: &Fields, above: &str, name: &str) -> Diagnostic {
        let (kind, minor) = (self.kind, self.accepted.minor);
        let message = match above {
            "" => format!("{kind} of {minor} has no such field"),
            path => format!("`{path}` of {kind} {minor} has no such field"),
        };
        let finding = Diagnostic::error(self.codes.field, message);
        if let Some(label) = fields.get(name).and_then(elsewhere) {
            return finding.label(label).help("choose that version, or remove the field");
        }
        let known = fields.iter().filter(|(_, field)| field.is_of(minor));
        let known: Vec<_> = known.map(|(name, _)| name.as_str()).collect();
        let finding = match nearest(name, known.iter().copied()) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding,
        };
        if above.is_empty() {
            finding
        } else {
            finding.help(format!("fields: {}", known.join(", ")))
        }
    }
}

/// The minors that have a field.
fn elsewhere(field: &Field) -> Option<String> {
    let since = field.since.map(|since| format!("a field since {since}"));
    since.or_else(|| field.until.map(|until| format!("a field up to {until}")))
}

/// A field that needs a gate, unless its value is one that needs none.
fn gated(field: &Field, value: &Node<'_>, place: Place) -> Option<Gated> {
    let gate = field.gate.as_ref()?;
    let free = match &value.content {
        Content::Scalar(scalar) => {
            matches!(&*scalar.text, "" | "~" | "null" | "false" | "0" | "0s")
                || gate.unless.as_deref() == Some(&*scalar.text)
        }
        Content::Sequence(items) => items.is_empty(),
        Content::Mapping(entries) => entries.is_empty(),
    };
    (!free).then(|| Gated {
        gate: gate.name.clone(),
        path: place.path,
        span: place.span,
    })
}

fn entries<'n, 's>(node: &'n Node<'s>) -> &'n [(Node<'s>, Node<'s>)] {
    match &node.content {
        Content::Mapping(entries) => entries,
        _ => &[],
    }
}
