//! Settings of kubelets: fields and flags of the version, their values, and valid combinations.

mod merged;
mod validate;

use firelay_yaml::{OptionalKey, Spanned, config_schema::GateSetting, diagnostic::Diagnostic, plain_text};
use serde_json::Value;

use super::{
    Requirements, component,
    kubernetes::{self, SETTINGS},
    network::Ranges,
    release::Release,
    report::Report,
    reserved::RESERVED,
};
use crate::{
    declaration::{self, Kind, Requirement},
    spec::{Argument, CaKeys, Kubelet, Spec},
};

pub(super) use validate::check as validate_fields;

/// The field with which a kubelet requests its serving certificate from the cluster.
pub(super) const SERVER_TLS_BOOTSTRAP: &str = "serverTLSBootstrap";

/// Checks the settings of the cluster, of roles, nodes and pools, each where it was written.
pub(super) fn check(spec: &Spec, release: &Release, report: &mut Report) {
    let mut cluster = kubernetes::gate_settings(&spec.kubernetes);
    let mut roles = Vec::new();
    for (number, kubelet) in all(spec).enumerate() {
        // A machine has the gates of the cluster, and may have those of any role.
        let farther: Vec<_> = match number {
            0..=ROLES => cluster.clone(),
            _ => cluster.iter().chain(&roles).cloned().collect(),
        };
        let gates = check_fields(kubelet, release, &farther, report);
        match number {
            0 => cluster.extend(gates),
            1..=ROLES => roles.extend(gates.into_iter().filter(|gate| gate.on)),
            _ => {}
        }
        for (name, branch) in &kubelet.config {
            RESERVED.kubelet_fields.check(name, &plain_text(&branch.value), report);
        }
        component::check_arguments(
            &RESERVED.kubelet_flags,
            Some(release.minor),
            &kubelet.extra_args,
            release,
            report,
        );
        if spec.manifests.is_empty() {
            report.extend(kubelet.extra_args.iter().find_map(waiting_for_cloud));
        }
    }
}

/// The fields of one level, with the gates that they set. `farther` are those that may be set at other levels.
fn check_fields(
    kubelet: &Kubelet,
    release: &Release,
    farther: &[GateSetting],
    report: &mut Report,
) -> Vec<GateSetting> {
    let accepted = &release.accepted;
    let settings = accepted.settings("KubeletConfiguration", &kubelet.config, SETTINGS);
    report.extend(settings.findings);
    let gates = settings.gates;
    accepted.requirements(farther, &gates, report);
    let effective: Vec<_> = farther.iter().chain(&gates).cloned().collect();
    accepted.check_gated(&settings.gated, &effective, report);
    gates
}

/// Roles with kubelet settings; they follow the cluster's in [`all`].
const ROLES: usize = 3;

/// Every place of the spec that has kubelet settings: the cluster, the roles, nodes and pools.
fn all(spec: &Spec) -> impl Iterator<Item = &Kubelet> {
    std::iter::once(&spec.kubernetes.kubelet).chain(spec.below().map(|level| level.kubelet))
}

/// With an external cloud provider a node is tainted until the cloud's controller manager has initialized it.
fn waiting_for_cloud(argument: &Argument) -> Option<Diagnostic> {
    let external = argument.name.as_str() == "cloud-provider" && argument.value.as_str() == "external";
    external.then(|| {
        Diagnostic::warning(
            "FL0516",
            "nodes wait for a cloud controller manager, and no manifest could bring one",
        )
        .at(argument.name.span)
        .label("until it runs, nodes have the taint node.cloudprovider.kubernetes.io/uninitialized")
        .help("add the controller manager of your cloud under `manifests`")
    })
}

/// The settings that make kubelets request their serving certificate.
fn bootstrapped(spec: &Spec) -> impl Iterator<Item = &Spanned<String>> {
    let given = all(spec).filter_map(|kubelet| kubelet.config.get_key_value(SERVER_TLS_BOOTSTRAP));
    given
        .filter(|(_, value)| value.value == Value::Bool(true))
        .map(|(name, _)| name)
}

/// Kubelets that request a serving certificate wait for its approval, which Kubernetes does not do by itself.
pub(super) fn check_approval(spec: &Spec, requirements: &Requirements, report: &mut Report) {
    for name in bootstrapped(spec).filter(|_| !requirements.approves_serving) {
        let finding = Diagnostic::warning("FL0516", "nobody approves the kubelets' serving certificates").at(name.span);
        let finding = finding.label("until then logs, exec and port-forward fail");
        report.push(finding.help(format!("add {}, or an approver of yours by `manifests`", approvers())));
    }
}

/// Nor does anybody sign them where no machine has the CA's key.
pub(super) fn check_signer(spec: &Spec, report: &mut Report) {
    let none = spec.pki.ca_keys.value() == Some(CaKeys::None);
    for name in bootstrapped(spec).filter(|_| none) {
        let finding = Diagnostic::error("FL0410", "nobody signs the kubelets' serving certificates").at(name.span);
        let finding = finding.label("with pki.caKeys: none no machine has the CA's key");
        report.push(finding.help("remove it: named nodes bring their certificates; or write caKeys: signer"));
    }
}

/// The add-ons that approve certificates, as the spec has them.
fn approvers() -> String {
    let approves = |one: &Requirement| one.approves_serving == Some(true);
    let known = declaration::of(Kind::Addon).filter(|it| it.implies.iter().any(approves));
    let keys: Vec<_> = known.map(|it| format!("`addons.{}`", it.key)).collect();
    keys.join(" or ")
}

/// The largest `maxPods` of the spec.
pub(super) fn max_pods(spec: &Spec) -> Option<u64> {
    all(spec)
        .filter_map(|kubelet| kubelet.config.get("maxPods")?.as_u64())
        .max()
}

/// A service range has one address for DNS, the tenth: queries to another address get no answer.
pub(super) fn check_dns(spec: &Spec, ranges: &Ranges, dns: std::net::IpAddr, report: &mut Report) {
    if spec.kubernetes.dns.disabled {
        return;
    }
    for (name, value) in all(spec).flat_map(|kubelet| &kubelet.config) {
        let addresses = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        let inside = |text: &&str| {
            let address: Option<std::net::IpAddr> = text.parse().ok();
            address.is_some_and(|address| address != dns && ranges.services.iter().any(|it| it.net.contains(&address)))
        };
        let Some(other) = addresses.filter(|_| name.as_str() == "clusterDNS").find(inside) else {
            continue;
        };
        let finding = Diagnostic::error("FL0515", "nothing answers at this DNS address").at(name.span);
        let finding = finding.label(format!("{other} is a service address, but CoreDNS has {dns}"));
        report.push(finding.help("remove it: the tenth address of the first service range is filled in"));
    }
}
