//! The network plugin and the add-ons: which releases, and what they need elsewhere.

mod apply;
mod context;
mod node_cidr_allocator;
mod requirements;

use std::collections::BTreeMap;

use firelay_yaml::diagnostic::Diagnostic;
use serde_json::Value;

use super::{
    AddonPlan, ManifestPlan, ManifestSource, Plan,
    artifacts::{Store, mirrored},
    images::Images,
    release::Release,
    report::Report,
};
use crate::{
    declaration::{Choice, Kind},
    spec::Spec,
    template,
};

pub use context::{context, of};
pub(super) use node_cidr_allocator::node_cidr_allocator;

/// The chosen plugins and add-ons, with the releases that fit the version of Kubernetes.
pub(super) fn chosen(spec: &Spec, release: &Release, images: &mut Images, report: &mut Report) -> Vec<AddonPlan> {
    let (choices, _) = spec.choices();
    choices
        .into_iter()
        .map(|choice| addon(choice, release, images, report))
        .collect()
}

fn addon(choice: Choice, release: &Release, images: &mut Images, report: &mut Report) -> AddonPlan {
    let declaration = choice.declaration.clone();
    let fits = |version: &&semver::Version| {
        let own = declaration.releases.get(*version);
        own.is_some_and(|own| own.kubernetes.matches(&release.version))
    };
    let asked = choice.version().and_then(|text| text.parse().ok());
    let known = release
        .profile
        .addons
        .get(&declaration.name)
        .filter(|version| declaration.releases.contains_key(version));
    let newest = || declaration.releases.keys().rev().find(fits);
    let version = asked.or_else(|| known.or_else(newest).cloned());
    let own = version.as_ref().and_then(|version| declaration.releases.get(version));
    if let Some(version) = version.as_ref().filter(|version| !fits(version)) {
        report.push(unfit(&choice, version, release));
    } else if version.is_none() && !declaration.releases.is_empty() {
        let message = format!(
            "no release of {} goes with Kubernetes {}",
            declaration.key, release.version
        );
        report.push(Diagnostic::error("FL0803", message).at(choice.span("")));
    }
    let text = version.as_ref().map(ToString::to_string).unwrap_or_default();
    let named = own.map(|own| &own.images).into_iter().flatten();
    let mut named: BTreeMap<_, _> = named
        .map(|(role, image)| (role.clone(), image.replace("{version}", &text)))
        .collect();
    named.extend(own_image(&choice));
    AddonPlan {
        images: named
            .into_iter()
            .map(|(role, image)| (role, images.name(&image)))
            .collect(),
        choice,
        version,
        certificates: BTreeMap::new(),
    }
}

/// The image that the user has for the plugin of a key service.
fn own_image(choice: &Choice) -> Option<(String, String)> {
    let image = choice.parameters.get("image").and_then(Value::as_str);
    let image = image.filter(|_| choice.declaration.kind == Kind::Kms)?;
    Some(("plugin".to_owned(), image.to_owned()))
}

fn unfit(choice: &Choice, version: &semver::Version, release: &Release) -> Diagnostic {
    let declaration = &choice.declaration;
    let message = format!(
        "{} {version} does not go with Kubernetes {}",
        declaration.key, release.version
    );
    let fitting = declaration
        .releases
        .iter()
        .rev()
        .filter(|(_, own)| own.kubernetes.matches(&release.version));
    let fitting: Vec<_> = fitting.map(|(version, _)| version.to_string()).collect();
    let finding = Diagnostic::error("FL0803", message).at(choice.span(crate::declaration::VERSION));
    match fitting.is_empty() {
        true => finding.help("no release that is known does"),
        false => finding.help(format!("releases that do: {}", fitting.join(", "))),
    }
}

/// Evaluates the requirements of each plugin and add-on, adds them to the plan, and checks its constraints.
pub(super) fn apply_requirements(plan: &mut Plan, spec: &Spec, store: &Store<'_>, report: &mut Report) {
    plan.requirements = requirements::collect(plan, report);
    apply::apply(plan, spec, store, report);
    report.extend(requirements::own_files(&plan.requirements, spec));
    report.extend(requirements::own_handlers(&plan.requirements, spec));
    let whole = context(plan);
    let mut fetched = Vec::new();
    for addon in &mut plan.addons {
        let context = of(&whole, addon);
        match self::fetched(addon, &context, spec) {
            Ok(manifests) => fetched.extend(manifests),
            Err(error) => report.push(broken(addon, &error)),
        }
        match requirements::certificates(addon, &context) {
            Ok(certificates) => addon.certificates = certificates,
            Err(error) => report.push(broken(addon, &error)),
        }
        for check in &addon.choice.declaration.checks {
            report.extend(
                check
                    .evaluate(&addon.choice, &context)
                    .unwrap_or_else(|error| Some(broken(addon, &error))),
            );
        }
    }
    // Before the user's own, which may be of kinds that they define.
    plan.manifests.splice(..0, fetched);
}

/// The manifests of a release that the founder fetches.
fn fetched(addon: &AddonPlan, context: &serde_json::Value, spec: &Spec) -> Result<Vec<ManifestPlan>, template::Error> {
    let (Some(version), Some(release)) = (&addon.version, addon.release()) else {
        return Ok(Vec::new());
    };
    let folder = addon.choice.declaration.folder();
    let mut manifests = Vec::new();
    for one in &release.fetched {
        let when = one.when.as_deref();
        if when.map_or(Ok(true), |when| template::holds(&folder, when, context))? {
            let url = one.url.replace("{version}", &version.to_string());
            manifests.push(ManifestPlan {
                name: one.name.clone(),
                phase: one.phase,
                source: ManifestSource::Url {
                    url: mirrored(spec, &url),
                    upstream: Some(url),
                    sha256: one.sha256.clone(),
                },
            });
        }
    }
    Ok(manifests)
}

/// A declaration that cannot be evaluated: a bug in firelay.
fn broken(addon: &AddonPlan, error: &template::Error) -> Diagnostic {
    let finding = Diagnostic::error("FL0803", format!("{} cannot be checked", addon.key()));
    finding.label(error.to_string()).at(addon.choice.span(""))
}
