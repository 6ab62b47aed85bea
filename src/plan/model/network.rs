//! `endpoint` and `network`, resolved.

use std::net::IpAddr;

use ipnet::IpNet;

use super::NodePlan;
use crate::secret::Secret;

/// Where every API server listens, kubeadm's own `localAPIEndpoint.bindPort`. The endpoint's port may differ.
pub const API_PORT: u16 = 6443;

/// `endpoint`, resolved.
#[derive(Clone, Debug)]
pub struct EndpointPlan {
    /// Host name or address.
    pub host: String,
    pub port: u16,
    pub provider: ProviderPlan,
}

/// The router of the endpoint's name to a live API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderPlan {
    /// A load balancer or DNS outside the cluster.
    External,
    /// kube-vip on the control planes.
    KubeVip {
        address: IpAddr,
        /// The interface that carries it; `None` is that of the default route.
        interface: Option<String>,
        /// Announced by BGP instead of ARP.
        bgp: Option<BgpPlan>,
        /// Addresses of Services are carried as well.
        services: Option<VipServicesPlan>,
        /// Image, rewritten already.
        image: String,
    },
    /// haproxy on the other nodes; a control plane uses its own API server.
    Local {
        /// Image, rewritten already.
        image: String,
    },
}

impl ProviderPlan {
    /// As the spec writes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::External => "external",
            Self::KubeVip { .. } => "kubeVip",
            Self::Local { .. } => "local",
        }
    }
}

/// `endpoint.bgp`, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BgpPlan {
    /// The control planes' autonomous system.
    pub asn: u32,
    pub peers: Vec<BgpPeerPlan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BgpPeerPlan {
    pub address: IpAddr,
    pub asn: u32,
    /// TCP MD5 password.
    pub password: Option<Secret<String>>,
    /// The router is more than one hop away.
    pub multihop: bool,
}

/// `endpoint.services`, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipServicesPlan {
    /// The only class; `None` includes Services without a class.
    pub class: Option<String>,
    /// Interface; `None` is that of the virtual address.
    pub interface: Option<String>,
}

impl EndpointPlan {
    /// Whether each node's /etc/hosts defines the address of the name.
    pub fn in_hosts(&self) -> bool {
        self.provider != ProviderPlan::External
    }

    /// Whether a node has a proxy of its own in front of the API servers.
    pub fn proxy_on(&self, node: &NodePlan) -> bool {
        matches!(self.provider, ProviderPlan::Local { .. }) && node.roles.worker && !node.roles.control_plane
    }
}

/// `network`, resolved.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// Pod ranges; the first family is the primary.
    pub pods: Vec<IpNet>,
    /// Service ranges, families in the same order.
    pub services: Vec<IpNet>,
    /// First address of the first service range.
    pub api_service: IpAddr,
    /// Tenth address of the first service range.
    pub cluster_dns: IpAddr,
    /// Mask of a node's IPv4 pod range, when IPv4 is used.
    pub node_mask_ipv4: Option<u8>,
    /// Mask of a node's IPv6 pod range, when IPv6 is used.
    pub node_mask_ipv6: Option<u8>,
}
