//! `runtime.crio`: its version, and settings that CRI-O does not have.

use std::collections::BTreeMap;

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, Span},
};
use semver::Version;

use crate::{
    plan::{release::Release, report::Report},
    profile::Profiles,
    secret::Secret,
    spec::{Mirror, Registry, Runtime},
};

/// A server of images as containers-registries.conf(5) has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The server, perhaps with a port.
    pub host: String,
    /// The server with a path that comes before each repository.
    pub place: String,
    /// Without TLS.
    pub plain: bool,
}

/// The location of a server of the spec; `None` for one whose API is not at `/v2`, where alone CRI-O asks.
pub fn location(url: &str, override_path: bool) -> Option<Location> {
    let (scheme, rest) = url.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let below = match (path.trim_end_matches('/'), override_path) {
        ("", false) | ("v2", _) => "",
        (path, true) => path.strip_prefix("v2/")?,
        _ => return None,
    };
    Some(Location {
        host: host.to_owned(),
        place: format!("{host}/{below}").trim_end_matches('/').to_owned(),
        plain: scheme == "http",
    })
}

pub(super) fn check_version(
    version: &Version,
    span: Span,
    profiles: &Profiles,
    release: &Release,
    report: &mut Report,
) {
    let finding = |label: String| {
        let message = format!("CRI-O {version} does not go with Kubernetes {}", release.version);
        Diagnostic::error("FL0304", message).at(span).label(label)
    };
    if !release.profile.accepts_crio(version) {
        let label = format!("CRI-O's minor is Kubernetes' own, {}", release.profile.minor);
        report.push(finding(label).help("remove the key to get the version that fits"));
    } else if !profiles.crio.versions.matches(version) {
        report.push(finding(
            "firelay does not know how this version is configured".to_owned(),
        ));
    }
}

/// Settings of containerd, and of registries, that would have no effect.
pub(super) fn check(runtime: &Runtime, report: &mut Report) {
    if runtime.crio.is_none() {
        return;
    }
    let keys = [
        ("version", runtime.version.span(), "name CRI-O's by crio.version"),
        (
            "runcVersion",
            runtime.runc_version.span(),
            "the bundle of CRI-O brings runc and crun",
        ),
        (
            "snapshotter",
            runtime.snapshotter.span(),
            "CRI-O stores images by overlay",
        ),
        (
            "runtimes",
            runtime.runtimes.first().map(|handler| handler.name.span),
            "CRI-O has the handlers crun and runc; others belong into a file in /etc/crio/crio.conf.d",
        ),
        (
            "nerdctl",
            runtime.nerdctl.then_some(runtime.nerdctl.span),
            "nerdctl works with containerd alone; crictl is there",
        ),
    ];
    let given = keys
        .into_iter()
        .filter_map(|(key, span, label)| Some((key, span?, label)));
    report.extend(given.map(|(key, span, label)| {
        let message = format!("`runtime.{key}` beside `runtime.crio`");
        let finding = Diagnostic::error("FL0319", message).at(span).label(label);
        finding.help(format!("remove `{key}`, or `crio` to run containerd"))
    }));
    for registry in &runtime.registries {
        check_registry(registry, report);
    }
    check_users(&runtime.registries, report);
}

fn check_registry(registry: &Registry, report: &mut Report) {
    if registry.host.as_str() == "_default" {
        let finding = Diagnostic::error("FL0319", "`_default` beside `runtime.crio`").at(registry.host.span);
        let finding = finding.label("CRI-O has no mirror for every other registry");
        report.push(finding.help("name each registry: docker.io, registry.k8s.io, quay.io, ghcr.io"));
    }
    let urls = registry.mirrors.iter().map(|mirror| &mirror.url);
    let names = urls.chain(&registry.server).chain([&registry.host]);
    report.extend(names.filter(|name| name.contains('[')).map(|name| {
        // docker/reference of go.podman.io/image: with such a location no image of the registry is pulled, from nowhere.
        let finding = Diagnostic::error("FL0319", "a registry's IPv6 address beside `runtime.crio`").at(name.span);
        let finding = finding.label("names of images in CRI-O have no IPv6 addresses");
        finding.help("give it a name, which `hosts` may lead to the address")
    }));
    let servers = registry.server.iter().map(|server| (server, false));
    let mirrors = registry
        .mirrors
        .iter()
        .map(|mirror| (&mirror.url, mirror.override_path));
    let elsewhere = servers
        .chain(mirrors)
        .filter(|(url, own)| url.contains("://") && location(url, *own).is_none());
    report.extend(elsewhere.map(|(url, _)| {
        let finding = Diagnostic::error("FL0319", "a path that CRI-O does not ask at").at(url.span);
        let finding = finding.label("CRI-O asks at /v2 of the host, and puts a path between /v2 and the repository");
        finding.help("write a mirror's url as https://HOST/v2/PROJECT with overridePath: true")
    }));
}

/// The file with passwords has one entry for a location.
fn check_users(registries: &[Registry], report: &mut Report) {
    let mut users: BTreeMap<String, (&str, &Secret<String>)> = BTreeMap::new();
    for mirror in registries.iter().flat_map(|registry| &registry.mirrors) {
        let Some((place, auth)) = place(mirror).zip(mirror.auth.as_ref()) else {
            continue;
        };
        let own = (auth.username.as_str(), &auth.password);
        let known = users.entry(place).or_insert(own);
        if known.0 != own.0 || known.1.expose() != own.1.expose() {
            let finding = Diagnostic::error("FL0319", "two users for one mirror").at(auth.username.span);
            report.push(finding.label("CRI-O has one user for a host and path, whatever registry it mirrors"));
        }
    }
}

fn place(mirror: &Mirror) -> Option<String> {
    Some(location(&mirror.url, mirror.override_path)?.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_those_that_containerd_would_ask() {
        let place = |url, own| location(url, own).map(|own| own.place);
        assert_eq!(
            place("https://a.example.com:5000/", false).as_deref(),
            Some("a.example.com:5000")
        );
        assert_eq!(
            place("https://a.example.com/v2", true).as_deref(),
            Some("a.example.com")
        );
        assert_eq!(
            place("https://a.example.com/v2/hub", true).as_deref(),
            Some("a.example.com/hub")
        );
        assert_eq!(place("https://a.example.com/hub", false), None);
        assert_eq!(place("https://a.example.com/hub", true), None);
        assert!(location("http://a.example.com", false).is_some_and(|own| own.plain));
    }
}
