//! `endpoint` and `network`.

use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Cni;
use crate::secret::Secret;

/// `endpoint`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Endpoint {
    /// DNS name (or, with `external`, an address) of the API.
    pub host: Spanned<String>,
    /// Port; 6443 if absent, and always with `kubeVip` and `local`.
    pub port: Option<Spanned<u16>>,
    /// Selects what routes the name to a live API server; `external` if absent.
    pub provider: Option<Spanned<EndpointProvider>>,
    /// The virtual address, with `kubeVip`.
    pub address: Option<Spanned<String>>,
    /// The interface that carries the virtual address. If absent: that of the node's default route, with `bgp` the loopback.
    pub interface: Option<Spanned<String>>,
    /// Announces the virtual address by BGP instead of ARP, from every control plane whose API server is well; with `kubeVip`.
    pub bgp: Option<Spanned<Bgp>>,
    /// Lets kube-vip carry the addresses of Services of type LoadBalancer as well, on the control planes; with `kubeVip`.
    pub services: Option<Spanned<VipServices>>,
}

/// `endpoint.bgp`. Each control plane's router ID is its first IPv4 address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bgp {
    /// Number of the control planes' autonomous system.
    #[serde(rename = "as")]
    pub asn: Spanned<u32>,
    /// The routers that every control plane talks to.
    pub peers: Spanned<Vec<BgpPeer>>,
}

/// A BGP router.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BgpPeer {
    /// Its address, of the virtual address' IP family.
    pub address: Spanned<String>,
    /// Number of its autonomous system; that of the control planes if absent.
    #[serde(rename = "as")]
    pub asn: Option<Spanned<u32>>,
    /// The session's password (RFC 2385); redacted in every output for people.
    pub password: Option<Spanned<Secret<String>>>,
    /// It is more than one hop away.
    #[serde(default)]
    pub multihop: bool,
}

/// `endpoint.services`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VipServices {
    /// Only Services of this `loadBalancerClass`; those without a class as well, if absent.
    pub load_balancer_class: Option<Spanned<String>>,
    /// The interface that carries their addresses; that of the virtual address if absent.
    pub interface: Option<Spanned<String>>,
}

/// Selects what routes the endpoint's name to a live API server.
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
