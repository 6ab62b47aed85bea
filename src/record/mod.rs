//! The record of a cluster, `firelay.state.yaml`: the facts that a later render must know of earlier ones.
//!
//! It holds no secret and belongs in version control. Digests are keyed by the bundle, so that nobody without it can confirm a
//! guess of a document's content.

mod addresses;
mod digests;
mod document;
mod encryption;
mod issuers;
mod kube_proxy;
mod network;
mod one_line;
mod pending;
mod rules;

use std::{collections::BTreeMap, net::IpAddr};

use rayon::prelude::*;
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;

pub use digests::Edited;
pub use document::{RecordText, Refused};
pub use pending::Pending;
pub use rules::{Applied, Change, Differing, MINOR_STEPS, OVERRIDABLE, changed_values, check};

use crate::{
    encoding::{base64, unhex},
    node::{self, NodeFile},
    plan::{AddonPlan, EncryptionPlan, NodePlan, Plan, ProviderPlan, RuntimeKind},
    secrets::{Authority, Bundle, Derivation},
    spec::Arch,
    tree::{self, Generation, Manifest, ManifestFile, Role},
};

/// Programs with a version in the record.
const ETCD: &str = "etcd";
const CONTAINERD: &str = "containerd";
const CRIO: &str = "crio";

/// Name of a record beside a spec whose bundle has no name of its own.
pub const FILE: &str = "firelay.state.yaml";

/// Name of the copy in a tree. If a run ends before it has written the record, or somebody puts an older one back, the copy is newer.
pub const COPY: &str = "record.yaml";

/// Settings that only the founder applies: parts of kubeadm's configuration, and manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Founding {
    /// ClusterConfiguration without the settings of stacked etcd and without the version of Kubernetes.
    Cluster,
    /// `etcd.local` of ClusterConfiguration.
    Etcd,
    /// KubeletConfiguration of all nodes.
    Kubelet,
    /// KubeProxyConfiguration.
    KubeProxy,
    /// Manifests of plugins, of add-ons and of the spec.
    Manifests,
}

impl Founding {
    /// Parts of kubeadm's configuration.
    pub const KUBEADM: [Self; 4] = [Self::Cluster, Self::Etcd, Self::Kubelet, Self::KubeProxy];

    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Cluster,
        Self::Etcd,
        Self::Kubelet,
        Self::KubeProxy,
        Self::Manifests,
    ];

    /// The key in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cluster => "clusterConfiguration",
            Self::Etcd => "etcdConfiguration",
            Self::Kubelet => "kubeletConfiguration",
            Self::KubeProxy => "kubeProxyConfiguration",
            Self::Manifests => "manifests",
        }
    }

    /// The part of kubeadm's configuration that has a field; none has the version of Kubernetes, which an upgrade brings.
    pub fn with_field(field: &str) -> Option<Self> {
        let (kind, pointer) = field.split_once('/')?;
        match kind {
            "ClusterConfiguration" if pointer.starts_with("etcd/local/") => Some(Self::Etcd),
            "ClusterConfiguration" => (pointer != "kubernetesVersion").then_some(Self::Cluster),
            "KubeletConfiguration" => Some(Self::Kubelet),
            "KubeProxyConfiguration" => Some(Self::KubeProxy),
            _ => None,
        }
    }
}

