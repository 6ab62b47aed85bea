//! `endpoint` and `network`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Cni;
use crate::yaml::Spanned;

/// `endpoint`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Endpoint {
    /// DNS name (or, with `external`, an address) of the API.
    pub host: Spanned<String>,
    /// Port; 6443 if absent, and always with `kubeVip` and `local`.
    pub port: Option<Spanned<u16>>,
    /// Who makes the name lead to a live API server; `external` if absent.
    pub provider: Option<Spanned<EndpointProvider>>,
    /// The virtual address, with `kubeVip`.
    pub address: Option<Spanned<String>>,
    /// The interface that carries the virtual address; the node's default route if absent.
    pub interface: Option<Spanned<String>>,
}

/// Who makes the endpoint's name lead to a live API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EndpointProvider {
    /// A load balancer or DNS outside the cluster.
    External,
    /// kube-vip as a static pod on the control planes.
    KubeVip,
    /// A proxy on every node that has no API server of its own.
    Local,
}

/// `network`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// Pod ranges, one per IP family; `10.244.0.0/16` if absent.
    pub pods: Option<Spanned<Vec<Spanned<String>>>>,
    /// Service ranges, one per IP family in the same order; `10.96.0.0/12` if absent.
    pub services: Option<Spanned<Vec<Spanned<String>>>>,
    /// The plugin; flannel with vxlan if absent.
    pub cni: Option<Cni>,
    /// `node-cidr-mask-size-ipv4`; 24 if absent.
    pub node_mask_ipv4: Option<Spanned<u8>>,
    /// `node-cidr-mask-size-ipv6`; 64 if absent.
    pub node_mask_ipv6: Option<Spanned<u8>>,
}
