//! What `pki` hands to `node`.

use time::OffsetDateTime;

use crate::secret::Secret;

/// One PEM file or kubeconfig of a node.
#[derive(Clone, Debug)]
pub struct PkiFile {
    /// Path below the staging directory (`/etc/firelay`): `pki/ca.crt`, `kubeconfig/admin.conf`, `kubelet/client.pem`.
    pub path: String,
    /// Content.
    pub content: Secret<String>,
    /// 0o600 for keys and kubeconfigs, 0o644 for certificates and public keys.
    pub mode: u32,
}

/// Everything of one node.
#[derive(Clone, Debug)]
pub struct NodePki {
    /// Files, sorted by path.
    pub files: Vec<PkiFile>,
    /// When the first of its certificates ends.
    pub expires: OffsetDateTime,
}
