//! The configuration of the founder's `kubeadm init`.

use serde::Serialize;
use time::Duration;

use super::{
    GoDuration, JoinCredentials, LocalApiEndpoint, Timeouts, cluster::ClusterConfiguration, patches::Patches,
    registration::NodeRegistration,
};
use crate::{
    node::{Error, kube_proxy, kubelet},
    plan::{NodePlan, Plan},
    secret::Secret,
    spec::JoinIdentity,
};

/// Lifetime of an unused token.
const UNUSED: Duration = Duration::minutes(1);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitConfiguration<'a> {
    api_version: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bootstrap_tokens: Vec<BootstrapToken<'a>>,
    node_registration: NodeRegistration<'a>,
    #[serde(rename = "localAPIEndpoint")]
    local_api_endpoint: LocalApiEndpoint,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    skip_phases: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    patches: Option<Patches>,
    timeouts: Timeouts,
}

/// Groups and usages are kubeadm's defaults (apis/bootstraptoken/v1/defaults.go).
#[derive(Serialize)]
struct BootstrapToken<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    ttl: GoDuration,
}

/// The YAML stream of `kubeadm init --config`: InitConfiguration, ClusterConfiguration, KubeletConfiguration and, if it
/// has fields, KubeProxyConfiguration.
///
/// The list always contains a token: for an empty list kubeadm creates its own, which lives for a day.
pub fn init(plan: &Plan, node: &NodePlan, credentials: &JoinCredentials) -> Result<Secret<String>, Error> {
    let mut documents = vec![
        firelay_yaml::emit(&init_configuration(
            plan,
            node,
            vec![bootstrap_token(plan, &credentials.token)],
        )),
        firelay_yaml::emit(&ClusterConfiguration::of(plan, credentials.signing_file)),
        firelay_yaml::emit(&kubelet::configuration(plan)),
    ];
    documents.extend(kube_proxy::configuration(plan).map(|configuration| firelay_yaml::emit(&configuration)));
    documents
        .into_iter()
        .collect::<Result<Vec<String>, firelay_yaml::Error>>()
        .map(|documents| Secret::new(documents.join("---\n")))
        .map_err(|source| unwritten(node, source))
}

/// InitConfiguration of a control plane that runs: phases of `kubeadm init` read its name and address. It has no token.
pub fn init_of_node(plan: &Plan, node: &NodePlan) -> Result<String, Error> {
    firelay_yaml::emit(&init_configuration(plan, node, Vec::new())).map_err(|source| unwritten(node, source))
}

fn unwritten(node: &NodePlan, source: firelay_yaml::Error) -> Error {
    Error::Yaml {
        node: node.name.clone(),
        file: "the kubeadm init configuration".into(),
        source,
    }
}

fn init_configuration<'a>(
    plan: &'a Plan,
    node: &'a NodePlan,
    bootstrap_tokens: Vec<BootstrapToken<'a>>,
) -> InitConfiguration<'a> {
    InitConfiguration {
        api_version: &plan.kubernetes.profile.kubeadm_api,
        kind: "InitConfiguration",
        bootstrap_tokens,
        node_registration: NodeRegistration::of(plan, node, &[]),
        local_api_endpoint: LocalApiEndpoint::of(node),
        skip_phases: &plan.kubernetes.skip_phases,
        patches: Patches::of(plan, node),
        timeouts: Timeouts::of(plan),
    }
}

/// The bundle's, if any machine joins with it. Otherwise kubeadm generates one (`SetBootstrapTokensDynamicDefaults`):
/// it is not published, and expires before anyone could guess it.
fn bootstrap_token<'a>(plan: &Plan, token: &'a Secret<String>) -> BootstrapToken<'a> {
    let used = plan.nodes.iter().any(|node| node.identity == JoinIdentity::Token);
    BootstrapToken {
        token: used.then_some(token.expose()),
        ttl: GoDuration(if used { plan.join.token_ttl } else { UNUSED }),
    }
}
