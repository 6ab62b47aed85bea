//! Whether configuration is accepted by the programs of a minor of Kubernetes: fields, values, feature gates.

mod gates;

use std::{collections::BTreeMap, sync::Arc};

use firelay_yaml::{
    Minor, Node, RawValue, Spanned,
    config_schema::{ConfigSchema, GateSetting, Gated, Mistake, Problem, Validation, Validator},
    diagnostic::{Diagnostic, Span, nearest},
};

use crate::profile::{FeatureGates, Profiles, UnitSections};

/// The configuration that the programs of one minor accept.
#[derive(Clone, Debug)]
pub struct Accepted {
    schema: Arc<ConfigSchema>,
    gates: Arc<FeatureGates>,
    units: Arc<UnitSections>,
    minor: Minor,
}

/// The codes of findings.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// For a field that the minor does not have.
    pub field: &'static str,
    /// For a value that is not accepted.
    pub value: &'static str,
}

/// The findings in fields of the spec, and what depends on feature gates.
pub(super) struct Settings {
    pub(super) findings: Vec<Diagnostic>,
    pub(super) gated: Vec<Gated>,
    pub(super) gates: Vec<GateSetting>,
}

impl Accepted {
    pub(super) fn new(profiles: &Profiles, minor: Minor) -> Self {
        Self {
            schema: profiles.kinds.clone(),
            gates: profiles.feature_gates.clone(),
            units: profiles.units.clone(),
            minor,
        }
    }

    /// Sections and keys of units.
    pub fn units(&self) -> &UnitSections {
        &self.units
    }

    /// Whether documents of a kind and version can be validated.
    pub fn has_document(&self, kind: &str, api_version: &str) -> bool {
        self.schema.has_document(kind, api_version)
    }

    /// Findings in a document. One without its own position is reported at the nearest parent with one, or at `at`.
    pub fn document(&self, kind: &str, root: &Node<'_>, at: Span, codes: Codes) -> Vec<Diagnostic> {
        let validator = Validator::new(&self.schema, self.minor);
        self.findings(kind, &validator.document(kind, root, at), codes)
    }

    /// Findings in a strategic or merge patch of a document.
    pub fn patch(&self, kind: &str, root: &Node<'_>, at: Span, codes: Codes) -> Vec<Diagnostic> {
        let validator = Validator::of_patches(&self.schema, self.minor);
        self.findings(kind, &validator.document(kind, root, at), codes)
    }

    /// Findings in the operations of a JSON patch (RFC 6902) of a document.
    pub(super) fn operations(&self, kind: &str, root: &Node<'_>, codes: Codes) -> Vec<Diagnostic> {
        let validator = Validator::new(&self.schema, self.minor);
        self.findings(kind, &validator.operations(kind, root), codes)
    }

    /// Findings in fields of the spec that become fields of a document.
    pub(super) fn settings(
        &self,
        kind: &str,
        settings: &BTreeMap<Spanned<String>, RawValue>,
        codes: Codes,
    ) -> Settings {
        let fields = settings
            .iter()
            .map(|(name, branch)| (name.as_str(), name.span, &branch.node));
        let validation = Validator::new(&self.schema, self.minor).settings(kind, fields);
        Settings {
            findings: self.findings(kind, &validation, codes),
            gated: validation.gated,
            gates: validation.gates,
        }
    }

    fn findings(&self, kind: &str, validation: &Validation, codes: Codes) -> Vec<Diagnostic> {
        let mistakes = validation
            .mistakes
            .iter()
            .map(|mistake| self.finding(kind, mistake, codes));
        let gates = validation
            .gates
            .iter()
            .filter_map(|gate| self.gate(&gate.name, gate.on, gate.span));
        mistakes.chain(gates).collect()
    }

    fn finding(&self, kind: &str, mistake: &Mistake, codes: Codes) -> Diagnostic {
        let finding = match &mistake.problem {
            Problem::UnknownField {
                above,
                name,
                known,
                minors,
            } => self.unknown_field((kind, above, name), known, *minors, codes),
            Problem::UnknownKey { above, name, known } => {
                let finding = Diagnostic::error(codes.value, format!("`{above}` has no key {name}"));
                suggest(finding, name, known).help(format!("keys: {}", known.join(", ")))
            }
            Problem::Value { expected, help } => Diagnostic {
                help: help.clone(),
                ..Diagnostic::error(codes.value, format!("not a value of `{}`", mistake.path)).label(expected)
            },
        };
        finding.at(mistake.span)
    }

    fn unknown_field(
        &self,
        (kind, above, name): (&str, &str, &str),
        known: &[String],
        minors: Option<(Option<Minor>, Option<Minor>)>,
        codes: Codes,
    ) -> Diagnostic {
        let minor = self.minor;
        let message = match above {
            "" => format!("{kind} of {minor} has no such field"),
            path => format!("`{path}` of {kind} {minor} has no such field"),
        };
        let finding = Diagnostic::error(codes.field, message);
        let elsewhere = match minors {
            Some((Some(since), _)) => Some(format!("a field since {since}")),
            Some((None, Some(until))) => Some(format!("a field up to {until}")),
            _ => None,
        };
        if let Some(label) = elsewhere {
            return finding.label(label).help("choose that version, or remove the field");
        }
        let finding = suggest(finding, name, known);
        match above {
            "" => finding,
            _ => finding.help(format!("fields: {}", known.join(", "))),
        }
    }
}

/// Labels a finding with the name that was probably meant.
fn suggest(finding: Diagnostic, name: &str, known: &[String]) -> Diagnostic {
    finding.suggest(nearest(name, known.iter().map(String::as_str)))
}
