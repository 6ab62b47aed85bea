//! `kubernetes.apiServer.encryption`: encryption of objects in etcd.

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};
use serde_json::{Map, Value, json};

use super::{API_SERVER, Settings, document};
use crate::{
    declaration::Choice,
    plan::{EncryptionPlan, EncryptionProvider, KmsPlan, facts::FACTS, matches_resource, report::Report},
    profile::KubernetesProfile,
    spec::{BundleKey, Encryption},
};

const KEY: &str = "kubernetes.apiServer.encryption";
/// The default resource.
const SECRETS: &str = "secrets";

pub(super) fn resolve(
    encryption: &Encryption,
    profile: &KubernetesProfile,
    settings: &mut Settings,
    report: &mut Report,
) {
    check(&encryption.resources, report);
    let path = format!("{API_SERVER}/encryption.yaml");
    settings.api_server.set("encryption-provider-config", path.clone(), KEY);
    let mut resources: Vec<_> = encryption.resources.iter().map(|it| it.value.clone()).collect();
    if resources.is_empty() {
        resources.push(SECRETS.to_owned());
    }
    settings.plan.encryption = Some(EncryptionPlan {
        path,
        head: document::headed("encryption", Map::new(), profile),
        resources,
        providers: providers(encryption, report),
    });
}

/// The keys in the order in which the API server tries them.
fn providers(encryption: &Encryption, report: &mut Report) -> Vec<EncryptionProvider> {
    let (choices, _) = encryption.kms();
    check_names(&choices, report);
    let writes = |key: &&Spanned<BundleKey>| encryption.kms.is_none() && key.value == BundleKey::Writes;
    if let Some(key) = encryption.bundle_key.as_ref().filter(writes) {
        let finding = Diagnostic::error("FL0538", "`bundleKey: writes` without `kms`").at(key.span);
        let finding = finding.label("without a key service the bundle's key writes anyway");
        report.push(finding.help("remove it, or name a key service under kms"));
    }
    let kms = choices.iter().map(|choice| EncryptionProvider::Kms(kms(choice)));
    let bundle = [EncryptionProvider::Bundle].into_iter();
    match encryption.bundle_key.value() {
        Some(BundleKey::Reads) if encryption.kms.is_none() => {
            vec![EncryptionProvider::Identity, EncryptionProvider::Bundle]
        }
        _ if choices.is_empty() => bundle.collect(),
        None => kms.collect(),
        Some(BundleKey::Writes) => bundle.chain(kms).collect(),
        Some(BundleKey::Reads) => kms.chain(bundle).collect(),
    }
}

fn kms(choice: &Choice) -> KmsPlan {
    let text = |name: &str| choice.parameters.get(name).and_then(Value::as_str).map(str::to_owned);
    let own = choice.declaration.key_parameters.iter();
    let key: Vec<_> = own.map(|name| choice.parameters.get(name)).collect();
    KmsPlan {
        name: text("name").unwrap_or_default(),
        timeout: text("timeout"),
        key: json!([choice.declaration.key, key]).to_string(),
    }
}

/// The name selects the key that reads an object, and names the socket.
fn check_names(choices: &[Choice], report: &mut Report) {
    let names: Vec<_> = choices.iter().map(|choice| choice.parameters.get("name")).collect();
    for (at, choice) in choices.iter().enumerate() {
        if names[..at].contains(&names[at]) {
            let finding = Diagnostic::error("FL0538", "two key services of one name").at(choice.span("name"));
            let finding = finding.label("the API server does not start");
            report.push(finding.help("give this one another name: name: NAME"));
        }
    }
}

fn check(resources: &[Spanned<String>], report: &mut Report) {
    let names: Vec<&str> = resources.iter().map(|resource| resource.as_str()).collect();
    for (at, resource) in resources.iter().enumerate() {
        let finding = |message: &str| Diagnostic::error("FL0538", message).at(resource.span);
        if !is_resource(resource) {
            let finding = finding("not a resource of Kubernetes").label("the API server does not start");
            report.push(
                finding.help("the plural in lower case, that of another group with it: secrets, deployments.apps, *.*"),
            );
        } else if let Some((_, instead)) = FACTS
            .not_stored
            .iter()
            .find(|(pattern, _)| matches_resource(pattern, resource))
        {
            let finding = finding("a resource that cannot be encrypted").label("the API server does not start");
            report.push(finding.help(instead));
        } else if names[..at].contains(&resource.as_str()) {
            let finding = finding("a resource is encrypted twice").label("the API server does not start");
            report.push(finding.help("remove one of them"));
        } else if let Some(wider) = names.iter().find(|other| wider(other, resource)) {
            let finding = finding("a resource is encrypted twice")
                .label(format!("`{wider}` has it already, and the API server does not start"));
            report.push(finding.help("remove one of them"));
        }
    }
}

fn wider(other: &str, resource: &str) -> bool {
    other != resource && is_resource(other) && matches_resource(other, resource)
}

/// `RESOURCE`, `RESOURCE.GROUP`, `*.GROUP` and `*.*`; `*.` is the group without a name
/// (`validateResourceNames`).
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
