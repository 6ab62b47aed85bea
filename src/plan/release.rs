//! `kubernetes.version`: the release, and what its minor accepts.

use std::sync::Arc;

use firelay_yaml::{Minor, Spanned, diagnostic::Diagnostic};
use semver::Version;
use time::Date;

use super::Accepted;
use crate::{
    profile::{Flags, KubernetesProfile, Objects, Profiles},
    spec::Spec,
};

/// The chosen version and what its minor accepts.
pub(super) struct Release {
    pub(super) version: Version,
    pub(super) minor: Minor,
    pub(super) flags: Arc<Flags>,
    pub(super) objects: Arc<Objects>,
    pub(super) profile: Arc<KubernetesProfile>,
    pub(super) accepted: Accepted,
}

/// Finds the release, or lists the known ones.
pub(super) fn release(spec: &Spec, profiles: &Profiles) -> Result<Release, Diagnostic> {
    let text = &spec.kubernetes.version;
    // Of the minor that the text names, or the newest of all.
    let named = text
        .trim_start_matches('v')
        .split('.')
        .take(2)
        .collect::<Vec<_>>()
        .join(".");
    let known = profiles.kubernetes.values().rev();
    let mut newest = profiles.kubernetes.get(&named).into_iter().chain(known);
    let newest = newest.find_map(|profile| profile.versions.first());
    let example = newest.map_or_else(|| "1.36.4".to_owned(), Version::to_string);
    let version = version(text, &example)?;
    let unknown = |label: String, known: Vec<String>| {
        Diagnostic::error("FL0302", format!("Kubernetes {version} is not known"))
            .at(text.span)
            .label(label)
            .help(format!("known: {}", known.join(", ")))
    };
    let Some(profile) = profiles.kubernetes(&version) else {
        let known = profiles
            .kubernetes
            .values()
            .rev()
            .filter_map(|profile| Some(profile.versions.first()?.to_string()));
        return Err(unknown("no profile for this minor".to_owned(), known.collect()));
    };
    if !profile.knows(&version) {
        let near = profile
            .versions
            .iter()
            .min_by_key(|known| known.patch.abs_diff(version.patch));
        let label = near.map_or_else(String::new, |near| format!("the nearest is {near}"));
        let finding = unknown(label, profile.versions.iter().map(Version::to_string).collect());
        let help = finding.help.unwrap_or_default();
        let help = format!("{help}; `firelay catalog update kubernetes={version}` adds another one");
        return Err(Diagnostic {
            help: Some(help),
            ..finding
        });
    }
    Ok(at_version(version, profile, profiles))
}

fn at_version(version: Version, profile: &Arc<KubernetesProfile>, profiles: &Profiles) -> Release {
    let minor = Minor::of(&version);
    Release {
        accepted: Accepted::new(profiles, minor),
        flags: profiles.flags.clone(),
        objects: profiles.objects.clone(),
        profile: profile.clone(),
        minor,
        version,
    }
}

/// A warning about a release that gets no more patch releases upstream, with the newest of those that still get some.
pub fn end_of_life(spec: &Spec, profiles: &Profiles, today: Date) -> Option<Diagnostic> {
    let text = &spec.kubernetes.version;
    let profile = profiles.kubernetes(&version(text, "").ok()?)?;
    let last = profile.end_of_life.filter(|_| profile.is_past(today))?;
    let maintained = profiles.kubernetes.values().rev().filter(|other| !other.is_past(today));
    let newest: Vec<_> = maintained
        .filter_map(|other| Some(other.versions.first()?.to_string()))
        .collect();
    Some(
        Diagnostic::warning("FL0318", format!("Kubernetes {} gets no more patches", profile.minor))
            .at(text.span)
            .label(format!("its end of life was on {last}"))
            .help(match newest.is_empty() {
                true => "so does no other release that this firelay knows: update firelay".to_owned(),
                false => format!("maintained: {}", newest.join(", ")),
            }),
    )
}

/// Codes of findings that rest on what a minor has.
const OF_MINOR: &[&str] = &[
    "FL0303", "FL0304", "FL0308", "FL0309", "FL0310", "FL0315", "FL0404", "FL0513", "FL0514", "FL0520", "FL0521",
    "FL0522", "FL0523", "FL0530", "FL0531", "FL0532", "FL0533", "FL0551", "FL0803", "FL0811",
];

/// The release to go on with when that of the spec is refused, and the codes of findings that would rest on a guess then: none
/// when its minor is clear.
pub(super) fn placeholder(spec: &Spec, profiles: &Profiles) -> Option<(Release, &'static [&'static str])> {
    let text = spec.kubernetes.version.trim_start_matches('v');
    let mut parts = text.split('.');
    let minor = parts
        .next()
        .zip(parts.next())
        .map(|(major, minor)| format!("{major}.{minor}"));
    let own = minor.and_then(|minor| profiles.kubernetes.get(&minor));
    let (profile, guessed): (_, &[&str]) = match own {
        Some(profile) => (profile, &[]),
        None => (profiles.kubernetes.values().next_back()?, OF_MINOR),
    };
    let version = profile.versions.first()?.clone();
    Some((at_version(version, profile, profiles), guessed))
}

/// A full version, with or without `v`.
pub(super) fn version(text: &Spanned<String>, example: &str) -> Result<Version, Diagnostic> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).map_err(|_| {
        Diagnostic::error("FL0301", "not a full version")
            .at(text.span)
            .label("three numbers are needed")
            .help(format!("write it as {example}"))
    })
}
