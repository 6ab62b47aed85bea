//! The resolved cluster.

mod addons;
mod delivery;
mod etcd;
mod kubernetes;
mod network;
mod node;
mod pxe;
mod runtime;
mod trust;

use std::collections::{BTreeSet, HashMap};

pub use addons::*;
pub use delivery::*;
pub use etcd::*;
pub use kubernetes::*;
pub use network::*;
pub use node::*;
pub use pxe::*;
pub use runtime::*;
pub use trust::*;

use super::{ScopedPatch, images::Images, kubelet::SERVER_TLS_BOOTSTRAP, ports};
use crate::{
    declaration::Updates,
    spec::{Access, ExtraOutput},
};

/// How many of some machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Number(usize),
    Percent(usize),
}

impl Limit {
    /// The limit for this number of machines, at least one.
    pub fn of(self, machines: usize) -> usize {
        let most = match self {
            Self::Number(number) => number,
            Self::Percent(percent) => machines * percent / 100,
        };
        most.max(1)
    }
}

/// A cluster, resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    pub kubernetes: KubernetesPlan,
    pub endpoint: EndpointPlan,
    pub network: NetworkPlan,
    pub etcd: EtcdPlan,
    pub runtime: RuntimePlan,
    /// Prefix of the host and path of upstream's URLs, without `/` at the end; absent without a mirror.
    pub mirror: Option<String>,
    pub images: Images,
    /// The network plugin and the add-ons.
    pub addons: Vec<AddonPlan>,
    pub requirements: Requirements,
    /// Manifests of the user.
    pub manifests: Vec<ManifestPlan>,
    pub access: Access,
    pub pki: PkiPlan,
    pub join: JoinPlan,
    /// Pods are kept from the metadata service.
    pub metadata_firewall: bool,
    pub security: SecurityPlan,
    /// Named nodes in the order of the spec, then pools.
    pub nodes: Vec<NodePlan>,
    pub extra_outputs: BTreeSet<ExtraOutput>,
    /// The number of workers that may be unavailable at a time during a change.
    pub max_unavailable: Limit,
    /// Where machines that boot from the network find things; absent when none does.
    pub pxe: Option<PxePlan>,
    /// Changes of rendered files, in the order in which they are applied.
    pub patches: Vec<ScopedPatch>,
}

impl Plan {
    pub fn founder(&self) -> &NodePlan {
        self.nodes
            .iter()
            .find(|node| node.founder)
            .expect("resolve() refuses a plan without a control plane")
    }

    /// The network plugin.
    pub fn plugin(&self) -> Option<&AddonPlan> {
        self.addons.iter().find(|addon| addon.is_cni())
    }

    /// The add-on that brings updates to machines.
    pub fn updates(&self) -> Option<(&AddonPlan, &Updates)> {
        let mut addons = self.addons.iter();
        addons.find_map(|addon| Some((addon, addon.choice.declaration.updates.as_ref()?)))
    }

    /// Control planes in the order of the spec.
    pub fn control_planes(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.roles.control_plane)
    }

    /// External etcd members in the order of the spec.
    pub fn etcd_members(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.roles.etcd)
    }

    /// Whether a machine's kubelet requests its serving certificate from the cluster, and renews it so.
    pub fn requests_serving(&self, node: &NodePlan) -> bool {
        let settings = [&node.kubelet_config, &self.kubernetes.kubelet_config];
        let first = settings.into_iter().find_map(|config| config.get(SERVER_TLS_BOOTSTRAP));
        node.roles.kubernetes() && first == Some(&true.into())
    }

    /// Classes of machines that are set up alike, in their order; each has its place among the given ones. A patch may concern
    /// one machine alone, so with patches each is a class of its own.
    pub fn classes<'p>(&self, nodes: impl IntoIterator<Item = &'p NodePlan>) -> Vec<Vec<(usize, &'p NodePlan)>> {
        let mut classes: Vec<Vec<(usize, &NodePlan)>> = Vec::new();
        // Each machine may have flags of its own: only classes with the same ones are compared.
        let mut by_flags: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, node) in nodes.into_iter().enumerate() {
            let labels: Vec<_> = node.labels.keys().collect();
            let same = by_flags.entry((labels, &node.kubelet_args)).or_default();
            let is_alike = |number: &&usize| {
                let first = classes[**number].first();
                self.patches.is_empty() && first.is_some_and(|(_, other)| other.is_set_up_as(node))
            };
            match same.iter().find(is_alike) {
                Some(number) => classes[*number].push((place, node)),
                None => {
                    same.push(classes.len());
                    classes.push(vec![(place, node)]);
                }
            }
        }
        classes
    }

    /// Ports that machines must reach on each other.
    pub fn ports(&self) -> impl Iterator<Item = PortPlan> {
        ports::of_kubernetes(self)
            .into_iter()
            .chain(self.requirements.ports.clone())
    }

    /// Manifests of the user with the names of their files, which are numbered so that the order of the spec is theirs.
    pub fn manifest_files(&self) -> impl Iterator<Item = (String, &ManifestPlan)> {
        let width = self.manifests.len().saturating_sub(1).to_string().len().max(2);
        let numbered = self.manifests.iter().enumerate();
        numbered.map(move |(index, manifest)| (format!("{index:0width$}-{}.yaml", manifest.name), manifest))
    }
}
