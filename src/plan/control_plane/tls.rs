//! `kubernetes.tls`.

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, Span},
};

use super::{Claim, Settings};
use crate::{
    plan::{report::Report, unknown_name::unknown_name},
    profile::KubernetesProfile,
    spec::{Algorithm, Kubernetes, Tls, TlsVersion},
};

const KEY: &str = "kubernetes.tls";
/// The suite without which Go's servers do not start (HTTP/2, RFC 9113 9.2.2); of the certificates' key type, or clients of
/// TLS 1.2 find nothing in common.
const NEEDED: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
/// The same for RSA keys.
const NEEDED_BY_RSA: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";

pub(super) fn resolve(
    tls: &Tls,
    algorithm: Algorithm,
    profile: &KubernetesProfile,
    settings: &mut Settings,
    report: &mut Report,
) {
    check(tls, algorithm, profile, report);
    let plan = &mut settings.plan;
    plan.tls_min_version = tls.min_version.value();
    plan.cipher_suites = tls.cipher_suites.iter().map(|suite| suite.value.clone()).collect();
    let version = tls.min_version.as_ref().map(|version| match version.value {
        TlsVersion::Tls12 => "VersionTLS12",
        TlsVersion::Tls13 => "VersionTLS13",
    });
    for pod in settings.pods() {
        if let Some(version) = version {
            pod.set("tls-min-version", version, KEY);
        }
        if let Some(suites) = suites(tls) {
            pod.set("tls-cipher-suites", suites, KEY);
        }
    }
}

/// etcd's arguments (`server/etcdmain/config.go`).
pub(in crate::plan) fn etcd(tls: &Tls) -> Vec<Claim> {
    let version = tls.min_version.as_ref().map(|version| match version.value {
        TlsVersion::Tls12 => "TLS1.2",
        TlsVersion::Tls13 => "TLS1.3",
    });
    let arguments = [
        ("tls-min-version", version.map(str::to_owned)),
        ("cipher-suites", suites(tls)),
    ];
    let set = |(name, value): (_, Option<String>)| value.is_some().then_some(Claim { name, value, key: KEY });
    arguments.into_iter().filter_map(set).collect()
}

fn suites(tls: &Tls) -> Option<String> {
    let names: Vec<_> = tls.cipher_suites.iter().map(|suite| suite.as_str()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn check(tls: &Tls, algorithm: Algorithm, profile: &KubernetesProfile, report: &mut Report) {
    let needed = if algorithm.is_rsa() { NEEDED_BY_RSA } else { NEEDED };
    for suite in tls
        .cipher_suites
        .iter()
        .filter(|suite| !profile.cipher_suites.contains(suite))
    {
        let help = format!("suites: {}", profile.cipher_suites.join(", "));
        let message = "not a cipher suite of TLS 1.2".to_owned();
        report.push(unknown_name("FL0522", message, suite, &profile.cipher_suites).help(help));
    }
    let Some(first) = tls.cipher_suites.first() else {
        return;
    };
    if tls.min_version.value() == Some(TlsVersion::Tls13) {
        let finding = Diagnostic::error("FL0522", "cipher suites beside TLS 1.3 alone").at(first.span);
        let finding = finding.label("TLS 1.3 has no choice of suites, and etcd does not start");
        report.push(finding.help("remove cipherSuites"));
    } else if !tls.cipher_suites.iter().any(|suite| suite.as_str() == needed) {
        let finding = Diagnostic::error("FL0522", "a suite is missing that HTTP/2 needs").at(first.span);
        let finding = finding.label("the API server does not start");
        report.push(finding.help(format!("add {needed}")));
    }
}

/// The kubelets' fields for the whole cluster are set already; those of a role or node override them.
pub(in crate::plan) fn check_kubelet(kubernetes: &Kubernetes, report: &mut Report) {
    let tls = &kubernetes.tls;
    for (set, field) in [
        (tls.min_version.is_some(), "tlsMinVersion"),
        (!tls.cipher_suites.is_empty(), "tlsCipherSuites"),
    ] {
        let given = kubernetes.kubelet.config.get_key_value(field).filter(|_| set);
        report.extend(given.map(|(key, _)| taken(field, "kubelet", KEY, key.span)));
    }
}

/// The finding for what a key sets already.
pub(in crate::plan) fn taken(name: &str, component: &str, key: &str, span: Span) -> Diagnostic {
    Diagnostic::error("FL0512", format!("`{name}` of {component} is said twice"))
        .at(span)
        .label(format!("`{key}` says it already"))
        .help("remove one of them")
}
