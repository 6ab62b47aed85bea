//! `kubernetes`: the settings of its components.

use std::collections::BTreeMap;

use firelay_yaml::{OptionalKey, RawValue, Spanned, config_schema::GateSetting, diagnostic::Diagnostic};
use serde_json::Value;

use super::{
    Codes, DnsPlan, KubeProxyPlan, KubernetesPlan, PatchPlan, artifacts, component, control_plane,
    images::{IMAGE_REPOSITORY, Images},
    manifests, names, phases, pki, registration,
    release::Release,
    report::Report,
    reserved::RESERVED,
    unknown_name::unknown_name,
};
use crate::{
    profile::KubernetesProfile,
    spec::{KubeadmPatch, Kubernetes, PatchType, ProxyMode, Spec},
};

/// Codes of findings about settings that become fields of a configuration.
pub(super) const SETTINGS: Codes = Codes {
    field: "FL0308",
    value: "FL0514",
};

/// `kubernetes`, checked and resolved.
pub(super) fn resolve(spec: &Spec, release: &Release, images: &Images, report: &mut Report) -> KubernetesPlan {
    let kubernetes = &spec.kubernetes;
    let profile = &release.profile;
    check_gates(kubernetes, release, report);
    phases::check(&kubernetes.skip_phases, profile, report);
    let settings = control_plane::resolve(kubernetes, pki::algorithm(spec), profile, report);
    control_plane::check_kubelet(kubernetes, report);
    registration::check(kubernetes, profile, report);
    report.each(&kubernetes.image_repository, artifacts::check_image);
    let repository = kubernetes
        .image_repository
        .as_ref()
        .map_or(IMAGE_REPOSITORY, |repository| repository.value.as_str());
    let mut component = |pod, settings, reserved| component::resolve(pod, settings, reserved, release, report);
    let api_server = component(kubernetes.api_server.pod(), settings.api_server, &RESERVED.api_server);
    let manager = kubernetes.controller_manager.pod();
    let controller_manager = component(manager, settings.controller_manager, &RESERVED.controller_manager);
    let scheduler = component(kubernetes.scheduler.pod(), settings.scheduler, &RESERVED.scheduler);
    KubernetesPlan {
        version: release.version.clone(),
        profile: profile.clone(),
        accepted: release.accepted.clone(),
        image_repository: images.repository(repository),
        kubeadm_feature_gates: gates(&kubernetes.kubeadm_feature_gates),
        feature_gates: gates(&kubernetes.feature_gates),
        api_server,
        controller_manager,
        scheduler,
        control_plane: settings.plan,
        kubelet_config: plain(&kubernetes.kubelet.config),
        kube_proxy: kube_proxy(kubernetes, release, report),
        dns: dns(spec, images, report),
        patches: patches(kubernetes, release, report),
        skip_phases: kubernetes.skip_phases.iter().map(|phase| phase.value.clone()).collect(),
        ignored_checks: registration::ignored_checks(kubernetes),
        pull_policy: kubernetes.image_pull.policy,
        pull_serial: kubernetes.image_pull.serial,
        timeouts: registration::timeouts(&kubernetes.timeouts, report),
    }
}

/// The sandbox image of a release, before rewriting.
pub(super) fn sandbox_image(spec: &Spec, release: &Release) -> String {
    let repository = spec
        .kubernetes
        .image_repository
        .as_ref()
        .map_or(IMAGE_REPOSITORY, |repository| repository.value.as_str());
    format!("{repository}/pause:{}", release.profile.pause)
}

type Gates = BTreeMap<Spanned<String>, bool>;

fn gates(gates: &Gates) -> BTreeMap<String, bool> {
    gates.iter().map(|(name, on)| (name.value.clone(), *on)).collect()
}

/// Free settings without the places of their keys.
fn plain(config: &BTreeMap<Spanned<String>, RawValue>) -> BTreeMap<String, Value> {
    config
        .iter()
        .map(|(name, branch)| (name.value.clone(), branch.value.clone()))
        .collect()
}

