//! `security`.

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, nearest},
};

use super::{Requirements, SecurityPlan, report::Report};
use crate::{
    profile::Profiles,
    spec::{Argument, SelinuxMode, Spec},
};

/// kubeadm's feature gate that runs each component as a separate user.
const ROOTLESS: &str = "RootlessControlPlane";
/// The argument by which the API server trusts kubelets of the cluster's CA alone.
const KUBELET_CA: &str = "kubelet-certificate-authority";
/// The admission plugin that verifies access to every image at its registry.
const ALWAYS_PULL: &str = "AlwaysPullImages";

pub(super) fn resolve(spec: &Spec, profiles: &Profiles, report: &mut Report) -> SecurityPlan {
    report.extend(unknown(spec, profiles));
    report.extend(rootless(spec));
    report.extend(rootless_kms(spec));
    report.extend(archived(spec));
    let security = &spec.security;
    SecurityPlan {
        restrict_files: security.restrict_files.value() == Some(true),
        sandbox_units: security.sandbox_units.value() == Some(true),
        enforcing: security.selinux.value() == Some(SelinuxMode::Enforcing),
    }
}

/// A security profile that does not exist.
fn unknown(spec: &Spec, profiles: &Profiles) -> Option<Diagnostic> {
    let name = spec.security.profile.as_ref()?;
    if spec.baseline.as_deref() == Some(name.as_str()) {
        return None;
    }
    let finding = Diagnostic::error("FL0537", "no such security profile").at(name.span);
    let known: Vec<_> = profiles.security.keys().map(String::as_str).collect();
    let finding = finding.suggest(nearest(name, known.iter().copied()));
    Some(finding.help(format!(
        "profiles: {}; --profiles DIR reads those of your own in DIR/security",
        known.join(", ")
    )))
}

/// Components that are not root could not read what is closed to all but root.
fn rootless(spec: &Spec) -> Option<Diagnostic> {
    let gates = &spec.kubernetes.kubeadm_feature_gates;
    let (name, _) = gates.get_key_value(ROOTLESS).filter(|(_, on)| **on)?;
    let restricted = spec.security.restrict_files.value() == Some(true);
    restricted.then(|| {
        Diagnostic::error("FL0539", "a control plane without root, and files for root alone")
            .at(name.span)
            .label("the components could not read their certificates after a restart")
            .help("remove the feature gate, or write security: { restrictFiles: false }")
    })
}

/// A socket of root takes connections of root alone.
fn rootless_kms(spec: &Spec) -> Option<Diagnostic> {
    let gates = &spec.kubernetes.kubeadm_feature_gates;
    let (name, _) = gates.get_key_value(ROOTLESS).filter(|(_, on)| **on)?;
    spec.kubernetes.api_server.encryption.as_ref()?.kms.as_ref()?;
    let finding = Diagnostic::error("FL0539", "a control plane without root, and key services").at(name.span);
    let finding = finding.label("the API server could not connect to the sockets of their plugins");
    Some(finding.help("remove the feature gate, or kubernetes.apiServer.encryption.kms"))
}

/// With images from archives there may be no registry for this check.
fn archived(spec: &Spec) -> Option<Diagnostic> {
    let plugins = &spec.kubernetes.api_server.admission.enable;
    let archive = spec.artifacts.image_archives.first()?;
    plugins.iter().any(|name| name.as_str() == ALWAYS_PULL).then(|| {
        Diagnostic::warning(
            "FL0521",
            "images of archives are asked for at their registry nevertheless",
        )
        .at(archive.url.span)
        .label("with the admission plugin AlwaysPullImages no pod starts while the registry does not answer")
        .help(
            "have a mirror under runtime.registries, or leave the plugin out of kubernetes.apiServer.admission.enable",
        )
    })
}

/// Kubelets of pool machines serve with a self-signed certificate unless an add-on approves one. Documents of named
/// machines contain one.
pub(super) fn check_serving(spec: &Spec, requirements: &Requirements, report: &mut Report) {
    let arguments = &spec.kubernetes.api_server.extra_args;
    let trusted = |argument: &Argument| argument.name.as_str() == KUBELET_CA;
    if requirements.approves_serving || !arguments.iter().any(trusted) {
        return;
    }
    let Some(pool) = spec.pools.first() else { return };
    let message = "the API server does not trust the kubelets of pools";
    let finding = Diagnostic::warning("FL0516", message).at(pool.name.span);
    let finding = finding.label(
        "with kubelet-certificate-authority; they sign their serving certificates themselves, and logs and exec fail",
    );
    report.push(
        finding.help(
            "add `addons.kubeletCsrApprover`, and kubelet: { config: { serverTLSBootstrap: true } } to the pools",
        ),
    );
}
