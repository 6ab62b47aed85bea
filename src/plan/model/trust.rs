//! `pki`, `join` and `security`, resolved.

use time::Duration;

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
    /// `notBefore` lies this long before `issuedAt`.
    pub backdate: Duration,
    /// Extra SANs of the API server.
    pub extra_sans: Vec<String>,
    /// Who holds CA keys.
    pub ca_keys: CaKeys,
}

/// `join`, resolved.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// Life of the bootstrap token; zero never ends.
    pub token_ttl: Duration,
    /// How long a node waits for the API before it starts over.
    pub wait_timeout: Duration,
    /// How long the founder waits for control planes that it cannot reach, before it founds.
    pub found_after: Duration,
}

/// `security`, resolved; what its profile says stands where the spec would have said it.
#[derive(Clone, Copy, Debug)]
pub struct SecurityPlan {
    /// Files of Kubernetes are for root alone.
    pub restrict_files: bool,
    /// firelay's own units are sandboxed.
    pub sandbox_units: bool,
    /// SELinux enforces, where nodes run so.
    pub enforcing: bool,
}
