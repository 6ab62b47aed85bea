//! ClusterConfiguration: what every control plane shares, kept by kubeadm in `kube-system/kubeadm-config`.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::Serialize;
use time::Duration;

use super::{GoDuration, NameValue, arguments};
use crate::{
    node::{etcd, kubelet},
    plan::{ComponentPlan, DnsPlan, EtcdPlan, NetworkPlan, Plan, VolumePlan},
};

/// kubeadm's own defaults (`apis/kubeadm/v1beta4/defaults.go`), which are omitted.
const IMAGE_REPOSITORY: &str = "registry.k8s.io";
const DNS_DOMAIN: &str = "cluster.local";
const LEAF_VALIDITY: Duration = Duration::hours(8_760);
const CA_VALIDITY: Duration = Duration::hours(87_600);
/// kube-controller-manager's own masks of a node's pod range.
const NODE_MASK_IPV4: u8 = 24;
const NODE_MASK_IPV6: u8 = 64;
/// The one certificate of the CA that signs requests, where `ca.crt` may have two.
const SIGNING_FILE: &str = "/etc/kubernetes/pki/ca-signing.crt";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterConfiguration<'a> {
    api_version: &'a str,
    kind: &'static str,
    cluster_name: &'a str,
    kubernetes_version: String,
    control_plane_endpoint: String,
    networking: Networking<'a>,
    etcd: Etcd<'a>,
    #[serde(skip_serializing_if = "ApiServer::is_empty")]
    api_server: ApiServer<'a>,
    #[serde(skip_serializing_if = "Component::is_empty")]
    controller_manager: Component<'a>,
    #[serde(skip_serializing_if = "Component::is_empty")]
    scheduler: Component<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<Dns<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_repository: Option<&'a str>,
    encryption_algorithm: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_validity_period: Option<GoDuration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_certificate_validity_period: Option<GoDuration>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_gates: &'a BTreeMap<String, bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Networking<'a> {
    pod_subnet: String,
    service_subnet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dns_domain: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Etcd<'a> {
    #[serde(rename_all = "camelCase")]
    Local {
        data_dir: &'a str,
        #[serde(flatten)]
        image: Image<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        extra_args: Vec<NameValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        extra_envs: Vec<NameValue>,
        #[serde(rename = "serverCertSANs", skip_serializing_if = "<[_]>::is_empty")]
        server_cert_sans: &'a [String],
        #[serde(rename = "peerCertSANs", skip_serializing_if = "<[_]>::is_empty")]
        peer_cert_sans: &'a [String],
    },
    #[serde(rename_all = "camelCase")]
    External {
        endpoints: Vec<String>,
        ca_file: &'static str,
        cert_file: &'static str,
        key_file: &'static str,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Image<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    image_repository: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_tag: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Component<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extra_args: Vec<NameValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extra_volumes: Vec<Volume<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extra_envs: Vec<NameValue>,
}

#[derive(Serialize)]
struct ApiServer<'a> {
    #[serde(flatten)]
    component: Component<'a>,
    #[serde(rename = "certSANs", skip_serializing_if = "<[_]>::is_empty")]
    cert_sans: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Volume<'a> {
    name: &'a str,
    host_path: &'a str,
    mount_path: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_type: Option<&'a str>,
}

#[derive(Serialize)]
struct Dns<'a> {
    #[serde(flatten)]
    image: Image<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disabled: bool,
}

#[derive(Serialize)]
struct Proxy {
    disabled: bool,
}

impl<'a> ClusterConfiguration<'a> {
    pub(super) fn of(plan: &'a Plan, signing_file: bool) -> Self {
        let kubernetes = &plan.kubernetes;
        let gates = feature_gates(&kubernetes.feature_gates);
        Self {
            api_version: &kubernetes.profile.kubeadm_api,
            kind: "ClusterConfiguration",
            cluster_name: &plan.name,
            kubernetes_version: format!("v{}", kubernetes.version),
            control_plane_endpoint: endpoint(plan),
            networking: Networking::of(&plan.network, &kubernetes.dns),
            etcd: Etcd::of(plan),
            api_server: ApiServer {
                component: Component::of(&kubernetes.api_server, gates.clone()),
                cert_sans: &plan.pki.extra_sans,
            },
            controller_manager: Component::of(
                &kubernetes.controller_manager,
                controller_manager(plan, &gates, signing_file),
            ),
            dns: Dns::of(&kubernetes.dns),
            proxy: kubernetes.kube_proxy.is_none().then_some(Proxy { disabled: true }),
            image_repository: other_than(IMAGE_REPOSITORY, &kubernetes.image_repository),
            // For leaf certificates that kubeadm renews: P-256 like firelay's, whatever the CA.
            encryption_algorithm: "ECDSA-P256",
            certificate_validity_period: other_than(&LEAF_VALIDITY, &plan.pki.leaf_validity)
                .copied()
                .map(GoDuration),
            ca_certificate_validity_period: other_than(&CA_VALIDITY, &plan.pki.ca_validity).copied().map(GoDuration),
            feature_gates: &kubernetes.kubeadm_feature_gates,
            scheduler: Component::of(&kubernetes.scheduler, gates),
        }
    }
}

