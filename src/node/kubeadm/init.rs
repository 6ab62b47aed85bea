//! What the founder's `kubeadm init` reads.

use serde::Serialize;

use super::{
    GoDuration, LocalApiEndpoint, Timeouts, cluster::ClusterConfiguration, patches::Patches,
    registration::NodeRegistration,
};
use crate::{
    node::{Error, kube_proxy, kubelet},
    plan::{NodePlan, Plan},
    secret::Secret,
    yaml,
};

/// All RBAC that kubeadm makes for tokens is bound to this group.
const TOKEN_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitConfiguration<'a> {
    api_version: &'a str,
    kind: &'static str,
    bootstrap_tokens: [BootstrapToken<'a>; 1],
    node_registration: NodeRegistration<'a>,
    #[serde(rename = "localAPIEndpoint")]
    local_api_endpoint: LocalApiEndpoint,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    skip_phases: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    patches: Option<Patches>,
    timeouts: Timeouts,
}

#[derive(Serialize)]
struct BootstrapToken<'a> {
    token: &'a str,
    ttl: GoDuration,
    groups: [&'static str; 1],
    usages: [&'static str; 2],
}

/// The YAML stream of `kubeadm init --config`: InitConfiguration, ClusterConfiguration, KubeletConfiguration and,
/// when it says anything, KubeProxyConfiguration.
///
/// The token is always there: kubeadm makes one of its own when the list is empty.
pub fn init(plan: &Plan, node: &NodePlan, token: &Secret<String>) -> Result<Secret<String>, Error> {
    let mut documents = vec![
        yaml::emit(&init_configuration(plan, node, token)),
        yaml::emit(&ClusterConfiguration::of(plan)),
        yaml::emit(&kubelet::configuration(plan)),
    ];
    documents.extend(kube_proxy::configuration(plan).map(|configuration| yaml::emit(&configuration)));
    documents
        .into_iter()
        .collect::<Result<Vec<String>, yaml::Error>>()
        .map(|documents| Secret::new(documents.join("---\n")))
        .map_err(|source| Error::Yaml {
            node: node.name.clone(),
            file: "the kubeadm init configuration".into(),
            source,
        })
}

fn init_configuration<'a>(plan: &'a Plan, node: &'a NodePlan, token: &'a Secret<String>) -> InitConfiguration<'a> {
    InitConfiguration {
        api_version: &plan.kubernetes.profile.kubeadm_api,
        kind: "InitConfiguration",
        bootstrap_tokens: [BootstrapToken {
            token: token.expose(),
            ttl: GoDuration(plan.join.token_ttl),
            groups: [TOKEN_GROUP],
            usages: ["signing", "authentication"],
        }],
        node_registration: NodeRegistration::of(plan, node, &[]),
        local_api_endpoint: LocalApiEndpoint::of(node),
        skip_phases: &plan.kubernetes.skip_phases,
        patches: Patches::of(plan, node),
        timeouts: Timeouts::of(plan),
    }
}
