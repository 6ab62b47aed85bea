//! `runtime`: containerd or CRI-O, its registries and handlers.

mod crio;

use std::collections::BTreeSet;

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};
use semver::Version;

use super::{
    RuntimeKind, RuntimePlan, artifacts, host,
    images::Images,
    kubernetes, names,
    release::{self, Release},
    report::Report,
};
pub use crio::{Location, location};

use crate::{
    profile::{Profiles, RuntimeService},
    spec::{Mirror, OciRuntime, Registry, Runtime, Spec},
};

/// A component's version, the spec's or the profile's, and the place that chose it.
pub(super) fn version(
    name: &str,
    given: Option<&Spanned<String>>,
    spec: &Spec,
    release: &Release,
    report: &mut Report,
) -> Option<(Version, Span)> {
    let Some(text) = given else {
        let version = release.profile.component(name)?.clone();
        return Some((version, spec.kubernetes.version.span));
    };
    let example = release
        .profile
        .component(name)
        .map_or_else(|| "1.2.3".to_owned(), Version::to_string);
    Some((report.take(release::version(text, &example))?, text.span))
}

/// The program that runs containers.
pub(super) fn kind(spec: &Spec) -> RuntimeKind {
    match spec.runtime.crio {
        Some(_) => RuntimeKind::Crio,
        None => RuntimeKind::Containerd,
    }
}

/// Its service.
pub(super) fn service<'p>(spec: &Spec, profiles: &'p Profiles) -> &'p RuntimeService {
    match kind(spec) {
        RuntimeKind::Containerd => &profiles.containerd.service,
        RuntimeKind::Crio => &profiles.crio.service,
    }
}

/// `runtime`, checked and resolved, for a version of the container runtime.
pub(super) fn resolve(
    spec: &Spec,
    profiles: &Profiles,
    release: &Release,
    chosen: &(Version, Span),
    images: &mut Images,
    report: &mut Report,
) -> RuntimePlan {
    let runtime = &spec.runtime;
    let (version, span) = chosen;
    match kind(spec) {
        RuntimeKind::Containerd => check_version(version, *span, profiles, release, report),
        RuntimeKind::Crio => crio::check_version(version, *span, profiles, release, report),
    }
    report.each(&runtime.sandbox_image, artifacts::check_image);
    let sandbox = runtime
        .sandbox_image
        .value()
        .unwrap_or_else(|| kubernetes::sandbox_image(spec, release));
    RuntimePlan {
        kind: kind(spec),
        service: service(spec, profiles).clone(),
        version: version.clone(),
        sandbox_image: images.name(&sandbox),
        snapshotter: runtime.snapshotter.value().unwrap_or_else(|| "overlayfs".to_owned()),
        registries: runtime.registries.clone(),
        runtimes: runtime.runtimes.clone(),
        nerdctl: *runtime.nerdctl,
    }
}

fn check_version(version: &Version, span: Span, profiles: &Profiles, release: &Release, report: &mut Report) {
    let finding = |label: String| {
        let message = format!("containerd {version} does not go with Kubernetes {}", release.version);
        Diagnostic::error("FL0304", message).at(span).label(label)
    };
    if !release.profile.accepts_containerd(version) {
        report.push(
            finding(format!("its kubelet works with {}", release.profile.containerd))
                .help("remove the key to get the version that fits"),
        );
    } else if profiles.containerd(version).is_none() {
        report.push(finding(
            "firelay does not know how this version is configured".to_owned(),
        ));
    }
}

/// Checks what needs no Kubernetes version.
pub(super) fn check(runtime: &Runtime, report: &mut Report) {
    crio::check(runtime, report);
    let mut seen = BTreeSet::new();
    for registry in &runtime.registries {
        check_registry(registry, report);
        if !seen.insert(registry.host.as_str()) {
            report.push(Diagnostic::error("FL0506", "a registry is given twice").at(registry.host.span));
        }
    }
    if let Some(snapshotter) = runtime.snapshotter.as_ref().filter(|name| !names::is_label(name)) {
        report.push(Diagnostic::error("FL0509", "not the name of a snapshotter").at(snapshotter.span));
    }
    let mut seen = BTreeSet::from(["runc"]);
    for handler in &runtime.runtimes {
        check_handler(handler, report);
        if !seen.insert(handler.name.as_str()) {
            let finding = Diagnostic::error("FL0509", "a runtime handler is given twice").at(handler.name.span);
            report.push(finding.label("runc is always there"));
        }
    }
}