/// The state of a cluster between two renders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    api_version: String,
    kind: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Fingerprint of its bundle.
    pub bundle: String,
    /// When the founding was recorded; absent until then.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub founded_at: Option<OffsetDateTime>,
    /// The date before `firelay founded --at` corrected it, until the next render: the digest below is of this one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub founded_before: Option<OffsetDateTime>,
    /// Version of Kubernetes in the documents.
    pub kubernetes: Version,
    /// Version of etcd in the documents.
    pub etcd: Version,
    /// Version of containerd in the documents; absent with CRI-O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containerd: Option<Version>,
    /// Version of CRI-O in the documents; absent with containerd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crio: Option<Version>,
    /// The state before this one, which machines may still have.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "one_line::value")]
    pub pending: Option<Pending>,
    /// Keyed digest of these versions, of what is pending, and of the founding's date. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub versions_digest: String,
    /// Values that a running cluster cannot change.
    pub fixed: Fixed,
    /// Keyed digests of what the founder alone applies, by [`Founding::name`]: no document carries it after the founding.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub founding: BTreeMap<String, String>,
    /// The keys of encryption at rest, the one that writes first; none without encryption. Absent in records of earlier versions,
    /// except with key services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Vec<String>>,
    /// The resources that they encrypt. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encrypted_resources: Vec<String>,
    /// Parameters of the network plugin on which the packets of all nodes have to agree. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub datapath: BTreeMap<String, Value>,
    /// Issuers of service accounts' tokens, the one that signs first. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_issuers: Vec<String>,
    /// Whether the cluster has kube-proxy. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_proxy: Option<bool>,
    /// Keyed digest of encryption, of these parameters, of the issuers and of kube-proxy. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub steps_digest: String,
    /// Date of the administrator's certificate, where it is not the bundle's.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub administrator: Option<OffsetDateTime>,
    /// Keyed digests of the names below, sorted: nobody can take a machine out of the record without the bundle. Absent in records of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_names: Vec<String>,
    /// Machines and pools by name.
    #[serde(serialize_with = "one_line::values")]
    pub machines: BTreeMap<String, MachineRecord>,
    /// Findings that somebody overrode.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "one_line::items")]
    pub accepted: Vec<Accepted>,
}

/// Values that a running cluster cannot change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fixed {
    /// The cluster's DNS domain.
    pub domain: String,
    /// Pod ranges.
    pub pods: Vec<String>,
    /// Service ranges.
    pub services: Vec<String>,
    /// Mask of a node's IPv4 pod range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_mask_ipv4: Option<u8>,
    /// Mask of a node's IPv6 pod range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_mask_ipv6: Option<u8>,
    /// Where etcd's members run.
    pub etcd: Topology,
    /// Where etcd's data is: a member that starts with another directory has no data. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_data: Option<String>,
    /// Where the API servers' data is in etcd: with another prefix they find none. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_prefix: Option<String>,
    /// Host and port of the endpoint, which kubelets, kube-proxy and kubeconfigs keep. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The program that leads to the API servers. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_provider: Option<String>,
    /// The virtual address of the endpoint, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_address: Option<String>,
    /// The network plugin. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_plugin: Option<String>,
    /// SHA-256 of each CA's certificate.
    pub authorities: BTreeMap<String, String>,
    /// Keyed digest of these values and of the cluster's name: a value that was edited by hand does not go with it.
    pub digest: String,
}

/// Where etcd's members run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Topology {
    /// On the control planes.
    Stacked,
    /// On machines of their own.
    External,
}

impl Topology {
    /// As the record writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stacked => "stacked",
            Self::External => "external",
        }
    }
}

/// A machine or pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineRecord {
    /// Its roles.
    pub roles: Vec<Role>,
    /// A pool: machines with names of their own. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pool: bool,
    /// The architecture of its binaries. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<Arch>,
    /// Its addresses: members of etcd know each other by them, and no two machines may have one. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// Versions of programs that a render of this machine alone brought, where they are not those of the record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, Version>,
    /// 1 for its first document, one more for each change.
    pub generation: u32,
    /// The date of its certificates.
    #[serde(with = "time::serde::rfc3339")]
    pub issued_at: OffsetDateTime,
    /// When kubeadm renewed those of a control plane, by an upgrade. Absent until then.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub renewed_at: Option<OffsetDateTime>,
    /// Keyed digest of its files in the tree, and of the date. Absent for a machine that something else created.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Keyed digest of its name and of the values above. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entry_digest: String,
}

