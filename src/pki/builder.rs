//! The files of one node.

use time::OffsetDateTime;

use super::{
    Authorities, Error,
    authorities::Ca,
    leaf::{self, Issued, Leaf},
};
use crate::{
    plan::{NodePlan, Plan},
    secret::Secret,
    secrets::Bundle,
};

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
    /// When all its certificates hold.
    pub not_before: OffsetDateTime,
    /// When the first of its certificates ends.
    pub expires: OffsetDateTime,
}

/// The certificates, keys and kubeconfig users of one node while they are issued.
pub(super) struct PkiBuilder<'a> {
    pub(super) plan: &'a Plan,
    authorities: &'a Authorities,
    pub(super) bundle: &'a Bundle,
    pub(super) node: &'a NodePlan,
    issued_at: OffsetDateTime,
    files: Vec<PkiFile>,
    /// When the last of its certificates begins to hold.
    not_before: OffsetDateTime,
    expires: Option<OffsetDateTime>,
}

impl<'a> PkiBuilder<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        authorities: &'a Authorities,
        bundle: &'a Bundle,
        node: &'a NodePlan,
        issued_at: OffsetDateTime,
    ) -> Self {
        Self {
            plan,
            authorities,
            bundle,
            node,
            issued_at,
            files: Vec::new(),
            not_before: leaf::begin(plan, issued_at, authorities.get(Ca::Kubernetes)).unwrap_or(issued_at),
            expires: None,
        }
    }

    /// Signs a leaf of this node. Its key is derived from its path.
    pub(super) fn sign(&mut self, path: &str, leaf: &Leaf) -> Result<Issued, Error> {
        let label = format!("node/{}/{path}", self.node.name);
        let issued = leaf::sign(self.plan, self.authorities, self.issued_at, &label, leaf)?;
        self.not_before = self.not_before.max(issued.not_before);
        self.expires = Some(
            self.expires
                .map_or(issued.not_after, |expires| expires.min(issued.not_after)),
        );
        Ok(issued)
    }

    /// Signs a leaf into `PATH.crt` and `PATH.key`.
    pub(super) fn pair(&mut self, path: &str, leaf: &Leaf) -> Result<(), Error> {
        let issued = self.sign(path, leaf)?;
        self.certificate(&format!("{path}.crt"), &issued.certificate);
        self.secret(&format!("{path}.key"), issued.key);
        Ok(())
    }

    /// Adds a public file, 0644.
    pub(super) fn certificate(&mut self, path: &str, text: &str) {
        self.files.push(PkiFile {
            path: path.to_owned(),
            content: Secret::new(text.to_owned()),
            mode: 0o644,
        });
    }

    /// Adds a file that only root reads, 0600.
    pub(super) fn secret(&mut self, path: &str, content: Secret<String>) {
        self.files.push(PkiFile {
            path: path.to_owned(),
            content,
            mode: 0o600,
        });
    }

    pub(super) fn build(mut self) -> NodePki {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        let authority = self.authorities.get(Ca::Kubernetes).not_after;
        NodePki {
            files: self.files,
            not_before: self.not_before,
            expires: self.expires.unwrap_or(authority),
        }
    }
}
