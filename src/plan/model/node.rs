//! Machines and pools, resolved.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use serde_json::Value;

use super::{ArtifactPlan, BootPlan, DeliveryPlan, ImageArchivePlan};
use crate::{
    plan::{HostPlan, InterfacePlan},
    profile::{OsProfile, PlatformProfile},
    spec::{Arch, JoinIdentity, TaintEffect},
};

/// The roles of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleSet {
    pub control_plane: bool,
    pub worker: bool,
    pub etcd: bool,
}

impl RoleSet {
    /// Runs a kubelet.
    pub fn kubernetes(self) -> bool {
        self.control_plane || self.worker
    }
}

/// One machine, or one pool of like machines.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Node name, or the pool's.
    pub name: String,
    /// A pool: the machine's own name and addresses are known only on the machine.
    pub pool: bool,
    pub roles: RoleSet,
    /// The first control plane of the spec.
    pub founder: bool,
    /// Addresses, one per family in the order of the pod ranges; empty for a pool.
    pub addresses: Vec<IpAddr>,
    /// MAC address of the boot interface, lower case with colons.
    pub mac: Option<String>,
    /// SMBIOS UUID, lower case.
    pub uuid: Option<String>,
    /// Absent on a machine that does not boot from the network.
    pub boot: Option<BootPlan>,
    pub os: Arc<OsProfile>,
    pub platform: Arc<PlatformProfile>,
    /// Delivery of its document, shared between the machines of a group.
    pub delivery: Arc<DeliveryPlan>,
    pub arch: Arch,
    /// Its credentials for joining.
    pub identity: JoinIdentity,
    /// Labels that the kubelet sets itself.
    pub labels: BTreeMap<String, String>,
    /// Labels that need an administrator (only on control planes).
    pub admin_labels: BTreeMap<String, String>,
    /// Taints at registration.
    pub taints: Vec<TaintPlan>,
    /// KubeletConfiguration fields in which this node differs from the cluster.
    pub kubelet_config: BTreeMap<String, Value>,
    /// Kubelet flags, cluster, role and node merged.
    pub kubelet_args: Vec<(String, String)>,
    /// The image contains the binaries.
    pub preinstalled: bool,
    /// Where the binaries are.
    pub bin_dir: String,
    /// Fetched at first boot; empty when preinstalled. Shared between machines that fetch the same.
    pub artifacts: Arc<Vec<ArtifactPlan>>,
    /// Images imported before the kubelet starts, in order.
    pub image_archives: Vec<ImageArchivePlan>,
    /// Network interfaces; none leaves the network to the image and the platform.
    pub interfaces: Vec<InterfacePlan>,
    /// Shared between the machines of a group.
    pub host: Arc<HostPlan>,
}

impl NodePlan {
    /// Whether it loads modules of the kernel that its image may lack, and that a package has.
    pub fn installs_modules(&self) -> bool {
        let loads = self.roles.kubernetes() || !self.host.kernel_modules.is_empty();
        loads && !self.os.kernel_packages.is_empty()
    }

    /// Whether it differs from another machine only in its name, its addresses, the values of its labels and the numbers of its hardware.
    pub fn is_set_up_as(&self, other: &Self) -> bool {
        let Self {
            name: _,
            mac: _,
            uuid: _,
            pool,
            roles,
            founder,
            addresses,
            boot,
            os,
            platform,
            delivery,
            arch,
            identity,
            labels,
            admin_labels,
            taints,
            kubelet_config,
            kubelet_args,
            preinstalled,
            bin_dir,
            artifacts,
            image_archives,
            interfaces,
            host,
        } = self;
        let kinds = (pool, roles, founder, arch, identity, preinstalled, bin_dir);
        let others = (
            &other.pool,
            &other.roles,
            &other.founder,
            &other.arch,
            &other.identity,
            &other.preinstalled,
            &other.bin_dir,
        );
        kinds == others
            && addresses.len() == other.addresses.len()
            && Arc::ptr_eq(os, &other.os)
            && Arc::ptr_eq(platform, &other.platform)
            && labels.keys().eq(other.labels.keys())
            && (boot, delivery, admin_labels) == (&other.boot, &other.delivery, &other.admin_labels)
            && (taints, kubelet_config, kubelet_args) == (&other.taints, &other.kubelet_config, &other.kubelet_args)
            && (artifacts, image_archives) == (&other.artifacts, &other.image_archives)
            && (interfaces, host) == (&other.interfaces, &other.host)
    }

    /// Its roles in one word, as it reports them.
    pub fn role(&self) -> String {
        if self.pool {
            return "pool".into();
        }
        [
            (self.roles.control_plane, "control-plane"),
            (self.roles.worker, "worker"),
            (self.roles.etcd, "etcd"),
        ]
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name))
        .collect::<Vec<_>>()
        .join(",")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintPlan {
    pub key: String,
    pub value: String,
    pub effect: TaintEffect,
}
