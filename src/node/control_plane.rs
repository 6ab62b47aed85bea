//! Files that the control plane's static pods read, beside kubeadm's own.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::json;

use super::{Error, NodeFile};
use crate::{
    plan::{AuditWebhookPlan, NodePlan, Plan},
    yaml,
};

/// Files of every control plane; none on other nodes. Root alone reads them, as the pods do.
pub fn files(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
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
    configurations.chain(webhook).collect()
}

fn file(node: &NodePlan, path: &str, content: &impl Serialize) -> Result<NodeFile, Error> {
    let content = yaml::emit(content).map_err(|source| Error::Yaml {
        node: node.name.clone(),
        file: path.to_owned(),
        source,
    })?;
    Ok(NodeFile::new(path, 0o600, content))
}

/// How kube-apiserver reaches the server of audit events.
fn kubeconfig(webhook: &AuditWebhookPlan) -> serde_json::Value {
    let mut cluster = json!({ "server": webhook.server });
    if let Some(ca) = &webhook.ca {
        cluster["certificate-authority-data"] = BASE64_STANDARD.encode(ca).into();
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
