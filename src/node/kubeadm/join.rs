//! The configuration of `kubeadm join`.

use serde::Serialize;

use super::{LocalApiEndpoint, Timeouts, cluster::endpoint, patches::Patches, registration::NodeRegistration};
use crate::{
    node::Error,
    plan::{NodePlan, Plan},
    secret::Secret,
    spec::JoinIdentity,
};

/// kubelet.conf is written before kubeadm runs, with the node's own certificate.
const KUBELET_CONF: &str = "FileAvailable--etc-kubernetes-kubelet.conf";
/// ca.crt is written before kubeadm runs; only a worker's join checks for it.
const CA_CRT: &str = "FileAvailable--etc-kubernetes-pki-ca.crt";

/// The credential with which a node joins.
#[derive(Clone, Debug)]
pub struct JoinCredentials {
    /// The bundle's bootstrap token. Written only into the configuration of a node that joins by token.
    pub token: Secret<String>,
    /// `sha256:` and the hex digest of the SubjectPublicKeyInfo, of each CA that may be in cluster-info.
    pub ca_cert_hashes: Vec<String>,
    /// The certificate of the CA that signs requests has a file of its own.
    pub signing_file: bool,
}

/// The first keys of `JoinConfiguration`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta<'a> {
    api_version: &'a str,
    kind: &'static str,
}

/// The machine's own part.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Registration<'a> {
    node_registration: NodeRegistration<'a>,
}

/// The rest, which is the same for all workers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JoinSettings<'a> {
    discovery: Discovery<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_plane: Option<ControlPlane>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patches: Option<Patches>,
    timeouts: Timeouts,
}

/// `discovery`. kubeadm fills in `tlsBootstrapToken` with the discovery token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Discovery<'a> {
    #[serde(rename_all = "camelCase")]
    File { kube_config_path: &'static str },
    #[serde(rename_all = "camelCase")]
    BootstrapToken {
        token: &'a str,
        api_server_endpoint: String,
        ca_cert_hashes: &'a [String],
    },
}

#[derive(Serialize)]
struct ControlPlane {
    #[serde(rename = "localAPIEndpoint")]
    local_api_endpoint: LocalApiEndpoint,
}

/// The document of `kubeadm join --config`.
///
/// With a certificate a worker discovers through its own kubelet.conf. A control plane cannot: its kubelet.conf
/// names its own API server, which is not up yet, so it discovers as administrator. With a token kubeadm asks the
/// endpoint for cluster-info and pins the CA by its hash.
pub fn join(plan: &Plan, node: &NodePlan, credentials: &JoinCredentials) -> Result<Secret<String>, Error> {
    text(plan, node, credentials)
        .map(Secret::new)
        .map_err(|source| Error::Yaml {
            node: node.name.clone(),
            file: "the kubeadm join configuration".into(),
            source,
        })
}

/// One mapping in three texts: mappings of the same indentation can be concatenated, and equal texts are written once.
fn text(plan: &Plan, node: &NodePlan, credentials: &JoinCredentials) -> Result<String, firelay_yaml::Error> {
    let kind = TypeMeta {
        api_version: &plan.kubernetes.profile.kubeadm_api,
        kind: "JoinConfiguration",
    };
    let own = Registration {
        node_registration: NodeRegistration::of(plan, node, laid_before(node)),
    };
    let join = JoinSettings {
        discovery: discovery(plan, node, credentials),
        control_plane: node.roles.control_plane.then(|| ControlPlane {
            local_api_endpoint: LocalApiEndpoint::of(node),
        }),
        patches: Patches::of(plan, node),
        timeouts: Timeouts::of(plan),
    };
    let join = match join.discovery {
        Discovery::File { .. } => firelay_yaml::emit_shared(&join)?,
        Discovery::BootstrapToken { .. } => firelay_yaml::emit(&join)?.into(),
    };
    let kind = firelay_yaml::emit_shared(&kind)?;
    Ok([kind.as_str(), &firelay_yaml::emit(&own)?, &join].concat())
}

/// Preflight checks that fail because of firelay's own files.
fn laid_before(node: &NodePlan) -> &'static [&'static str] {
    match (node.identity, node.roles.control_plane) {
        (JoinIdentity::Certificate, true) => &[KUBELET_CONF],
        (JoinIdentity::Certificate, false) => &[KUBELET_CONF, CA_CRT],
        (JoinIdentity::Token, true) => &[],
        (JoinIdentity::Token, false) => &[CA_CRT],
    }
}

fn discovery<'a>(plan: &Plan, node: &NodePlan, credentials: &'a JoinCredentials) -> Discovery<'a> {
    match node.identity {
        JoinIdentity::Certificate if node.roles.control_plane => Discovery::File {
            kube_config_path: "/etc/firelay/kubeconfig/admin.conf",
        },
        JoinIdentity::Certificate => Discovery::File {
            kube_config_path: "/etc/kubernetes/kubelet.conf",
        },
        JoinIdentity::Token => Discovery::BootstrapToken {
            token: credentials.token.expose(),
            api_server_endpoint: endpoint(plan),
            ca_cert_hashes: &credentials.ca_cert_hashes,
        },
    }
}
