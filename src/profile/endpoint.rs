//! Images of programs that route the endpoint's name to an API server.

use serde::Deserialize;

/// `profiles/endpoint.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointProfile {
    /// Images as upstream names them.
    pub images: EndpointImages,
}

/// The image of each provider that has one.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointImages {
    /// Of `kubeVip`.
    pub kube_vip: String,
    /// Of `local`.
    pub haproxy: String,
}
