//! `etcd`, resolved.

use semver::Version;
use serde::Serialize;
use time::Duration;

use super::RoleSet;
use crate::secret::Secret;

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
    /// Their directory.
    pub to: String,
    /// The bucket to which they are uploaded.
    pub s3: Option<S3Plan>,
}

/// A bucket.
#[derive(Clone, Debug, Serialize)]
pub struct S3Plan {
    /// `s3://BUCKET/PREFIX`.
    pub place: String,
    /// Scheme and host.
    pub url: String,
    /// The path that names of files follow.
    pub folder: String,
    /// The bucket's region.
    pub region: String,
    /// ID and secret; the role of the instance if absent.
    #[serde(skip)]
    pub access_key: Option<(String, Secret<String>)>,
}
