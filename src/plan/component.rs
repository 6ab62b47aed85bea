//! What static pods and kubelets are told: arguments, environment, volumes.

use std::collections::BTreeSet;

use super::{ComponentPlan, VolumePlan, artifacts, known, names, owned::Settings, report::Report};
use crate::{
    diagnostic::Diagnostic,
    profile::KubernetesProfile,
    spec::{Argument, Component, EnvVar, Volume},
};

/// Kubernetes' HostPathType (`k8s.io/api/core/v1`).
const PATH_TYPES: &[&str] = &[
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
];

/// Refuses an argument's name that no component could have.
fn check_argument(argument: &Argument, report: &mut Report) {
    let name = &argument.name;
    let bare = name.trim_start_matches('-');
    if bare.len() != name.len() {
        let finding = Diagnostic::error("FL0502", "an argument's name is written without dashes").at(name.span);
        report.push(finding.help(format!("write `{bare}`")));
    } else if bare.is_empty()
        || !bare
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    {
        let finding = Diagnostic::error("FL0502", "not an argument's name").at(name.span);
        report.push(finding.label("letters, digits and inner dashes; what follows a `=` belongs into `value`"));
    }
}

/// Refuses odd names, and flags with which a component of this version does not start any more.
pub(super) fn check_arguments(
    owned: &Settings,
    arguments: &[Argument],
    profile: &KubernetesProfile,
    report: &mut Report,
) {
    for argument in arguments {
        owned.check(&argument.name, &argument.value, report);
        check_argument(argument, report);
        if !profile.accepts_flag(owned.component, &argument.name) {
            let message = format!("{} {} has no such flag any more", owned.component, profile.minor);
            let finding = Diagnostic::error("FL0310", message).at(argument.name.span);
            report.push(finding.label("with it the program does not start").help("remove it"));
        }
    }
}

/// Arguments as pairs.
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

/// A static pod's settings, checked.
pub(super) fn resolve(
    component: &Component,
    owned: &Settings,
    profile: &KubernetesProfile,
    report: &mut Report,
) -> ComponentPlan {
    check_arguments(owned, &component.extra_args, profile, report);
    let mut seen = BTreeSet::new();
    for volume in &component.extra_volumes {
        check_volume(volume, report);
        if !seen.insert(volume.name.as_str()) {
            report.push(Diagnostic::error("FL0508", "a volume's name is given twice").at(volume.name.span));
        }
    }
    ComponentPlan {
        extra_args: arguments(&component.extra_args),
        extra_volumes: component.extra_volumes.iter().map(volume).collect(),
        extra_envs: environment(&component.extra_envs, report),
    }
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
        .filter(|kind| !kind.is_empty() && !PATH_TYPES.contains(&kind.as_str()))
    {
        let known: Vec<_> = PATH_TYPES.iter().map(|kind| (*kind).to_owned()).collect();
        let help = format!("types: {}", PATH_TYPES.join(", "));
        report.push(known::unknown("FL0508", "not a type of host path".to_owned(), path_type, &known).help(help));
    }
}

fn volume(volume: &Volume) -> VolumePlan {
    VolumePlan {
        name: volume.name.value.clone(),
        host_path: volume.host_path.value.clone(),
        mount_path: volume.mount_path.value.clone(),
        read_only: volume.read_only,
        path_type: volume.path_type.as_ref().map(|kind| kind.value.clone()),
    }
}
