//! `endpoint` and `network`, resolved.

use std::net::IpAddr;

use ipnet::IpNet;

/// Where every API server listens, kubeadm's own `localAPIEndpoint.bindPort`. The endpoint's port may differ.
pub const API_PORT: u16 = 6443;

/// `endpoint`, resolved.
#[derive(Clone, Debug)]
pub struct EndpointPlan {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Who makes it lead somewhere.
    pub provider: ProviderPlan,
}

/// Who makes the endpoint's name lead to a live API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderPlan {
    /// A load balancer or DNS outside the cluster.
    External,
    /// kube-vip on the control planes.
    KubeVip {
        /// The virtual address.
        address: IpAddr,
        /// The interface that carries it; `None` is that of the default route.
        interface: Option<String>,
        /// Image, rewritten already.
        image: String,
    },
    /// haproxy on the other nodes; a control plane asks its own API server.
    Local {
        /// Image, rewritten already.
        image: String,
    },
}

impl EndpointPlan {
    /// Each node's /etc/hosts decides where the name leads.
    pub fn in_hosts(&self) -> bool {
        self.provider != ProviderPlan::External
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
