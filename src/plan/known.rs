//! Names that a version of Kubernetes knows, and which other version knows those that it does not.

use crate::{
    diagnostic::{Diagnostic, nearest},
    plan::report::Report,
    profile::{KubernetesProfile, Profiles},
    yaml::Spanned,
};

/// Top-level fields of a component's configuration.
pub(super) struct Fields<'a> {
    /// Its kind.
    pub(super) of: &'static str,
    /// The chosen minor.
    pub(super) profile: &'a KubernetesProfile,
    /// All minors.
    pub(super) profiles: &'a Profiles,
    /// The fields of a minor.
    pub(super) list: fn(&KubernetesProfile) -> &Vec<String>,
}

impl Fields<'_> {
    /// Refuses fields that the minor does not have.
    pub(super) fn check<'s>(&self, names: impl Iterator<Item = &'s Spanned<String>>, report: &mut Report) {
        let known = (self.list)(self.profile);
        for name in names.filter(|name| !known.contains(name)) {
            let message = format!("{} of {} has no such field", self.of, self.profile.minor);
            let finding = unknown("FL0308", message, name, known);
            report.push(match self.elsewhere(name) {
                Some(label) => finding.label(label).help("choose that version, or remove the field"),
                None => finding,
            });
        }
    }

    /// The minors that have a field.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let has = |profile: &&KubernetesProfile| (self.list)(profile).iter().any(|field| field == name);
        let minors: Vec<_> = self
            .profiles
            .kubernetes
            .values()
            .map(|profile| &**profile)
            .filter(has)
            .collect();
        let (first, last) = (minors.first()?, minors.last()?);
        let newer = first.versions.first() > self.profile.versions.first();
        Some(if newer {
            format!("a field since {}", first.minor)
        } else {
            format!("a field up to {}", last.minor)
        })
    }
}

/// A finding for a name that a profile does not have.
pub(super) fn unknown(code: &'static str, message: String, name: &Spanned<String>, known: &[String]) -> Diagnostic {
    let finding = Diagnostic::error(code, message).at(name.span);
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => finding.label(format!("did you mean `{near}`?")),
        None => finding,
    }
}