impl MachineRecord {
    /// Whether no document of firelay created the machine.
    pub fn is_adopted(&self) -> bool {
        self.digest.is_empty()
    }
}

/// A finding that somebody overrode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accepted {
    /// Its code.
    pub code: String,
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Its message.
    pub finding: String,
}

impl Record {
    const API_VERSION: &str = "firelay.dev/v1alpha1";
    const KIND: &str = "ClusterState";

    /// Whether a founder with these digests would apply another setting of this kind.
    pub fn applies_otherwise(&self, founding: &BTreeMap<String, String>, setting: Founding) -> bool {
        let last = self.founding.get(setting.name());
        last.is_some_and(|last| Some(last) != founding.get(setting.name()))
    }

    /// The settings of the founder that a founder with these digests would apply otherwise.
    pub fn changed_settings(&self, founding: &BTreeMap<String, String>) -> Vec<Founding> {
        let differs = |setting: &Founding| self.applies_otherwise(founding, *setting);
        Founding::ALL.into_iter().filter(differs).collect()
    }

    /// The record of a plan, without machines.
    pub fn new(plan: &Plan, bundle: &Bundle) -> Self {
        let runtime = |kind| (plan.runtime.kind == kind).then(|| plan.runtime.version.clone());
        let encryption = plan.kubernetes.control_plane.encryption.as_ref();
        Self {
            api_version: Self::API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            cluster: plan.name.clone(),
            bundle: bundle.fingerprint(),
            founded_at: None,
            founded_before: None,
            kubernetes: plan.kubernetes.version.clone(),
            etcd: plan.etcd.version.clone(),
            containerd: runtime(RuntimeKind::Containerd),
            crio: runtime(RuntimeKind::Crio),
            pending: None,
            versions_digest: String::new(),
            fixed: Fixed::of(plan, bundle),
            founding: BTreeMap::new(),
            encryption: Some(encryption.map(EncryptionPlan::recorded).unwrap_or_default()),
            encrypted_resources: encryption.map(|own| own.resources.clone()).unwrap_or_default(),
            datapath: plan.plugin().map(AddonPlan::datapath).unwrap_or_default(),
            token_issuers: plan.kubernetes.token_issuers(),
            kube_proxy: Some(plan.kubernetes.kube_proxy.is_some()),
            steps_digest: String::new(),
            administrator: None,
            machine_names: Vec::new(),
            machines: BTreeMap::new(),
            accepted: Vec::new(),
        }
    }

    /// The same record of a cluster that was founded.
    #[must_use]
    pub fn founded(&self, at: OffsetDateTime) -> Self {
        let last = self.founded_at.filter(|last| *last != at);
        Self {
            founded_at: Some(at),
            founded_before: self.founded_before.or(last).filter(|before| *before != at),
            ..self.clone()
        }
    }

    /// The record of a cluster that something else created, with its machines.
    pub fn adopted(
        plan: &Plan,
        bundle: &Bundle,
        machines: &[&str],
        founder: &[NodeFile],
        founded_at: OffsetDateTime,
    ) -> Self {
        let own = plan.nodes.iter().filter(|node| machines.contains(&node.name.as_str()));
        let machines = own.map(|node| (node.name.clone(), unrendered(node, bundle.issued_at)));
        Self {
            founded_at: Some(founded_at),
            founding: founding(bundle, founder),
            machines: machines.collect(),
            ..Self::new(plan, bundle)
        }
    }

    /// The same record with what a render of some machines leaves: others still have what the last whole render brought.
    #[must_use]
    pub fn kept_from(self, base: &Self) -> Self {
        Self {
            kubernetes: base.kubernetes.clone(),
            etcd: base.etcd.clone(),
            containerd: base.containerd.clone(),
            crio: base.crio.clone(),
            pending: base.pending().cloned(),
            encryption: base.encryption.clone(),
            encrypted_resources: base.encrypted_resources.clone(),
            datapath: base.datapath.clone(),
            token_issuers: base.token_issuers.clone(),
            kube_proxy: base.kube_proxy,
            fixed: base.fixed.clone(),
            ..self
        }
    }