fn check_gates(kubernetes: &Kubernetes, release: &Release, report: &mut Report) {
    let profile = &release.profile;
    for name in kubernetes
        .kubeadm_feature_gates
        .keys()
        .filter(|name| !profile.accepts_kubeadm_feature_gate(name))
    {
        let message = format!("kubeadm {} has no such feature gate", profile.minor);
        report.push(
            unknown_name("FL0309", message, name, &profile.kubeadm_feature_gates).help(format!(
                "feature gates of kubeadm: {}; those of the components belong under `featureGates`",
                profile.kubeadm_feature_gates.join(", ")
            )),
        );
    }
    for (name, on) in &kubernetes.feature_gates {
        report.extend(release.accepted.gate(name, *on, name.span));
    }
    release.accepted.requirements(&[], &gate_settings(kubernetes), report);
}

/// `kubernetes.featureGates` with their places.
pub(super) fn gate_settings(kubernetes: &Kubernetes) -> Vec<GateSetting> {
    let gates = kubernetes.feature_gates.iter();
    gates
        .map(|(name, on)| GateSetting {
            name: name.value.clone(),
            on: *on,
            span: name.span,
        })
        .collect()
}

fn kube_proxy(kubernetes: &Kubernetes, release: &Release, report: &mut Report) -> Option<KubeProxyPlan> {
    let proxy = &kubernetes.kube_proxy;
    let accepted = &release.accepted;
    let settings = accepted.settings("KubeProxyConfiguration", &proxy.config, SETTINGS);
    report.extend(settings.findings);
    accepted.requirements(&gate_settings(kubernetes), &settings.gates, report);
    for (name, branch) in &proxy.config {
        RESERVED
            .kube_proxy_fields
            .check(name, &branch.value.to_string(), report);
    }
    if let Some(mode) = proxy
        .mode
        .as_ref()
        .filter(|mode| mode.value == ProxyMode::Ipvs && !*proxy.disabled)
    {
        let finding = Diagnostic::warning("FL0111", "kube-proxy's ipvs mode is deprecated").at(mode.span);
        let finding = finding.label("upstream will remove it");
        report.push(finding.help("use nftables, or iptables on kernels before 5.13"));
    }
    let plan = KubeProxyPlan {
        mode: proxy.mode.value(),
        config: plain(&proxy.config),
    };
    (!*proxy.disabled).then_some(plan)
}

fn dns(spec: &Spec, images: &Images, report: &mut Report) -> DnsPlan {
    let dns = &spec.kubernetes.dns;
    if let Some(domain) = dns.domain.as_ref().filter(|domain| !names::is_subdomain(domain)) {
        let finding = Diagnostic::error("FL0112", "not a DNS domain").at(domain.span);
        report.push(finding.label("lower case labels joined by dots, none at the end"));
    }
    report.each(&dns.image_repository, artifacts::check_image);
    // From its own registry kubeadm uses coredns/coredns, from any other REGISTRY/coredns: a mirror has the first name.
    let mirrored = images.repository(&format!("{IMAGE_REPOSITORY}/coredns"));
    let own = dns
        .image_repository
        .as_ref()
        .map(|repository| images.repository(repository));
    let kubeadms_own = spec.kubernetes.image_repository.is_none();
    let rewritten = !mirrored.starts_with(&format!("{IMAGE_REPOSITORY}/"));
    DnsPlan {
        domain: dns.domain.value().unwrap_or_else(|| "cluster.local".to_owned()),
        image_repository: own.or_else(|| (kubeadms_own && rewritten).then_some(mirrored)),
        image_tag: dns.image_tag.value(),
        disabled: dns.disabled,
    }
}

fn patches(kubernetes: &Kubernetes, release: &Release, report: &mut Report) -> Vec<PatchPlan> {
    let plan = |patch: &KubeadmPatch| PatchPlan {
        target: patch.target.value,
        kind: patch.kind.value().unwrap_or(PatchType::Strategic),
        content: patch.content.value.clone(),
    };
    let plans: Vec<_> = kubernetes.patches.iter().map(plan).collect();
    for (patch, plan) in kubernetes.patches.iter().zip(&plans) {
        report.extend(check_target(patch, &release.profile));
        manifests::check_patch(patch, plan.kind, &release.accepted, report);
    }
    plans
}

/// kubeadm ignores files for unknown targets.
fn check_target(patch: &KubeadmPatch, profile: &KubernetesProfile) -> Option<Diagnostic> {
    let (target, known) = (&patch.target, &profile.patch_targets);
    let message = || format!("kubeadm {} has no such patch target", profile.minor);
    (!known.iter().any(|name| name == target.name())).then(|| {
        Diagnostic::error("FL0504", message())
            .at(target.span)
            .help(format!("it has {}", known.join(", ")))
    })
}
