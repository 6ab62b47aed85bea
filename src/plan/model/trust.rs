//! `pki`, `join` and `security`, resolved.

use time::Duration;

use super::EtcdPlan;
use crate::spec::{Algorithm, CaKeys};

/// `pki`, resolved.
#[derive(Clone, Debug)]
pub struct PkiPlan {
    /// Algorithm of CAs and service-account key for a new bundle.
    pub algorithm: Algorithm,
    /// Life of a new CA.
    pub ca_validity: Duration,
    /// Life of a leaf.
    pub leaf_validity: Duration,
    /// Leaf certificates that nothing renews are valid as long as their CA: the spec sets no validity.
    pub unrenewed_last: bool,
    /// `notBefore` is this long before `issuedAt`.
    pub backdate: Duration,
    /// Extra SANs of the API server.
    pub extra_sans: Vec<String>,
    pub ca_keys: CaKeys,
    /// Members of external etcd and control planes hold the key of etcd's CA, and renew what it signs.
    pub renews_etcd: bool,
}

impl PkiPlan {
    /// Whether control planes have the key of Kubernetes' CA.
    pub fn holds_kubernetes_key(&self) -> bool {
        self.ca_keys != CaKeys::None
    }

    /// Whether control planes have the key of the front proxy's CA.
    pub fn holds_front_proxy_key(&self) -> bool {
        self.ca_keys == CaKeys::ControlPlane
    }

    /// Whether control planes have the key of etcd's CA: they run its members, or renew their certificate for external ones.
    pub fn holds_etcd_key(&self, etcd: &EtcdPlan) -> bool {
        self.ca_keys == CaKeys::ControlPlane && (!etcd.external || self.renews_etcd)
    }
}

/// `join`, resolved.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// Lifetime of the bootstrap token; zero never expires.
    pub token_ttl: Duration,
    /// The time that a node waits for the API before it starts again.
    pub wait_timeout: Duration,
    /// The time that the founder waits for unreachable control planes before it founds.
    pub found_after: Duration,
}

/// `security`, resolved; the profile's values are included.
#[derive(Clone, Copy, Debug)]
pub struct SecurityPlan {
    /// Files of Kubernetes are for root alone.
    pub restrict_files: bool,
    /// firelay's own units are sandboxed.
    pub sandbox_units: bool,
    /// SELinux enforces, where nodes run so.
    pub enforcing: bool,
}