    /// Whether this record may be later than `other`, although it has the bytes of an earlier one: a change of settings that no machine's entry
    /// shows was taken back, or the cluster is founded anew.
    pub fn may_follow(&self, other: &Self) -> bool {
        other.founded_at.is_none() || self.founded_at.is_none() || self.machines == other.machines
    }

    /// A machine of which another record of this founded cluster has a document that this one does not have, and that is not older.
    pub fn discards(&self, other: &Self) -> Option<&str> {
        let is_other = |(name, own): &(&String, &MachineRecord)| {
            let other = other
                .machines
                .get(*name)
                .filter(|other| other.generation >= own.generation);
            other.is_some_and(|other| other.digest != own.digest)
        };
        let machines = self.machines.iter().filter(|_| self.founded_at.is_some());
        { machines }.find(is_other).map(|(name, _)| name.as_str())
    }

    /// The version of a program that all machines have, except those with one of their own.
    pub fn program(&self, name: &str) -> Option<&Version> {
        match name {
            ETCD => Some(&self.etcd),
            CONTAINERD => self.containerd.as_ref(),
            CRIO => self.crio.as_ref(),
            _ => None,
        }
    }

    /// The versions of a plan that are not those of the record: a render of some machines brings them to these alone.
    pub fn further_versions(&self, plan: &Plan, node: &NodePlan) -> BTreeMap<String, Version> {
        let runtime = plan.runtime.service.name.as_str();
        let programs = [
            (ETCD, &plan.etcd.version, node.roles.etcd),
            (runtime, &plan.runtime.version, node.roles.kubernetes()),
        ];
        let further = programs
            .into_iter()
            .filter(|(name, version, runs)| *runs && self.program(name) != Some(version));
        further
            .map(|(name, version, _)| (name.to_owned(), version.clone()))
            .collect()
    }

    /// Machines that are not what the first render makes of them: those with a date of their own or a changed document.
    pub fn generations(&self, bundle_issued_at: OffsetDateTime) -> BTreeMap<String, Generation> {
        let machines = self.machines.iter().map(|(name, machine)| {
            let generation = Generation {
                generation: machine.generation,
                issued_at: machine.issued_at,
            };
            (name.clone(), generation)
        });
        let is_first = |own: &Generation| own.generation <= 1 && own.issued_at == bundle_issued_at;
        machines.filter(|(_, own)| !is_first(own)).collect()
    }

    /// Whether a bundle is the one that the record names.
    pub fn is_of(&self, bundle: &Bundle) -> bool {
        self.cluster == bundle.cluster && bundle.continues(&self.bundle)
    }
}

/// The machines of a tree, as a record has them.
pub fn machines_of_tree(bundle: &Bundle, tree: &Manifest) -> BTreeMap<String, MachineRecord> {
    let mut files: BTreeMap<&str, Vec<&ManifestFile>> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| !tree::is_update(&file.path)) {
        if let Some(node) = &file.node {
            files.entry(node).or_default().push(file);
        }
    }
    let machine = |(name, files): (&str, Vec<&ManifestFile>)| {
        let own = tree.generations.get(name).copied();
        let own = own.unwrap_or(Generation {
            generation: 1,
            issued_at: bundle.issued_at,
        });
        let roles = files.iter().find(|file| !file.roles.is_empty());
        let machine = MachineRecord {
            roles: roles.map(|file| file.roles.clone()).unwrap_or_default(),
            pool: files.iter().any(|file| file.pool),
            arch: None,
            addresses: Vec::new(),
            versions: BTreeMap::new(),
            generation: own.generation,
            issued_at: own.issued_at,
            renewed_at: None,
            digest: machine_digest(bundle, name, own.issued_at, &files),
            entry_digest: String::new(),
        };
        (name.to_owned(), machine)
    };
    files.into_par_iter().map(machine).collect()
}

