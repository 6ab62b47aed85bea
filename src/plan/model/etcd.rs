//! `etcd`, resolved.

use semver::Version;
use time::Duration;

use super::RoleSet;

#[derive(Clone, Debug)]
pub struct EtcdPlan {
    /// Members on nodes of their own; false means stacked on the control planes.
    pub external: bool,
    /// Version of the external members' binary.
    pub version: Version,
    pub data_dir: String,
    /// Flags of external members that go with their version.
    pub own_args: Vec<(String, String)>,
    /// Flags, tuning included, in order.
    pub extra_args: Vec<(String, String)>,
    /// Environment of stacked members.
    pub extra_envs: Vec<(String, String)>,
    /// Registry of the stacked image, when not kubeadm's choice.
    pub image_repository: Option<String>,
    /// Tag of the stacked image, when not kubeadm's choice.
    pub image_tag: Option<String>,
    /// Extra SANs of server certificates.
    pub server_cert_sans: Vec<String>,
    /// Extra SANs of peer certificates.
    pub peer_cert_sans: Vec<String>,
    /// Snapshots by a timer.
    pub backup: Option<EtcdBackupPlan>,
}

impl EtcdPlan {
    /// Whether a machine of these roles runs a member.
    pub fn runs_on(&self, roles: RoleSet) -> bool {
        roles.etcd || (roles.control_plane && !self.external)
    }
}

/// `etcd.backup`, resolved.
#[derive(Clone, Debug)]
pub struct EtcdBackupPlan {
    /// Time from one snapshot to the next.
    pub every: Duration,
    /// How many snapshots a member keeps.
    pub keep: u16,
    /// Where they are.
    pub to: String,
}
