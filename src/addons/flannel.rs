//! flannel: its `net-conf.json` (flannel `Documentation/configuration.md`, `backends.md`) and what it needs of nodes.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::Serialize;

use super::{Error, Implied, PhaseFile, definition::Definition};
use crate::{
    plan::{CniPlan, Plan},
    spec::{FlannelBackend, ProxyMode},
    template,
};

const FOLDER: &str = "cni/flannel";

/// flannel's part of [`CniPlan`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Flannel {
    backend: FlannelBackend,
    mtu: Option<u16>,
    port: Option<u16>,
    vni: Option<u32>,
    direct_routing: bool,
}

/// `net-conf.json`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NetConf {
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    #[serde(rename = "EnableIPv4", skip_serializing_if = "Clone::clone")]
    enable_ipv4: bool,
    #[serde(rename = "EnableIPv6", skip_serializing_if = "std::ops::Not::not")]
    enable_ipv6: bool,
    #[serde(rename = "IPv6Network", skip_serializing_if = "Option::is_none")]
    ipv6_network: Option<String>,
    #[serde(rename = "EnableNFTables", skip_serializing_if = "std::ops::Not::not")]
    enable_nftables: bool,
    backend: Backend,
}

/// `Backend` of `net-conf.json`; what is absent is flannel's default.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Backend {
    r#type: &'static str,
    #[serde(rename = "VNI", skip_serializing_if = "Option::is_none")]
    vni: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    direct_routing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    listen_port: Option<u16>,
    #[serde(rename = "ListenPortV6", skip_serializing_if = "Option::is_none")]
    listen_port_v6: Option<u16>,
    #[serde(rename = "MTU", skip_serializing_if = "Option::is_none")]
    mtu: Option<u16>,
}

/// What the manifest is filled in with.
#[derive(Serialize)]
struct Context {
    images: BTreeMap<String, String>,
    net_conf: String,
    /// `status.hostIP` is an IPv6 address. flanneld (`pkg/ipmatch/match.go`, `main.go`) then needs it as its public
    /// address to find the interface of a dual-stack node, and listens for probes on IPv4 alone unless told.
    ipv6_first: bool,
    /// Without kube-proxy nothing answers at the API's service address.
    api: Option<Api>,
}

/// Where pods reach the API; both as text, as environment variables are.
#[derive(Serialize)]
struct Api {
    host: String,
    port: String,
}

impl Flannel {
    /// flannel, when the plan chose it.
    pub fn of(plan: &Plan) -> Option<Self> {
        match plan.network.cni {
            CniPlan::Flannel {
                backend,
                mtu,
                port,
                vni,
                direct_routing,
            } => Some(Self {
                backend,
                mtu,
                port,
                vni,
                direct_routing,
            }),
            CniPlan::None => None,
        }
    }

    /// Its manifests.
    pub fn files(self, plan: &Plan) -> Result<Vec<PhaseFile>, Error> {
        let images = Definition::load(FOLDER)?.images;
        let context = Context {
            images: images
                .into_iter()
                .map(|(role, image)| (role, plan.image(&image)))
                .collect(),
            net_conf: serde_json::to_string(&self.net_conf(plan)).map_err(Error::Json)?,
            ipv6_first: matches!(plan.network.pods.first(), Some(IpNet::V6(_))),
            api: plan.kubernetes.kube_proxy.is_none().then(|| Api {
                host: plan.endpoint.host.clone(),
                port: plan.endpoint.port.to_string(),
            }),
        };
        let manifest = template::render("cni/flannel/flannel.yaml.j2", &context)?;
        Ok(vec![("flannel.yaml".to_owned(), manifest)])
    }

    /// What it needs of every node.
    pub fn implied(self, plan: &Plan) -> Result<Implied, Error> {
        let definition = Definition::load(FOLDER)?;
        let mut implied = Implied {
            images: definition.images.values().map(|image| plan.image(image)).collect(),
            cni_plugins: definition.cni_plugins,
            unmanaged_interfaces: definition.unmanaged_interfaces,
            ..Implied::default()
        };
        let choices = self.choices(plan);
        for needs in choices.iter().filter_map(|choice| definition.when.get(*choice)) {
            implied.modules.extend(needs.modules.iter().cloned());
            implied.ports.extend(&needs.ports);
            implied.files.extend(needs.files.clone());
        }
        self.move_ports(&mut implied);
        Ok(implied)
    }

    /// Keys of `when` in `addon.yaml` that hold for this plan.
    fn choices(self, plan: &Plan) -> Vec<&'static str> {
        let wireguard = self.backend == FlannelBackend::Wireguard;
        let (ipv4, ipv6) = families(plan);
        let extra = [
            (self.direct_routing, "direct-routing"),
            (wireguard && ipv6.is_some(), "wireguard-ipv6"),
        ];
        let own = (!wireguard || ipv4.is_some()).then_some(self.backend_name());
        own.into_iter()
            .chain(extra.into_iter().filter_map(|(holds, key)| holds.then_some(key)))
            .collect()
    }

    fn backend_name(self) -> &'static str {
        match self.backend {
            FlannelBackend::Vxlan => "vxlan",
            FlannelBackend::HostGw => "host-gw",
            FlannelBackend::Wireguard => "wireguard",
        }
    }

    /// The spec's port instead of the default one; a second tunnel takes the next.
    fn move_ports(self, implied: &mut Implied) {
        let own = self.port.into_iter().chain(self.port.map(next));
        for (port, own) in implied.ports.iter_mut().zip(own) {
            port.port = own;
        }
    }

    fn net_conf(self, plan: &Plan) -> NetConf {
        let (ipv4, ipv6) = families(plan);
        let proxy = plan.kubernetes.kube_proxy.as_ref();
        NetConf {
            network: ipv4.map(ToString::to_string),
            enable_ipv4: ipv4.is_some(),
            enable_ipv6: ipv6.is_some(),
            ipv6_network: ipv6.map(ToString::to_string),
            // As kube-proxy does, so that a node has rules of one kind only.
            enable_nftables: proxy.is_some_and(|proxy| proxy.mode == Some(ProxyMode::Nftables)),
            backend: self.backend(plan),
        }
    }

    fn backend(self, plan: &Plan) -> Backend {
        let common = Backend {
            r#type: self.backend_name(),
            mtu: self.mtu,
            ..Backend::default()
        };
        match self.backend {
            FlannelBackend::HostGw => common,
            FlannelBackend::Vxlan => Backend {
                vni: self.vni,
                port: self.port,
                direct_routing: self.direct_routing,
                ..common
            },
            FlannelBackend::Wireguard => match families(plan) {
                (Some(_), Some(_)) => Backend {
                    listen_port: self.port,
                    listen_port_v6: self.port.map(next),
                    ..common
                },
                (None, _) => Backend {
                    listen_port_v6: self.port,
                    ..common
                },
                (_, None) => Backend {
                    listen_port: self.port,
                    ..common
                },
            },
        }
    }
}

/// The port after this one, or before the last.
fn next(port: u16) -> u16 {
    port.checked_add(1).unwrap_or(port - 1)
}

/// The pod range of each IP family.
fn families(plan: &Plan) -> (Option<&IpNet>, Option<&IpNet>) {
    let pods = &plan.network.pods;
    (
        pods.iter().find(|range| matches!(range, IpNet::V4(_))),
        pods.iter().find(|range| matches!(range, IpNet::V6(_))),
    )
}