/// The first names of many.
pub fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    match names.len().checked_sub(SHOWN + 1) {
        Some(more) => format!("{} and {} more", names[..SHOWN].join(", "), more + 1),
        None => names.join(", "),
    }
}

/// The way out while machines may not have joined.
pub fn once_joined(absent: &str) -> String {
    format!("when {absent} and all other machines are Ready with their documents: firelay update --done")
}

/// How many of etcd's members it needs.
pub fn quorum(members: usize) -> usize {
    members / 2 + 1
}

/// A machine before its document is rendered: without a digest.
pub fn unrendered(node: &NodePlan, issued_at: OffsetDateTime) -> MachineRecord {
    MachineRecord {
        roles: crate::delivery::roles(node),
        pool: node.pool,
        arch: Some(node.arch),
        addresses: node.addresses.clone(),
        versions: BTreeMap::new(),
        generation: 1,
        issued_at,
        renewed_at: None,
        digest: String::new(),
        entry_digest: String::new(),
    }
}

impl Fixed {
    fn of(plan: &Plan, bundle: &Bundle) -> Self {
        let texts = |ranges: &[ipnet::IpNet]| ranges.iter().map(ToString::to_string).collect();
        let authority = |name: &str, authority: &Authority| (name.to_owned(), fingerprint(authority));
        let network = &plan.network;
        let mut fixed = Self {
            domain: plan.kubernetes.dns.domain.clone(),
            pods: texts(&network.pods),
            services: texts(&network.services),
            node_mask_ipv4: network.node_mask_ipv4,
            node_mask_ipv6: network.node_mask_ipv6,
            etcd: match plan.etcd.external {
                true => Topology::External,
                false => Topology::Stacked,
            },
            etcd_data: Some(plan.etcd.data_dir.clone()),
            etcd_prefix: Some(plan.kubernetes.etcd_prefix().to_owned()),
            endpoint: Some(format!("{}:{}", plan.endpoint.host, plan.endpoint.port)),
            endpoint_provider: Some(plan.endpoint.provider.name().to_owned()),
            endpoint_address: match &plan.endpoint.provider {
                ProviderPlan::KubeVip { address, .. } => Some(address.to_string()),
                ProviderPlan::External | ProviderPlan::Local { .. } => None,
            },
            network_plugin: plan.plugin().map(|plugin| plugin.key().to_owned()),
            authorities: BTreeMap::from([
                authority("kubernetes", &bundle.kubernetes),
                authority("etcd", &bundle.etcd),
                authority("frontProxy", &bundle.front_proxy),
            ]),
            digest: String::new(),
        };
        fixed.digest = fixed.digest(&plan.name, bundle);
        fixed
    }

    fn digest(&self, cluster: &str, bundle: &Bundle) -> String {
        let values = Self {
            digest: String::new(),
            ..self.clone()
        };
        let text = serde_json::to_string(&values).unwrap_or_default();
        keyed(
            bundle,
            b"fixed values\0",
            [cluster.as_bytes(), text.as_bytes()].into_iter(),
        )
    }
}

/// The SHA-256 of a CA's certificate (DER), as the record writes it.
fn fingerprint(authority: &Authority) -> String {
    let der = x509_parser::pem::parse_x509_pem(authority.certificate.as_bytes());
    let der = der.map(|(_, block)| block.contents).unwrap_or_default();
    format!("SHA256:{}", crate::encoding::sha256_hex(&der))
}

/// The digests of what the founder applies, by the files of its document.
pub fn founding(bundle: &Bundle, files: &[NodeFile]) -> BTreeMap<String, String> {
    let init = files.iter().find(|file| file.path == node::kubeadm::INIT);
    let mut settings = init.map(|file| kubeadm_settings(&file.content)).unwrap_or_default();
    settings.insert(Founding::Manifests, manifests(files));
    // A setting without a digest counts as unchanged: each has one, also where the cluster does not have it.
    for setting in Founding::ALL {
        settings.entry(setting).or_default();
    }
    let digest = |(setting, parts): (Founding, Vec<String>)| {
        let parts = std::iter::once(setting.name()).chain(parts.iter().map(String::as_str));
        let digest = keyed(bundle, b"founding\0", parts.map(str::as_bytes));
        (setting.name().to_owned(), digest)
    };
    settings.into_iter().map(digest).collect()
}

