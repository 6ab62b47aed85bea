//! Arguments, environment and volumes of static pods and kubelets.

use std::collections::BTreeSet;

use firelay_yaml::{
    Minor, OptionalKey, Spanned,
    diagnostic::{Diagnostic, nearest},
};

use super::{
    ComponentPlan, VolumePlan, artifacts,
    control_plane::{self, Claim, PodSettings},
    facts::FACTS,
    names,
    release::Release,
    report::Report,
    reserved::ReservedSettings,
    unknown_name::unknown_name,
};
use crate::spec::{Argument, EnvVar, StaticPod, Volume};

/// Refuses an argument's name that no component could have; whether it may be one.
fn check_argument(argument: &Argument, report: &mut Report) -> bool {
    let name = &argument.name;
    let bare = name.trim_start_matches('-');
    if bare.len() != name.len() {
        let finding = Diagnostic::error("FL0502", "an argument's name is written without dashes").at(name.span);
        report.push(finding.help(format!("write `{bare}`")));
        false
    } else if bare.is_empty() || !names::is_plain(bare, "-_.") {
        let finding = Diagnostic::error("FL0502", "not an argument's name").at(name.span);
        report.push(finding.label("letters, digits and inner dashes; what follows a `=` belongs into `value`"));
        false
    } else {
        true
    }
}

/// The finding for a flag that a component's minor lacks. Kubernetes treats `_` in flags as `-`.
fn unknown_flag(
    reserved: &ReservedSettings,
    minor: Minor,
    name: &Spanned<String>,
    release: &Release,
) -> Option<Diagnostic> {
    let known = release.flags.of(&reserved.component, minor)?;
    let plain = name.replace('_', "-");
    let has = |name: &str| known.contains(&name);
    if has(name) || reserved.feature_gates && has(&plain) {
        return None;
    }
    let message = format!("{} {minor} has no flag `{}`", reserved.component, name.value);
    let finding = Diagnostic::error("FL0551", message).at(name.span);
    let finding = finding.label("with it the program does not start");
    let finding = finding.suggest(nearest(&plain, known.iter().copied()));
    let other = others(name, minor, release);
    Some(finding.help(match other {
        Some(other) => format!("{other} has it"),
        None => format!("`{} --help` prints those that it has", reserved.component),
    }))
}

/// Another component that has a flag.
fn others<'r>(name: &str, minor: Minor, release: &'r Release) -> Option<&'r str> {
    let mut components = release.flags.components();
    components.find(|component| {
        release
            .flags
            .of(component, minor)
            .is_some_and(|known| known.contains(&name))
    })
}

/// Refuses malformed names, and flags that prevent a component of this version from starting.
/// `minor` is the component's own, if it is known.
pub(super) fn check_arguments(
    reserved: &ReservedSettings,
    minor: Option<Minor>,
    arguments: &[Argument],
    release: &Release,
    report: &mut Report,
) {
    let profile = &release.profile;
    for argument in arguments {
        reserved.check(&argument.name, &argument.value, report);
        if !check_argument(argument, report) {
            continue;
        }
        if profile.accepts_flag(&reserved.component, &argument.name) {
            report.extend(minor.and_then(|minor| unknown_flag(reserved, minor, &argument.name, release)));
        } else {
            let message = format!("{} {} has no such flag any more", reserved.component, profile.minor);
            let finding = Diagnostic::error("FL0310", message).at(argument.name.span);
            report.push(finding.label("with it the program does not start").help("remove it"));
        }
        if reserved.feature_gates {
            let gates = release.accepted.gates_of(argument, report);
            release.accepted.requirements(&[], &gates, report);
        }
    }
}

pub(super) fn arguments(arguments: &[Argument]) -> Vec<(String, String)> {
    arguments
        .iter()
        .map(|argument| (argument.name.value.clone(), argument.value.value.clone()))
        .collect()
}

/// Environment variables as pairs, checked.
pub(super) fn environment(variables: &[EnvVar], report: &mut Report) -> Vec<(String, String)> {
    for variable in variables.iter().filter(|variable| !names::is_env_name(&variable.name)) {
        let finding = Diagnostic::error("FL0507", "not the name of an environment variable").at(variable.name.span);
        report.push(finding.label("letters, digits, _ - . and no digit in front"));
    }
    variables
        .iter()
        .map(|variable| (variable.name.value.clone(), variable.value.value.clone()))
        .collect()
}

/// A static pod's settings, checked, with those that keys of the spec make.
pub(super) fn resolve(
    pod: StaticPod<'_>,
    settled: PodSettings,
    reserved: &ReservedSettings,
    release: &Release,
    report: &mut Report,
) -> ComponentPlan {
    check_arguments(reserved, Some(release.minor), pod.extra_args, release, report);
    check_claims(reserved, pod.extra_args, &settled.claims, report);
    let mut seen: BTreeSet<_> = settled.volumes.iter().map(|volume| volume.name.clone()).collect();
    for volume in pod.extra_volumes {
        check_volume(volume, report);
        if !seen.insert(volume.name.value.clone()) {
            report.push(Diagnostic::error("FL0508", "a volume's name is given twice").at(volume.name.span));
        }
    }
    let volumes: Vec<_> = settled
        .volumes
        .into_iter()
        .chain(pod.extra_volumes.iter().map(volume))
        .collect();
    control_plane::check_arguments(&reserved.component, pod.extra_args, &volumes, report);
    ComponentPlan {
        own_args: own_arguments(settled.claims),
        extra_args: arguments(pod.extra_args),
        extra_volumes: volumes,
        extra_envs: environment(pod.extra_envs, report),
    }
}

/// Refuses arguments that a key of the spec sets already, unless they are refused in any case.
pub(super) fn check_claims(reserved: &ReservedSettings, arguments: &[Argument], claims: &[Claim], report: &mut Report) {
    let free = arguments
        .iter()
        .filter(|argument| !reserved.has(&argument.name, &argument.value));
    for argument in free {
        let claim = claims.iter().find(|claim| claim.name == argument.name.as_str());
        let taken =
            |claim: &Claim| control_plane::taken(claim.name, &reserved.component, claim.key, argument.name.span);
        report.extend(claim.map(taken));
    }
}

/// The arguments that keys of the spec set.
pub(super) fn own_arguments(claims: Vec<Claim>) -> Vec<(String, String)> {
    let set = |claim: Claim| Some((claim.name.to_owned(), claim.value?));
    claims.into_iter().filter_map(set).collect()
}

fn check_volume(volume: &Volume, report: &mut Report) {
    if !names::is_label(&volume.name) {
        let finding = Diagnostic::error("FL0508", "not the name of a volume").at(volume.name.span);
        report.push(finding.label("lower case letters, digits and inner dashes, at most 63 characters"));
    }
    artifacts::check_path(&volume.host_path, report);
    artifacts::check_path(&volume.mount_path, report);
    if let Some(path_type) = volume
        .path_type
        .as_ref()
        .filter(|kind| !kind.is_empty() && !FACTS.path_types.contains(kind))
    {
        let known = &FACTS.path_types;
        let help = format!("types: {}", known.join(", "));
        report.push(unknown_name("FL0508", "not a type of host path".to_owned(), path_type, known).help(help));
    }
}

fn volume(volume: &Volume) -> VolumePlan {
    VolumePlan {
        name: volume.name.value.clone(),
        host_path: volume.host_path.value.clone(),
        mount_path: volume.mount_path.value.clone(),
        read_only: volume.read_only,
        path_type: volume.path_type.value(),
    }
}