fn check_handler(handler: &OciRuntime, report: &mut Report) {
    if !names::is_label(&handler.name) {
        let finding = Diagnostic::error("FL0509", "not the name of a runtime handler").at(handler.name.span);
        report.push(finding.label("lower case letters, digits and inner dashes: a RuntimeClass names it"));
    }
    if !names::is_dns_name(&handler.kind) {
        let finding = Diagnostic::error("FL0509", "not a containerd runtime type").at(handler.kind.span);
        report.push(finding.help("write it as io.containerd.runsc.v1"));
    }
    report.each(&handler.binary, artifacts::check_path);
}

fn check_registry(registry: &Registry, report: &mut Report) {
    let host = &registry.host;
    let (name, port) = host
        .rsplit_once(':')
        .map_or((host.as_str(), "443"), |(name, port)| (name, port));
    let address = name
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>()
        .is_ok();
    let named = names::is_subdomain(name) || address || host.as_str() == "_default";
    if !named || port.parse::<u16>().is_err() {
        let finding = Diagnostic::error("FL0506", "not a registry's host").at(host.span);
        let finding = finding.label("a host and perhaps a port, without https:// and path");
        report.push(finding.help("_default stands for every other registry"));
    }
    report.each(&registry.server, artifacts::check_url);
    report.each(&registry.mirrors, check_mirror);
    check_once(&registry.mirrors, report);
}

/// A URL is a table of hosts.toml. If a file has it twice, containerd ignores all mirrors.
fn check_once(mirrors: &[Mirror], report: &mut Report) {
    let mut seen = BTreeSet::new();
    for mirror in mirrors {
        if !seen.insert(mirror.url.trim_end_matches('/')) {
            let finding = Diagnostic::error("FL0506", "a mirror is given twice").at(mirror.url.span);
            report.push(finding.label("the same URL of the same registry"));
        }
    }
}

fn check_mirror(mirror: &Mirror, report: &mut Report) {
    artifacts::check_url(&mirror.url, report);
    report.extend(check_mirror_path(mirror));
    report.each(&mirror.ca, host::check_certificates);
    if let Some(client) = &mirror.client {
        host::check_certificates(&client.certificate, report);
        host::check_key(&client.certificate, &client.key, report);
    }
    let username = mirror.auth.as_ref().map(|auth| &auth.username);
    if let Some(username) = username.filter(|name| name.contains(':')) {
        let finding = Diagnostic::error("FL0506", "a user name cannot hold a colon").at(username.span);
        report.push(finding.label("what follows the colon would be sent as the password"));
    }
}

/// containerd appends `/v2` to a mirror's URL that does not end so, unless `override_path` is set (containerd docs,
/// hosts.md). The path of a Harbor project is `/v2/PROJECT/…` (Harbor docs, "Configure Proxy Cache").
fn check_mirror_path(mirror: &Mirror) -> Option<Diagnostic> {
    let (_, rest) = mirror.url.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.trim_end_matches('/');
    let versioned = path == "v2" || path.starts_with("v2/");
    let ends = path.ends_with("/v2") || path == "v2";
    let harbor = host.split(['.', ':', '-']).any(|part| part == "harbor");
    let asked = |path: &str| format!("https://{host}/{path}/library/… is asked for");
    if versioned && !ends && !mirror.override_path {
        let finding = Diagnostic::error("FL0540", "a mirror's path that already has /v2").at(mirror.url.span);
        let help = "add overridePath: true, which leaves the URL as it stands";
        return Some(finding.label(asked(&format!("{path}/v2"))).help(help));
    }
    if harbor && !versioned && !path.is_empty() {
        let finding = Diagnostic::warning("FL0540", "a project of Harbor without /v2 before it").at(mirror.url.span);
        let asked = asked(&match mirror.override_path {
            true => path.to_owned(),
            false => format!("{path}/v2"),
        });
        let help = format!("write url: https://{host}/v2/{path} with overridePath: true");
        return Some(finding.label(asked).help(help));
    }
    None
}