/// Keyed digests of values that no tree keeps.
pub struct ValueDigests(Derivation);

impl ValueDigests {
    /// Those of a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        Self(Derivation::new(bundle.seed.expose()))
    }

    /// The digest of a value.
    pub fn digest(&self, value: &str) -> String {
        keyed_by(&self.0, b"value\0", std::iter::once(value.as_bytes()))
    }
}

fn manifests(files: &[NodeFile]) -> Vec<String> {
    let own = files.iter().filter(|file| file.path.starts_with(node::MANIFESTS));
    let texts = own.flat_map(|file| [file.path.clone(), file.content.to_string()]);
    texts.chain(node::fetched_manifests(files).map(str::to_owned)).collect()
}

/// The parts of kubeadm's configuration. `kubeadm upgrade apply` brings the cluster to its version, and InitConfiguration is of one node.
fn kubeadm_settings(text: &str) -> BTreeMap<Founding, Vec<String>> {
    let mut parts = BTreeMap::from(Founding::KUBEADM.map(|part| (part, Vec::new())));
    for range in firelay_yaml::split(text) {
        let document: Option<Value> = firelay_yaml::parse(node::kubeadm::INIT, &text[range]).ok();
        let Some(mut document) = document else { continue };
        let part = match document["kind"].as_str() {
            Some("ClusterConfiguration") => {
                document["kubernetesVersion"].take();
                let etcd = document["etcd"]["local"].take();
                parts.insert(Founding::Etcd, vec![etcd.to_string()]);
                Founding::Cluster
            }
            Some("KubeletConfiguration") => Founding::Kubelet,
            Some("KubeProxyConfiguration") => Founding::KubeProxy,
            _ => continue,
        };
        parts.insert(part, vec![document.to_string()]);
    }
    parts
}

/// The digest of a machine: of its name, date and files, each by path and SHA-256.
pub fn machine_digest<'f>(
    bundle: &Bundle,
    name: &str,
    issued_at: OffsetDateTime,
    files: impl IntoIterator<Item = &'f &'f ManifestFile>,
) -> String {
    let issued_at = issued_at.unix_timestamp().to_be_bytes();
    let mut files: Vec<_> = files
        .into_iter()
        .map(|file| (file.path.as_bytes(), unhex(&file.sha256).unwrap_or_default()))
        .collect();
    files.sort();
    let parts = files.iter().flat_map(|(path, digest)| [*path, digest.as_slice()]);
    let parts = [name.as_bytes(), issued_at.as_slice()].into_iter().chain(parts);
    keyed(bundle, b"machine\0", parts)
}

/// `HMAC-SHA256:` and 16 bytes in base64 over parts with their lengths. An expansion of one block is an HMAC (RFC 5869 §2.3).
fn keyed<'p>(bundle: &Bundle, purpose: &[u8], parts: impl Iterator<Item = &'p [u8]>) -> String {
    keyed_by(&Derivation::new(bundle.seed.expose()), purpose, parts)
}

fn keyed_by<'p>(key: &Derivation, purpose: &[u8], parts: impl Iterator<Item = &'p [u8]>) -> String {
    let parts: Vec<_> = parts.map(|part| ((part.len() as u64).to_be_bytes(), part)).collect();
    let parts = parts.iter().flat_map(|(length, part)| [length.as_slice(), *part]);
    let info: Vec<_> = [b"record of ".as_slice(), purpose].into_iter().chain(parts).collect();
    let digest = key.expand::<16>(&info);
    format!("HMAC-SHA256:{}", base64(*digest))
}
