//! `kubernetes`: the version and what its components are told.

use std::{collections::BTreeMap, sync::Arc};

use semver::Version;
use serde_json::Value;

use super::{
    Accepted, Codes, DnsPlan, KubeProxyPlan, KubernetesPlan, PatchPlan, artifacts, component, control_plane,
    fields::GateSetting, images::Images, known, manifests, names, phases, pki, registration, report::Report,
    reserved::RESERVED,
};
use crate::{
    diagnostic::Diagnostic,
    profile::{Flags, KubernetesProfile, Minor, Objects, Profiles},
    spec::{KubeadmPatch, Kubernetes, PatchType, ProxyMode, Spec},
    yaml::{Branch, OptionalKey, Spanned},
};

/// kubeadm's own image registry.
pub(super) const IMAGE_REPOSITORY: &str = "registry.k8s.io";

/// How findings about settings that become fields of a configuration are told.
pub(super) const SETTINGS: Codes = Codes {
    field: "FL0308",
    value: "FL0514",
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

/// Finds the release, or says which there are.
pub(super) fn release(spec: &Spec, profiles: &Profiles) -> Result<Release, Diagnostic> {
    let text = &spec.kubernetes.version;
    let newest = profiles
        .kubernetes
        .values()
        .rev()
        .find_map(|profile| profile.versions.first());
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
        return Err(unknown(
            label,
            profile.versions.iter().map(Version::to_string).collect(),
        ));
    }
    Ok(make_release(version, profile, profiles))
}

fn make_release(version: Version, profile: &Arc<KubernetesProfile>, profiles: &Profiles) -> Release {
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

/// Codes of findings that rest on what a minor has.
const OF_MINOR: &[&str] = &[
    "FL0303", "FL0304", "FL0308", "FL0309", "FL0310", "FL0315", "FL0404", "FL0513", "FL0514", "FL0520", "FL0521",
    "FL0522", "FL0523", "FL0530", "FL0531", "FL0532", "FL0533", "FL0551", "FL0803", "FL0811",
];

/// The release to go on with when that of the spec is refused, and the codes of findings that would rest on a guess then: none
/// when its minor is clear.
pub(super) fn stand_in(spec: &Spec, profiles: &Profiles) -> Option<(Release, &'static [&'static str])> {
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
    Some((make_release(version, profile, profiles), guessed))
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
    KubernetesPlan {
        version: release.version.clone(),
        profile: profile.clone(),
        accepted: release.accepted.clone(),
        image_repository: images.repository(repository),
        kubeadm_feature_gates: gates(&kubernetes.kubeadm_feature_gates),
        feature_gates: gates(&kubernetes.feature_gates),
        api_server: component::resolve(
            kubernetes.api_server.pod(),
            settings.api_server,
            &RESERVED.api_server,
            release,
            report,
        ),
        controller_manager: component::resolve(
            kubernetes.controller_manager.pod(),
            settings.controller_manager,
            &RESERVED.controller_manager,
            release,
            report,
        ),
        scheduler: component::resolve(
            kubernetes.scheduler.pod(),
            settings.scheduler,
            &RESERVED.scheduler,
            release,
            report,
        ),
        control_plane: settings.plan,
        kubelet_config: plain(&kubernetes.kubelet.config),
        kube_proxy: kube_proxy(kubernetes, release, report),
        dns: dns(spec, images, report),
        patches: patches(kubernetes, &release.accepted, report),
        skip_phases: kubernetes.skip_phases.iter().map(|phase| phase.value.clone()).collect(),
        ignored_checks: registration::ignored_checks(kubernetes),
        pull_policy: kubernetes.image_pull.policy,
        pull_serial: kubernetes.image_pull.serial,
        timeouts: registration::timeouts(&kubernetes.timeouts, report),
    }
}

/// The sandbox image that goes with a release, before rewriting.
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
fn plain(config: &BTreeMap<Spanned<String>, Branch>) -> BTreeMap<String, Value> {
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
            known::unknown("FL0309", message, name, &profile.kubeadm_feature_gates).help(format!(
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
    let judgement = accepted.settings("KubeProxyConfiguration", &proxy.config, SETTINGS);
    report.extend(judgement.findings);
    accepted.requirements(&gate_settings(kubernetes), &GateSetting::of(&proxy.config), report);
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
    // Of its own registry kubeadm takes coredns/coredns, of any other REGISTRY/coredns: a mirror has the former's name.
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

fn patches(kubernetes: &Kubernetes, accepted: &Accepted, report: &mut Report) -> Vec<PatchPlan> {
    let plan = |patch: &KubeadmPatch| PatchPlan {
        target: patch.target.value,
        kind: patch.kind.value().unwrap_or(PatchType::Strategic),
        content: patch.content.value.clone(),
    };
    let plans: Vec<_> = kubernetes.patches.iter().map(plan).collect();
    for (patch, plan) in kubernetes.patches.iter().zip(&plans) {
        manifests::check_patch(patch, plan.kind, accepted, report);
    }
    plans
}