/// `HOST:PORT`, an IPv6 address in brackets.
pub(super) fn endpoint(plan: &Plan) -> String {
    let (host, port) = (&plan.endpoint.host, plan.endpoint.port);
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// `feature-gates=A=true,B=false`, or nothing.
fn feature_gates(gates: &BTreeMap<String, bool>) -> Vec<NameValue> {
    let value: Vec<_> = gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
    if value.is_empty() {
        Vec::new()
    } else {
        vec![NameValue::new("feature-gates", value.join(","))]
    }
}

/// Arguments of kube-controller-manager that kubeadm does not set. Without ca.key on control planes, kubeadm itself
/// removes the flags of the signing key.
fn controller_manager(plan: &Plan, gates: &[NameValue], signing_file: bool) -> Vec<NameValue> {
    let mask = |family, mask: Option<u8>, default| {
        let mask = mask.filter(|mask| *mask != default)?;
        Some(NameValue::new(
            &format!("node-cidr-mask-size-{family}"),
            mask.to_string(),
        ))
    };
    let mut own = gates.to_vec();
    own.extend(mask("ipv4", plan.network.node_mask_ipv4, NODE_MASK_IPV4));
    own.extend(mask("ipv6", plan.network.node_mask_ipv6, NODE_MASK_IPV6));
    own.extend(volume_plugins(plan));
    if signing_file && plan.pki.holds_kubernetes_key() {
        own.push(NameValue::new("cluster-signing-cert-file", SIGNING_FILE));
    }
    own
}

/// kubeadm mounts kubelet's default plugin directory into the controller manager and has it made, which fails
/// where /usr is read-only, unless this argument names another (`phases/controlplane/volumes.go`).
fn volume_plugins(plan: &Plan) -> Option<NameValue> {
    plan.control_planes()
        .find_map(|node| kubelet::volume_plugin_directory(node))
        .map(|directory| NameValue::new("flex-volume-plugin-dir", directory))
}

fn other_than<'a, T: PartialEq + ?Sized>(default: &T, value: &'a T) -> Option<&'a T> {
    (value != default).then_some(value)
}

fn named(pairs: &[(String, String)]) -> Vec<NameValue> {
    arguments(Vec::new(), pairs)
}

impl<'a> Networking<'a> {
    fn of(network: &NetworkPlan, dns: &'a DnsPlan) -> Self {
        let list = |ranges: &[IpNet]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Self {
            pod_subnet: list(&network.pods),
            service_subnet: list(&network.services),
            dns_domain: other_than(DNS_DOMAIN, &dns.domain),
        }
    }
}

impl<'a> Etcd<'a> {
    fn of(plan: &'a Plan) -> Self {
        if plan.etcd.external {
            Self::external(plan)
        } else {
            Self::local(&plan.etcd)
        }
    }

    fn local(etcd: &'a EtcdPlan) -> Self {
        Self::Local {
            data_dir: &etcd.data_dir,
            image: Image {
                image_repository: etcd.image_repository.as_deref(),
                image_tag: etcd.image_tag.as_deref(),
            },
            extra_args: named(&etcd.extra_args),
            extra_envs: named(&etcd.extra_envs),
            server_cert_sans: &etcd.server_cert_sans,
            peer_cert_sans: &etcd.peer_cert_sans,
        }
    }

    fn external(plan: &Plan) -> Self {
        Self::External {
            endpoints: plan.etcd_members().map(etcd::client_url).collect(),
            ca_file: "/etc/kubernetes/pki/etcd/ca.crt",
            cert_file: "/etc/kubernetes/pki/apiserver-etcd-client.crt",
            key_file: "/etc/kubernetes/pki/apiserver-etcd-client.key",
        }
    }
}

impl<'a> Component<'a> {
    fn of(component: &'a ComponentPlan, mut own: Vec<NameValue>) -> Self {
        own.extend(named(&component.own_args));
        Self {
            extra_args: arguments(own, &component.extra_args),
            extra_volumes: component.extra_volumes.iter().map(Volume::from).collect(),
            extra_envs: named(&component.extra_envs),
        }
    }

    fn is_empty(&self) -> bool {
        self.extra_args.is_empty() && self.extra_volumes.is_empty() && self.extra_envs.is_empty()
    }
}

impl ApiServer<'_> {
    fn is_empty(&self) -> bool {
        self.component.is_empty() && self.cert_sans.is_empty()
    }
}

impl<'a> From<&'a VolumePlan> for Volume<'a> {
    fn from(volume: &'a VolumePlan) -> Self {
        Self {
            name: &volume.name,
            host_path: &volume.host_path,
            mount_path: &volume.mount_path,
            read_only: volume.read_only,
            path_type: volume.path_type.as_deref(),
        }
    }
}

impl<'a> Dns<'a> {
    fn of(dns: &'a DnsPlan) -> Option<Self> {
        let image = Image {
            image_repository: dns.image_repository.as_deref(),
            image_tag: dns.image_tag.as_deref(),
        };
        let said = image.image_repository.is_some() || image.image_tag.is_some() || dns.disabled;
        said.then_some(Self {
            image,
            disabled: dns.disabled,
        })
    }
}
