//! `kubernetes.apiServer.encryption`: encryption of objects in etcd.

use std::collections::BTreeSet;

use serde_json::Map;

use super::{API_SERVER, Claim, Settings, document};
use crate::{
    diagnostic::Diagnostic,
    plan::{EncryptionPlan, report::Report},
    profile::KubernetesProfile,
    spec::Encryption,
    yaml::Spanned,
};

const KEY: &str = "kubernetes.apiServer.encryption";
/// What is encrypted where the spec names nothing.
const SECRETS: &str = "secrets";

pub(super) fn resolve(
    encryption: &Encryption,
    profile: &KubernetesProfile,
    settings: &mut Settings,
    report: &mut Report,
) {
    check(&encryption.resources, report);
    let path = format!("{API_SERVER}/encryption.yaml");
    settings
        .api_server
        .claims
        .push(Claim::set("encryption-provider-config", path.clone(), KEY));
    let mut resources: Vec<_> = encryption.resources.iter().map(|it| it.value.clone()).collect();
    if resources.is_empty() {
        resources.push(SECRETS.to_owned());
    }
    settings.plan.encryption = Some(EncryptionPlan {
        path,
        head: document::headed("encryption", Map::new(), profile),
        resources,
    });
}

fn check(resources: &[Spanned<String>], report: &mut Report) {
    let mut seen = BTreeSet::new();
    for resource in resources {
        if !is_resource(resource) {
            let finding = Diagnostic::error("FL0538", "not a resource of Kubernetes").at(resource.span);
            report.push(
                finding
                    .label("the API server does not start")
                    .help("the plural in lower case, that of another group with it: secrets, deployments.apps, *.*"),
            );
        } else if !seen.insert(resource.as_str()) {
            let finding = Diagnostic::error("FL0538", "a resource is encrypted twice").at(resource.span);
            report.push(
                finding
                    .label("the API server does not start")
                    .help("remove one of them"),
            );
        }
    }
}

/// `RESOURCE`, `RESOURCE.GROUP`, `*.GROUP` and `*.*`; `*.` is the group without a name
/// (`k8s.io/apiserver/pkg/apis/apiserver/validation/validation_encryption.go`).
fn is_resource(text: &str) -> bool {
    let word = |text: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        !text.is_empty() && text.bytes().all(inner)
    };
    match text.split_once('.') {
        None => word(text),
        Some(("*", group)) => group.is_empty() || group == "*" || word(group),
        Some((resource, group)) => word(resource) && word(group),
    }
}
