//! A refused spec: its findings, and what can be drawn of its cluster.

use firelay_yaml::diagnostic::redact_places;

use super::{
    super::{
        measure,
        project::{Project, Refused},
    },
    findings::{Entry, of_spec},
    outline::Outline,
    sizes::Sizes,
};
use crate::{plan, redact::redact_spec};

/// The data of its page.
pub(super) struct RefusedSpec {
    /// The cluster's name, or that of the spec.
    pub(super) name: String,
    pub(super) findings: Vec<Entry>,
    /// Absent if no machine can be read.
    pub(super) outline: Option<Outline>,
    /// Absent if documents cannot be measured.
    pub(super) sizes: Option<Sizes>,
}

impl RefusedSpec {
    pub(super) fn of(refused: Refused) -> Self {
        let Refused {
            spec,
            findings,
            resolved,
        } = refused;
        // Each excerpt is rendered alone: places that other findings hide are hidden in it, too.
        let source = redact_places(&redact_spec(&spec), &findings);
        let findings = of_spec(&source, &findings, "check");
        let Some((plan, profiles)) = resolved else {
            let draft = spec.draft.value.as_ref().map(plan::draft);
            let name = draft.as_ref().and_then(|draft| draft.name.clone());
            let name = name.unwrap_or_else(|| spec.name());
            let drawn = draft.filter(|draft| !draft.machines.is_empty());
            return Self {
                outline: drawn.map(|draft| Outline::of_draft(&name, &draft)),
                name,
                findings,
                sizes: None,
            };
        };
        let project = Project {
            spec,
            plan,
            profiles,
            warnings: Vec::new(),
        };
        Self {
            name: project.plan.name.clone(),
            findings,
            outline: Some(Outline::of_plan(&project.plan)),
            // A machine with a refused patch has no document.
            sizes: measure::sizes(&project).ok().map(Sizes::measured),
        }
    }
}
