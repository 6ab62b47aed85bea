//! Files for the control plane's static pods, besides kubeadm's own.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Error, NodeFile};
use crate::{
    encoding::base64,
    plan::{AuditWebhookPlan, EncryptionPlan, EncryptionProvider, KmsPlan, NodePlan, Plan},
    secret::Secret,
};

/// Files of every control plane; none on other nodes. Root alone reads them, as the pods do. `keys` are the bundle's for
/// encryption at rest.
pub fn files(plan: &Plan, node: &NodePlan, keys: &[(String, Secret<String>)]) -> Result<Vec<NodeFile>, Error> {
    if !node.roles.control_plane {
        return Ok(Vec::new());
    }
    let settings = &plan.kubernetes.control_plane;
    let configurations = settings
        .configurations
        .iter()
        .map(|configuration| file(node, &configuration.path, &configuration.content));
    let webhook = settings
        .audit_webhook
        .iter()
        .map(|it| file(node, &it.path, &kubeconfig(it)));
    let encryption = settings
        .encryption
        .iter()
        .map(|it| file(node, &it.path, &encryption(it, keys)));
    configurations.chain(webhook).chain(encryption).collect()
}

fn file(node: &NodePlan, path: &str, content: &impl Serialize) -> Result<NodeFile, Error> {
    let content = firelay_yaml::emit(content).map_err(|source| Error::Yaml {
        node: node.name.clone(),
        file: path.to_owned(),
        source,
    })?;
    Ok(NodeFile::new(path, 0o600, content))
}

/// The encrypted resources. The first provider and key write, and all read. The provider `identity` reads values that were written
/// unencrypted.
fn encryption(plan: &EncryptionPlan, keys: &[(String, Secret<String>)]) -> Value {
    let mut document = plan.head.clone();
    let identity = || json!({ "identity": {} });
    let providers = plan.providers.iter().map(|provider| match provider {
        EncryptionProvider::Identity => identity(),
        EncryptionProvider::Bundle => secretbox(keys),
        EncryptionProvider::Kms(kms) => json!({ "kms": kms_provider(kms) }),
    });
    let last = (!plan.providers.contains(&EncryptionProvider::Identity)).then(identity);
    let providers: Vec<_> = providers.chain(last).collect();
    document.insert(
        "resources".to_owned(),
        json!([{ "resources": plan.resources, "providers": providers }]),
    );
    Value::Object(document)
}

fn secretbox(keys: &[(String, Secret<String>)]) -> Value {
    let keys = keys
        .iter()
        .map(|(name, key)| json!({ "name": name, "secret": key.expose() }));
    json!({ "secretbox": { "keys": keys.collect::<Vec<_>>() } })
}

fn kms_provider(kms: &KmsPlan) -> Value {
    let mut provider = json!({
        "apiVersion": "v2",
        "name": kms.name,
        "endpoint": format!("unix://{}", kms.socket()),
    });
    if let Some(timeout) = &kms.timeout {
        provider["timeout"] = timeout.as_str().into();
    }
    provider
}

/// How kube-apiserver reaches the server of audit events.
fn kubeconfig(webhook: &AuditWebhookPlan) -> serde_json::Value {
    let mut cluster = json!({ "server": webhook.server });
    if let Some(ca) = &webhook.ca {
        cluster["certificate-authority-data"] = base64(ca).into();
    }
    let user = match &webhook.token {
        Some(token) => json!({ "token": token.expose() }),
        None => json!({}),
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "audit", "cluster": cluster }],
        "users": [{ "name": "audit", "user": user }],
        "contexts": [{ "name": "audit", "context": { "cluster": "audit", "user": "audit" } }],
        "current-context": "audit",
    })
}
