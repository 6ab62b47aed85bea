//! `etcd`, resolved.

use semver::Version;

/// etcd, resolved.
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
}
